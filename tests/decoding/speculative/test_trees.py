"""Shapes of draft trees, each against what it is said to be better than; none has a node that the grammar forbids."""

import pytest

import grammarlm as gl
from grammarlm.decoding.speculative.drafters.model import ModelDrafter
from tests.decoding.speculative.draft_models import GRAMMARS, VOCAB, HashModel

torch = pytest.importorskip("torch")


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


TREES, NAMES = ("fixed", "best_first", "distinct", "beams"), ("schema", "sql", "regex")


@pytest.mark.parametrize(
    ("tree", "name", "samplings"),
    [
        *((TREES[at], NAMES[(at + more) % 3], (more,)) for at in range(4) for more in range(2)),
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
