"""How often a joint commit asks whether a row can be completed."""

import itertools
import math
import re

import numpy as np
import pytest

import grammarlm as gl
from grammarlm.masks.canvas.stack.grid import StackGrid
from grammarlm.masks.canvas.stack.passes import StackPasses

LENGTH = 20
A, B, X, STOP = 1, 2, 3, 4


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[np.ndarray]:
    """The rows whose passes were made."""
    rows: list[np.ndarray] = []
    passes = StackGrid.passes

    def counted(grid: StackGrid, classes: np.ndarray, before: StackPasses | None) -> StackPasses:
        found = passes(grid, classes, before)
        if found is not before:
            rows.append(classes)
        return found

    monkeypatch.setattr(StackGrid, "passes", counted)
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


@pytest.mark.parametrize("pattern", ["(ab|ba|xx)*", "[ab]*|x*", "(a.b)*x?"])
def test_a_partial_commit_over_given_tokens(pattern: str) -> None:
    """By enumeration: that fewer ids fit than in place of others does not follow from more that do."""
    vocab, length = gl.Vocabulary([b"", b"a", b"b", b"x", b""], [STOP], [0, STOP]), 4
    canvas, rng, hidden = gl.compile(gl.Regex(pattern), vocab).canvas(length), np.random.default_rng(0), 0

    def is_row(row: list[int]) -> bool:
        ends = row.index(STOP) if STOP in row else length
        text = "".join("?abx"[token] for token in row[:ends])
        return set(row[ends:]) <= {STOP} and re.fullmatch(pattern, text) is not None

    rows = [row for row in itertools.product((A, B, X, STOP), repeat=length) if is_row(list(row))]

    def fits(row: list[int]) -> bool:
        return any(all(a in (-1, b) for a, b in zip(row, whole, strict=True)) for whole in rows)

    def with_(row: list[int], setting: list[tuple[int, int]]) -> list[int]:
        return [dict(setting).get(place, token) for place, token in enumerate(row)]

    for _ in range(150):
        row = [int(token) if rng.random() < 0.6 else -1 for token in rows[rng.integers(len(rows))]]
        places = rng.permutation(length)[: 1 + rng.integers(length)].tolist()
        setting = [(place, int(rng.integers(A, STOP + 1))) for place in places]
        most = max(count for count in range(len(setting) + 1) if fits(with_(row, setting[:count])))
        hidden += any(not fits(with_(row, setting[:count])) for count in range(most))
        want = with_(row, setting[:most])
        for one in setting[most + 1 :]:
            want = with_(want, [one]) if fits(with_(want, [one])) else want
        later = with_(with_(row, setting[:most]), setting[most + 1 :])
        want = later if len(setting) > most + 2 and fits(later) else want
        assert canvas.commit(row, *zip(*setting, strict=True), partial=True) == want, (row, setting)
    assert hidden
