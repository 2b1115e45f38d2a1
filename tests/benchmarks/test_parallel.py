"""`python -m benchmarks.samplers --parts parallel`: exact figures, checked where they can be worked out by hand."""

import math

import numpy as np
import pytest
import torch

from benchmarks.samplers import parallel
from benchmarks.samplers.laws import MASK, TASKS, Model


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
