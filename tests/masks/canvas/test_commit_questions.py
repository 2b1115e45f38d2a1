"""How often a joint commit asks whether a row can be completed."""

import math

import numpy as np
import pytest

import grammarlm as gl
from grammarlm.masks.canvas.finite.grid import FiniteGrid, FinitePasses

LENGTH = 20
A, B, X, STOP = 1, 2, 3, 4


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[np.ndarray]:
    """The rows whose passes were made."""
    rows: list[np.ndarray] = []
    passes = FiniteGrid.passes

    def counted(grid: FiniteGrid, classes: np.ndarray, before: FinitePasses | None) -> FinitePasses:
        found = passes(grid, classes, before)
        if found is not before:
            rows.append(classes)
        return found

    monkeypatch.setattr(FiniteGrid, "passes", counted)
    return rows


def test_a_joint_commit_asks_little(asked: list[np.ndarray]) -> None:
    vocab = gl.Vocabulary([b"", b"a", b"b", b"x", b""], [STOP], [0, STOP])
    canvas = gl.compile(gl.Regex("[ab]{1,20}"), vocab).canvas(LENGTH)
    rng, row = np.random.default_rng(0), [-1] * LENGTH
    canvas.allowed(row).row(0)
    for k in range(1, LENGTH):
        places = rng.permutation(LENGTH - 1)[:k].tolist()
        for wrong in (None, *range(k)):
            ids = [X if n == wrong else A + n % 2 for n in range(k)]
            assert canvas.is_completable(row)  # as every step of a model asks first
            asked.clear()
            found = canvas.commit(row, places, ids, partial=True)
            assert [found[place] for place in places] == [-1 if n == wrong else token for n, token in enumerate(ids)]
            assert len(asked) <= (1 if wrong is None else 2 + math.ceil(math.log2(k))), (k, wrong)


def test_ids_that_fit_only_one_by_one(asked: list[np.ndarray]) -> None:
    vocab = gl.Vocabulary([b"", b"a", b"b", b"x", b""], [STOP], [0, STOP])
    canvas = gl.compile(gl.Regex("a{20}|b{20}"), vocab).canvas(LENGTH)
    found = canvas.commit([-1] * LENGTH, range(LENGTH), [A, B] * (LENGTH // 2), partial=True)
    assert found == [A, -1] * (LENGTH // 2)
    assert len(asked) <= LENGTH + 3 + math.ceil(math.log2(LENGTH))
