"""llama.cpp by llama-cpp-python: a logits processor, and a model's vocabulary.

    llm = llama_cpp.Llama("model.gguf")
    constraint = gl.compile(gl.JsonSchema(schema), vocabulary_of(llm))
    llm(prompt, logits_processor=LogitsProcessor(constraint, max_tokens=200), max_tokens=200)

The processor is a list with itself in it, as llama-cpp-python takes it. Two traps of that library:

    logit_bias=      replaces the list by what `extend` returns, which is None for an ordinary list: the constraint would vanish
                     without a word. Here extend returns the list
    draft_model=     passes ids that nobody has verified yet: when the second of them arrives the text may only end
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterable
from typing import Any

import numpy as np

from grammarlm.integrations.serving.served_row import ServedRow
from grammarlm.masks.constraint import Constraint
from grammarlm.masks.mask_array import allocate_mask
from grammarlm.masks.messages.unknown_words import check_unknown
from grammarlm.vocab.vocabulary import Vocabulary

Processor = Any  # (input_ids, scores) -> scores
LONGEST = 1 << 16  # bytes of a token
UNVERIFIED = (
    "several tokens came at once: draft_model= passes ids that nobody has verified; leave it out with a constraint"
)


class LogitsProcessor(list[Processor]):
    """Holds a text to a constraint: forbidden scores become -inf. It can be reused: another prompt begins another text.

    `max_tokens`: the text is complete within so many tokens; give create_completion the same number. JSON schemas without white
    space and spelling options get "natural" and "plain" here. `unknown`: keywords and formats of a schema that nobody has defined,
    "warn" (once a schema) or "refuse".

    llama.cpp calls it from C, where an exception would be dropped and the text would go on without a constraint. So it raises
    nothing: a text that fails may only end, and `error` says why.
    """

    def __init__(self, constraint: Constraint, *, max_tokens: int | None = None, unknown: str = "warn"):
        super().__init__([self._mask])
        self._constraint = constraint.as_generated
        check_unknown(self._constraint, unknown)
        self._max_tokens = max_tokens
        self._constraint.matcher(max_tokens)  # a budget that is too small raises here
        self._mask_row = allocate_mask(1, constraint.vocab.size)
        self.reset()

    def reset(self) -> None:
        """The next call begins a text, whatever its ids are."""
        self._ids: np.ndarray | None = None
        self._row = ServedRow(self._constraint.vocab, name="a text of llama.cpp")

    @property
    def error(self) -> str:
        """Why the text ended early; empty where it did not."""
        return self._row.error

    def extend(self, others: Iterable[Processor]) -> LogitsProcessor:  # type: ignore[override]
        super().extend(others)
        return self

    def __call__(self, input_ids: np.ndarray, scores: np.ndarray) -> np.ndarray:
        for processor in self:
            scores = processor(input_ids, scores)
        return scores

    def _mask(self, input_ids: np.ndarray, scores: np.ndarray) -> np.ndarray:
        self._follow(np.array(input_ids))
        self._row.fill(self._mask_row, 0)
        allowed = np.flatnonzero(np.unpackbits(self._mask_row.view(np.uint8), bitorder="little")[: len(scores)])
        masked = np.full_like(scores, -np.inf)
        masked[allowed] = scores[allowed]
        if not np.isfinite(masked[allowed]).any():  # others have forbidden all that the constraint allows: it prevails
            masked[allowed] = 0
        return masked

    def _follow(self, ids: np.ndarray) -> None:
        """Reads the tokens that came since the last call."""
        before, self._ids = self._ids, ids
        if before is None or len(ids) <= len(before) or not np.array_equal(ids[: len(before)], before):
            self._row = ServedRow(self._constraint.vocab, name="a text of llama.cpp")
            self._row.start(self._constraint, self._max_tokens, close=self._max_tokens is not None)
            return
        new = ids[len(before) :].tolist()
        if len(new) > 1:
            self._row.fail(UNVERIFIED)
        self._row.read(new[0])


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
