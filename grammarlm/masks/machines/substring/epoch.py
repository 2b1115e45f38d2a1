"""The states of quotes, with their rows.

A state is the number of one of the suffix automaton, so nothing is made for it, and an epoch is never full. A row takes a few
microseconds: a quote goes on in few ways. Only rows that took longer, those of the first characters, are kept.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from grammarlm.kernels import entries
from grammarlm.layout.substring import FIRST
from grammarlm.layout.table import DEAD
from grammarlm.masks.protocol import FINISHED, Computed, EpochDefaults
from grammarlm.masks.shared_rows import SharedRows

if TYPE_CHECKING:
    from .program import SubstringProgram

MANY_NODES = 2_000  # of the trie; rows for which so many were looked at are kept
SHOWN = 40  # bytes of the document in an explanation


class _Rows(dict[int, np.ndarray]):
    """The rows that are kept; None for others."""

    def __missing__(self, state: int) -> None:
        return None


class SubstringEpoch(EpochDefaults):
    """One epoch of states."""

    rows_in_parallel = True
    targets_at_once = 1 << 31

    def __init__(self, program: SubstringProgram):
        self.program, self.tables, self.address = program, self, program.address
        self.is_full, self.start = False, program.start
        left = program.suffixes.left
        self.terms = Computed(lambda state: state)
        self.accepting = Computed(lambda state: state == FINISHED or (state >= FIRST and not left[state - FIRST]))
        self.rows = _Rows({DEAD: np.zeros(program.vocab.words, np.int32), FINISHED: program.facts.stop_row})
        self.peek_token = entries.substring_advance
        self._shared_rows = SharedRows()

    def state_of(self, term: int) -> int:
        return term

    # ------------------------------------------------------------------ rows

    def row(self, state: int) -> np.ndarray:
        known = self.rows[state]
        return self._made(state) if known is None else known

    def try_row(self, state: int) -> np.ndarray | None:
        return self.row(state)  # nothing that it reads ever changes

    def _made(self, state: int) -> np.ndarray:
        facts = self.program.facts
        row, scratch = np.zeros(len(facts.stop_row) + 1, np.int32), np.empty(facts.deepest + 1, np.int32)
        seen = entries.substring_row(self.address, state, entries.address_of(scratch), entries.address_of(row))
        made = row[:-1]
        if self.accepting[state]:
            made |= facts.stop_row
        return self._kept(state, made) if seen >= MANY_NODES else made

    def _kept(self, state: int, row: np.ndarray) -> np.ndarray:
        if self._shared_rows.nbytes + row.nbytes > self.program.limits.max_bytes // 4:
            self._shared_rows.clear()
            for known in list(self.rows):
                if known > FINISHED:
                    self.rows.pop(known, None)
        shared = self._shared_rows.shared(row.copy())
        self.rows[state] = shared
        return shared

    # ------------------------------------------------------------------ reading

    def after_token(self, state: int, token: int) -> int:
        return entries.substring_advance(self.address, state, token)

    def after_bytes(self, state: int, data: bytes) -> int:
        read = np.frombuffer(data, np.uint8)
        return entries.substring_read(self.address, state, entries.address_of(read), len(read))

    def targets(self, state: int, tokens: np.ndarray) -> np.ndarray:
        asked, found = np.ascontiguousarray(tokens, np.int64), np.empty(len(tokens), np.int64)
        entries.substring_targets(self.address, state, entries.address_of(asked), len(asked), entries.address_of(found))
        return found

    # ------------------------------------------------------------------ ends

    def completion(self, state: int) -> list[bytes]:
        """The rest of a character, or of a word."""
        return [] if state == FINISHED else [self.program.suffixes.end(state - FIRST)]

    def completion_limit(self, state: int) -> int:
        return self.program.suffixes.farthest

    def describe(self, state: int) -> str:
        """How the document goes on, as far as it does so in one way."""
        if state < FIRST or state == self.start:
            return ""
        suffixes, here, data = self.program.suffixes, state - FIRST, bytearray()
        while len(data) < SHOWN and len(edges := suffixes.following(here)) == 1:
            data.append(edges[0][0])
            here = edges[0][1]
        text = data.decode("utf-8", "ignore")
        if not text:
            return "" if edges else "the document ends here"
        return f"the document goes on with {text!r}"

    @property
    def nbytes(self) -> int:
        return self.program.suffixes.nbytes + self._shared_rows.nbytes
