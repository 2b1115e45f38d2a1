"""One epoch of the states of item texts (threads.py), with their rows, for matchers.

A state is the number of a set of threads. Nothing is compiled here: an index of the items knows the children of a node,
so the mask of a node is one packed list of them, and reading a token is one lookup. Special ids are tokens like any
other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from grammarlm.errors import LimitExceeded, shorten
from grammarlm.layout.table import DEAD
from grammarlm.masks.protocol import FINISHED, EpochDefaults
from grammarlm.masks.shared_rows import SharedRows
from grammarlm.masks.token_facts import pack_ids

from .separator import tokens_at
from .threads import Thread

if TYPE_CHECKING:
    from .program import ItemsProgram

STATE_BYTES = 500  # approximate size of a state
SHOWN = 5  # tokens named in an explanation
Threads = frozenset[Thread]


class ItemsEpoch(EpochDefaults):
    """One epoch of states."""

    rows_in_parallel = True
    address = 0  # no kernel reads it

    def __init__(self, program: ItemsProgram):
        self.program, self.reader = program, program.reader
        self.tables = self
        self.terms: list[Threads] = [frozenset(), frozenset()]
        self.rows: list[np.ndarray | None] = [np.zeros(program.vocab.words, np.int32), program.facts.stop_row]
        self.accepting = [False, True]
        self._numbers: dict[Threads, int] = {}
        self._after: dict[tuple[int, int], int] = {}
        self._shared_rows = SharedRows()
        self.is_full = False
        self.start = self.state_of(program.start)

    def state_of(self, threads: Threads) -> int:
        """The number of a set of threads, DEAD where there are none."""
        if not threads:
            return DEAD
        state = self._numbers.get(threads)
        if state is None:
            limits = self.program.limits
            if len(self.terms) >= limits.max_states or STATE_BYTES * len(self.terms) > limits.max_bytes // 2:
                self.is_full = True
                raise LimitExceeded("the texts of items have more states than limits.max_states or limits.max_bytes")
            state = self._numbers[threads] = len(self.terms)
            self.terms.append(threads)
            self.rows.append(None)
            self.accepting.append(any(map(self.reader.accepts, threads)))
        return state

    # ------------------------------------------------------------------ rows

    def row(self, state: int) -> np.ndarray:
        known = self.rows[state]
        if known is None:
            known = self.rows[state] = self._share(self._packed(state))
        return known

    def try_row(self, state: int) -> np.ndarray | None:
        return self.row(state)  # the index and a state's threads never change

    def _packed(self, state: int) -> np.ndarray:
        row = pack_ids(self._ids(state), self.program.vocab.words)
        return row | self.program.facts.stop_row if self.accepting[state] else row

    def _share(self, row: np.ndarray) -> np.ndarray:
        """States with equal rows share one array; all rows are dropped when they take too much."""
        if self._shared_rows.nbytes + row.nbytes > self.program.limits.max_bytes // 2:
            for state in range(2, len(self.rows)):
                self.rows[state] = None
            self._shared_rows.clear()
        return self._shared_rows.shared(row)

    # ------------------------------------------------------------------ reading

    def peek_token(self, address: int, state: int, token: int) -> int:
        return self._after.get((state, token), -1)

    def after_token(self, state: int, token: int) -> int:
        """The state after a token, DEAD where it is refused."""
        known = self._after.get((state, token))
        if known is None:
            known = self.state_of(frozenset(a for t in self.terms[state] for a in self.reader.after(t, token)))
            if known:
                self._after[state, token] = known
        return known

    def _ids(self, state: int) -> np.ndarray:
        """The tokens that may come, sorted, without stop ids."""
        found = [self.reader.ids(thread) for thread in self.terms[state]]
        return np.unique(np.concatenate(found)) if found else np.zeros(0, np.int64)

    def spelled(self, state: int, data: bytes, at: int) -> list[tuple[int, int]]:
        """(number of bytes, state after) for each token that may come and whose bytes stand in `data` at an offset."""
        ids = self._ids(state)
        texts = ids[self.program.facts.is_text[ids].astype(bool)]
        return [(length, self.after_token(state, t)) for t, length in tokens_at(self.program.vocab, texts, data, at)]

    def after_bytes(self, state: int, data: bytes) -> int:
        """The state after bytes that whole tokens spell; where several tokenizations do, all are followed."""
        at: list[dict[int, None]] = [{} for _ in range(len(data) + 1)]
        at[0][state] = None
        for offset in range(len(data)):
            self.program.clock.tick()
            for here in at[offset]:
                for length, after in self.spelled(here, data, offset):
                    at[offset + length][after] = None
        if len(at[-1]) == 1:
            return next(iter(at[-1]))
        return self.state_of(frozenset(thread for s in at[-1] for thread in self.terms[s]))

    # ------------------------------------------------------------------ completions, and what may come

    def completion(self, state: int) -> list[int]:
        """Tokens that end the text."""
        return [] if state == FINISHED else min(map(self.reader.end, self.terms[state]), key=lambda e: (len(e), e))

    def completion_limit(self, state: int) -> int:
        """Upper bound on the tokens that end the text, from any state that tokens reach."""
        return self.reader.longest

    def special_tokens(self, state: int) -> list[int]:
        """The special tokens that may come next."""
        return [i for i in self._ids(state).tolist() if i in self.program.special]

    def refusal(self, state: int, token: int) -> str:
        """Why a token may not come, in words."""
        ids = self._ids(state)
        vocab = self.program.vocab
        names = [f"{i} ({vocab.token_bytes(i)!r:.40})" for i in ids[:SHOWN].tolist()]
        more = f" and {len(ids) - SHOWN:,} other tokens" if len(ids) > SHOWN else ""
        expected = f"expected {', '.join(names)}{more}" if len(ids) else "the item is complete"
        return shorten(f"no item goes on with the token {token} ({vocab.token_bytes(token)!r:.80}) here; {expected}")

    @property
    def nbytes(self) -> int:
        return STATE_BYTES * len(self.terms) + 100 * len(self._after) + self._shared_rows.nbytes
