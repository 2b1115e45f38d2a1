"""Rows and scores of token classes: the kernels against their reference."""

import numpy as np
import pytest

from grammarlm.kernels.reference.canvas import class_maxima, class_row, class_sums
from grammarlm.masks.canvas.scores import Scores, SoftmaxDraw
from tests.kernels.canvas_classes import some_classes


@pytest.mark.parametrize("size", [33, 640, 5000])
def test_rows(size: int) -> None:
    classes, rng = some_classes(size, size), np.random.default_rng(size)
    for share in (0.0, 0.3, 0.8, 1.0):
        allowed = rng.random(classes.count) < share
        assert (classes.row(allowed) == class_row(allowed, classes.of)).all()


@pytest.mark.parametrize("size", [33, 5000])
def test_scores(size: int) -> None:
    classes, rng = some_classes(size, size), np.random.default_rng(size)
    logits = rng.standard_normal((3, size + 7)).astype(np.float32) * 30
    logits[1, rng.random(size + 7) < 0.3] = -np.inf
    scores = Scores(classes, logits, np.array([-1, -1, 4]))
    for i in (0, 1):
        assert (scores.highest[i] == class_maxima(logits[i, :size], classes.of, classes.count)).all()
        assert scores.log_sums[i] == pytest.approx(class_sums(logits[i, :size], classes.of, classes.count), abs=1e-9)
    assert not scores.highest[2].any()


def test_tokens_within_a_class() -> None:
    classes = some_classes(600, 1)
    logits = np.random.default_rng(2).standard_normal((1, 600)).astype(np.float32) * 3
    scores, draw = Scores(classes, logits, np.array([-1])), SoftmaxDraw(np.random.default_rng(3))
    for token_class in range(classes.count):
        members = classes.members(token_class)
        if not len(members):
            continue
        assert scores.best_token(0, token_class) == members[np.argmax(logits[0, members])]
        sums = np.cumsum(np.exp(logits[0, members].astype(float) - logits[0, members].max()))
        for u in (0.0, 0.01, 0.3, 0.77, 0.9999999):
            draw.uniform = lambda u=u: u
            expected = members[min(np.searchsorted(sums, u * sums[-1], "right"), len(members) - 1)]
            assert scores.drawn_token(0, token_class, draw) == expected
