"""FreeDave (Free Draft-and-Verification: Toward Lossless Parallel Decoding for Diffusion Large Language Models).

From one prediction the next steps of a schedule are drafted, and read in one call, a row each: as far as they come out as drafted
that many calls are saved, and the row is exactly the schedule's. It costs up to `d` rows a call. Of no use where a call is bound by
what it computes: `d` rows cost `d` times as much.
"""

import numpy as np

from grammarlm.decoding.diffusion.look import Logits, Rule
from grammarlm.decoding.diffusion.run import Asking, Outcome, Run, State, StepPlan


def freedave(run: Run, choose: Rule, *, d: int = 4, block: int | None = None) -> Asking[None]:
    """d: how many steps ahead is drafted; block: as in `full`.

    From the logits that are at hand the next `d` states are drafted, and the model reads them all in one call. The step from each
    of them, with its own logits, is the schedule's; where it leads to the next draft, that draft's logits are at hand as well.
    """
    for schedule in run.schedules(block):
        yield from follow(run, choose, schedule, d)


def follow(run: Run, choose: Rule, schedule: StepPlan, d: int) -> Asking[None]:
    """A schedule to its end."""
    logits = yield from run.read()
    while True:
        drafts = drafted(run, choose, run.state, logits, schedule, d)
        run.record(drafts[0])  # its logits were its own
        if not left(run.state, schedule):
            return
        drafts = [one for one in drafts if left(one.state, schedule)]
        each = yield from run.read_all([one.state.row for one in drafts])
        for number, logits in enumerate(each):
            ahead = drafts[number + 1].state.row if number + 1 < len(drafts) else None
            if ahead is None:
                break
            outcome = one_step(run, choose, run.state, logits, schedule)
            if not np.array_equal(outcome.state.row, ahead):
                break
            run.record(outcome)


def drafted(run: Run, choose: Rule, state: State, logits: Logits, schedule: StepPlan, d: int) -> list[Outcome]:
    """The next states if the logits stayed what they are."""
    found: list[Outcome] = []
    while len(found) < d and left(state, schedule):
        found.append(one_step(run, choose, state, logits, schedule))
        state = found[-1].state
    return found


def one_step(run: Run, choose: Rule, state: State, logits: Logits, schedule: StepPlan) -> Outcome:
    positions = schedule.first + np.flatnonzero(state.row[schedule.first : schedule.end] < 0)
    return run.outcome(choose, state, logits, positions, schedule)


def left(state: State, schedule: StepPlan) -> bool:
    """Is anything masked?"""
    return bool((state.row[schedule.first : schedule.end] < 0).any())
