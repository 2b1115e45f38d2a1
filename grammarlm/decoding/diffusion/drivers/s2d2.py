"""Self-speculation (S2D2): the model drafts a run of masked positions at once, and verifies it as it would write it one by one.

One by one means: the next id given all before it, with masks after it. The rows of that, one for each draft, are read in one call.
A draft is accepted with probability min(1, p / q), both under the constraint at its place; the first one that is refused is drawn
again from what p has more than q. So what is verified has the law of writing one by one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from grammarlm.decoding.arguments import check_choice
from grammarlm.decoding.diffusion.draws import ACCEPT, AGAIN, DRAFT
from grammarlm.decoding.diffusion.look import Rule
from grammarlm.decoding.diffusion.run import Outcome, Run, Schedule, State

from .full import blocks_of

VERIFY = ("auto", "always", "never")


def s2d2(
    run: Run, choose: Rule, *, verify: str = "auto", span: int = 32, least: int = 2, block: int | None = None
) -> None:
    """verify   "always", "never" (then this is the sampler's own steps), or "auto": where more ids a call are expected of it
    span     the longest run that is drafted
    least    "auto": the shortest run that is verified
    block    as in `full`
    """
    check_choice("verify", verify, VERIFY)
    for first, end in blocks_of(len(run.row), block):
        schedule = run.schedule(first, end)
        while len(masked := run.masked(first, end)):
            logits = run.read()
            places = first_run(masked)[:span]
            is_verified = verify == "always"
            if verify == "auto" and len(places) >= least:
                is_verified = pays(run, logits, places, masked, schedule, choose)
            if is_verified:
                run.record(verified(run, logits, places, schedule))
            else:
                run.step(choose, logits, masked, schedule)


def first_run(masked: np.ndarray) -> np.ndarray:
    """The masked positions from the first one on that have no known one between them."""
    gaps = np.flatnonzero(np.diff(masked) > 1)
    return masked[: gaps[0] + 1] if len(gaps) else masked


def pays(
    run: Run, logits: np.ndarray, places: np.ndarray, masked: np.ndarray, schedule: Schedule, choose: Rule
) -> bool:
    """Is verification expected to commit more ids a call than the sampler? A draft counts with its confidence."""
    expected = run.look(run.state, logits, places, schedule).reading.confidence.cumprod().sum()
    choice = choose(run.look(run.state, logits, masked, schedule))
    return bool(expected / 2 > len(choice.positions))


@dataclass(frozen=True)
class Drafted:
    """An id, the logits under the constraint that it was drawn from, and the row before it."""

    position: int
    token: int
    logits: np.ndarray
    row: np.ndarray


def verified(run: Run, logits: np.ndarray, places: np.ndarray, schedule: Schedule) -> Outcome:
    """Drafts of these places, up to the first one that is refused and drawn again."""
    drafts = drafted(run, logits, places, schedule)
    # The first place's row is the one that was read already: what was drafted there is its law.
    each = (
        run.read_all([draft.row for draft in drafts[1:]])
        if len(drafts) > 1
        else np.empty((0, *logits.shape), np.float32)
    )
    kept: list[tuple[int, int, float]] = []
    refused: list[int] = []
    for draft, own in zip(drafts, [logits, *each], strict=True):
        look = run.look(State(draft.row), own, np.array([draft.position]), schedule)
        p, q = run.draws.law(look.reading.logits[0]), run.draws.law(draft.logits)
        token = draft.token
        if not run.draws.happens(p[token] / q[token], draft.position, ACCEPT):
            refused.append(draft.position)
            token = run.draws.index(np.maximum(p - q, 0), draft.position, AGAIN)
        kept.append((draft.position, token, look.reading.log_p(0, token)))
        if refused:
            break
    row = run.row.copy()
    row[[position for position, _, _ in kept]] = [token for _, token, _ in kept]
    notes = {"drafted": len(drafts), "accepted": len(kept) - len(refused)}
    after = State(row, run.state.step + 1, run.state.memory)
    log_p = {position: found for position, _, found in kept}
    return Outcome(after, [at for at, _, _ in kept], [token for _, token, _ in kept], refused, log_p, notes)


def drafted(run: Run, logits: np.ndarray, places: np.ndarray, schedule: Schedule) -> list[Drafted]:
    """Each under the constraint of the row with those before it."""
    found, row = [], run.row
    for place in places:
        look = run.look(State(row), logits, np.array([place]), schedule)
        token = run.draws.index(run.draws.law(look.reading.logits[0]), int(place), DRAFT)
        found.append(Drafted(int(place), token, look.reading.logits[0], row))
        row = row.copy()
        row[place] = token
    return found
