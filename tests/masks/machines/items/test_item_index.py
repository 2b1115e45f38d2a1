"""ItemIndex against a trie of dictionaries, over all the ways in which items can be given."""

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import grammarlm as gl
from grammarlm.grammars.items.tokens import CHUNK
from grammarlm.masks.machines.items.index import ItemIndex

LARGE = (
    2,
    2**16 - 2,
    2**16 - 1,
    2**16,
    2**18 - 2,
    2**18,
    2**20,
    2**24 - 2,
)  # largest tokens, around each width of cells


def check(tokens, items):
    """Every node of the trie that the items span, and tokens that are no children."""
    index = ItemIndex.build(tokens)
    first = {}
    for row, item in enumerate(items):
        first.setdefault(item, row)
    prefixes = {item[:depth] for item in items for depth in range(len(item) + 1)}
    waiting = [((), index.root)]
    seen = set()
    while waiting:
        prefix, node = waiting.pop()
        assert node.depth == len(prefix)
        seen.add(prefix)
        children = sorted({p[-1] for p in prefixes if len(p) == len(prefix) + 1 and p[:-1] == prefix})
        found = index.children(node)
        assert found.dtype == np.int32
        assert found.tolist() == children
        assert index.is_end(node) == (prefix in first)
        if prefix in first:
            assert index.item(node) == first[prefix]
        waiting += [((*prefix, token), index.child(node, token)) for token in children]
        for token in {0, 1, 5, -1, 2**31, *(t + 1 for t in children), *(t - 1 for t in children)} - set(children):
            assert index.child(node, token) is None
    assert seen == prefixes | {()}


items_of = st.lists(st.lists(st.integers(0, 3), max_size=4).map(tuple), max_size=12)


@settings(deadline=None)
@given(items_of, st.sampled_from(LARGE))
def test_any_items(items, largest):
    items = [tuple(largest if token == 3 else token for token in item) for item in items]
    check(gl.Tokens([list(item) for item in items]), items)


@pytest.mark.parametrize("largest", LARGE)
def test_many_rows(largest):
    """More than a chunk, so that the bits of cells cross its border."""
    rng = random.Random(largest)
    items = [(rng.choice((0, 1, largest)), rng.randint(0, largest)) for _ in range(CHUNK + 1001)]
    index = ItemIndex.build(gl.Tokens(np.array(items)))
    expected = np.array(sorted(items))
    for depth in (0, 1):
        assert (index.cells(depth, 0, len(items)) == expected[:, depth]).all()
        assert (index.cells(depth, CHUNK - 3, CHUNK + 5) == expected[CHUNK - 3 : CHUNK + 5, depth]).all()


def test_all_ways_to_give_items_are_one(tmp_path):
    rows = [[3, 70_000, 1], [3, 2, 2], [0, 0, 0]]
    np.save(tmp_path / "items.npy", np.array(rows, np.int64))
    ways = [
        gl.Tokens(rows),
        gl.Tokens(tuple(map(tuple, rows))),
        gl.Tokens(np.array(rows)),
        gl.Tokens(np.array(rows, np.uint32)),
        gl.Tokens(tmp_path / "items.npy"),
        gl.Tokens(np.load(tmp_path / "items.npy", mmap_mode="r")),
        gl.Tokens(iter([np.array(rows[:2]), rows[2:]])),
    ]
    assert len(set(ways)) == 1
    for way in ways:
        check(way, [tuple(row) for row in rows])
    assert gl.Tokens(rows[::-1]) != ways[0]


def test_items_of_different_lengths_as_a_matrix_or_in_chunks(tmp_path):
    rows = [[3, 1], [3], [], [2, 2, 2]]
    padded = np.array([[3, 1, -1], [3, -1, -1], [-1, -1, -1], [2, 2, 2]])
    np.save(tmp_path / "items.npy", padded.astype(np.int32))
    ways = [
        gl.Tokens(rows),
        gl.Tokens(padded),
        gl.Tokens(tmp_path / "items.npy"),
        gl.Tokens(iter([rows[:3], rows[3:]])),
        gl.Tokens(np.pad(padded, ((0, 0), (0, 3)), constant_values=-1)),
    ]
    assert len(set(ways)) == 1
    for way in ways:
        check(way, [tuple(row) for row in rows])


def test_strings_become_the_tokens_that_a_tokenizer_makes():
    tokens = gl.Tokens(["ab", "a"], ids=["x", "y"])
    check(tokens.spelled(lambda text: list(text.encode())), [(97, 98), (97,)])
    assert tokens.spelled(str.encode).ids.tolist() == ["x", "y"]
    assert tokens != gl.Tokens(["ab", "a"])
    with pytest.raises(ValueError, match=r"these items are strings.*vocab="):
        ItemIndex.build(tokens)


WRONG = [
    (
        lambda: gl.Tokens([1, 2, 3]),
        TypeError,
        r"item 0 is 1, not a sequence of token ids; one item alone is Tokens\(\[\[",
    ),
    (lambda: gl.Tokens([[1], [2.5]]), TypeError, r"item 1 is \[2.5\]; items are sequences of token ids"),
    (lambda: gl.Tokens([[1], [True]]), TypeError, r"item 1 is \[True\]"),
    (lambda: gl.Tokens([[1], [-1]]), ValueError, "-1 is no token id; in a list of sequences"),
    (lambda: gl.Tokens([[2**24]]), ValueError, "16777216 is no token id; they go from 0 to 16,777,214"),
    (lambda: gl.Tokens(np.array([[1, -1, 2]])), ValueError, r"item 0 has a token after -1: \[1, -1, 2\]"),
    (lambda: gl.Tokens(np.array([[1, -2]])), ValueError, "-2 is no token id"),
    (lambda: gl.Tokens(np.array([1, 2])), ValueError, r"the matrix has shape \[2\]"),
    (lambda: gl.Tokens(np.array([[0.5]])), TypeError, "the matrix holds float64"),
    (lambda: gl.Tokens(b"ab"), TypeError, "not bytes"),
    (lambda: gl.Tokens({1: 2}), TypeError, "not dict"),
    (lambda: gl.Tokens(7), TypeError, "not int"),
    (lambda: gl.Tokens(["a", [1]]), TypeError, "item 1 is list, the items before it are strings"),
    (lambda: gl.Tokens([[1], "a"]), TypeError, "item 1 is 'a'"),
    (lambda: gl.Tokens([[1]], ids=[1, 2]), ValueError, "there are 2 ids for 1 items"),
    (lambda: gl.Tokens([[1]], ids=[object()]), TypeError, "ids is an array of object"),
    (lambda: gl.Tokens(iter([[1, 2]])), TypeError, "item 0 is 1"),
    (lambda: gl.Tokens([[1]] * 1000 + [[1] * 300_000]), ValueError, "the longest of 1,001 items has 300,000 tokens"),
]


@pytest.mark.parametrize(("make", "kind", "message"), WRONG)
def test_what_is_no_item_set_is_refused_by_name(make, kind, message):
    with pytest.raises(kind, match=message):
        make()


def test_a_given_matrix_is_copied():
    matrix = np.array([[1, 2]])
    tokens = gl.Tokens(matrix)
    matrix[:] = 9
    assert tokens == gl.Tokens([[1, 2]])
