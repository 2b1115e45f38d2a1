"""Languages of few texts as lists of bytes: what may follow is looked up, and shares no code with any automaton."""

import itertools
import re
from collections.abc import Sequence

import torch
import transformers

import grammarlm as gl

WIDTH = 48  # logits are wider than the vocabulary
TOKENS = [
    b"<pad>",
    b"<s>",
    b"</s>",
    *(c.encode() for c in "abcdxyz12-"),
    b"ab",
    b"ba",
    b"aab",
    b"dd",
    b"12",
    "é".encode(),
]
TOKENS += [b"\xc3", b"\xa9", b"<eot>"]
PAD, START, STOP, OTHER_STOP = 0, 1, 2, len(TOKENS) - 1
STOPS = [STOP, OTHER_STOP]
TEXT_IDS = list(range(3, OTHER_STOP))
VOCAB = gl.Vocabulary(TOKENS, stop_ids=STOPS, special_ids=[PAD, START, *STOPS], size=WIDTH)


class Listed:
    """The texts of a pattern, and the same pattern as a constraint."""

    def __init__(self, pattern: str, alphabet: str, longest: int):
        every = ("".join(x) for n in range(longest + 1) for x in itertools.product(alphabet, repeat=n))
        self.texts = {text.encode() for text in every if re.fullmatch(pattern, text)}
        self.beginnings = {text[:k] for text in self.texts for k in range(len(text) + 1)}
        self.constraint = gl.compile(gl.Regex(pattern), VOCAB)

    def allowed(self, ids: Sequence[int]) -> set[int]:
        """What may follow the ids; after a stop id, and after what is no beginning of a text, the stop ids."""
        text = b"".join(TOKENS[i] if i in TEXT_IDS else b"\xff" for i in ids)
        if text not in self.beginnings:
            return set(STOPS)
        fine = {i for i in TEXT_IDS if text + TOKENS[i] in self.beginnings}
        return fine | (set(STOPS) if text in self.texts else set())

    def holds(self, ids: Sequence[int]) -> bool:
        """Is this, up to its stop id, one of the texts?"""
        text = list(itertools.takewhile(lambda i: i not in STOPS, ids))
        return set(text) <= set(TEXT_IDS) and b"".join(TOKENS[i] for i in text) in self.texts


LANGUAGES = [
    Listed("(ab|ba)(c|dd)?|a{1,4}b|cd", "abcd", 5),
    Listed("x(1|2|12)?(-[12])?é?", "x12-é", 6),
    Listed("[abc]{2,3}d", "abcd", 4),
]


class FromScratch(transformers.LogitsProcessor):
    """What gl.LogitsProcessor means, without any memory: it is told how long the prompts are."""

    def __init__(self, languages: Sequence[Listed | None], prompt: int):
        self.languages, self.prompt = languages, prompt

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        out, each = scores.clone(), len(scores) // len(self.languages)
        for at, ids in enumerate(input_ids.tolist()):
            if (language := self.languages[at // each]) is not None:
                allowed = language.allowed(ids[self.prompt :])
                out[at, [i for i in range(scores.shape[1]) if i not in allowed]] = -torch.inf
        return out
