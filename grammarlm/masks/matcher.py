"""Where one text stands in its grammar.

A matcher is two references, to the shared automaton and to the head of a chain of steps, so `fork` copies a reference and
`rollback` follows links. It belongs to one thread at a time; the constraint behind it is shared by all.

The ordinary call finds everything made already: `fill_mask` is one list look-up and one row copy, `advance` one call of a kernel.
What is missing is made under the automaton's lock (`_made`).
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import numpy as np

from ..errors import LimitExceeded, MaskError
from .automaton import Automaton
from .epoch import FINISHED, Epoch

_NO_MASK = object()
Head = tuple[Any, Epoch, int]  # the head before it, and a state in an epoch
Made = TypeVar("Made")


class Matcher:
    """Reads tokens, tells which may come next."""

    __slots__ = ("_automaton", "_everything", "_head", "_ids", "_known_mask", "_mask", "_start", "_stops", "_words")

    def __init__(self, automaton: Automaton):
        self._automaton = automaton
        self._stops = automaton.program.facts.stops
        self._words = automaton.program.vocab.words
        self._everything = automaton.program.facts.everything
        self._known_mask: Any = _NO_MASK  # the caller's mask object, checked once
        self._mask = np.empty((0, 0), np.int32)  # the same as an array
        self._ids = len(automaton.program.facts.is_text)
        epoch, state = automaton.renew(automaton.program.start)
        self._start: Head = (None, epoch, state)
        self._head: Head = self._start

    # ------------------------------------------------------------------ masks

    def fill_mask(self, mask: np.ndarray, row: int = 0) -> bool:
        """Writes what may come next into a row of the mask; False where everything may, so that nothing need be applied."""
        if mask is not self._known_mask:
            self._mask = as_mask(mask, self._words)
            self._known_mask = mask
        if type(row) is not int:
            row = as_integer(row, "fill_mask(mask, row) takes a row number")
        if not 0 <= row < len(self._mask):
            raise MaskError(f"row {row} is beyond the mask: its {len(self._mask)} rows are 0 to {len(self._mask) - 1}")
        _, epoch, state = self._head
        bits = epoch.rows[state]
        if bits is None:
            bits = self._missing_row(row)
        self._mask[row] = bits
        return self._everything is None or not np.array_equal(bits, self._everything)

    def _missing_row(self, row: int) -> np.ndarray:
        try:
            return self._made(lambda epoch, state: epoch.row(state))
        except LimitExceeded:  # a failure closes: nothing but the end is allowed
            self._mask[row] = self._automaton.program.facts.stop_row
            raise

    # ------------------------------------------------------------------ reading

    def advance(self, token: int) -> bool:
        """Reads one token; False where it is not allowed, and then nothing has changed."""
        head = self._head
        _, epoch, state = head
        if type(token) is not int:
            token = as_integer(token, "advance(token) takes a token id")
        if token in self._stops:
            if state == FINISHED or not epoch.accepting[state]:
                return False
            self._head = (head, epoch, FINISHED)
            return True
        if not 0 <= token < self._ids:
            return False
        tables = epoch.tables  # its arrays must outlive the call
        after = epoch.peek_token(tables.address, state, token)
        if after < 0:
            epoch, after = self._made(lambda epoch, state: (epoch, epoch.after_token(state, token)))
        if not after:
            return False
        self._head = (head, epoch, after)
        return True

    def advance_bytes(self, data: bytes) -> bool:
        """Reads any bytes as one step; False where they are not allowed as a whole, and then nothing has changed."""
        if not isinstance(data, (bytes, bytearray, memoryview)):
            raise TypeError(f"advance_bytes(data) takes bytes, not {type(data).__name__}; write text.encode()")
        if self.is_finished:
            return not data
        head = self._head
        epoch, after = self._made(lambda epoch, state: (epoch, epoch.after_bytes(state, data)))
        if not after:
            return False
        self._head = (head, epoch, after)
        return True

    def validate(self, tokens: Iterable[int]) -> int:
        """How many of the tokens could be read one after another; nothing changes."""
        if not isinstance(tokens, Iterable):
            raise TypeError(f"validate(tokens) takes token ids one after another, not {type(tokens).__name__}")
        head = self._head
        try:
            count = 0
            for token in tokens:
                if not self.advance(token):
                    break
                count += 1
            return count
        finally:
            self._head = head

    def _made(self, make: Callable[[Epoch, int], Made]) -> Made:
        """The result of something slow at this state, in a new epoch where the old one is full."""
        automaton = self._automaton
        with automaton.lock:
            automaton.program.clock.restart()
            before, epoch, state = self._head
            for last in (False, True):
                if epoch is not automaton.epoch or epoch.is_full:
                    epoch, state = automaton.renew(epoch.terms[state]) if state != FINISHED else (epoch, state)
                    self._head = (before, epoch, state)
                try:
                    return make(epoch, state)
                except LimitExceeded:
                    if last or not epoch.is_full:
                        raise
                except RecursionError:
                    raise LimitExceeded("the grammar is nested too deeply for this process's recursion limit") from None
        raise AssertionError("unreachable")

    # ------------------------------------------------------------------ going back, copying

    def rollback(self, n: int) -> None:
        """Takes back the last n accepted steps (tokens, stop ids, or byte strings)."""
        n = as_integer(n, "rollback(n) takes the number of steps to take back")
        if n < 0:
            raise ValueError(f"rollback({n}): it takes the number of steps to take back, 0 or more")
        head = self._head
        for done in range(n):
            if head[0] is None:
                raise ValueError(f"rollback({n}): only {done} steps have been read")
            head = head[0]
        self._head = head

    def fork(self) -> Matcher:
        """An independent matcher at the same place."""
        other = object.__new__(Matcher)
        for name in Matcher.__slots__:
            setattr(other, name, getattr(self, name))
        return other

    def reset(self) -> None:
        """Back to the start of the text."""
        self._head = self._start

    # ------------------------------------------------------------------ state

    @property
    def is_accepting(self) -> bool:
        """Is a stop id allowed now?"""
        _, epoch, state = self._head
        return state == FINISHED or epoch.accepting[state]

    @property
    def is_finished(self) -> bool:
        """Has a stop id been read?"""
        return self._head[2] == FINISHED


def allocate_mask(batch: int, size: int) -> np.ndarray:
    """int32 [batch, ceil(size / 32)], every bit set: nothing is forbidden yet."""
    batch = as_integer(batch, "allocate_mask(batch, size) takes a number of rows")
    size = as_integer(size, "allocate_mask(batch, size) takes vocab.size")
    if batch < 0 or not 0 < size < 1 << 31:
        raise MaskError(f"allocate_mask({batch}, {size}): batch is 0 or more, size (vocab.size) is 1 to 2,147,483,647")
    return np.full((batch, -(-size // 32)), -1, np.int32)


def as_integer(value: Any, what: str) -> int:
    try:
        return operator.index(value)
    except TypeError:
        raise TypeError(f"{what}, an integer, not {type(value).__name__}") from None


def as_mask(mask: Any, words: int) -> np.ndarray:
    """The mask as a writable array of the right kind; a CPU tensor shares its memory."""
    wanted = f"this vocabulary takes int32 [batch, {words}], as gl.allocate_mask(batch, vocab.size) makes"
    array = mask
    if not isinstance(mask, np.ndarray):
        try:
            array = mask.numpy()  # a torch tensor; anything else would be copied, and what is written lost
        except (AttributeError, TypeError, RuntimeError, ValueError) as error:
            cause = f" ({error})" if hasattr(mask, "numpy") else ""
            raise MaskError(
                f"the mask is a {type(mask).__name__}, no array in this memory{cause:.200}; {wanted}"
            ) from None
    shape = "x".join(map(str, array.shape))
    if array.dtype != np.int32 or array.ndim != 2 or array.shape[1] != words:
        raise MaskError(f"the mask is {array.dtype} [{shape}]; {wanted}")
    if not array.flags.writeable or (array.strides[0] == 0 and len(array) > 1):
        raise MaskError(f"the mask is read-only, or its rows share their memory; {wanted}")
    return array
