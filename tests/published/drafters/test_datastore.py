"""REST and RASD: texts that are given beforehand, alone, in a list beside a model, and pruned by what a model finds probable."""

import numpy as np
import pytest

import grammarlm as gl
from grammarlm.decoding.speculative.draft_builder import NODES
from grammarlm.decoding.speculative.drafters.drafter import RunDrafter
from grammarlm.decoding.speculative.drafters.model import ModelDrafter
from grammarlm.published.drafters.datastore import Datastore, Fused
from tests.decoding.planted import Planted, noise
from tests.decoding.speculative.draft_models import STOP, VOCAB, WIDTH, Agreeing, HashModel
from tests.decoding.speculative.equal_answers import same_answers

torch = pytest.importorskip("torch")

PROMPT = [5, 6, 7]
TEXT = np.random.default_rng(30).permutation(np.arange(130, 257))[:60].tolist()
RIGHT = {tuple(PROMPT): [*TEXT, STOP]}


def right():
    return Planted(noise(WIDTH), RIGHT)


def half_right():
    return Planted(noise(WIDTH, seed=4), RIGHT, share=0.5)


def trees_of(drafter, **options):
    """The trees that are drafted for the planted text, as pairs of tokens and parents, and how many forwards there were."""
    trees = []
    drafter.drawn = lambda row, tree, nodes: (trees.append(tree), type(drafter).drawn(drafter, row, tree, nodes))[1]
    out = gl.generate(right(), PROMPT, vocab=VOCAB, draft=gl.Draft(drafter, **options))
    assert out.tokens == TEXT
    return trees, out.stats.forwards


def test_a_datastore_is_looked_up_beside_a_model():
    """RASD: retrieval and a draft model in one tree; equal nodes are one, and the tree keeps its size."""
    store = Datastore([TEXT[:40]])
    out = gl.generate(right(), PROMPT, vocab=VOCAB, draft=gl.Draft([store, half_right()], tree="fixed"))
    assert out.tokens == TEXT
    trees, alone = trees_of(Datastore([TEXT[:40]]))
    assert out.stats.forwards < alone < len(TEXT) * 0.6
    trees, fused = trees_of(Fused(Datastore([TEXT[:40]]), half_right(), least=0.0), tree="fixed")
    assert fused < alone
    pairs = [list(zip(tree.tokens, tree.parents, strict=True)) for tree in trees]
    assert all(len(set(each)) == len(each) <= NODES for each in pairs)


class Found(RunDrafter):
    """Finds the right continuation, and one that begins with another token and then goes on as the text does."""

    def runs(self, growth, length, count):
        at = len(growth.ids) - len(PROMPT)
        return [[100, *TEXT[at + 1 : at + length]], TEXT[at : at + length]] if 0 <= at < len(TEXT) else []


def is_of_text(run):
    return any(TEXT[at : at + len(run)] == run for at in range(len(TEXT)))


@pytest.mark.parametrize("tree", ["fixed", "best_first", "chain"])
def test_branches_that_the_model_finds_improbable_are_pruned(tree):
    """RASD: the first token of a branch decides, by the draft model's probability; what it finds probable stays."""
    for least in (0.0, 0.05):
        trees, forwards = trees_of(Fused(Found(), half_right(), least), tree=tree, length=6)
        runs = [own.tokens_to(leaf) for own in trees for leaf in own.leaves]
        if tree == "chain":
            assert all(own.is_chain for own in trees)
            continue
        assert any(run[0] == 100 and is_of_text(run[1:]) for run in runs if len(run) > 3) == (least == 0.0)
        assert forwards < trees_of(ModelDrafter(half_right()), tree=tree, length=6)[1]


def test_fused_drafts_change_nothing():
    """RASD: EQ, over grammars, samplings and trees."""
    target = HashModel(5, 3)
    text = gl.generate(target, [5, 6], vocab=VOCAB, max_tokens=30, close=False).tokens
    make = lambda tree: gl.Draft(Fused(Datastore([text]), Agreeing(target, HashModel(6, 2))), tree=tree)  # noqa: E731
    drafted, accepted = same_answers(target, make, 8)
    assert drafted > accepted > 20
    with pytest.raises(ValueError, match="least=2; it takes a number, from 0 to 1"):
        Fused(Datastore([text]), target, least=2)
