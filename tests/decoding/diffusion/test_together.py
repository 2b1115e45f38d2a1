"""Rows that are filled side by side: each is what it would be alone, in fewer calls of the model."""

import re

import numpy as np
import pytest
import torch

import grammarlm as gl
from grammarlm.decoding.diffusion import SAMPLERS, denoiser, together
from grammarlm.models.network import Network, Shape
from tests.decoding.diffusion.languages import LANGUAGES
from tests.decoding.diffusion.mock_models import MASK, VOCAB, WIDTH, Context

PROMPTS = [[5], [6, 7], [8], [9, 9, 9], [9, 10], [11]]


class Batches(Context):
    """Remembers how many rows each call had."""

    def __init__(self, seed):
        super().__init__(seed)
        self.rows = []

    def __call__(self, ids):
        self.rows.append(len(ids))
        return super().__call__(ids)


def write(model, prompts, **options):
    return gl.generate(
        model, prompts, vocab=VOCAB, mask_id=MASK, method="diffusion", max_tokens=7, seed=1, temperature=1.0, **options
    )


@pytest.mark.parametrize("constrained", [True, False])
@pytest.mark.parametrize("sampler", SAMPLERS)
def test_each_row_is_what_it_would_be_alone(sampler, constrained) -> None:
    options = {"sampler": sampler, "regex": "[a-e]{2,6}" if constrained else None}
    together_model, alone_model = Batches(3), Batches(3)
    together_ones = write(together_model, PROMPTS, **options)
    alone = [write(alone_model, prompt, **options) for prompt in PROMPTS]
    for have, want in zip(together_ones, alone, strict=True):
        assert (have.tokens, have.text, have.logprobs) == (want.tokens, want.text, want.logprobs)
        assert [step.committed for step in have.stats.trace] == [step.committed for step in want.stats.trace]
        assert have.stats.forwards == want.stats.forwards
    assert together_model.calls < alone_model.calls
    assert sum(together_model.rows) == sum(alone_model.rows)


def test_a_call_has_at_most_so_many_logits(monkeypatch) -> None:
    monkeypatch.setattr(together, "MOST_NUMBERS", 2 * 8 * WIDTH)
    model = Batches(2)
    write(model, [[5]] * 5, sampler="fixed", steps=1, regex="[a-e]{7}")
    assert model.rows == [2, 2, 1]
    assert together.MOST_NUMBERS < WIDTH * 8 * 5
    assert denoiser.Denoiser(model, WIDTH, MASK, [5]).numbers(np.zeros((2, 7))) == together.MOST_NUMBERS


def test_rows_without_known_ids_share_their_first_passes(monkeypatch) -> None:
    """What a canvas says of them hangs on no text; of all other rows each canvas makes its own."""
    constraint = gl.compile(LANGUAGES["pairs"].grammar, LANGUAGES["pairs"].vocab)
    made = []
    canvas = type(constraint).canvas
    monkeypatch.setattr(type(constraint), "canvas", lambda self, *a, **k: made.append(a) or canvas(self, *a, **k))
    language = LANGUAGES["pairs"]
    for seed in range(4):
        out = gl.infill(
            Context(seed, language.width), [-1] * 5, vocab=language.vocab, mask_id=0, grammar=constraint, steps=2
        )
        assert re.fullmatch(language.pattern, out.text)
    assert made == [(5,)]
    gl.infill(Context(1, language.width), [1, -1, -1, -1, -1], vocab=language.vocab, mask_id=0, grammar=constraint)
    assert made == [(5,), (5,)]
    gl.infill(Context(1, language.width), [-1] * 4, vocab=language.vocab, mask_id=0, grammar=constraint)
    assert made == [(5,), (5,), (4,)]


def test_padding_ends_a_text_where_the_model_fills_in_masks() -> None:
    tokenizer = gl.load_tiny()[1]
    torch.manual_seed(1)
    network = Network(Shape(len(tokenizer), hidden=32, layers=1, causal=False)).eval()
    seen = []

    def forward(ids):
        seen.append(ids)
        logits = torch.zeros(*ids.shape, len(tokenizer))
        [letter] = tokenizer.encode("b")
        logits[..., letter] = 5.0
        logits[:, -6:, tokenizer.pad_token_id] = 9.0
        logits[:, -6, tokenizer.eos_token_id] = 12.0
        return logits

    network.forward = forward
    for given in ({}, {"regex": "b+"}):
        out = gl.generate(network, "Ada.\n", tokenizer=tokenizer, max_tokens=8, steps=4, sampler="fixed", **given)
        assert (out.text, out.finish_reason) == ("bb", "stop")
        last = seen[-1][0, -8:].tolist()
        assert last.count(tokenizer.pad_token_id) >= 4  # what the model was trained to see there
        assert last.count(tokenizer.eos_token_id) <= 1
        seen.clear()
