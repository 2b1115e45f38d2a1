"""Samplers that leave their schedule early: SchED, Prophet."""

import json
import math

import numpy as np
import pytest
import torch

import grammarlm as gl
from tests.decoding.diffusion.languages import LANGUAGES
from tests.decoding.diffusion.mock_models import Context
from tests.decoding.diffusion.sampled import SEEDS, Table, best_row, same


def test_sched_never_leaves_its_schedule_at_an_infinite_threshold() -> None:
    same("sched", {"tau": math.inf}, "fixed")


@pytest.mark.parametrize("name", LANGUAGES)
def test_sched_leaves_by_the_best_row_of_the_language(name) -> None:
    language = LANGUAGES[name]
    for seed in SEEDS:
        holes = language.holes(np.random.default_rng(seed))
        model = Context(seed, language.width)
        out = language.infill(model, holes, sampler="sched", tau=-1.0, floor=-1.0)
        logits = Context(seed, language.width).row([max(token, 0) for token in holes])
        assert out.tokens == best_row(language, holes, logits)
        assert model.calls == len(out.stats.trace) == 1


def test_prophet_takes_the_plain_argmax_where_it_is_in_the_language() -> None:
    language, counts = LANGUAGES["words"], {True: 0, False: 0}
    for seed in range(40):
        logits = np.random.default_rng(seed).standard_normal((language.length, language.width)) * 4
        logits[:, 0] = -30
        if seed % 2:
            logits[np.arange(language.length), language.rows[seed % len(language.rows)]] += 9
        out = language.infill(Table(logits), sampler="prophet", gaps=(-1, -1, -1))
        plain = logits.argmax(1)
        is_in = bool((language.rows == plain).all(1).any())
        counts[is_in] += 1
        assert out.tokens == (plain.tolist() if is_in else best_row(language, [-1] * language.length, logits))
    assert min(counts.values()) >= 3


def test_a_long_row_is_drawn_at_once() -> None:
    """At a temperature the joint draw is that of a canvas's samples, which needs no value of every place of the row."""
    tokens = [*(bytes([byte]) for byte in range(256)), b"<m>", b"</s>"]
    vocab, length = gl.Vocabulary(tokens, stop_ids=[257], special_ids=[256, 257]), 128
    table = torch.from_numpy(np.random.default_rng(0).standard_normal((1, length, 258)).astype(np.float32) * 2)
    options = {"sampler": "sched", "tau": -1.0, "floor": -1.0, "temperature": 1.0, "seed": 1}
    out = gl.infill(lambda ids: table, [-1] * length, vocab=vocab, mask_id=256, schema={}, **options)
    json.loads(out.text)
    assert len(out.stats.trace) == 1
