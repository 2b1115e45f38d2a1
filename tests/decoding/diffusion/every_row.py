"""What a canvas says of a row, from a list of all rows."""

import numpy as np
import pytest

from tests.decoding.diffusion.languages import agreeing


def ids_of(words):
    return set(np.flatnonzero(np.unpackbits(words.view(np.uint8), bitorder="little")).tolist())


def by_softmax(random):
    def pick(logs):
        p = np.exp(logs - logs.max())
        return int(random.choice(len(p), p=p / p.sum()))

    return pick


def check(canvas, rows, row, width, random) -> None:
    """Every answer of a canvas about a row, from the list of all rows."""
    left, masked = agreeing(rows, row), np.flatnonzero(np.array(row) < 0)
    assert canvas.is_completable(row) == (len(left) > 0)
    allowed = canvas.allowed(row)
    for at in masked:
        want = set(left[:, at].tolist())
        assert ids_of(allowed.row(int(at))) == want
        assert allowed.test(int(at), range(width)).tolist() == [token in want for token in range(width)]
    logits = random.standard_normal((len(row), width)).astype(np.float32)
    if not len(left):
        with pytest.raises(ValueError, match="completed"):
            canvas.fill(row, logits)
        return
    score = logits[masked, left[:, masked]].sum(1)
    assert canvas.fill(row, logits) == left[score.argmax()].tolist()
    assert len(agreeing(left, canvas.drawn(row, logits, by_softmax(random)))) == 1
    for at in masked:
        token = int(random.integers(width))
        after = [*row[:at], token, *row[at + 1 :]]
        possible = len(agreeing(rows, after)) > 0
        assert canvas.commit(row, [int(at)], [token], partial=True) == (after if possible else row)
        if not possible:
            with pytest.raises(ValueError, match="cannot stand"):
                canvas.commit(row, [int(at)], [token])
    order = [int(at) for at in random.permutation(masked)]
    ids, want = [int(left[random.integers(len(left)), at]) for at in order], list(row)
    for at, token in zip(order, ids, strict=True):
        after = [*want[:at], token, *want[at + 1 :]]
        want = after if len(agreeing(rows, after)) else want
    assert canvas.commit(row, order, ids, partial=True) == want
