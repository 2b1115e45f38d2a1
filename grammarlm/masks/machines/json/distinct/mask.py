"""The mask of a text in which items must differ: the machine's row, without the tokens that would repeat an item.

Items can always get more (rows/free_items.py), so a token repeats one only if it closes it. Few tokens can: those that hold a
whole item (suspects.py), and, while the item being read can still become an earlier one (rivals.py), those that close something.
The tracker alone reads these; the machine only what the tracker finds to repeat an item.
"""

from __future__ import annotations

import numpy as np

from grammarlm.masks.machines.json.configs import put_record
from grammarlm.masks.machines.json.epoch import JsonEpoch
from grammarlm.masks.machines.json.vocabulary.blanks import BLANK_BYTES
from grammarlm.masks.token_facts import pack_ids

from .rivals import has_rival
from .steps import Steps
from .suspects import suspects_of
from .tracked_rows import TrackedRows
from .tracker import Tracker, read


class MaskMaker:
    """Makes the masks of one epoch."""

    def __init__(self, machine: JsonEpoch, tracked: TrackedRows):
        self._machine, self._tracked, self._steps = machine, tracked, Steps(machine, tracked)
        self._vocab, self._blanks = machine.program.vocab, machine.program.tables.blanks
        self._structure, self._quoted = suspects_of(self._vocab)

    def row(self, record: int, tracker: Tracker) -> np.ndarray:
        """The row of a config of the epoch."""
        row = self._machine.row(record)
        texts = [(token, self._vocab.token_bytes(token)) for token in self._suspects(row, record, tracker)]
        found = [(token, text) for token, text in texts if self._may_repeat(tracker, text)]
        if found:
            reader = self._machine.endings.reader
            threads = reader.threads_of(record)
            with reader.scratch():
                steps, here = Steps(reader.machine, self._tracked), put_record(reader.machine, threads)
                dead = [token for token, text in found if not steps.read(here, tracker, text).record]
            row &= ~pack_ids(dead, self._vocab.words)
        return row

    def risks(self, record: int, tracker: Tracker) -> int:
        """How many of the open items may still become an earlier one, at most."""
        return sum(has_rival(tracker, depth) for depth in self._steps.depths(record))

    def _suspects(self, row: np.ndarray, record: int, tracker: Tracker) -> list[int]:
        """The tokens of a row that can repeat an item by what they are."""
        lists, depths = self._quoted if tracker.is_quoted else self._structure, self._steps.depths(record)
        if not depths:
            ids = lists.pairs
        elif not any(has_rival(tracker, depth) for depth in depths):
            ids = lists.whole
        elif self._blanks.has_gaps:  # white space after which only a bracket may come closes something, too
            ids = np.union1d(lists.closers, lists.newline)
        else:
            ids = lists.closers
        found: list[int] = ids[row[ids >> 5] >> (ids & 31) & 1 != 0].tolist()
        return found

    def _may_repeat(self, tracker: Tracker, text: bytes) -> bool:
        """Has an array an item twice after a token, whether or not its items must differ, or might white space ask for that?"""
        return read(tracker, text).repeated > 0 or (self._blanks.has_gaps and text[-1] in BLANK_BYTES)
