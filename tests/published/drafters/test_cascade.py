"""Draft models that have drafts: tiers of a cascade, trees between, and the smallest model that is sure."""

import functools
import itertools

import numpy as np
import pytest

import grammarlm as gl
from grammarlm.decoding.speculative.drafters.copying import Copy
from grammarlm.decoding.speculative.drafters.model import ModelDrafter
from grammarlm.published.drafters.cascade import Cascade
from grammarlm.published.drafters.nested import Nested
from grammarlm.published.drafters.recycle import Recycle
from tests.decoding.planted import Planted, noise
from tests.decoding.speculative.draft_models import STOP, VOCAB, WIDTH, Agreeing, HashModel

torch = pytest.importorskip("torch")


class Counted:
    """A model that counts its forwards."""

    def __init__(self, model):
        self.model, self.calls = model, 0

    def __call__(self, ids):
        self.calls += 1
        return self.model(ids)


@pytest.mark.parametrize("sampling", [{}, {"temperature": 1.0, "seed": 4}])
def test_a_cascade_drafts_what_its_model_would(sampling):
    """TriForce: however many tiers, the last drafts the same chains as alone, and each is read less, the more are before it."""
    target, prompt = HashModel(5, 3), [5, 6, 7]
    options = {"vocab": VOCAB, "max_tokens": 50, "close": False, **sampling}
    plain = gl.generate(target, prompt, **options)
    counts, figures = [], set()
    for tiers in range(1, 5):
        models = [Counted(Agreeing(HashModel(5, 3), HashModel(seed, 2))) for seed in (9, 8, 7, 6)]
        drafter = functools.reduce(Cascade, map(ModelDrafter, models[-tiers:]))
        out = gl.generate(target, prompt, draft=gl.Draft(drafter, length=8), **options)
        assert out.tokens == plain.tokens
        figures.add((out.stats.forwards, out.stats.draft_tokens, out.stats.accepted_tokens))
        counts.append([model.calls for model in models])
    assert len(figures) == 1
    for tiers, (before, after) in enumerate(itertools.pairwise(counts), 1):
        first = len(before) - tiers  # of the tiers that were there before
        assert after[first + 1 :] == before[first + 1 :]
        assert after[first] < 0.8 * before[first]
        assert before[:first] == [0] * first
        assert after[first - 1] > 10


class SecondChoice:
    """A model whose best token is never the right one, and whose second best is always what another model says."""

    def __init__(self, model):
        self.model = model

    def __call__(self, ids):
        logits = self.model(ids)
        best = logits[..., :WIDTH].argmax(-1, keepdim=True)
        high = logits.amax(-1, keepdim=True) + 1
        return logits.scatter(-1, best.clone().fill_(77), high + 1).scatter(-1, best, high)


def test_a_cascade_shows_the_target_chains_only():
    """SpecMQuant: what the first tier is worth shows in the forwards of the model between; the target reads what that one writes
    by itself. Where the first tier is right by its second choice alone, the model between has to read a tree."""
    target, prompt, trees, calls = HashModel(5, 3), [5, 6, 7], {}, {}
    middle = Agreeing(HashModel(5, 3), HashModel(6, 2))
    firsts = {
        "none": None,
        "wrong": lambda model: Cascade(HashModel(9, 2), model),
        "right": lambda model: Cascade(middle, model),
        "recycled": lambda model: Cascade(Recycle(), model),
        "second": lambda model: Cascade(SecondChoice(middle), model),
        "second, a tree": lambda model: Cascade(SecondChoice(middle), model, widths=(2, 2, 2)),
    }
    for name, first in firsts.items():
        model, trees[name] = Counted(middle), []
        drafter = ModelDrafter(model) if first is None else first(model)
        drafter.drawn = lambda row, tree, nodes, own=trees[name]: own.append((tree.tokens, tree.parents))
        gl.generate(target, prompt, vocab=VOCAB, max_tokens=40, close=False, draft=gl.Draft(drafter, length=6))
        calls[name] = model.calls
    assert all(own == trees["none"] for own in trees.values())
    assert all(parents == list(range(-1, len(parents) - 1)) for own in trees.values() for _, parents in own)
    assert max(len(tokens) for tokens, _ in trees["none"]) == 6
    assert calls["right"] < 0.6 * calls["none"]
    assert min(calls["wrong"], calls["second"]) >= calls["none"]
    assert calls["second, a tree"] == calls["right"]
    with pytest.raises(ValueError, match="needs drafters that go on token by token; Copy finds whole texts"):
        Cascade(Copy(), middle)


def test_the_smallest_model_that_is_sure_drafts():
    """S2D: a small model drafts what it is sure of, the larger one the rest; one Draft serves two targets, each as if alone."""
    prompt, text = [5, 6, 7], np.random.default_rng(40).permutation(np.arange(130, 257))[:50].tolist()
    right = {tuple(prompt): [*text, STOP]}
    small, large = Planted(noise(WIDTH, deviation=0.3), right, share=0.5, seed=2), Planted(noise(WIDTH), right)
    targets = [Planted(noise(WIDTH, seed=seed), right) for seed in (8, 9)]
    draft = gl.Draft(Nested([small, large]), length=5)
    for target in (*targets, targets[0]):
        before = large.forwards
        out = gl.generate(target, prompt, vocab=VOCAB, draft=draft)
        assert out.tokens == text
        assert out.stats.forwards <= 12
        assert large.forwards - before < out.stats.draft_tokens


def test_one_draft_serves_two_targets_at_once():
    """S2D: two batches whose steps alternate, with one Draft: each is as alone."""
    from grammarlm.decoding.generate import start

    targets = [HashModel(5, 3), HashModel(8, 3)]
    draft = gl.Draft(Nested([HashModel(6, 2), Agreeing(targets[0], targets[1])], confidence=0.3), length=5)
    options = {"vocab": VOCAB, "regex": "[a-z]{40}"}
    running = [start(target, [5, 6], draft=draft, **options) for target in targets]
    steps = [iter(each) for each in running]
    while steps:
        steps = [each for each in steps if next(each, None) is not None]
    for each, target in zip(running, targets, strict=True):
        assert each.result().tokens == gl.generate(target, [5, 6], **options).tokens
        assert each.result().stats.accepted_tokens
