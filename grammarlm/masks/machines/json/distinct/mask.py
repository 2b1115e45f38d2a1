"""The mask of a text inside arrays whose items must differ: the machine's row, without the tokens that would repeat an item.

Few tokens are read for it: those that could repeat an item by what they are (suspects.py), and those that go on as an earlier item
does. The latter are found by a walk of the vocabulary's trie that leaves whatever is no longer like any earlier item.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from grammarlm.layout.json import Kind
from grammarlm.layout.table import DEAD
from grammarlm.masks.machines.json.configs import put_record
from grammarlm.masks.machines.json.endings.completion import endings_of
from grammarlm.masks.machines.json.endings.texts import Thread
from grammarlm.masks.mask_array import ids_of

from .search import BYTES, Search
from .suspects import Suspects, nodes_after_blanks, suspects_of
from .tracker import AFTER_COMMA, BETWEEN, Tracker

if TYPE_CHECKING:
    from grammarlm.masks.machines.json.epoch import JsonEpoch
    from grammarlm.vocab.vocabulary import Vocabulary

    from .freedom import Freedom

IN_STRINGS = (Kind.STRING, Kind.WORD, Kind.KEY)


class MaskMaker:
    """Makes the masks of one epoch."""

    def __init__(self, machine: JsonEpoch, freedom: Freedom):
        self._machine, self._freedom = machine, freedom
        program = machine.program
        self._vocab = program.vocab
        self._is_natural = program.tables.blanks.is_natural
        self._structure, self._quoted, _ = suspects_of(program.vocab)
        nodes_after_blanks(program.vocab)  # made once a vocabulary

    def row(self, record: int, tracker: Tracker | None) -> np.ndarray:
        """The row of a config of the epoch."""
        row = self._machine.row(record)
        reader = endings_of(self._machine).reader
        threads = reader.threads_of(record)
        lists = self._quoted if all(c & 31 in IN_STRINGS for c, *_ in threads) else self._structure
        if tracker is None:
            suspects = lists.pairs if self._freedom.all_items_are_free else lists.pairs | lists.whole & lists.next
            if not (row & suspects).any():
                return row
        with reader.scratch():
            reading = _Reading(Search(reader, self._freedom), put_record(reader.machine, threads), tracker, self._vocab)
            if tracker is not None:
                suspects, must_walk = self._suspects(reading.search, threads, tracker, lists)
                if must_walk:
                    self.strike(row, reading.walk(row)[0])
            self.strike(row, [token for token in ids_of(row & suspects).tolist() if not reading.lives_after(token)])
        return row

    def risky(self, record: int, tracker: Tracker | None, row: np.ndarray) -> list[int]:
        """The tokens of a row after which an item may become an earlier one, or that have ended one: others change nothing in
        how the text can end."""
        reader = endings_of(self._machine).reader
        threads = reader.threads_of(record)
        lists = self._quoted if all(c & 31 in IN_STRINGS for c, *_ in threads) else self._structure
        found = set(ids_of(row & (lists.whole | lists.next | lists.blank)).tolist())
        if tracker is not None:
            with reader.scratch():
                search = Search(reader, self._freedom)
                reading = _Reading(search, put_record(reader.machine, threads), tracker, self._vocab)
                if any(search.steps.risks(thread, tracker, {}) for thread in threads):
                    found.update(reading.walk(row)[1])
        return sorted(found)

    def _suspects(
        self, search: Search, threads: list[Thread], tracker: Tracker, lists: Suspects
    ) -> tuple[np.ndarray, bool]:
        """The tokens to be read one by one, and whether those that go on as an earlier item are to be found by a walk."""
        suspects = lists.whole if self._freedom.all_items_are_free else lists.whole | lists.next
        steps = search.steps
        known: dict[int, bool] = {}
        risky = [thread for thread in threads if steps.risks(thread, tracker, known)]
        if not risky:
            return suspects, False
        ends = lists.newline if self._is_natural else 0  # white space after which only a bracket may come
        if all(steps.is_free(thread, depth) for thread in risky for depth in steps.risks(thread, tracker, known)):
            return suspects | lists.closers | ends, False
        return suspects | ends, True

    def strike(self, row: np.ndarray, tokens: list[int]) -> None:
        """Takes tokens out of a row, and those of the same bytes."""
        if not tokens:
            return
        gone = np.array(tokens, np.int64)
        np.bitwise_and.at(row.view(np.uint32), gone >> 5, ~(np.uint32(1) << (gone & 31).astype(np.uint32)))
        twins = self._vocab.trie.twins.reshape(-1, 2)
        same = twins[np.isin(twins[:, 1], gone), 0].tolist()
        if same:
            self.strike(row, same)


class _Reading:
    """Tokens read from one place of a text, within the reader's scratch."""

    def __init__(self, search: Search, record: int, tracker: Tracker | None, vocab: Vocabulary):
        self.search, self._record, self._tracker, self._vocab = search, record, tracker, vocab

    def lives_after(self, token: int) -> bool:
        steps = self.search.steps
        after, then = steps.read(self._record, self._tracker, self._vocab.token_bytes(token))
        return after != DEAD and self._lives(after, then)

    def _lives(self, record: int, tracker: Tracker | None) -> bool:
        return tracker is None or any(
            self.search.lives(thread, tracker) for thread in self.search.steps.threads(record)
        )

    def walk(self, row: np.ndarray) -> tuple[list[int], list[int]]:
        """The tokens of the row that go on as an earlier item does: those that must not, and those that may. Between values white
        space that begins a token changes nothing; tokens of white space alone are not among them."""
        self._bits = np.append(np.unpackbits(row.view(np.uint8), bitorder="little"), 0)
        self.dead: list[int] = []
        self.living: list[int] = []
        assert self._tracker is not None
        is_between = self._tracker.mode in (BETWEEN, AFTER_COMMA)
        trie = self._vocab.trie
        tops = (
            nodes_after_blanks(self._vocab)
            if is_between
            else [[node] for node in np.flatnonzero(trie.depth == 1).tolist()]
        )
        for nodes in tops:
            if nodes:
                here = self.search.steps.read(self._record, self._tracker, BYTES[trie.byte[nodes[0]]])
                for node in nodes:
                    self._walk_below(node, here)
        return self.dead, self.living

    def _walk_below(self, top: int, after_top: tuple[int, Tracker | None]) -> None:
        trie, node, end = self._vocab.trie, top, int(self._vocab.trie.end[top])
        first, way = int(trie.depth[top]), [after_top]
        while node < end:
            depth = int(trie.depth[node]) - first
            if depth:
                way[depth:] = [self.search.steps.read(*way[depth - 1], BYTES[trie.byte[node]])]
            node = self._noted(node, *way[depth])

    def _noted(self, node: int, record: int, tracker: Tracker | None) -> int:
        """Notes the token of a node; the node to go on with."""
        trie, beyond = self._vocab.trie, len(self._bits) - 1
        after = int(trie.end[node])
        if record == DEAD:
            if tracker is not None:  # the machine would read on
                self._note_dead(node, after)
            return after
        if tracker is None or not self._is_risky(record, tracker):
            return after
        token = min(int(trie.token[node]), beyond)
        if self._bits[token]:
            if not self._lives(record, tracker):
                self._note_dead(node, after)
                return after
            self.living.append(token)
        return node + 1

    def _note_dead(self, node: int, after: int) -> None:
        """Notes all tokens of a subtree."""
        tokens = np.minimum(self._vocab.trie.token[node:after], len(self._bits) - 1)
        self.dead += tokens[self._bits[tokens] != 0].tolist()

    def _is_risky(self, record: int, tracker: Tracker) -> bool:
        known: dict[int, bool] = {}
        steps = self.search.steps
        return any(steps.risks(thread, tracker, known) for thread in steps.threads(record))
