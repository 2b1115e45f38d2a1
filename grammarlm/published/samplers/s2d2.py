"""S2D2 (Fast Decoding for Diffusion LLMs via Training-Free Self-Speculation): drafts of many ids, verified as if one by one.

A run of masked positions is drafted at once. One by one means: the next id given all before it, with masks after it; the rows of
that, one for each draft, are read in one call. A draft is accepted with probability min(1, p / q), both under the constraint at its
place; the first one that is refused is drawn again from what p has more than q. So what is verified has the law of writing one by
one. It costs a call of as many rows as drafts; s2d2_routing.py says when. Of no use where the rows of a call cost as much as calls.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from grammarlm.decoding.diffusion.draws import ACCEPT, AGAIN, DRAFT
from grammarlm.decoding.diffusion.look import Logits, Look, Rule
from grammarlm.decoding.diffusion.run import Asking, Outcome, Run, State, StepPlan

from .s2d2_routing import Router, gain_of, noting


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
    """verify, least, on, off, explore: as in s2d2_routing.py; span: the longest run that is drafted; block: as in `full`."""
    router = Router(verify, least, on, off, explore)
    for schedule in run.schedules(block):
        while len(masked := run.masked(schedule.first, schedule.end)):
            logits = yield from run.read()
            places = first_run(masked)[:span]
            gain = partial(gain_of, run, logits, places, masked, schedule, choose)
            is_verified, notes = router.decide(len(places), gain)
            if is_verified:
                run.record((yield from verified(run, logits, places, masked, schedule, notes)))
            else:
                run.step(noting(choose, notes), logits, masked, schedule)
            router.learn(is_verified, len(run.trace[-1].committed), run.trace[-1].model_calls)


def first_run(masked: np.ndarray) -> np.ndarray:
    """The masked positions from the first one on that have no known one between them."""
    gaps = np.flatnonzero(np.diff(masked) > 1)
    return masked[: gaps[0] + 1] if len(gaps) else masked


def verified(
    run: Run, table: Logits, places: np.ndarray, masked: np.ndarray, schedule: StepPlan, notes: dict[str, float]
) -> Asking[Outcome]:
    """Drafts of these places, each under the constraint with those before it, up to the first one that is drawn again."""
    whole = run.look(run.state, table, masked, schedule)
    drafts: list[tuple[Look, np.ndarray, int]] = []  # where it was looked, the law of its ids, which of these
    row = run.row
    for place in places.tolist():
        look = run.look(State(row), table, np.array([place]), schedule)
        law = run.draws.law(look.reading.values(0))
        drafts.append((look, law, run.draws.index(law, place, DRAFT)))
        row = row.copy()
        row[place] = look.ids[0][drafts[-1][2]]
    # The first place's row is the one that was read already: what was drafted there has its law.
    each = [table, *((yield from run.read_all([look.row for look, _, _ in drafts[1:]])) if len(drafts) > 1 else ())]
    row, log_p, refused = run.row.copy(), dict[int, float](), list[int]()
    for number, ((drafted, q, guess), own) in enumerate(zip(drafts, each, strict=True)):
        look, drawn, place = replace(drafted, table=own), guess, int(drafted.positions[0])
        p = run.draws.law(look.reading.values(0)) if number else q
        if not run.draws.happens(p[drawn] / q[drawn], place, ACCEPT):
            refused.append(place)
            drawn = run.draws.index(np.maximum(p - q, 0), place, AGAIN)
        row[place] = token = int(look.ids[0][drawn])
        log_p[place] = look.reading.log_p(0, token)
        if refused:
            break
    said = {**notes, "drafted": len(places), "accepted": len(log_p) - len(refused)}
    return run.finished(whole, row, list(log_p), refused, said, run.state.memory, log_p)
