"""llama.cpp by llama-cpp-python: a logits processor, and a model's vocabulary.

    llm = llama_cpp.Llama("model.gguf")
    constraint = gl.compile(gl.JsonSchema(schema), vocabulary_of(llm))
    llm(prompt, logits_processor=LogitsProcessor(constraint, max_tokens=200), max_tokens=200)

The processor is a list with itself in it, as llama-cpp-python takes it. Two traps of that library:

    logit_bias=      replaces the list by what `extend` returns, which is None for an ordinary list: the constraint would vanish
                     without a word. Here extend returns the list
    draft_model=     passes ids that nobody has verified yet: refused when the second of them arrives
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterable
from typing import Any

import numpy as np

from grammarlm.masks.constraint import Constraint
from grammarlm.masks.mask_array import allocate_mask
from grammarlm.masks.matcher import Matcher
from grammarlm.masks.token_facts import pack_ids
from grammarlm.vocab.vocabulary import Vocabulary

Processor = Any  # (input_ids, scores) -> scores
LONGEST = 1 << 16  # bytes of a token


class LogitsProcessor(list[Processor]):
    """Holds a text to a constraint: forbidden scores become -inf. It can be reused: another prompt begins another text.

    `max_tokens`: the text is complete within so many tokens; give create_completion the same number. JSON schemas without white
    space and spelling options get "natural" and "plain" here.
    """

    def __init__(self, constraint: Constraint, *, max_tokens: int | None = None):
        super().__init__([self._mask])
        self._constraint = constraint.as_generated
        self._max_tokens = max_tokens
        self._constraint.matcher(max_tokens)  # a budget that is too small raises here
        self._mask_row = allocate_mask(1, constraint.vocab.size)
        self._stop_row = pack_ids(constraint.vocab.stop_ids, constraint.vocab.words)
        self.reset()

    def reset(self) -> None:
        """The next call begins a text, whatever its ids are."""
        self._ids = np.empty(0, np.intc)
        self._matcher: Matcher | None = None
        self._is_refused = False

    def extend(self, others: Iterable[Processor]) -> LogitsProcessor:  # type: ignore[override]
        super().extend(others)
        return self

    def __call__(self, input_ids: np.ndarray, scores: np.ndarray) -> np.ndarray:
        for processor in self:
            scores = processor(input_ids, scores)
        return scores

    def _mask(self, input_ids: np.ndarray, scores: np.ndarray) -> np.ndarray:
        matcher = self._follow(np.asarray(input_ids))
        row = self._mask_row
        if self._is_refused:
            row[0] = self._stop_row
        else:
            matcher.fill_mask(row)
        allowed = np.unpackbits(row.view(np.uint8), bitorder="little")[: len(scores)]
        masked = np.full_like(scores, -np.inf)
        at = np.flatnonzero(allowed)
        masked[at] = scores[at]
        if not np.isfinite(
            masked[at]
        ).any():  # other processors have forbidden all that the constraint allows: it prevails
            masked[at] = 0
        return masked

    def _follow(self, ids: np.ndarray) -> Matcher:
        """The matcher, after the tokens that came since the last call."""
        known, matcher = len(self._ids), self._matcher
        if matcher is None or len(ids) <= known or not np.array_equal(ids[:known], self._ids):
            matcher = self._constraint.matcher(self._max_tokens)
            self._is_refused = False
        else:
            new = ids[known:].tolist()
            if len(new) > 1:
                raise ValueError(
                    f"{len(new)} tokens came at once: draft_model= passes ids that are not verified, so it cannot be used with a "
                    "constraint; leave it out"
                )
            self._is_refused = self._is_refused or not matcher.advance(new[0])
        self._matcher, self._ids = matcher, ids.copy()
        return matcher


def vocabulary_of(llm: Any) -> Vocabulary:
    """The vocabulary of a llama_cpp.Llama."""
    import llama_cpp

    vocab = llama_cpp.llama_model_get_vocab(llm.model) if not hasattr(llm, "_model") else llm._model.vocab
    count = llama_cpp.llama_vocab_n_tokens(vocab)
    buffer = ctypes.create_string_buffer(LONGEST)
    tokens, special, ends = list[bytes](), list[int](), list[int]()
    for token in range(count):
        length = llama_cpp.llama_token_to_piece(vocab, token, buffer, LONGEST, 0, True)
        if length < 0:
            raise ValueError(f"token {token} has more than {LONGEST:,} bytes")
        tokens.append(buffer.raw[:length])
        if llama_cpp.llama_vocab_is_control(vocab, token):
            special.append(token)
        if llama_cpp.llama_vocab_is_eog(vocab, token):
            ends.append(token)
    return Vocabulary(tokens, stop_ids=ends, special_ids=special)
