"""Shapes of draft trees, each against what it is said to be better than; none has a node that the grammar forbids."""

import numpy as np
import pytest

import grammarlm as gl
from grammarlm.decoding.speculative.drafters.model import ModelDrafter
from grammarlm.published.trees import best_first as best_first_trees
from tests.decoding.planted import Planted, noise
from tests.decoding.speculative.draft_models import GRAMMARS, STOP, VOCAB, WIDTH, HashModel

torch = pytest.importorskip("torch")

FREE = {"vocab": VOCAB, "max_tokens": 60, "close": False}


class Near:
    """A draft model that knows the target's logits up to noise of its own, more in some places than in others."""

    def __init__(self, target, other):
        self.target, self.other = target, other

    def __call__(self, ids):
        share = torch.where((ids * 2654435761 >> 7) % 3 == 0, 0.3, 0.6)[..., None]
        return 3 * (share * self.target(ids) + (1 - share) * self.other(ids))


class Trees(ModelDrafter):
    """Remembers each tree."""

    def __init__(self, model):
        super().__init__(model)
        self.seen, self.texts = [], {}

    def open(self, growths):
        self.texts |= {growth.row: list(growth.ids) for growth in growths}
        super().open(growths)

    def drawn(self, row, tree, nodes):
        if tree:
            self.seen.append((self.texts[row], tree))


def drafted(tree, count=8, **options):
    """(nodes, tokens that were drawn) of all rounds together, over so many pairs of models."""
    nodes = accepted = 0
    for seed in range(count):
        target = HashModel(seed, 3)
        out = gl.generate(
            target, [5, 6, 7], draft=gl.Draft(Near(target, HashModel(50 + seed, 3)), tree=tree, **options), **FREE
        )
        nodes, accepted = (
            nodes + out.stats.draft_tokens / out.stats.forwards,
            accepted + out.stats.accepted_tokens / out.stats.forwards,
        )
    return nodes / count, accepted / count


class Uneven:
    """Knows a text, but at every sixth place only that the token is one of three."""

    def __init__(self, prompt, text):
        self.prompt, self.text = list(prompt), text
        rng = np.random.default_rng(5)
        self.rivals = {at: rng.choice(np.arange(2, 130), 2, replace=False) for at in range(0, len(text), 6)}

    def __call__(self, ids):
        logits = torch.zeros(*ids.shape, WIDTH)
        for row, said in enumerate(ids.tolist()):
            for end in range(len(self.prompt), min(len(said), len(self.prompt) + len(self.text) - 1) + 1):
                at = end - len(self.prompt)
                if said[len(self.prompt) : end] == self.text[:at]:
                    logits[row, end - 1, self.text[at]] = 12.0
                    logits[row, end - 1, self.rivals.get(at, [])] = 12.1
        return logits


def test_a_tree_that_goes_where_it_is_likely_beats_a_fixed_one(monkeypatch):
    """DySpec: where a draft is sure of some places and not of others, more tokens a round are drawn than of a fixed tree of
    equal size, and than of a chain; where it is everywhere alike, no fewer."""
    size, fixed = drafted("fixed", length=4)
    monkeypatch.setattr(best_first_trees, "NODES", round(size))
    nodes, best_first = drafted("best_first", length=8)
    assert nodes <= size + 0.5
    assert best_first > 0.97 * fixed
    assert best_first > 1.5 * drafted("chain", length=round(size))[1]
    text, prompt, counts = np.random.default_rng(2).permutation(np.arange(130, 257))[:90].tolist(), [5, 6, 7], {}
    model = Planted(noise(WIDTH, deviation=0.3), {tuple(prompt): [*text, STOP]})
    for tree, length in (("fixed", 4), ("best_first", 15), ("chain", 15)):
        out = gl.generate(
            model, prompt, vocab=VOCAB, max_tokens=99, draft=gl.Draft(Uneven(prompt, text), tree=tree, length=length)
        )
        assert out.tokens == text
        counts[tree] = out.stats.forwards
        assert tree != "best_first" or out.stats.draft_tokens <= 15 * out.stats.forwards
    assert counts["best_first"] < 0.75 * min(counts["fixed"], counts["chain"])


TREES, NAMES = ("fixed", "best_first", "distinct"), ("schema", "sql", "regex")


@pytest.mark.parametrize(
    ("tree", "name", "samplings"),
    [
        *((TREES[at], NAMES[(at + more) % 3], (more,)) for at in range(3) for more in range(2)),
        *(pytest.param(tree, name, (0, 1), marks=pytest.mark.proof) for tree in TREES for name in NAMES),
    ],
)
def test_no_node_is_dead(tree, name, samplings):
    """Each node of each tree is replayed by a matcher of its own."""
    for sampling in (({}, {"temperature": 1.0, "seed": 3})[at] for at in samplings):
        drafter, draft = Trees(HashModel(6, 2)), {"tree": tree}
        options = {"vocab": VOCAB, "grammar": GRAMMARS[name], "max_tokens": 40, **sampling}
        gl.generate(HashModel(5, 3), [[5, 6]], draft=gl.Draft(drafter, **draft), **options)
        constraint, count = gl.compile(GRAMMARS[name], VOCAB), 0
        for ids, found in drafter.seen:
            for node in range(len(found)):
                matcher = constraint.matcher(max_tokens=40)
                assert all(matcher.advance(token) for token in [*ids[2:], *found.tokens_to(node)])
                count += 1
        assert count > 30


@pytest.mark.parametrize("count", [6, pytest.param(12, marks=pytest.mark.proof)])
def test_children_without_replacement_accept_more_than_draws_that_repeat(count):
    """RSD: at temperature 1 distinct children with the recursive rule accept more than as many independent ones with ratios,
    and more with each branch."""
    options = {"temperature": 1.0, "seed": 3}

    def rate(rule, tree, width):
        accepted = forwards = drafted = 0
        for seed in range(count):
            target = HashModel(seed, 3)
            draft = gl.Draft(
                Near(target, HashModel(50 + seed, 3)), tree=tree, widths=(width,), length=1, acceptance=rule
            )
            out = gl.generate(target, [5, 6, 7], draft=draft, **FREE, **options)
            accepted, forwards = accepted + out.stats.accepted_tokens, forwards + out.stats.forwards
            drafted += out.stats.draft_tokens
        # Without replacement all children differ (the first draft, beside the prompt, is a chain, and the last place has none).
        assert tree == "fixed" or drafted >= width * (forwards - 2 * count)
        return accepted / forwards

    distinct = [rate("recursive", "distinct", width) for width in (1, 3, 8)]
    independent = [rate("ratio", "fixed", width) for width in (1, 3, 8)]
    together = [rate("kseq", "fixed", width) for width in (1, 3, 8)]
    assert distinct[0] < distinct[1] < distinct[2]
    assert distinct[2] > independent[2]
    assert together[2] > together[0]  # SpecTr: more with each draw
