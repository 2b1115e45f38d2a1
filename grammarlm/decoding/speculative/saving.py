"""What "auto" drafts: as many tokens as pay by the cost of a forward, and how it learns what its drafters are worth.

A drafter's worth is how often its tokens are drawn, and it shows only where it drafts. Where nothing pays yet, a look at one row's
draft costs no forward: it is not read, but held beside what is then drawn.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from grammarlm.decoding.loop.cost import Cost, Looks
from grammarlm.decoding.loop.row import Row

from .drafters.combined import CAREFUL, PRIOR, Combined
from .growth import Growth

EVERY = 8  # rounds, before it is asked again whether any draft could pay


@dataclass(frozen=True)
class Glance:
    """A draft that was not read."""

    number: int  # of the drafter
    begins: int  # at this place of the text
    tokens: tuple[int, ...]


class Saving:
    def __init__(self, drafter: Combined, cost: Cost):
        self.drafter = drafter
        self._cost, self._looks = cost, Looks()
        self._glances: dict[Row, Glance] = {}
        self._turn = 0  # whose draft is looked at next
        self._can_pay, self._asked = False, 0

    def pays(self, rows: Sequence[Row], length: int) -> bool:
        """A round begins: are drafts looked for?"""
        self.drafter.prior = PRIOR if len(rows) == 1 else CAREFUL
        self._looks.read += self._cost.of(len(rows))
        if self._looks.is_pause(self.drafter.best_rate):
            return False
        if self._asked % EVERY == 0:
            self._can_pay = self._cost.can_pay(len(rows), length, self.drafter.best_rate)
        self._asked += 1
        return self._can_pay

    def most(self, rows: int, chains: Sequence[tuple[int, float]]) -> int:
        """How many tokens of each of these chains pay, as far as the grammar allows them, where so many rows read."""
        return self._cost.width([*chains, *[(0, 0.0)] * (rows - len(chains))])[0]

    def cut(self, growths: Sequence[Growth], seconds: float) -> None:
        """Leaves of each chain what pays; they have been found in so long."""
        rate = self.drafter.rate
        width, saved = self._cost.width(
            [(len(each.tree), rate(each.drafters[0]) if each.tree else 0.0) for each in growths]
        )
        self._looks.found(saved, seconds, self._cost.of(len(growths)), self.drafter.best_rate)
        for growth in growths:
            if len(growth.tree) > width:
                growth.cut(width)

    # ------------------------------------------------------------------ drafts that are not read

    def glances_at(self, rows: Sequence[Row]) -> Row | None:
        """The row whose draft is worth a look now, though it is not read."""
        if not self._looks.may_glance:
            return None
        self._turn += 1
        row = rows[self._turn % len(rows)]
        glance = self._glances.get(row)
        if glance is not None and len(row.ids) < glance.begins + len(glance.tokens):
            return None
        return row

    def glanced(self, growth: Growth, seconds: float) -> None:
        self._looks.spent += seconds
        self.watch(growth)

    def watch(self, growth: Growth) -> None:
        """Remembers a chain, to be held beside what will be drawn."""
        if growth.tree and growth.row not in self._glances:
            self._glances[growth.row] = Glance(growth.drafters[0], len(growth.row.ids), tuple(growth.tree.tokens))

    def told(self, row: Row, has_ended: bool = False) -> None:
        """Counts how much of a watched chain has been drawn, once that is known."""
        glance = self._glances.get(row)
        if glance is None:
            return
        drawn, accepted = row.ids[glance.begins :], 0
        for token, own in zip(glance.tokens, drawn, strict=False):
            if token != own:
                break
            accepted += 1
        is_missed = accepted < min(len(glance.tokens), len(drawn))
        if is_missed or has_ended or accepted == len(glance.tokens):
            self.drafter.count(glance.number, accepted + is_missed, accepted)
            del self._glances[row]
