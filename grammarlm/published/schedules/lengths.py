"""EXSPEC (Batch Speculative Decoding Done Right): rows of equal length read together, out of more rows than a batch has.

Rows of a batch accept different numbers of drafted tokens, so that their lengths drift apart, and what is shorter than the longest
is padded in each forward. With more rows begun than share a forward there are nearly always enough that are equally long.

    gl.generate(model, prompts, batch_size=8, draft=gl.Draft("suffix", schedule=Lengths(pool=4)))

It costs the caches of `pool` batches. A row that has waited for `patience` turns is of the next batch. Of no use for one batch.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from grammarlm.decoding.arguments import check_integer
from grammarlm.decoding.loop.row import Row
from grammarlm.decoding.speculative.drafters.drafter import Drafter, Target
from grammarlm.decoding.speculative.schedule import Schedule


class Lengths(Schedule):
    """`pool`: so many batches have begun and not ended; `patience`: turns that a row may wait."""

    def __init__(self, pool: int = 4, patience: int = 64):
        check_integer("pool", pool, 2)
        check_integer("patience", patience, 1)
        self.pool, self.patience = pool, patience
        self._waited = self.by_row()  # turns

    def begin(self, target: Target, drafter: Drafter) -> None:
        if drafter.has_reader:
            raise ValueError(
                "a schedule of equal lengths needs to read the target alone: no drafter with a reader of its own"
            )

    def choose(self, rows: Sequence[Row], size: int, is_ragged: bool) -> Sequence[Row]:
        new = [row for row in rows if not row.has_begun]
        chosen = self._alike(new or rows, size, is_ragged)
        for row in rows:
            self._waited[row] = 0 if row in chosen else self._waited.get(row, 0) + 1
        return sorted(chosen, key=lambda row: row.number)

    def _alike(self, rows: Sequence[Row], size: int, is_ragged: bool) -> Sequence[Row]:
        """The `size` rows with the fewest pads, the shortest among equals; without pads as many of one length as there are.

        Sorted by length the rows with the fewest pads are neighbours.
        """
        late = max(rows, key=lambda row: self._waited.get(row, 0))
        is_late = self._waited.get(late, 0) >= self.patience
        ordered = sorted(rows, key=lambda row: (*length(row), row is not late, row.number))
        if is_ragged:
            batches = [ordered[first : first + size] for first in range(max(1, len(ordered) - size + 1))]
        else:
            batches = [list(equal)[:size] for _, equal in groupby(ordered, length)]
        return min((one for one in batches if not is_late or late in one), key=lambda one: (pads(one), -len(one)))


def length(row: Row) -> tuple[int, int]:
    """Of its text, once what is unread of it is read; and how much that is."""
    return len(row.ids), len(row.unread.ids)


def pads(rows: Sequence[Row]) -> int:
    """Of a batch of these rows: in the cache, and beside what it reads."""
    read, unread = [row.length_read for row in rows], [len(row.unread.ids) for row in rows]
    return len(rows) * (max(read) + max(unread)) - sum(read) - sum(unread)
