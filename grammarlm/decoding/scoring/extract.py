"""extract(): the span of a passage that the model finds most probable as the whole answer.

    out = gl.extract(model, passage, f"{passage}\\nQuestion: who ordered?\\nAnswer: ", tokenizer=tokenizer, end="\\n")
    out.text, out.logprob                       # the best of all spans of at most 20 tokens, their end included
    out.greedy.text, out.greedy.logprob         # what decoding greedily under gl.Substring(passage) finds

Spans are those of the passage's own tokens, so each begins and ends where the tokenizer cuts the passage: what begins at one place
is a branch of one trie (scored_trie.py), and all are scored by one forward for a few hundred tokens of it. Greedy decoding goes
wrong where the answer begins with an improbable token; it costs a forward a token, and may cut the passage anywhere.

Source: exact-extract (How Optimal is Greedy Decoding for Extractive Question Answering?).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from grammarlm.decoding.argument_types import Model, Prompt, Tokenizer
from grammarlm.decoding.arguments import check_integer
from grammarlm.decoding.fit import check_positions
from grammarlm.decoding.methods.masked import masked
from grammarlm.decoding.request import Request
from grammarlm.decoding.result import COMPLETE
from grammarlm.decoding.settings import Settings
from grammarlm.errors import check_type, suggesting
from grammarlm.grammars.choices import Choices
from grammarlm.grammars.substring import Substring
from grammarlm.vocab.vocabulary import Vocabulary

from .rank import item_ids, one_prompt
from .scored_trie import ScoredTrie


@dataclass(frozen=True)
class Span:
    """A piece of a passage; `logprob` is that of its tokens and its end after the prompt."""

    text: str
    tokens: tuple[int, ...]
    logprob: float


@dataclass(frozen=True)
class Extracted(Span):
    """The most probable span, and what greedy decoding finds; `first` is the number of its first token among the passage's."""

    first: int
    greedy: Span


@suggesting("extract")
def extract(
    model: Model,
    passage: str,
    prompt: Prompt,
    *,
    end: str | None = None,
    longest: int = 20,
    tokenizer: Tokenizer = None,
    vocab: Vocabulary | None = None,
) -> Extracted:
    """The most probable span of a passage's tokens as the answer to a prompt; of equal ones the first, the shorter one first.

    passage     a text; the prompt has it as well, where the model is to know it
    prompt      what gl.generate takes
    end         the text that ends an answer, and counts with it; None: the model's end of sequence
    longest     tokens of a span
    tokenizer, vocab    as in gl.generate
    """
    check_type(passage, str, "passage takes a text")
    check_type(end, (str, type(None)), "end takes a text, or None for the model's end of sequence")
    check_integer("longest", longest, 1)
    if not passage:
        raise ValueError("passage is empty; it takes a text that has the answer in it")
    if end == "":
        raise ValueError("end is an empty text; leave it out for the model's end of sequence")
    grammar = Substring(passage) if end is None else Substring(passage) + Choices([end])
    room = longest + len((end or "").encode())  # an end has at most a token for each of its bytes
    settings = Settings(tokenizer=tokenizer, vocab=vocab, max_tokens=room, grammar=grammar)
    request = one_prompt(model, prompt, settings)
    known = request.specs[0].vocab
    ids = item_ids(passage, known, "passage")
    ends = [[stop] for stop in known.stop_ids] if end is None else [item_ids(end, known, "end")]
    check_positions(model, request.prompts, min(longest, len(ids)) + len(ends[0]))
    return Spans(ids, longest, ends).best(request, end or "")


class Spans:
    """All spans of a passage's tokens, in a trie."""

    def __init__(self, ids: list[int], longest: int, ends: list[list[int]]):
        self._ids, self._ends, self._trie = ids, ends, ScoredTrie()
        self._spans: list[tuple[int, int, list[int]]] = []  # first token, length, nodes of the ends
        for first in range(len(ids)):
            node = 0
            for length, token in enumerate(ids[first : first + longest], 1):
                node = self._trie.add([token], node)
                self._spans.append((first, length, self._ended(node)))

    def _ended(self, node: int) -> list[int]:
        return [self._trie.add(end, node) for end in self._ends]

    def best(self, request: Request, end: str) -> Extracted:
        [answer] = masked(request)
        if answer.finish_reason not in COMPLETE:
            raise ValueError(f"greedy decoding under gl.Substring failed: {answer.error}")
        node = self._trie.add(answer.tokens)
        last = [node] if end else self._ended(node)  # of a text it is among the tokens
        log_p = self._trie.log_p(request.reader())
        scores = [float(np.logaddexp.reduce(log_p[nodes])) for _, _, nodes in self._spans]
        at = int(np.argmax(scores))
        first, length, _ = self._spans[at]
        found = self._ids[first : first + length]
        vocab = request.specs[0].vocab
        own = b"".join(map(vocab.token_bytes, found)).decode(errors="replace")
        text = answer.text.removesuffix(end)
        greedy = Span(text, tuple(answer.tokens), float(np.logaddexp.reduce(log_p[last])))
        return Extracted(own, tuple(found), scores[at], first, greedy)
