"""Several drafters: a chain is by the one that promises most, as it has been right so often; a tree has branches of all."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import takewhile

from grammarlm.decoding.loop.row import Row

from .drafter import Drafter, told, trying
from .several import Several

PRIOR = 2.0, 3.0  # accepted of so many that could be, before the first draft
FADES = 0.97  # of a draft's weight with each later one


def leaves(drafter: Drafter) -> list[Drafter]:
    """The drafters of a list, and of lists in it; else the only one."""
    return (
        [leaf for member in drafter.members for leaf in leaves(member)] if isinstance(drafter, Combined) else [drafter]
    )


class Combined(Several):
    def __init__(self, members: Sequence[Drafter]):
        super().__init__(members)
        self.length = max(member.length for member in members)
        self.prior = PRIOR
        self._accepted = [0.0] * len(self.members)
        self._tried = [0.0] * len(self.members)

    def each(self, tell: Callable[[Drafter], None]) -> None:
        """Those that have not failed; one that fails is no business of the others."""
        for member in self.members:
            told(member, tell)

    def drop(self, row: Row) -> None:
        """Also those that have failed, which may remember the answer."""
        for member in self.members:
            with trying(member):
                member.drop(row)

    @property
    def working(self) -> list[tuple[int, Drafter]]:
        """The members that have not failed, with their numbers."""
        return [(number, member) for number, member in enumerate(self.members) if not member.has_failed]

    def count(self, number: int, tried: int, accepted: int) -> None:
        """So many of a member's tokens stood where the next one was drawn, and so many of these were drawn."""
        self._tried[number] = FADES * self._tried[number] + tried
        self._accepted[number] = FADES * self._accepted[number] + accepted

    def compare(self, number: int, run: Sequence[int], drawn: Sequence[int], ended: bool = True) -> bool:
        """Counts how much of a chain that was not read has been drawn all the same; False where that is not known yet."""
        accepted = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(run, drawn, strict=False)))
        is_missed = accepted < min(len(run), len(drawn))
        is_known = is_missed or ended or accepted == len(run)
        if is_known and drawn:
            self.count(number, accepted + is_missed, accepted)
        return is_known

    def rate(self, number: int) -> float:
        """How probable it is that a member's token is drawn, where those before it were."""
        accepted, tried = self.members[number].usual or self.prior
        return (accepted + self._accepted[number]) / (tried + self._tried[number])

    def best_rate(self, is_held: bool) -> float:
        """The best member's; `is_held`: there is a grammar, so that its drafter counts."""
        rates = [self.rate(number) for number, member in self.working if is_held or not member.needs_grammar]
        return max(rates, default=0.0)

    def promise(self, number: int, length: int) -> float:
        """So many tokens of a member's chain of this length will be drawn, on average."""
        rate = self.rate(number)
        return sum(rate**tokens for tokens in range(1, length + 1))

    @property
    def by_merit(self) -> list[int]:
        """The numbers of the working members, the most trusted first; among equals in the order given."""
        return sorted((number for number, _ in self.working), key=lambda number: -self.rate(number))
