"""Draft trees: their masks are those of a matcher that replays the path, and a node over its limit is cut alone."""

import random

import numpy as np
import pytest

import grammarlm as gl
from tests.laws import vocabularies
from tests.mask_bits import ids_of

VOCAB = vocabularies.every_byte().vocabulary()
POISON = np.int32(0x5A5A5A5A)
GRAMMARS = (
    gl.Regex(r"(?:ab|b1)*_?a{3,9}"),
    gl.Regex(r"[a-z ]{0,40}\d"),
    gl.Gbnf('root ::= "(" root ")" | [a-z]'),
    gl.JsonSchema({"type": "object", "properties": {"a": {"type": "integer"}, "b": {"enum": ["x", "yy"]}}}),
)


def row_of(matcher):
    mask = gl.allocate_mask(1, VOCAB.size)
    matcher.fill_mask(mask)
    return mask[0]


def drawn(constraint, rng, nodes, budget):
    """(matcher, tokens, parents, for each node the tokens that lead to it or None where it is refused)"""
    matcher, tokens, parents, paths = constraint.matcher(budget), [], [], []
    for node in range(nodes):
        parent = rng.choice([node - 1, rng.randint(-1, node - 1)])
        above = [] if parent < 0 else paths[parent]
        replay = None if above is None else replayed(constraint, above, budget)
        allowed = [] if replay is None else ids_of(row_of(replay)[None])
        stray = rng.choice([-1, VOCAB.size, rng.randrange(VOCAB.size)])  # some ids do not exist
        token = rng.choice(allowed) if allowed and rng.random() < 0.8 else stray
        is_read = replay is not None and replay.advance(token)
        tokens.append(token)
        parents.append(parent)
        paths.append([*above, token] if is_read else None)
    return matcher, tokens, parents, paths


def replayed(constraint, path, budget):
    matcher = constraint.matcher(budget)
    assert all(matcher.advance(token) for token in path)
    return matcher


def expected(constraint, paths, budget):
    rows = [row_of(constraint.matcher(budget))]
    return rows + [np.zeros_like(rows[0]) if p is None else row_of(replayed(constraint, p, budget)) for p in paths]


def test_several_trees_come_one_after_another():
    rng, constraints = random.Random(2), [gl.compile(grammar, VOCAB) for grammar in GRAMMARS]
    made = [drawn(constraint, rng, rng.randint(0, 9), None) for constraint in constraints]
    matchers = [matcher for matcher, _, _, _ in made]
    matchers[1] = None
    mask = gl.allocate_mask(60, VOCAB.size)
    mask[:] = POISON
    needed = gl.fill_trees(matchers, [tokens for _, tokens, _, _ in made], [parents for _, _, parents, _ in made], mask)
    rows = []
    for constraint, matcher, (_, tokens, _, paths) in zip(constraints, matchers, made, strict=True):
        rows += expected(constraint, paths, None) if matcher else [np.full_like(mask[0], -1)] * (len(tokens) + 1)
    assert np.array_equal(mask[: len(rows)], rows)
    assert (mask[len(rows) :] == POISON).all()
    assert [len(each) for each in needed] == [len(tokens) + 1 for _, tokens, _, _ in made]
    assert not any(needed[1])


def test_a_tree_grows_while_it_is_drafted():
    constraint, rng = gl.compile(GRAMMARS[3], VOCAB), random.Random(3)
    tree, paths = gl.MaskTree(constraint.matcher()), [[]]
    mask = gl.allocate_mask(1, VOCAB.size)
    for _ in range(60):
        node = rng.randrange(len(paths))
        tree.fill(mask, 0, node - 1)
        want = row_of(replayed(constraint, paths[node], None))
        assert np.array_equal(mask[0], want)
        token = rng.choice(ids_of(want[None]))
        found = tree.add(token, node - 1)
        assert found == len(paths) - 1
        paths.append([*paths[node], token])
        assert np.array_equal(row_of(tree.matcher_at(found)), row_of(replayed(constraint, paths[-1], None)))
    assert tree.add(0, -1) is None
    assert len(tree) == 60


