"""Token Recycling: candidates that the grammar allowed, in a tree of 80 nodes, whose slots are filled by what may come."""

import numpy as np
import pytest

import grammarlm as gl
from grammarlm.decoding.speculative.drafters.drafter import Candidates, NodeDrafter
from grammarlm.published.drafters.recycle import RECYCLED, Recycle
from tests.decoding.planted import Planted
from tests.decoding.speculative.draft_models import STOP, VOCAB, WIDTH, HashModel
from tests.rounding import embedded_model
from training.corpus import constraint, example

torch = pytest.importorskip("torch")

LETTERS = range(99, 125)  # the ids of a to z


def forbidden_first(after):
    """Finds ten ids best that are no letters, then those of `after[id]`."""

    def logits(ids):
        found = torch.zeros(*ids.shape, WIDTH)
        found[..., 140:150] = 90.0
        for token, others in after.items():
            found[..., others] += 11.0 * (ids == token)[..., None]
        return found

    return logits


def test_what_the_grammar_forbids_takes_no_place_in_the_table():
    """PLANTED: the model's best ids are never allowed, and the allowed ones recur: a walk over edges that its logits show."""
    rng = np.random.default_rng(6)
    nodes = rng.permutation(LETTERS)[:12].tolist()
    after = {a: rng.permutation([b for b in nodes if b != a])[:4].tolist() for a in nodes}
    walk, left = [nodes[0]], {}
    while len(walk) < 70:
        left[walk[-1]] = rng.choice([b for b in after[walk[-1]] if b != left.get(walk[-1])]).item()
        walk.append(left[walk[-1]])
    model = Planted(forbidden_first(after), {(5, 6): [*walk, STOP]})
    options = {"vocab": VOCAB, "grammar": gl.Regex("[a-z]*"), "max_tokens": 90}
    out = gl.generate(model, [5, 6], draft=gl.Draft("recycle", tree="fixed"), **options)
    assert out.tokens == walk
    assert out.stats.accepted_tokens > 0.4 * out.stats.forwards


class Ranked(NodeDrafter):
    """Always the same candidates, of which the first is no letter."""

    def after(self, asked, width):
        return [Candidates([140, 100, 141, 101], [0.0, -1.0, -2.0, -3.0]) for _ in asked]


def test_slots_of_a_tree_are_filled_by_what_may_come():
    """Ranks are counted among the candidates that the grammar allows at a node."""
    drafter, trees = Ranked(), []
    drafter.drawn = lambda row, tree, nodes: trees.append(tree)
    draft = gl.Draft(drafter, tree=[(0,), (1,), (1, 0), (2,)])
    gl.generate(HashModel(5, 3), [5, 6], vocab=VOCAB, regex="[a-z]{20}", draft=draft)
    found = {(tuple(tree.tokens), tuple(tree.parents)) for tree in trees if len(tree.tokens) > 1}
    assert ((100, 101, 100), (-1, -1, 1)) in found


def test_a_tree_may_have_as_many_nodes_as_it_names():
    """Its own has 80; trees that name none have 24."""
    assert len(RECYCLED) == len(set(RECYCLED)) == 80
    drafter, sizes = Recycle(), []
    drafter.drawn = lambda row, tree, nodes: sizes.append(len(tree))
    draft = gl.Draft(drafter, tree=RECYCLED)
    gl.generate(HashModel(5, 1), [5, 6], vocab=VOCAB, max_tokens=200, close=False, draft=draft)
    assert 60 < max(sizes) <= 80


def test_the_words_of_a_prompt_are_not_recycled():
    """They are no output of the model: to copy them is what "copy" is for."""
    text = np.random.default_rng(3).permutation(LETTERS)[:20].tolist()
    prompt = [*text, 5, 6]
    model = Planted(forbidden_first({}), {tuple(prompt): [*text, STOP]})
    for drafter, least, most in (("recycle", 0.8, 1.1), ("copy", 0.0, 0.5)):
        out = gl.generate(model, prompt, draft=gl.Draft(drafter), vocab=VOCAB, regex="[a-z]*", max_tokens=30)
        assert out.tokens == text
        assert least <= out.stats.forwards / len(out.tokens) <= most


def test_records_recycle_more_than_one_and_a_half_tokens_a_round(capsys):
    """Of the embedded model, under their schemas, once it has answered eight; the answers are those without a draft."""
    model, tokenizer = embedded_model()
    asked, draft = [example("test", number, "record") for number in range(16)], gl.Draft("recycle", tree=RECYCLED)
    accepted = rounds = 0
    for number, each in enumerate(asked):
        options = {"tokenizer": tokenizer, "max_tokens": 192, **constraint(each.form)}
        out = gl.generate(model, each.prompt, draft=draft, **options)
        assert out.tokens == gl.generate(model, each.prompt, **options).tokens
        if number >= 8:
            accepted, rounds = accepted + out.stats.accepted_tokens, rounds + out.stats.forwards - 1
    with capsys.disabled():
        print(f"\ntokens recycled a round: {accepted / rounds:.2f}")
    assert accepted > 1.5 * rounds
