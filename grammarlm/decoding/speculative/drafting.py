"""Drafts for one batch: what the loop asks, and what drafters are told."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from time import perf_counter

import numpy as np
import torch

from grammarlm.decoding.failures import Ending
from grammarlm.decoding.loop.forced_draft import forced_draft
from grammarlm.decoding.loop.row import Row
from grammarlm.decoding.readers.draft_tree import ROOT, DraftTree
from grammarlm.decoding.readers.reader import Reader

from .acceptance import Rule
from .draft_budget import DraftBudget
from .draft_builder import DraftBuilder, Shape
from .drafters.combined import Combined
from .drafters.drafter import Drafter, told, trying
from .observer import Observer
from .schedule import Schedule
from .shapes import grow

NOBODY = -1  # proposed a node that the grammar forces


class Drafting:
    """One batch's drafts; the drafter outlives it."""

    def __init__(
        self,
        drafter: Drafter,
        shape: Shape,
        rule: Rule,
        schedule: Schedule,
        room: Callable[[Row], int],
        saving: DraftBudget | None = None,
    ):
        """`saving`: drafts only what pays by the cost of a forward."""
        self.pool, self.choose = schedule.pool, schedule.choose
        self._drafter, self._shape, self._rule, self._schedule, self._room = drafter, shape, rule, schedule, room
        self._saving = saving
        self._is_shown = drafter.observes or rule.observes or self.needs_states
        self._known: dict[Row, int] = {}  # how many ids of a row the drafter has been told
        self._growths: dict[Row, DraftBuilder] = {}

    def propose(self, rows: Sequence[Row]) -> list[DraftTree]:
        told = list(self._growths)
        for row in told:  # also those that have nothing more to choose
            self._tell(row)
        if not rows:
            return []
        for row in rows:
            row.rule = self._rule if row.predicate.where is None else None
        if self._saving is not None and not self._saving.pays(rows, self._shape.length):
            self._glance(self._saving, rows)  # what is drawn meanwhile is told later
            return [DraftTree() for _ in rows]
        for row in rows:
            if row not in told:
                self._tell(row)
        rooms = self._schedule.rooms(rows, [max(0, self._room_by_rule(row)) for row in rows])
        # Whole prompts are read without a mask for trees, which would be as large as their square.
        shape = self._shape if all(row.has_begun for row in rows) else replace(self._shape, tree="chain")
        growths = {row: DraftBuilder(row, room, shape) for row, room in zip(rows, rooms, strict=True)}
        wanted = [growth for growth in growths.values() if growth.room > 0]
        self._schedule.begin_round(rows, wanted)
        start = perf_counter()
        pays = None if self._saving is None else partial(self._saving.most, len(rows))
        grow(self._drafter, wanted, pays)
        if self._saving is not None:  # "auto" has a drafter for what the grammar forces
            self._saving.cut(list(growths.values()), perf_counter() - start)
        elif self._rule.lossless:
            for growth in wanted:
                self._add_forced(growth)
        for growth in wanted:
            self._finish(growth)
        self._growths = growths
        if not self._drafter.has_failed:
            self._schedule.drafted(self._drafter, wanted)
        return [growths[row].tree for row in rows]

    def _room_by_rule(self, row: Row) -> int:
        with failing(row):
            return self._rule.room(row, self._room(row))
        return 0

    def _finish(self, growth: DraftBuilder) -> None:
        with failing(growth.row):
            self._rule.finish(growth)
        told(self._drafter, lambda drafter: drafter.finish(growth))

    def _glance(self, saving: DraftBudget, rows: Sequence[Row]) -> None:
        """What one row's draft would be, now and then."""
        row = saving.glances_at(rows)
        if row is None or self._room(row) < 1:
            return
        start = perf_counter()
        if len(row.ids) > self._known.get(row, 0):
            self._tell(row)
        growth = DraftBuilder(row, self._room(row), replace(self._shape, tree="chain"))
        grow(self._drafter, [growth])
        saving.glanced(growth, perf_counter() - start)

    def _add_forced(self, growth: DraftBuilder) -> None:
        """Where a drafter finds nothing there is what the grammar forces."""
        if not growth.tree:
            growth.drafter, forced = NOBODY, forced_draft(growth.row)
            if not self._schedule.limits_rooms:
                growth.widen(len(forced))
            growth.add_run(forced)

    def _tell(self, row: Row) -> None:
        """What has been drawn since the last proposal."""
        known = self._known.get(row, 0)
        if len(row.ids) > known:
            told(self._drafter, lambda drafter: drafter.learn(row, row.ids[known:]))
            self._known[row] = len(row.ids)
        growth = self._growths.pop(row, None)
        tree = DraftTree() if growth is None else growth.tree.without_asides
        nodes = tree.nodes_of(row.ids[known:])
        told(self._drafter, lambda drafter: drafter.drawn(row, tree, nodes))
        if self._saving is not None:
            self._saving.told(row)
        if growth is not None and isinstance(self._drafter, Combined):
            self._count(growth, self._drafter, set(nodes))
            for number, run in growth.others:
                self._drafter.compare(number, run, row.ids[known:])

    def _count(self, growth: DraftBuilder, drafter: Combined, path: set[int]) -> None:
        """Who proposed what has been drawn."""
        for number in set(growth.drafters) - {NOBODY}:
            own = {at for at, who in enumerate(growth.drafters) if who == number}
            missed = any(growth.tree.parents[at] in path | {ROOT} for at in own - path)
            drafter.count(number, len(own & path) + missed, len(own & path))

    def reader(self, reader: Reader) -> Reader:
        return self._drafter.reader(reader)

    @property
    def needs_states(self) -> bool:
        return self._drafter.needs_states or self._rule.needs_states

    def observe(
        self,
        rows: Sequence[Row],
        logits: torch.Tensor,
        scored: Sequence[int],
        states: Sequence[torch.Tensor] | None,
    ) -> None:
        with trying(self._drafter):  # which may have drafted meanwhile
            self._schedule.read()
        if not self._is_shown:
            return
        table, first = logits.numpy(), 0
        for at, (row, count) in enumerate(zip(rows, scored, strict=True)):
            after = table[first : first + count + len(row.unread.tree)]
            first += len(after)
            self._show(row, count, after, None if states is None else states[at])

    def _show(self, row: Row, count: int, logits: np.ndarray, states: torch.Tensor | None) -> None:
        """What the target made of one row: after its last `count` ids, and after the nodes of its tree."""
        tree, bare = row.unread.tree, row.unread.tree.without_asides
        before = [*row.ids[len(row.ids) - count :], *bare.tokens]

        def show(observer: Observer) -> None:
            observer.observe(row, bare, before, logits)
            if states is not None and observer.needs_states:
                text, nodes, asides = states.split([len(states) - len(tree), len(bare), tree.asides])
                observer.observe_states(row, bare, text, nodes, asides)

        told(self._drafter, show)
        with failing(row):
            show(self._rule)

    def drop(self, row: Row) -> None:
        if self._saving is None or row in self._known:  # who was never asked about a text learns it at once, as it ends
            self._tell(row)
        if self._saving is not None:
            self._saving.told(row, has_ended=True)
        with trying(self._drafter):  # even if it has failed: it may remember the answer
            self._drafter.drop(row)
        self._rule.drop(row)
        self._schedule.drop(row)
        self._known.pop(row, None)


@contextmanager
def failing(row: Row) -> Iterator[None]:
    """What goes wrong in a rule, such as in a function of the caller's, ends the answer that it decides about."""
    try:
        yield
    except Exception as error:
        row.end(Ending.of(error))
