"""Planted models: what they lift, what they leave alone, and laws that `generate` reproduces."""

import itertools
import math

import pytest

torch = pytest.importorskip("torch")

import grammarlm as gl  # noqa: E402
from tests.decoding.planted import (  # noqa: E402
    JointLaw,
    Planted,
    noise,
)

WIDTH, STOP = 12, 11
VOCAB = gl.Vocabulary([bytes([97 + i]) for i in range(11)] + [b""], stop_ids=[STOP], special_ids=[STOP])


def written(model, prompt, **options):
    return [int(token) for token in gl.generate(model, prompt, vocab=VOCAB, max_tokens=20, **options).tokens]


def test_noise_depends_on_the_text_alone():
    model = noise(WIDTH, seed=3)
    long, short = model(torch.tensor([[1, 2, 3], [1, 2, 4]])), model(torch.tensor([[1, 2]]))
    assert torch.equal(long[0, :2], short[0])
    assert torch.equal(long[0, :2], long[1, :2])
    assert not torch.equal(long[0, 2], long[1, 2])


def test_a_planted_text_is_written():
    texts = {(0, 1): [5, 4, 3, 5, STOP], (2,): [1, STOP]}
    model = Planted(noise(WIDTH), texts)
    assert written(model, [0, 1]) == [5, 4, 3, 5]
    assert model.forwards == 5
    assert written(Planted(noise(WIDTH), texts), [2]) == [1]


def test_nothing_is_lifted_off_the_text():
    base, model = noise(WIDTH), Planted(noise(WIDTH), {(0,): [5, 4, 3]})
    ids = torch.tensor([[0, 5, 9, 3], [7, 5, 4, 3]])
    lifted = model(ids) - base(ids)
    assert lifted.nonzero().tolist() == [[0, 0, 5], [0, 1, 4]]


def test_a_share_is_right_in_so_many_tokens():
    text = [at % 11 for at in range(400)]
    model, base = Planted(noise(WIDTH), {(0,): text}, share=0.7, seed=1), noise(WIDTH)
    ids = torch.tensor([[0, *text[:-1]]])
    right = int(((model(ids) - base(ids)) > 0).sum())
    assert 250 < right < 310
    assert torch.equal(model(ids), Planted(noise(WIDTH), {(0,): text}, share=0.7, seed=1)(ids))


LAW = {(1, 2): 0.5, (1, 3): 0.2, (4, 2): 0.3}


def test_a_joint_law_multiplies_to_itself():
    model = JointLaw(LAW, WIDTH, prompt=[0])
    for text, mass in LAW.items():
        logs = model(torch.tensor([[0, *text]]))[0].double().log_softmax(-1)
        assert math.isclose(math.exp(sum(logs[at, token] for at, token in enumerate(text))), mass, rel_tol=1e-6)


def test_on_a_canvas_it_gives_the_law_of_each_position():
    mask = STOP
    model = JointLaw(LAW, WIDTH, mask_id=mask)
    for known in itertools.product((mask, 1, 4), (mask, 2, 3)):
        fits = {
            text: mass for text, mass in LAW.items() if all(a in (b, mask) for a, b in zip(known, text, strict=True))
        }
        given = model(torch.tensor([known]))[0].double().softmax(-1)
        for at, token in itertools.product(range(2), range(WIDTH)):
            expected = sum(mass for text, mass in fits.items() if text[at] == token) / (sum(fits.values()) or 1)
            assert math.isclose(given[at, token], expected if fits else 1 / WIDTH, abs_tol=1e-6)
