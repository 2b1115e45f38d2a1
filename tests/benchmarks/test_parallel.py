"""`python -m benchmarks.samplers --parts parallel`: exact figures, checked where they can be worked out by hand."""

import math

import numpy as np
import pytest
import torch

from benchmarks.samplers import parallel
from benchmarks.samplers.exact import measure
from benchmarks.samplers.laws import MASK, TASKS, Model
from grammarlm.decoding.systems import SAMPLERS

CHANGE_THE_LAW = ("credit", "history")  # their ids come from other distributions than the model's, by definition


@pytest.mark.parametrize("name", TASKS)
def test_the_models_of_the_tasks_know_their_laws(name) -> None:
    """The chain rule from left to right gives each row its probability."""
    task = TASKS[name]
    model = Model(task)
    assert math.isclose(sum(task.rows.values()), 1)
    for row, p in task.rows.items():
        log_p, known = 0.0, [MASK] * task.length
        for at, token in enumerate(row):
            log_p += float(model(torch.tensor([known]))[0, at, token])
            known[at] = token
        assert math.isclose(math.exp(log_p), p, rel_tol=1e-9)
    texts = {"".join(task.words[token - 1] for token in row) for row in task.rows}
    assert len(texts) == len(task.rows)
    assert texts == {"".join(row) for row in task.law}


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_nothing_is_invalid_and_one_token_a_step_has_the_law(sampler) -> None:
    for name in ("replace", "record"):
        length = TASKS[name].length
        for steps in (length, 2, 1):
            held = measure(name, sampler, steps, constrained=True)
            assert held.invalid == 0
            if abs(held.tokens_a_step - 1) < 1e-9 and sampler not in CHANGE_THE_LAW:
                assert held.total_variation < 1e-6
    assert measure("replace", "fixed", 4, constrained=True).tokens_a_step == pytest.approx(1)


def test_everything_at_once_is_the_product_of_the_marginals() -> None:
    free = measure("replace", "fixed", 1, constrained=False)
    one_row = 0.25 * 0.75**3
    assert free.invalid == pytest.approx(1 - 4 * one_row)
    assert free.total_variation == pytest.approx(1 - 4 * one_row)
    assert (free.tokens_a_step, free.calls) == (pytest.approx(4), pytest.approx(1))
    assert measure("independent", "fixed", 1, constrained=False).total_variation == pytest.approx(0, abs=1e-9)
    assert measure("shuffle", "fixed", 1, constrained=False).invalid == pytest.approx(1 - 24 / 256, abs=1e-6)


def test_verification_keeps_the_law_with_several_tokens_a_step() -> None:
    for constrained in (True, False):
        found = measure("sort", "s2d2", 4, constrained=constrained)
        assert found.total_variation < 1e-6
        assert found.tokens_a_step > 2


def test_figures_a_report_and_a_picture(tmp_path) -> None:
    pytest.importorskip("matplotlib")
    tasks, samplers = ["independent", "replace"], ["fixed", "s2d2"]
    curves = parallel.measured(tasks, samplers)
    assert "## replace: a list of four with one item replaced" in parallel.report_of(curves, tasks, samplers)
    parallel.draw(tmp_path / "parallel.png", curves, tasks, samplers)
    assert (tmp_path / "parallel.png").stat().st_size > 10_000
    figures = parallel.as_json(curves)
    assert len(figures) == 8
    assert all(one["invalid"] == 0 for row in figures if row["constrained"] for one in row["figures"])
    assert np.mean([one["invalid"] for row in figures if not row["constrained"] for one in row["figures"]]) > 0.05
