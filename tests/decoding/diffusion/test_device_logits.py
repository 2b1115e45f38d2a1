"""Logits that stay on a device: what is read of them, and what samplers write. Tensors of the CPU stand for those of a GPU."""

import re

import numpy as np
import pytest
import torch

import grammarlm as gl
from grammarlm.decoding.diffusion import SAMPLERS, denoiser
from grammarlm.decoding.diffusion.device_logits import DeviceLogits, DeviceReading
from grammarlm.decoding.diffusion.look import Look
from grammarlm.decoding.diffusion.run import Without
from grammarlm.masks.token_facts import pack_ids
from tests.decoding.diffusion.languages import LANGUAGES
from tests.decoding.diffusion.mock_models import VOCAB, WIDTH, Adversary, Context


class Some:
    """Ids of each position."""

    def __init__(self, ids: list[list[int]]):
        self._rows = [pack_ids(one, (WIDTH + 31) // 32) for one in ids]

    def row(self, position: int) -> np.ndarray:
        return self._rows[position]

    def test(self, position: int, ids) -> np.ndarray:
        raise NotImplementedError


def looks(logits: torch.Tensor, ids: list[list[int]]) -> tuple[Look, Look]:
    """The same on the host and on a device."""
    table = DeviceLogits(logits, WIDTH)
    positions = np.arange(len(ids))
    facts = {
        "positions": positions,
        "allowed": Some(ids),
        "step": 0,
        "steps": 1,
        "share": 1,
        "row": positions - 9,
        "vocab": VOCAB,
    }
    return Look(table=np.asarray(table), **facts), Look(table=table, **facts)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64])
@pytest.mark.parametrize("missing", [0, 3])
def test_readings_are_equal(dtype, missing) -> None:
    random = np.random.default_rng(1)
    ids = [sorted(random.choice(WIDTH - missing, random.integers(1, 9), replace=False).tolist()) for _ in range(150)]
    logits = torch.from_numpy(4 * random.standard_normal((150, WIDTH - missing))).to(dtype)
    logits[7, ids[7]], logits[8, ids[8]] = 1.5, -torch.inf  # all equal; none possible
    host, device = looks(logits, ids)
    assert isinstance(device.reading, DeviceReading)
    assert not isinstance(host.reading, DeviceReading)
    assert device.reading.best.tolist() == host.reading.best.tolist()
    assert device.reading.best[7] == ids[7][0]
    for what in ("confidence", "margin", "entropy"):
        np.testing.assert_allclose(getattr(device.reading, what), getattr(host.reading, what), rtol=1e-5, atol=1e-6)
    for index, own in enumerate(ids):
        assert device.reading.values(index).tolist() == host.reading.values(index).tolist()
        assert device.reading.log_p(index, own[-1]) == pytest.approx(host.reading.log_p(index, own[-1]), abs=1e-5)


def test_rows_are_copied_as_asked() -> None:
    table = DeviceLogits(torch.arange(12.0).reshape(3, 4), 6)
    whole = np.asarray(table)
    assert whole.dtype == np.float32
    assert (whole[:, 4:] == -np.inf).all()
    for index in (1, slice(1, 3), [2, 0], np.array([1]), (slice(None), 3), (slice(None), [0, 5])):
        np.testing.assert_array_equal(table[index], whole[index])
    assert [table.at(1, 2), table.at(1, 5)] == [6, -np.inf]


@pytest.mark.parametrize("temperature", [0.0, 1.0])
@pytest.mark.parametrize("sampler", SAMPLERS)
def test_samplers_write_the_same(sampler, temperature, monkeypatch) -> None:
    for number, language in enumerate(LANGUAGES.values()):
        holes = language.holes(np.random.default_rng(number), 0.7)
        options = {"sampler": sampler, "temperature": temperature, "seed": number, "steps": (None, 2)[number % 2]}
        outs = []
        for on_device in (False, True):
            monkeypatch.setattr(denoiser, "is_on_device", lambda _, found=on_device: found)
            outs.append(language.infill(Context(number, language.width), holes, **options))
        host, device = outs
        assert device.tokens == host.tokens
        assert [step.committed for step in device.stats.trace] == [step.committed for step in host.stats.trace]


def test_holes_that_shrink(monkeypatch) -> None:
    monkeypatch.setattr(denoiser, "is_on_device", lambda _: True)
    _, tokenizer = gl.load_tiny()
    vocab = gl.Vocabulary.from_tokenizer(tokenizer)
    model, mask = Adversary(vocab.size, vocab.stop_ids, 0), min(vocab.special_ids)
    out = gl.infill(model, ["a, ", gl.Hole(most=3), "!"], tokenizer=tokenizer, mask_id=mask, regex="a, [b-d]{0,3}!")
    assert re.fullmatch("a, [b-d]{0,3}!", out.text)


@pytest.mark.parametrize("wrong", [float("nan"), float("inf")])
def test_wrong_logits_are_named(wrong, monkeypatch) -> None:
    monkeypatch.setattr(denoiser, "is_on_device", lambda _: True)

    def model(ids):
        return torch.full((*ids.shape, WIDTH), wrong)

    with pytest.raises(ValueError, match="NaN or inf"):
        gl.infill(model, [-1, -1], vocab=VOCAB, mask_id=0, regex="[ab]{2}")


def test_ids_that_were_refused_are_out() -> None:
    ids = [[1, 2, 5]]
    assert Without(Some(ids), [2]).row(0).tolist() == pack_ids([1, 5], 1).tolist()
