"""A pushdown table with all that was found out about its rows: shared by the canvases of a view."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from .large.narrow_table import NarrowTable
from .large.spots import Spots
from .pushdown import PushdownTable
from .sets import StackSets


@dataclass(frozen=True, eq=False)
class StackTable(PushdownTable):
    @cached_property
    def sets(self) -> StackSets:
        """What was found out about its sets of stacks."""
        return StackSets(self)

    @cached_property
    def narrow(self) -> NarrowTable | None:
        return None if self.few is None or self.has_circles else NarrowTable(self, self.sets)

    def spots(self) -> Spots:
        """Its spots, found again where rows have come to begin elsewhere; the lock of its sets is held."""
        known: Spots | None = self.__dict__.get("_spots")
        if known is None or not known.is_current:
            known = self.__dict__["_spots"] = Spots(self, self.sets)
        return known
