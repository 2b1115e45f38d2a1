"""The mask of a text inside arrays whose items must differ: the machine's row, without the tokens that would repeat an item.

Items can always get more (rows/free_items.py), so a token repeats one only if it closes it. Few tokens can: those that hold a
whole item (suspects.py), and, while the item being read can still become an earlier one (rivals.py), those that close something.
The tracker alone reads these; the machine only what the tracker finds to repeat an item, once for all tokens that begin so.
"""

from __future__ import annotations

import numpy as np

from grammarlm.layout.json import Kind
from grammarlm.masks.machines.json.configs import put_record
from grammarlm.masks.machines.json.epoch import JsonEpoch
from grammarlm.masks.mask_array import ids_of

from .steps import Steps
from .suspects import Suspects, suspects_of
from .tracked_rows import TrackedRows
from .tracker import BLANKS, Tracker, read

IN_STRINGS = (Kind.STRING, Kind.WORD, Kind.KEY)


class MaskMaker:
    """Makes the masks of one epoch."""

    def __init__(self, machine: JsonEpoch, tracked: TrackedRows):
        self._machine, self._tracked, self._steps = machine, tracked, Steps(machine, tracked)
        self._vocab = machine.program.vocab
        self._is_natural = machine.program.tables.blanks.is_natural
        self._structure, self._quoted, _ = suspects_of(self._vocab)

    def row(self, record: int, tracker: Tracker | None) -> np.ndarray:
        """The row of a config of the epoch."""
        row = self._machine.row(record)
        suspects = ids_of(row & self._suspects(record, tracker)).tolist()
        texts = [(token, self._vocab.token_bytes(token)) for token in suspects]
        found = [(token, text, until) for token, text in texts if (until := self._repeats(tracker, text))]
        if found:
            reader = self._machine.endings.reader
            threads = reader.threads_of(record)
            with reader.scratch():
                steps, here = Steps(reader.machine, self._tracked), put_record(reader.machine, threads)
                ways = {text[:until] for _, text, until in found}
                living = {way for way in ways if steps.lives_after(here, tracker, way)}
                dead = [
                    token
                    for token, text, until in found
                    if text[:until] not in living or not (until == len(text) or steps.lives_after(here, tracker, text))
                ]
                self._strike(row, dead)
        return row

    def risks(self, record: int, tracker: Tracker | None) -> int:
        """How many of the open items may still become an earlier one."""
        if tracker is None:
            return 0
        return max(len(self._steps.risks(thread, tracker)) for thread in self._steps.threads(record))

    def _suspects(self, record: int, tracker: Tracker | None) -> np.ndarray:
        """The tokens that can repeat an item by what they are."""
        threads = self._steps.threads(record)
        lists: Suspects = self._quoted if all(c & 31 in IN_STRINGS for c, *_ in threads) else self._structure
        if tracker is None:
            return lists.pairs
        if not self.risks(record, tracker):
            return lists.whole
        # White space after which only a bracket may come closes something, too.
        return lists.whole | lists.closers | (lists.newline if self._is_natural else 0)

    def _repeats(self, tracker: Tracker | None, text: bytes) -> int:
        """After how many bytes of a token an array, whether or not its items must differ, has an item twice, or may have; 0: it
        has not."""
        if tracker is None:
            return len(text)
        after = read(tracker, text)
        if after.repeated:
            return after.at
        if after.tracker is None:
            return len(text) if b"[" in text[after.at :] else 0
        if text[-1] not in BLANKS:
            return 0
        place = after.tracker.place
        above = place.above
        is_repeated = above is not None and not above.is_object and place.value in above.done
        return len(text) if is_repeated else 0

    def _strike(self, row: np.ndarray, tokens: list[int]) -> None:
        """Takes tokens out of a row, and those of the same bytes."""
        if not tokens:
            return
        gone = np.array(tokens, np.int64)
        np.bitwise_and.at(row.view(np.uint32), gone >> 5, ~(np.uint32(1) << (gone & 31).astype(np.uint32)))
        twins = self._vocab.trie.twins.reshape(-1, 2)
        same = twins[np.isin(twins[:, 1], gone), 0].tolist()
        if same:
            self._strike(row, same)