def limited(monkeypatch, fails):
    """Masks and steps over their limit where `fails(text so far)` says so."""
    fill, advance = gl.Matcher.fill_mask, gl.Matcher.advance

    def text(matcher):
        from grammarlm.masks.trail import steps_of

        return tuple(steps_of(matcher._head))

    def limited_fill(self, mask, row=0):
        if fails("fill", text(self)):
            mask[row] = self._automaton.program.facts.stop_row
            raise gl.LimitExceeded("too slow")
        return fill(self, mask, row)

    def limited_advance(self, token):
        if fails("advance", (*text(self), token)):
            raise gl.LimitExceeded("too slow")
        return advance(self, token)

    monkeypatch.setattr(gl.Matcher, "fill_mask", limited_fill)
    monkeypatch.setattr(gl.Matcher, "advance", limited_advance)


A, B = ord("a"), ord("b")


def test_a_node_over_its_limit_is_cut_alone(monkeypatch):
    constraint = gl.compile(gl.Regex("[ab]{9}"), VOCAB)
    full = row_of(constraint.matcher())
    limited(monkeypatch, lambda what, path: (what, path) in {("fill", (A, B)), ("advance", (B, B))})
    tokens, parents = [A, B, A, B, B, A], [-1, 0, 1, -1, 3, 3]  # a, ab, aba, b, bb, ba
    mask = gl.allocate_mask(7, VOCAB.size)
    gl.fill_tree(constraint.matcher(), tokens, parents, mask)
    is_cut = [not row.any() for row in mask]
    assert is_cut == [False, False, True, True, False, True, False]
    assert all(np.array_equal(row, full) for row, cut in zip(mask, is_cut, strict=True) if not cut)


def test_a_root_over_its_limit_fails_closed(monkeypatch):
    constraint = gl.compile(gl.Regex("[ab]{9}"), VOCAB)
    full = row_of(constraint.matcher())
    slow = constraint.matcher()
    slow.advance(B)
    limited(monkeypatch, lambda what, path: (what, path) == ("fill", (B,)))
    mask = gl.allocate_mask(5, VOCAB.size)
    with pytest.raises(gl.LimitExceeded):
        gl.fill_trees([slow, constraint.matcher()], [[A], [A, B]], [[-1], [-1, 0]], mask)
    assert [ids_of(row[None]) for row in mask[:2]] == [list(VOCAB.stop_ids)] * 2
    assert all(np.array_equal(row, full) for row in mask[2:])


@pytest.mark.parametrize(
    ("tokens", "parents", "message"),
    [
        ([[1], [2]], [[-1]], "1 of parents"),
        ([[1], [2]], [[-1], [1]], r"parents\[0\] is 1"),
        ([[1], [2, 3]], [[-1], [-1]], "2 tokens, but 1 parents"),
    ],
)
def test_what_is_no_tree_is_refused(tokens, parents, message):
    constraint = gl.compile(gl.Regex("a*"), VOCAB)
    mask = gl.allocate_mask(6, VOCAB.size)
    with pytest.raises(ValueError, match=message):
        gl.fill_trees([constraint.matcher(), constraint.matcher()], tokens, parents, mask)


def test_a_mask_that_is_too_small_is_refused():
    constraint = gl.compile(gl.Regex("a*"), VOCAB)
    with pytest.raises(gl.MaskError, match="too few for 2 trees with 4 states"):
        gl.fill_trees([constraint.matcher()] * 2, [[A], [A]], [[-1], [-1]], gl.allocate_mask(3, VOCAB.size))
    with pytest.raises(ValueError, match="no node 3"):
        gl.MaskTree(constraint.matcher()).fill(gl.allocate_mask(1, VOCAB.size), 0, 3)
