"""Samples of very ambiguous grammars, drawn by what may stand behind prefixes: the law of one try, by enumeration."""

from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import grammarlm as gl
from grammarlm.masks.canvas.classes import TokenClasses
from grammarlm.masks.canvas.protocol import MASKED
from grammarlm.masks.canvas.scores import Scores, SoftmaxDraw
from grammarlm.masks.canvas.stack.draws import prefixes
from grammarlm.masks.canvas.stack.draws.prefixes import Prefixes
from grammarlm.masks.canvas.views import view_of
from tests.masks.canvas.canvas_law import Case, Choices, matching, scores_of
from tests.oracles.cfg_oracle import CfgOracle

TOKENS = [b"?", b"a", b"b", b"ab", b"aa", b"ba", b"."]
GRAMMARS = [
    'root ::= "" | "a" root x | x y\nx ::= root | "a" "a" y | y\ny ::= x x | "a" root',
    'root ::= y "b" | y y\nx ::= y root | root "a" x | "a"\ny ::= "b" root | "" | x y "a"',
    'root ::= "a" root "b" | root root | "c" root | ""',
    'root ::= "b" | x y "a" | x\nx ::= y "b" | "" | root x x\ny ::= y | x y | ""',
]


def case_of(text: str) -> Case:
    oracle = CfgOracle(gl.Gbnf(text).rules(lambda: None))
    return Case(gl.Gbnf(text), TOKENS, oracle.is_complete, oracle.is_viable)


def passes_of(case: Case, partial: list[int]) -> tuple[Any, TokenClasses]:
    """The passes over a row, and the classes that they speak of."""
    grid = view_of(case.constraint).grid(len(partial), None, 0, lambda: None)
    given = np.array(partial)
    return grid.passes(np.where(given == MASKED, MASKED, grid.classes.of[given]).astype(np.int32), None), grid.classes


@pytest.mark.parametrize("text", GRAMMARS)
def test_a_sample_of_few_tokens_ends(text: str) -> None:
    """Each row has hundreds of derivations or more, and a derivation of a row is accepted with one over their number."""
    case = case_of(text)
    rows, canvas = case.rows(4).tolist(), case.constraint.canvas(4)
    logits = np.random.default_rng(1).standard_normal((4, case.width)).astype(np.float32)
    assert canvas.sample([-1] * 4, logits, seed=1) in rows


@pytest.mark.parametrize("tries", [0, 6])
@pytest.mark.parametrize("partial", [[-1, -1, -1], [-1, 2, -1, -1]])
@pytest.mark.parametrize("text", GRAMMARS)
def test_a_try_that_comes_to_its_end_has_the_law_of_rows(text: str, partial: list[int], tries: int) -> None:
    """Also after some tries, which know more of the bounds; classes stand for their tokens."""
    case = case_of(text)
    left = matching(case.rows(len(partial)), partial)
    if not len(left):
        assert not case.constraint.canvas(len(partial)).is_completable(partial)
        return
    logits = np.random.default_rng(2).standard_normal((len(partial), case.width)).astype(np.float32)
    passes, classes = passes_of(case, partial)
    of, scores = classes.of, Scores(classes, logits, np.array(partial)).log_sums
    want: Counter[tuple[int, ...]] = Counter()
    for row, score in zip(left.tolist(), scores_of(left, partial, logits), strict=True):
        want[tuple(of[row].tolist())] += np.exp(score)

    rows = Prefixes(passes, scores)
    for seed in range(tries):
        rows.tried(SoftmaxDraw(np.random.default_rng(seed)))
    known = dict(rows.known)

    def tried(draw) -> list[int]:
        rows.known = {chosen: replace(prefix, ahead=prefix.ahead.copy()) for chosen, prefix in known.items()}
        found = rows.tried(draw)
        return [] if found is None else found.tolist()

    law = Choices().ways(tried)
    ended = law.pop((), 0.0)
    assert ended < (1 if not tries else 0.8)
    assert set(law) == set(want)
    for row, weight in want.items():
        assert law[row] / (1 - ended) == pytest.approx(weight / sum(want.values()), abs=1e-6)


def test_what_is_kept_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prefixes, "MOST_NUMBERS", 20)
    case = case_of(GRAMMARS[1])
    passes, classes = passes_of(case, [MASKED] * 4)
    wanted = {tuple(classes.of[row].tolist()) for row in case.rows(4).tolist()}
    tries = Prefixes(passes, np.zeros((4, classes.count)))
    draw, found = SoftmaxDraw(np.random.default_rng(0)), 0
    for _ in range(60):
        row = tries.tried(draw)
        found += row is not None and tuple(row.tolist()) in wanted
        assert row is None or tuple(row.tolist()) in wanted
        assert sum(len(one.classes) for one in tries.known.values()) <= 20
    assert found > 10
