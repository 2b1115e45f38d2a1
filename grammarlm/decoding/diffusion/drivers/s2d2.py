"""Self-speculation (S2D2): the model drafts a run of masked positions at once, and verifies it as it would write it one by one.

One by one means: the next id given all before it, with masks after it. The rows of that, one for each draft, are read in one call.
A draft is accepted with probability min(1, p / q), both under the constraint at its place; the first one that is refused is drawn
again from what p has more than q. So what is verified has the law of writing one by one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from grammarlm.decoding.diffusion.draws import ACCEPT, AGAIN, DRAFT
from grammarlm.decoding.diffusion.look import Choice, Logits, Look, Rule
from grammarlm.decoding.diffusion.run import Asking, Outcome, Run, Schedule, State, chosen_by, read_choice

from .routing import Router


def s2d2(
    run: Run,
    choose: Rule,
    *,
    verify: str = "auto",
    span: int = 32,
    least: int = 2,
    on: float = 0.0,
    off: float = -0.5,
    explore: float = 1.0,
    block: int | None = None,
) -> Asking[None]:
    """verify    when a draft is verified:
                 "always", "never"   in never the sampler's own steps are all there is
                 "span"              where the run has `least` positions or more
                 "auto"              and where more than `on` ids a call are expected to be gained
                 "hysteresis"        as "auto"; once it verifies, until the gain is `off` or less
                 "bandit"            what has brought more ids a call so far, by an upper confidence bound (UCB1)
    span      the longest run that is drafted
    least     the shortest run that is verified, but by "always"
    explore   "bandit": how much an arm that was tried seldom is worth trying
    block     as in `full`
    """
    router = Router(verify, least, on, off, explore)
    for schedule in run.schedules(block):
        while len(masked := run.masked(schedule.first, schedule.end)):
            logits = yield from run.read()
            places = first_run(masked)[:span]
            gain = partial(gain_of, run, logits, places, masked, schedule, choose)
            is_verified, notes = router.decide(len(places), gain)
            if is_verified:
                found = yield from verified(run, logits, places, schedule, notes)
                run.record(with_share(run, logits, masked, schedule, found))
            else:
                run.step(noting(choose, notes), logits, masked, schedule)
            router.learn(is_verified, len(run.trace[-1].committed), run.trace[-1].model_calls)


def first_run(masked: np.ndarray) -> np.ndarray:
    """The masked positions from the first one on that have no known one between them."""
    gaps = np.flatnonzero(np.diff(masked) > 1)
    return masked[: gaps[0] + 1] if len(gaps) else masked


def gain_of(
    run: Run, logits: Logits, places: np.ndarray, masked: np.ndarray, schedule: Schedule, choose: Rule
) -> float:
    """How many more ids a call are expected of two calls for a draft; each place counts with its confidence and those before it."""
    expected = run.look(run.state, logits, places, schedule).reading.confidence.cumprod().sum()
    look = run.look(run.state, logits, masked, schedule)
    choice = chosen_by(choose, look)
    return float(expected / 2 - len(choice.positions if choice.fill else read_choice(look, choice)[0]))


def noting(choose: Rule, notes: dict[str, float]) -> Rule:
    """The sampler, with notes on why it is asked."""

    def rule(look: Look) -> Choice:
        choice = chosen_by(choose, look)
        return replace(choice, notes={**choice.notes, **notes})

    return rule


@dataclass(frozen=True)
class Drafted:
    """A position as it was looked at, the law of its ids, which of them was drawn, and its log-probability."""

    look: Look
    law: np.ndarray
    drawn: int
    log_p: float

    @property
    def position(self) -> int:
        return int(self.look.positions[0])


def verified(run: Run, table: Logits, places: np.ndarray, schedule: Schedule, why: dict[str, float]) -> Asking[Outcome]:
    """Drafts of these places, up to the first one that is refused and drawn again."""
    first, *later = drafted(run, table, places, schedule)
    row = run.row.copy()
    # The first place's row is the one that was read already: what was drafted there has its law.
    row[first.position], log_p = first.look.ids[0][first.drawn], {first.position: first.log_p}
    refused: list[int] = []
    each = (yield from run.read_all([one.look.row for one in later])) if later else ()
    for draft, own in zip(later, each, strict=True):
        look = replace(draft.look, table=own)
        p, drawn = run.draws.law(look.reading.values(0)), draft.drawn
        if not run.draws.happens(p[drawn] / draft.law[drawn], draft.position, ACCEPT):
            refused.append(draft.position)
            drawn = run.draws.index(np.maximum(p - draft.law, 0), draft.position, AGAIN)
        row[draft.position] = token = int(look.ids[0][drawn])
        log_p[draft.position] = look.reading.log_p(0, token)
        if refused:
            break
    notes = {**why, "drafted": len(places), "accepted": len(log_p) - len(refused)}
    after = State(row, run.state.step + 1, run.state.memory)
    return Outcome(after, list(log_p), [int(row[position]) for position in log_p], refused, log_p, notes)


def with_share(run: Run, logits: Logits, masked: np.ndarray, schedule: Schedule, found: Outcome) -> Outcome:
    """What was verified, and what few steps ask for beside it: ids that nothing verifies."""
    if len(found.committed) >= min(len(masked), run.share(schedule)):
        return found
    look, order = run.look(run.state, logits, masked, schedule), list(found.committed)
    row = run.with_share(look, found.state.row, order)
    more = order[len(found.committed) :]
    log_p = {p: look.reading.log_p(int(np.searchsorted(masked, p)), int(row[p])) for p in more}
    tokens = [*found.tokens, *(int(row[p]) for p in more)]
    return replace(
        found, state=replace(found.state, row=row), committed=order, tokens=tokens, log_p={**found.log_p, **log_p}
    )


def drafted(run: Run, table: Logits, places: np.ndarray, schedule: Schedule) -> list[Drafted]:
    """Each under the constraint of the row with those before it."""
    found, row = [], run.row
    for place in places:
        look = run.look(State(row), table, np.array([place]), schedule)
        law = run.draws.law(look.reading.values(0))
        drawn = run.draws.index(law, int(place), DRAFT)
        token = int(look.ids[0][drawn])
        found.append(Drafted(look, law, drawn, look.reading.log_p(0, token)))
        row = row.copy()
        row[place] = token
    return found
