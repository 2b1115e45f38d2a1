"""Every sampler against ten lines of plain Python: which positions at which step, which ids, how many calls of the model."""

import math

import numpy as np
import pytest

from tests.decoding.diffusion import references
from tests.decoding.diffusion.mock_models import Context, infill, random_holes, steps_of

SAMPLERS = {
    "fixed": [{}],
    "confidence": [{}, {"tau": 0.5}, {"tau": math.inf}],
    "entropy": [{}, {"tau": 1.5}],
    "sched": [{}, {"tau": 3.0, "floor": 1.0}],
    "prophet": [{}, {"gaps": (3.0, 2.0, 1.0)}],
    "credit": [{}, {"alpha": 2.0, "beta": 0.9, "gamma": 1.0, "tau": 0.6}],
    "policy": [{}, {"policy": lambda confidences: confidences > 0.4}],
    "history": [{}, {"window": 2, "tau": 0.5}, {"window": 5}],
    "leap": [{}, {"tau": 0.8, "relaxed": 0.4, "w": 2}],
    "explore": [{}, {"tau": 0.6, "bits": 4.0, "count": 2}],
    "adablock": [{"block": 3}, {"block": 5, "tau": 0.6, "delimiters": "aeiou", "window": 0.5}],
    "bounded": [{"block": 4}, {"block": 6, "lo": 0.2, "hi": 0.6}],
    "regions": [{}, {"tau": 0.5}],
}
CASES = [(name, number) for name, all_options in SAMPLERS.items() for number in range(len(all_options))]


@pytest.mark.parametrize("seeds", [4, pytest.param(8, marks=pytest.mark.proof)])
@pytest.mark.parametrize("sharpness", [1.0, 3.0, 8.0, 12.0, 20.0])
@pytest.mark.parametrize(("name", "number"), CASES)
def test_the_trace_is_that_of_the_reference(name, number, sharpness, seeds) -> None:
    options = SAMPLERS[name][number]
    for seed in range(seeds):
        random = np.random.default_rng(seed)
        holes = random_holes(random, int(random.integers(4, 13)))
        steps = None if seed % 2 else int(random.integers(1, len(holes) + 1))
        model = Context(seed, sharpness=sharpness)
        out = infill(model, holes, name, steps=steps, **options)
        trace, row, calls = references.run(
            Context(seed, sharpness=sharpness), holes, getattr(references, name), steps, **options
        )
        assert steps_of(out) == trace, f"{name} {options}, seed {seed}, steps {steps}, {holes}"
        assert out.tokens == row
        assert model.calls == calls == sum(step.model_calls for step in out.stats.trace)
        assert [step.model_calls for step in out.stats.trace] == [1] * calls


def test_the_references_differ() -> None:
    """Else one sampler could stand in for another."""
    found = {}
    for name, number in CASES:
        traces = []
        for seed in range(40):
            holes = random_holes(np.random.default_rng(seed), 12)
            model = Context(seed, sharpness=(1.0, 3.0, 8.0, 12.0, 20.0)[seed % 5])
            traces.append(references.run(model, holes, getattr(references, name), None, **SAMPLERS[name][number])[0])
        found[name, number] = str(traces)
    same = {("policy", 0): ("confidence", 0), ("confidence", 2): ("fixed", 0)}
    for case, trace in found.items():
        others = [other for other, its in found.items() if its == trace and other != case]
        assert set(others) <= {same.get(case), *(a for a, b in same.items() if b == case)}, (case, others)
