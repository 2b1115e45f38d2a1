"""What drafters, rules and schedules remember of the answers that run."""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import Any
from weakref import WeakKeyDictionary

from grammarlm.decoding.loop.row import Row


class OfRows:
    """An owner of tables by row, from which an answer goes when it has ended."""

    _tables: tuple[MutableMapping[Row, Any], ...] = ()

    def by_row(self) -> MutableMapping[Row, Any]:
        """A new table; it forgets the rows of a call that came to no end, too."""
        table: MutableMapping[Row, Any] = WeakKeyDictionary()
        self._tables = (*self._tables, table)
        return table

    def drop(self, row: Row) -> None:
        """The answer has ended."""
        for table in self._tables:
            table.pop(row, None)
