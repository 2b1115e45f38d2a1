"""Searches that stay on the device equal a plain one over a dictionary trie."""

import numpy as np
import pytest
import torch

import grammarlm as gl
from tests.counts import tiers
from tests.laws.item_models import Model, random_history, random_rows
from tests.oracles.plain_beams import plain_beams

pytest.importorskip("triton")


class TensorModel(Model):
    """The same with tensors, which reads whatever it is told, ended beams too."""

    def step_tensors(self, tokens: torch.Tensor | None, parents: torch.Tensor) -> torch.Tensor:
        logits = self.step(None if tokens is None else tokens.tolist(), parents.tolist())
        return torch.from_numpy(logits).to(parents.device)


def compare(seed: int, device: torch.device) -> None:
    rng = np.random.default_rng(seed)
    width = int(rng.integers(4, 12))
    stop = 0 if rng.random() < 0.3 else None
    items, live = random_history(rng, random_rows(rng, width, 0 if stop is None else 1))
    searches, beams = int(rng.integers(1, 3)), int(rng.choice([1, 2, 3, 5, 20]))
    normalise = str(rng.choice(["full", "allowed"]))
    flags = rng.random(items.count) < 0.5 if rng.random() < 0.4 else None
    model = TensorModel(seed, width, searches)
    on_device = gl.DeviceItems(items, device, subset=flags)
    found = on_device.search(model.step_tensors, beams, stop, batch=searches, normalise=normalise)
    assert found.items.shape == found.scores.shape == (searches, beams)
    first: dict = {}
    for row in sorted(live):
        if flags is None or flags[row]:
            first.setdefault(live[row], row)
    for search, result in enumerate(found.results()):
        want = plain_beams(lambda prefix, s=search: model.logits(s, prefix), first, beams, stop, normalise)
        assert result.tokens == [item for _, item in want], f"seed {seed}, search {search}"
        np.testing.assert_allclose(result.scores, [score for score, _ in want], atol=1e-4)
        assert result.items == [first[item] for _, item in want]
        assert result.valid.tolist() == [True] * len(want) + [False] * (beams - len(want))


@tiers("first, count", (0, 2), (1000, 150))
def test_random_sets(first: int, count: int, device: torch.device) -> None:
    for seed in range(first, first + count):
        compare(seed, device)


@pytest.mark.parametrize(
    ("logits", "message"),
    [(lambda n: torch.zeros(n, 2), "2 wide, and 2 is a token"), (lambda n: torch.zeros(n + 1, 3), r"\[2, 3\] for 1")],
)
def test_logits_of_another_shape(logits, message: str, device: torch.device) -> None:
    with pytest.raises(ValueError, match=message):
        gl.DeviceItems([[2, 1]], device).search(lambda tokens, parents: logits(len(parents)).to(device))
