"""A canvas whose logits are on a GPU: the fills and samples of one whose logits are on the host."""

import numpy as np
import pytest
import torch

import grammarlm as gl
from grammarlm.masks.canvas import device_scores
from grammarlm.masks.canvas.device_scores import DeviceScores, scores_of
from grammarlm.masks.canvas.scores import Scores, SoftmaxDraw
from tests.kernels.canvas_classes import some_classes

pytest.importorskip("triton", reason="Triton is not installed: pip install grammarlm[gpu]")
PATTERN = r'\{"n": [1-9][0-9]*, "s": "[^"]*"\}'


@pytest.fixture
def there(device, monkeypatch):  # type: ignore[no-untyped-def]
    """Puts an array where the kernels run; tensors of the CPU are taken for those of a GPU where Triton interprets."""
    if device.type == "cpu":
        monkeypatch.setattr(device_scores, "is_on_device", lambda logits: isinstance(logits, torch.Tensor))
    return lambda array: torch.from_numpy(array).to(device)


def some_logits(rng, length, size):  # type: ignore[no-untyped-def]
    logits = np.round(rng.standard_normal((length, size)) * 4).astype(np.float32) / 2  # with ties
    logits[rng.random(logits.shape) < 0.2] = -np.inf
    return logits


def test_scores(there):
    classes, rng = some_classes(3000, 1), np.random.default_rng(1)
    logits, row = some_logits(rng, 4, 3007), np.array([-1, 5, -1, -1])
    assert isinstance(scores_of(classes, there(logits), row), DeviceScores)
    host, device = Scores(classes, logits, row), DeviceScores(classes, there(logits), row)
    assert device.highest.tobytes() == host.highest.tobytes()
    assert device.maxima.tobytes() == host.maxima.tobytes()
    np.testing.assert_allclose(device.log_sums, host.log_sums, atol=4e-6)
    for kind in np.flatnonzero(classes.sizes).tolist():
        chosen = np.full(4, kind)
        assert device.tokens(chosen, None) == host.tokens(chosen, None)
        seen = [[], []]
        for scores, logs in zip((host, device), seen, strict=True):
            scores.tokens(chosen, lambda values, logs=logs: logs.append(values.tolist()) or 0)
        assert seen[0] == seen[1]
        if np.isfinite(host.highest[[0, 2, 3], kind]).all():
            draws = [SoftmaxDraw(np.random.default_rng(kind)) for _ in range(2)]
            assert device.tokens(chosen, draws[0]) == host.tokens(chosen, draws[1])


def test_only_masked_positions_are_looked_at(there):
    classes = some_classes(64, 2)
    logits = np.zeros((3, 64), np.float32)
    logits[1] = np.nan
    assert DeviceScores(classes, there(logits), np.array([-1, 3, -1])).highest.shape == (3, classes.count)
    for value in (np.nan, np.inf):
        logits[2, 9] = value
        with pytest.raises(ValueError, match="NaN or \\+inf at the masked position 2"):
            DeviceScores(classes, there(logits), np.array([-1, 3, -1])).maxima  # noqa: B018
    logits[2, 9] = -np.inf
    assert np.isfinite(DeviceScores(classes, there(logits), np.array([-1, 3, -1])).maxima[:, classes.sizes > 0]).all()
    assert not DeviceScores(classes, there(logits), np.array([1, 3, 4])).highest.any()


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64], ids=str)
def test_canvas(dtype, there):
    vocab = gl.Vocabulary([bytes([i]) for i in range(256)] + [b'{"n"', b'": ', b'", "', b"12", b"</s>"], stop_ids=[260])
    canvas = gl.compile(gl.Regex(PATTERN), vocab).canvas(16)
    row = [-1] * 16
    row[2] = ord("n")
    rng = np.random.default_rng(3)
    logits = torch.from_numpy(rng.standard_normal((16, 261)) * 3).to(dtype)
    host = logits.float().numpy()
    device = there(host).to(dtype)
    assert canvas.fill(row, device) == canvas.fill(row, host)
    assert canvas.sample(row, device, seed=4) == canvas.sample(row, host, seed=4)
    with pytest.raises(ValueError, match=r"\[16x260\]; this canvas takes numbers \[16, 261\]"):
        canvas.fill(row, device[:, :260])


def test_without_the_kernels_logits_are_copied(monkeypatch):
    class OnDevice:
        is_cuda = True

    assert device_scores.is_on_device(OnDevice())
    assert not device_scores.is_on_device(np.zeros(3))
    assert not device_scores.is_on_device(torch.zeros(3))
    monkeypatch.setattr(device_scores, "ON_DEVICE", "grammarlm.kernels.there_is_no_such_module")
    assert not device_scores.is_on_device(OnDevice())
