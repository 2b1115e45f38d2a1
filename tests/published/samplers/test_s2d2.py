"""S2D2: drafts that are verified, and the rules of when that is done."""

import math

import numpy as np
import pytest

from tests.decoding.diffusion.mock_models import Context, Fixed, infill, random_holes
from tests.decoding.diffusion.sampled import SEEDS
from tests.rounding import EPSILON

GAIN = 80 * EPSILON  # of runs of up to twelve: it changes by less than 40 dp, and p is off by less than two units


def test_s2d2_that_always_verifies_is_greedy_at_temperature_0() -> None:
    for seed in SEEDS:
        holes = random_holes(np.random.default_rng(seed), 10)
        model = Context(seed)
        out = infill(model, holes, "s2d2", verify="always")
        row = list(holes)
        for at in [at for at, token in enumerate(row) if token < 0]:
            row[at] = 1 + int(np.argmax(Context(seed).row([max(token, 0) for token in row])[at][1:21]))
        assert out.tokens == row
        notes = [step.notes for step in out.stats.trace]
        assert sum(note["accepted"] for note in notes) + sum(
            len(step.rejected) for step in out.stats.trace
        ) == holes.count(-1)


def test_s2d2_verifies_where_that_pays() -> None:
    sure = infill(
        Fixed([{1 + at: 0.89} for at in range(8)]), [-1] * 8, "s2d2"
    )  # too unsure to commit, sure enough to draft
    first = sure.stats.trace[0].notes
    assert (first["drafted"], first["accepted"]) == (8, 8)
    p = 0.89 / (1 - 2 * 0.11 / 21)  # the mask and the stop id are not allowed
    assert first["gain"] == pytest.approx(sum(p**n for n in range(1, 9)) / 2 - 1, abs=GAIN)
    assert sure.stats.forwards == 2
    unsure = infill(Fixed([{1: 0.2, 2: 0.1}] * 6), [-1] * 6, "s2d2")
    *before, last = [step.notes for step in unsure.stats.trace]
    assert all(notes["gain"] < 0 and "drafted" not in notes for notes in before)
    assert last == {}  # one position is no run


def ucb(trace, explore):
    """Which steps of a trace a bandit verifies, in plain Python; a run of one is left to the sampler and counts for it."""
    sums, said, masked = {True: [], False: []}, [], sorted(at for step in trace for at in step.committed)
    for number, step in enumerate(trace):
        if masked[0] + 1 not in masked:
            arm = False
        elif not sums[True] or not sums[False]:
            arm = not sums[True]
        else:
            bounds = {
                arm: sum(ids for ids, _ in seen) / sum(calls for _, calls in seen)
                + explore * math.sqrt(math.log(number) / len(seen))
                for arm, seen in sums.items()
            }
            arm = bounds[True] >= bounds[False]
        said.append(arm)
        sums[arm].append((len(step.committed), step.model_calls))
        masked = [at for at in masked if at not in step.committed]
    return said


@pytest.mark.parametrize("explore", [0.0, 1.0, 4.0])
def test_s2d2_with_a_bandit_verifies_what_has_brought_more_ids_a_call(explore) -> None:
    seen = set()
    for seed in range(20):
        model = Context(seed, sharpness=(0.5, 2.0, 8.0)[seed % 3])
        out = infill(model, [-1] * 16, "s2d2", verify="bandit", explore=explore, temperature=1.0, seed=seed)
        verified = ["drafted" in step.notes for step in out.stats.trace]
        assert verified == ucb(out.stats.trace, explore)
        seen |= {tuple(verified[2:])}
    assert any(all(one) for one in seen if len(one) > 1)
    assert any(not any(one) for one in seen if len(one) > 1)


def test_s2d2_by_the_span_verifies_runs_that_are_long_enough() -> None:
    holes = [-1, 3, -1, -1, 4, -1, -1, -1]
    out = infill(Fixed([{1: 0.5}] * 8), holes, "s2d2", verify="span", least=3)
    first = next(step for step in out.stats.trace if "drafted" in step.notes)
    assert first.notes["drafted"] == 3
    assert first.committed[0] == 5
    known = [at for step in out.stats.trace[: out.stats.trace.index(first)] for at in step.committed]
    assert sorted(known) == [0, 2, 3]  # runs of one and two are the sampler's
