"""Rows of other packages answer as ours, and count what they read; masks that are wrong are not timed."""

import numpy as np
import pytest

import grammarlm as gl
from benchmarks.drafts import masks, peers, rows
from tests.rounding import assert_logits, embedded_model
from training.corpus import example

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")
ASKED = [example("heldout", index, "edit") for index in range(2)]


@pytest.fixture(scope="module")
def plain():
    model, tokenizer = gl.load_tiny()
    return rows.measure(model, tokenizer, ASKED, {"forced": "off"}, constrained=True)


@pytest.mark.parametrize("peer", ["lookup", "assisted", "universal"])
def test_rows_of_transformers_are_the_same_answers(peer, plain):
    if peers.missing(peers.PEERS[peer]):
        pytest.skip(peers.missing(peers.PEERS[peer]))
    cost, texts = rows.peer_way(peer)(*gl.load_tiny(), ASKED, True, 1)
    assert texts == plain[1]
    assert cost.tokens == cost.forwards + cost.accepted
    assert (
        plain[0].tokens - len(ASKED) <= cost.tokens <= plain[0].tokens
    )  # a last stop id may be decided without a forward
    assert 0 < cost.accepted < cost.drafted


def test_another_vocabulary_of_the_same_model_says_the_same():
    draft, tokenizer = embedded_model(draft=not peers.missing("transformers, assisted"))
    moved, other = peers.shuffled(draft, tokenizer)
    text = "Ada Turing lives in London."
    ids, others = tokenizer.encode(text), other.encode(text)
    assert other.decode(others) == text
    assert ids != others
    with torch.no_grad():
        one = draft(torch.tensor([ids])).logits[0, -1]
        two = moved(torch.tensor([others])).logits[0, -1]
    pieces = other.get_vocab()
    both = [(float(one[id]), float(two[pieces[piece]])) for piece, id in tokenizer.get_vocab().items()]
    assert_logits(*torch.tensor(both).T)


# ------------------------------------------------------------------ masks


def test_the_drafts_have_64_nodes_that_our_masks_allow():
    _, tokenizer = gl.load_tiny()
    engine = masks.Ours(tokenizer)
    for tree in masks.trees(tokenizer).values():
        assert len(tree.tokens) == masks.NODES
        masks.checked(*engine.prepared(tree), tree)()


def test_masks_that_forbid_a_token_of_the_draft_are_not_timed():
    tree = masks.Tree.of([9], [[1, 33]], 2)
    mask = np.full((3, 2), -1, np.int32)
    mask[1, 1] = ~2  # after token 1: not 33
    with pytest.raises(ValueError, match="forbids token 33"):
        masks.checked(lambda: None, mask, [0, 1, 2], tree)
