"""Tables of white space: by its state, the tokens that are white space, and those that a string begins in."""

from __future__ import annotations

import numpy as np

from grammarlm.layout.json import BRACKET, FOLLOWS, Kind, Spot
from grammarlm.masks.machines.json.rows.template import TEMPLATE_AT

from .arena import SharedArena
from .blanks import BLANK_BYTES
from .remainders import remainder_trie

CLOSING_BYTES = tuple(b"]}")


class WhiteSpaceTables:
    """The white space of one vocabulary: a spot for each state of the automaton `table` (blanks.py), made when it is reached."""

    def __init__(self, shared: SharedArena, table: np.ndarray):
        self._shared, self._table = shared, table
        # The nodes of the trie that are white space alone: (node, number of its parent, index of its byte); their children.
        self._runs: list[tuple[int, int, int]] = [(-1, -1, -1)]
        self._children = self._find_runs()

    def _find_runs(self) -> np.ndarray:
        """Fills _runs; returns the children of each: number of the run, byte, node."""
        trie = self._shared.vocab.trie
        byte, end = trie.byte, trie.end
        children: list[tuple[int, int, int]] = []
        for number, (run, _, _) in enumerate(self._runs):  # grows during the loop
            node, stop = run + 1, int(end[run]) if run >= 0 else len(byte)
            while node < stop:
                b = int(byte[node])
                children.append((number, b, node))
                if b in BLANK_BYTES:
                    self._runs.append((node, number, BLANK_BYTES.index(b)))
                node = int(end[node])
        return np.array(children, np.int64).reshape(-1, 3)

    def make_spot(self, spot: int) -> None:
        """Rows and entries of one state of white space."""
        shared, table = self._shared, self._table
        if shared.spots[spot][Spot.MADE]:
            return
        trie, nothing = shared.vocab.trie, shared.vocab.words * 32
        states = [spot]
        blank_row = np.zeros(shared.width + 1, np.int32)
        for node, parent, byte in self._runs[1:]:
            state = int(table[states[parent], byte]) if states[parent] >= 0 else -1
            states.append(state)
            token = int(trie.token[node])
            if state >= 0 and token != nothing:
                blank_row.view(np.uint32)[token >> 5] |= np.uint32(1 << (token & 31))
        follows = np.array([int(table[state, 4]) if state >= 0 else 0 for state in states])[self._children[:, 0]]
        is_bracket = np.isin(self._children[:, 1], CLOSING_BYTES)
        chosen = self._children[follows & np.where(is_bracket, BRACKET, FOLLOWS) != 0]
        chosen = chosen[np.argsort(chosen[:, 1], kind="stable")]
        offsets = np.searchsorted(chosen[:, 1], np.arange(257)).astype(np.int32)
        nodes = chosen[:, 2].astype(np.int32)
        start_row, closers = self._start_row(blank_row, nodes[offsets[34] : offsets[35]])
        number, base = 2 + spot, 2 + 2 * spot
        shared.add_trie(number, remainder_trie(closers))
        shared.bases[base], shared.bases[base + 1] = shared.keep(blank_row), shared.keep(start_row)
        shared.spots[spot] = [base, base + 1, shared.keep(offsets), shared.keep(nodes), number, 1]

    def _start_row(self, blank_row: np.ndarray, quotes: np.ndarray) -> tuple[np.ndarray, list[tuple[bytes, int]]]:
        """Tokens of white space, a quote and a part of a string; and those that close it: what remains, token."""
        row = blank_row.copy()
        word = int(Kind.STRING) | TEMPLATE_AT["string"] << 11
        closers: list[tuple[bytes, int]] = []
        for node in quotes.tolist():
            crossed = self._shared.base_row(node, word, row)
            closers += [(rest, token) for rest, token, _ in self._shared.take_closers(row, crossed)]
        return row, closers
