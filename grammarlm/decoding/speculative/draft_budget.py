"""What "auto" drafts: as many tokens as pay by the cost of a forward, and how it learns what its drafters are worth.

A drafter's worth is how often its tokens are drawn, and it shows only where it drafts. Where nothing pays yet, a look at one row's
draft costs no forward: it is not read, but held beside what is then drawn.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from grammarlm.decoding.loop.cost import Cost, DraftPauses
from grammarlm.decoding.loop.row import Row

from .draft_builder import DraftBuilder
from .drafters.combined import Combined

LOOKS = 0.005  # of the time of forwards, for looking at drafts that are not read
EVERY = 8  # rounds, before it is asked again whether any draft could pay
GLANCES = 2  # rounds from one look at a draft that is not read to the next one, at least
ALONE = 1.6, 3.0  # tokens that are drawn, of so many, of a member that has drafted nothing yet, where one row reads
CAREFUL = 1.2, 3.0  # the same where several do: what is refused in one of them costs in all


@dataclass(frozen=True)
class DraftProbe:
    """A draft that was not read."""

    number: int  # of the drafter
    begins: int  # at this place of the text
    tokens: tuple[int, ...]


class DraftBudget:
    def __init__(self, drafter: Combined, cost: Cost):
        self.drafter = drafter
        self._cost, self._looks = cost, DraftPauses()
        self._glances: dict[Row, DraftProbe] = {}
        self._best = 0.0  # rate of a member
        self._turn = 0  # whose draft is looked at next
        self._round, self._can_pay = 0, False
        self._looked = 0.0  # seconds of looks at drafts that are not read

    def pays(self, rows: Sequence[Row], length: int) -> bool:
        """A round begins: are drafts looked for?"""
        if self._round % EVERY == 0:
            self.drafter.prior = ALONE if len(rows) == 1 else CAREFUL
            self._best = self.drafter.best_rate(any(row.grammar.matcher is not None for row in rows))
            self._can_pay = self._cost.can_pay(len(rows), length, self._best)
            self._looks.may_end_pause(self._best)
        self._round += 1
        return not self._looks.is_pause() and self._can_pay

    def most(self, rows: int, chains: Sequence[tuple[int, float]]) -> int:
        """How many tokens of each of these chains pay, as far as the grammar allows them, where so many rows read."""
        return self._cost.width([*chains, *[(0, 0.0)] * (rows - len(chains))])[0]

    def cut(self, growths: Sequence[DraftBuilder], seconds: float) -> None:
        """Leaves of each chain what pays; they have been found in so long."""
        rate = self.drafter.rate
        width, saved = self._cost.width(
            [(len(each.tree), rate(each.drafters[0]) if each.tree else 0.0) for each in growths]
        )
        self._looks.found(saved, seconds, self._cost.of(len(growths)), self._best)
        for growth in growths:
            if len(growth.tree) > width:
                growth.cut(width)

    # ------------------------------------------------------------------ drafts that are not read

    def glances_at(self, rows: Sequence[Row]) -> Row | None:
        """The row whose draft is worth a look now, though it is not read."""
        if self._round % GLANCES or self._looked > LOOKS * self._round * self._cost.of(len(rows)):
            return None
        self._turn += 1
        row = rows[self._turn % len(rows)]
        glance = self._glances.get(row)
        if glance is not None and len(row.ids) < glance.begins + len(glance.tokens):
            return None
        return row

    def glanced(self, growth: DraftBuilder, seconds: float) -> None:
        self._looked += seconds
        self.watch(growth)

    def watch(self, growth: DraftBuilder) -> None:
        """Remembers a chain, to be held beside what will be drawn."""
        if growth.tree and growth.row not in self._glances:
            self._glances[growth.row] = DraftProbe(growth.drafters[0], len(growth.row.ids), tuple(growth.tree.tokens))

    def told(self, row: Row, has_ended: bool = False) -> None:
        """Counts how much of a watched chain has been drawn, once that is known."""
        glance = self._glances.get(row)
        if glance is None:
            return
        if self.drafter.compare(glance.number, glance.tokens, row.ids[glance.begins :], has_ended):
            del self._glances[row]
