"""The edges of a graph of parts, and their conditions: repeats are counted, and some parts are words of which each leads elsewhere.

Where a text stands in a part it has counted the turns of the loops around the part, outermost first. Only loops with a bound are
counted. So a bounded repeat needs no copies of its parts:

    Repeat(S, min=2, max=9)      S -> S, a further turn, while fewer than 9 were begun; the end, once 2 were
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

NO_WORD = ""
Counts = tuple[int, ...]


class Loop(NamedTuple):
    """A repeat around parts."""

    number: int
    min: int  # at least 1
    max: int | None
    is_parted: bool = False  # by a separator

    @property
    def is_counted(self) -> bool:
        return self.min > 1 or (self.max is not None and self.max > 1)

    def after(self, turns: int) -> int | None:
        """The number of turns after one more; None where no further one may begin."""
        if self.max is None:
            return min(turns + 1, self.min)
        return turns + 1 if turns < self.max else None

    def coarse(self, turns: int, steps: int) -> int:
        """The same for all numbers of turns between which the next `steps` turns make no difference."""
        is_far = self.max is None or self.max - turns > steps
        if is_far and turns < self.min - steps:
            return 1 if self.max is None or self.max - 1 > steps else turns
        if is_far and turns >= self.min:
            return self.min if self.max is None or self.max - self.min > steps else turns
        return turns


class Edge(NamedTuple):
    """To a part, and what the way there counts."""

    part: int
    keeps: int = 0  # loops around both parts, outermost first: their counts stay
    again: Loop | None = None  # the next loop takes a further turn
    leaves: tuple[Loop, ...] = ()  # the loops that end, outermost first
    enters: tuple[Loop, ...] = ()  # the loops that begin
    word: str = NO_WORD  # only after this word

    @property
    def is_conditional(self) -> bool:
        return bool(self.again or self.leaves or self.enters or self.word)

    def after(self, counts: Counts) -> Counts | None:
        """The counts behind the edge; None where they forbid it."""
        if not (self.again or self.leaves or self.enters):
            return counts
        kept, at = counts[: self.keeps], self.keeps
        if self.again is not None:
            turns = self.again.after(counts[at])
            if turns is None:
                return None
            kept, at = (*kept, turns), at + 1
        if not may_leave(self.leaves, counts[at:]):
            return None
        return (*kept, *(1 for _ in self.enters))

    @property
    def begun(self) -> frozenset[int]:
        """The loops of which a turn begins. Without a byte between, no loop begins another: it would be empty before. A first turn
        may be empty, and a separator follow."""
        loops = [loop for loop in self.enters if not loop.is_parted]
        return frozenset(loop.number for loop in (loops if self.again is None else [self.again, *loops]))


def may_leave(loops: tuple[Loop, ...], counts: Counts) -> bool:
    return all(turns >= loop.min for loop, turns in zip(loops, counts, strict=True))


class End(Protocol):
    """A part in its loops."""

    @property
    def part(self) -> int: ...
    @property
    def loops(self) -> tuple[Loop, ...]: ...


def between(
    loops: tuple[Loop, ...], end: End, *, shared: int = 0, again: Loop | None = None, word: str = NO_WORD
) -> Edge:
    """The edge out of these loops to a part; `shared` loops are around both, and then perhaps one that takes a further turn."""
    own = shared + (again is not None)
    return Edge(end.part, shared, again, loops[own:], end.loops[own:], word)


def loops_of(loops: tuple[Loop, ...], others: tuple[Loop, ...]) -> tuple[Loop, ...]:
    """The loops around both."""
    count = next(
        (at for at, (a, b) in enumerate(zip(loops, others, strict=False)) if a != b), min(len(loops), len(others))
    )
    return loops[:count]
