"""Canvases over sets of items against enumeration: items of different lengths, prefixes of each other, repeated, special ids."""

import numpy as np
import pytest

import grammarlm as gl
from tests.masks.canvas.canvas_law import Case, check_edges, check_fills, check_law, check_rows


def case_of(items: list[tuple[int, ...]], special: tuple[int, ...] = (0,), tokens: int = 8, stops: int = 1) -> Case:
    spelled = [b"x%d" % i for i in range(tokens)]
    return Case(
        gl.Tokens([list(i) for i in items]), spelled, items.__contains__, stops=stops, special=special, by_ids=True
    )


def random_items(seed: int) -> list[tuple[int, ...]]:
    rng = np.random.default_rng(seed)
    return [tuple(rng.integers(1, 6, rng.integers(1, 6)).tolist()) for _ in range(12)]


CASES = {
    "lengths and prefixes": (
        case_of([(1, 2, 3), (1, 2), (1, 4), (4, 4, 4, 4), (2, 3, 1, 5, 4), (5,), (3, 2, 1)]),
        (2, 4),
    ),
    "one length, repeated": (case_of([(1, 2, 3), (1, 3, 3), (1, 2, 3), (2, 2, 2), (5, 1, 2)]), (2, 3, 5)),
    "special tokens, two stop ids": (case_of([(0, 2), (0, 3, 0), (4, 0, 1), (2,)], special=(0, 3), stops=2), (1, 4)),
    "random": (case_of(random_items(3)), (3, 5)),
    "longer than the row": (case_of([(1, 2, 3, 4, 5, 6), (2, 1)]), (2, 4)),
}


@pytest.mark.parametrize("name", CASES)
def test_rows_and_commits(name: str) -> None:
    case, lengths = CASES[name]
    assert sum(check_rows(case, length, 60) for length in lengths)


@pytest.mark.parametrize("name", CASES)
def test_fills_and_laws(name: str) -> None:
    case, lengths = CASES[name]
    hard = sum(check_fills(case, length, 40) for length in lengths)
    assert hard or len(case.rows(lengths[0])) < 4, "a choice position by position would do as well"
    compared = sum(check_law(case, length, 20) for length in lengths)
    assert compared > 2 or len(case.rows(lengths[-1])) < 3


@pytest.mark.parametrize("name", CASES)
def test_between_texts(name: str) -> None:
    case, _ = CASES[name]
    assert check_edges(case, 6, 20) > 5


def test_lists_of_items_are_refused_by_name() -> None:
    vocab = gl.Vocabulary([b"a", b"b", b",", b"."], [3])
    constraint = gl.compile(gl.TokenList(gl.Tokens([[0], [1, 0]]), separator=",", most=3), vocab)
    with pytest.raises(gl.UnsupportedFeature, match="TokenList"):
        constraint.canvas(4)
