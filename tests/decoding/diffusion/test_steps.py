"""`steps=` is a bound: no sampler, driver or block takes more, whatever the model likes and the constraint refuses."""

import re

import numpy as np
import pytest

import grammarlm as gl
from grammarlm.decoding.diffusion import SAMPLERS
from grammarlm.decoding.systems import DRIVERS
from tests.decoding.diffusion.languages import LANGUAGES
from tests.decoding.diffusion.mock_models import STOP, Adversary, Context, Fixed, infill, random_holes

OPTIONS = [
    *[(name, {}) for name in SAMPLERS],
    *[(name, {"block": block}) for name in (*DRIVERS, "adablock", "bounded", "fixed") for block in (1, 3)],
    *[("s2d2", {"verify": verify, "block": block}) for verify in ("always", "never", "bandit") for block in (None, 2)],
    *[(name, {"window": 1}) for name in ("window", "stream")],
    *[("blocks", {"block": 4, "sub": sub}) for sub in (1, 3)],
    ("regions", {"regions": [(0, 1), (4, 5)]}),
    ("policy", {"policy": lambda confidences: np.zeros(len(confidences))}),
]


@pytest.mark.parametrize(("name", "options"), OPTIONS)
def test_no_sampler_takes_more_steps_than_it_may(name, options) -> None:
    language = LANGUAGES["pairs"]
    for seed in range(6):
        random = np.random.default_rng(seed)
        holes = random_holes(random)
        steps = int(random.integers(1, 6))
        drawn = {"temperature": float(seed % 2), "seed": seed, "steps": steps}
        out = infill(Context(seed), holes, name, **drawn, **options)
        assert len(out.stats.trace) <= steps
        assert sorted(at for step in out.stats.trace for at in step.committed) == [
            at for at, token in enumerate(holes) if token < 0
        ]
        model = Adversary(language.width, [language.width - 1], seed)
        out = language.infill(model, sampler=name, **drawn, **options)
        assert len(out.stats.trace) <= steps
        assert re.fullmatch(language.pattern, out.text)


@pytest.mark.parametrize("steps", [1, 2, 3])
def test_an_end_takes_no_step_of_its_own(steps) -> None:
    """The model is sure that the text ends at once, and it may not before its sixth token: first the end is committed."""
    vocab = gl.Vocabulary([b"<mask>", *(bytes([97 + i]) for i in range(20)), b"</s>"], [STOP], [0, STOP])
    model = Fixed([{STOP: 0.99}] * 8)
    out = gl.infill(model, [-1] * 8, vocab=vocab, mask_id=0, regex="[a-t]{6,}", sampler="policy", steps=steps)
    assert len(out.stats.trace) == steps
    assert out.stats.trace[0].committed[:2] == [6, 7]
    assert len(out.text) == 6


def test_a_sampler_of_ones_own_keeps_to_the_steps() -> None:
    out = infill(Context(1), [-1] * 9, lambda look: look.choose(look.by(look.positions), 1, least=1), steps=3)
    assert [len(step.committed) for step in out.stats.trace] == [3, 3, 3]
    assert [step.committed[0] for step in out.stats.trace] == sorted(step.committed[0] for step in out.stats.trace)


@pytest.mark.parametrize("block", [1, 2, 3, 5, 64])
def test_blocks_share_the_steps(block) -> None:
    """As many steps as masked positions are one a position; fewer steps than blocks fill in neighbours together."""
    for steps in (1, 2, 3, 4, 7, 9):
        out = infill(Fixed([{1: 0.3}] * 9), [-1] * 9, "fixed", steps=steps, block=block)
        assert len(out.stats.trace) <= steps
        ends = [max(step.committed) // block for step in out.stats.trace]
        assert ends == sorted(ends)
        assert steps < 9 or all(len(step.committed) == 1 for step in out.stats.trace)


def test_an_autoregressive_model_needs_a_step_a_token() -> None:
    model, tokenizer = gl.load_tiny()
    with pytest.raises(
        ValueError, match=r"steps=2 for 3 missing tokens: an autoregressive model .* give 3 steps or more"
    ):
        gl.infill(model, ["a", gl.Hole(3)], tokenizer=tokenizer, steps=2)
    assert len(gl.infill(model, ["a", gl.Hole(3)], tokenizer=tokenizer, steps=3).stats.trace) == 3
