"""Several drafters: a chain is by the one that promises most, as it has been right so often; a tree has branches of all."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile

from .drafter import Drafter
from .several import Several

PRIOR = 2.0, 3.0  # accepted of so many that could be, before the first draft
FADES = 0.97  # of a draft's weight with each later one


class Combined(Several):
    def __init__(self, members: Sequence[Drafter]):
        super().__init__(members)
        self.length = max(member.length for member in members)
        self.prior = PRIOR
        self._accepted = [0.0] * len(self.members)
        self._tried = [0.0] * len(self.members)

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
        rates = [self.rate(i) for i, member in enumerate(self.members) if is_held or not member.needs_grammar]
        return max(rates, default=0.0)

    def promise(self, number: int, length: int) -> float:
        """So many tokens of a member's chain of this length will be drawn, on average."""
        rate = self.rate(number)
        return sum(rate**tokens for tokens in range(1, length + 1))

    @property
    def by_merit(self) -> list[int]:
        """The members' numbers, the most trusted first; among equals in the order given."""
        return sorted(range(len(self.members)), key=lambda number: -self.rate(number))
