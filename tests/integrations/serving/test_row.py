"""A row of a request is the row of a matcher that reads the request's tokens anew; it never raises, and a failure closes."""

import logging
import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import grammarlm as gl
from grammarlm.integrations.serving import served_row
from grammarlm.integrations.serving.compiling import warm_compiler
from grammarlm.integrations.serving.options import read_options
from grammarlm.integrations.serving.served_row import ServedRow, fill_rows
from tests.integrations.vllm.bad_requests import HARD
from tests.mask_bits import ids_of
from tests.masks.machines.stack.stack_examples import COMPILED

VOCAB = COMPILED["hostile"]
GRAMMARS: dict[str, Any] = {
    "regex": gl.Regex("(ab|c){1,4}"),
    "schema": gl.JsonSchema({"type": "array", "items": {"type": "integer"}}),
    "lark": gl.Lark('start: "(" start ")" | "a"'),
    "choices": gl.Choices(["a", "abc", "b"]),
}
CONSTRAINTS = {name: gl.compile(grammar, VOCAB) for name, grammar in GRAMMARS.items()}
STOPS = set(VOCAB.stop_ids)
POISON = 0x5A5A5A5A


def fresh_row(constraint: gl.Constraint, tokens: list[int], own: set[int], least: int) -> set[int]:
    """What may come after these tokens, by a matcher that reads them now."""
    matcher = constraint.matcher()
    for place, token in enumerate(tokens):
        if token in STOPS or (token in own and matcher.is_accepting):
            assert matcher.is_accepting or matcher.is_finished or place
            return STOPS | own
        assert matcher.advance(token)
    mask = gl.allocate_mask(1, VOCAB.size)
    matcher.fill_mask(mask)
    allowed = set(ids_of(mask[0])) - own
    if matcher.is_accepting:
        allowed |= own
    if least > len(tokens) and allowed - STOPS - own:
        allowed -= STOPS | own
    return allowed


@settings(max_examples=200, deadline=None)
@given(
    st.sampled_from(sorted(GRAMMARS)),
    st.integers(0, 2**32),
    st.sets(st.integers(0, VOCAB.size - 1), max_size=2),
    st.integers(0, 4),
)
def test_rows_are_those_of_a_fresh_matcher(name: str, seed: int, own: set[int], least: int) -> None:
    rng, constraint = random.Random(seed), CONSTRAINTS[name]
    row, tokens = ServedRow(VOCAB, own, min_tokens=least).start(constraint), list[int]()
    mask = gl.allocate_mask(9, VOCAB.size)
    for _ in range(12):
        row.fill(mask, 0)
        if row.error:
            assert "end this request" in row.error
            assert set(ids_of(mask[0])) == STOPS | own
            return
        allowed = set(ids_of(mask[0]))
        assert allowed == fresh_row(constraint, tokens, own, least)
        drafts, at = [], list(tokens)
        for _ in range(rng.randrange(5)):
            choice = fresh_row(constraint, at, own, least)
            token = rng.choice(sorted(choice)) if choice and rng.random() < 0.8 else rng.randrange(-1, VOCAB.size)
            drafts.append(token)
            if token not in choice:
                break
            at.append(token)
        row.fill_drafts(drafts, mask, 1)
        if row.error:
            return
        for count in range(len(drafts) + 1):
            if count and drafts[count - 1] not in fresh_row(constraint, [*tokens, *drafts[: count - 1]], own, 0):
                assert set(ids_of(mask[1 + count])) == STOPS | own
                break
            assert set(ids_of(mask[1 + count])) == fresh_row(constraint, [*tokens, *drafts[:count]], own, least)
        accepted = row.validate(drafts)
        assert accepted == drafts[: len(accepted)]
        for token in accepted[: rng.randrange(len(accepted) + 1)] or [rng.choice(sorted(allowed))]:
            assert row.read(token)
            tokens.append(token)
        if rng.random() < 0.2:
            count = rng.randrange(len(tokens) + 1)
            row.rollback(count)
            del tokens[len(tokens) - count :]


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32))
def test_rows_at_once_are_those_one_by_one(seed: int) -> None:
    """Among them: stop ids of a request, no end yet, ended and failed ones, and none."""
    rng = random.Random(seed)
    many: list[list[ServedRow | None]] = [[], []]
    for _ in range(rng.randrange(9)):
        constraint = CONSTRAINTS[rng.choice(sorted(CONSTRAINTS))]
        own = set(rng.sample(range(VOCAB.size), rng.choice([0, 0, 2])))
        least, most = rng.choice([0, 0, 3]), rng.choice([None, 5])
        tokens = [rng.randrange(VOCAB.size) for _ in range(40)] + [*STOPS, *own] * rng.randrange(2)
        is_there, fails = rng.random() < 0.9, rng.random() < 0.1
        for each in many:
            made = ServedRow(VOCAB, own, min_tokens=least).start(constraint, most)
            for token in tokens:
                made.read(token, is_draft=True)
            if fails:
                made.fail("out of order")
            each.append(made if is_there else None)
    masks = [gl.allocate_mask(10, VOCAB.size) for _ in range(2)]
    for mask in masks:
        mask[:] = POISON
    fill_rows(many[0], masks[0])
    for at, row in enumerate(many[1]):
        if row is None:
            masks[1][at] = -1
        else:
            row.fill(masks[1], at)
    assert np.array_equal(masks[0], masks[1])
    assert [row and row.error for row in many[0]] == [row and row.error for row in many[1]]


def test_of_rows_at_once_some_may_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody says which, so all are written again, one by one."""
    little = gl.compile(gl.Regex("(?s).*a.{12}b.*c.{9}d"), VOCAB, limits=gl.Limits(max_mask_work=1))
    mask = gl.allocate_mask(6, VOCAB.size)

    def fails(_: Any, mask: np.ndarray) -> None:
        mask[:5] = 0
        raise MemoryError("no more")

    with monkeypatch.context() as patch:
        patch.setattr(served_row, "fill_masks", fails)
        mask[:] = POISON
        rows = [ServedRow(VOCAB).start(constraint) for constraint in (*CONSTRAINTS.values(), little)]
        fill_rows(rows, mask)
    assert [bool(row.error) for row in rows] == [False] * 4 + [True]
    assert set(ids_of(mask[4])) == STOPS
    for row, constraint in zip(mask, CONSTRAINTS.values(), strict=False):
        assert set(ids_of(row)) == fresh_row(constraint, [], set(), 0)
    assert (mask[5] == POISON).all()


def test_a_token_that_the_mask_forbids_ends_the_request(caplog: pytest.LogCaptureFixture) -> None:
    row, mask = ServedRow(VOCAB, name="request 7").start(CONSTRAINTS["regex"]), gl.allocate_mask(1, VOCAB.size)
    with caplog.at_level(logging.ERROR, "grammarlm.serving"):
        assert not row.read(max(set(range(VOCAB.size)) - fresh_row(CONSTRAINTS["regex"], [], set(), 0)))
        assert not row.read(0)
    assert "request 7 ends early" in caplog.text
    assert caplog.text.count("ends early") == 1
    row.fill(mask, 0)
    assert set(ids_of(mask[0])) == STOPS
    assert row.read(min(STOPS))
    row.rollback(1)


def test_limits_end_a_request_and_its_fellows_go_on() -> None:
    little = gl.compile(gl.Regex("(?s).*a.{12}b.*c.{9}d"), VOCAB, limits=gl.Limits(max_mask_work=1))
    row, mask = ServedRow(VOCAB).start(little), np.zeros_like(gl.allocate_mask(2, VOCAB.size))
    other = ServedRow(VOCAB).start(CONSTRAINTS["regex"])
    row.fill(mask, 0)
    other.fill(mask, 1)
    assert "max_mask_work" in row.error
    assert set(ids_of(mask[0])) == STOPS
    assert set(ids_of(mask[1])) == fresh_row(CONSTRAINTS["regex"], [], set(), 0)


def test_whatever_is_raised_closes(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any) -> Any:
        raise MemoryError("no more")

    for name in ("fill_mask", "advance", "rollback"):
        row, mask = ServedRow(VOCAB).start(CONSTRAINTS["regex"]), gl.allocate_mask(3, VOCAB.size)
        first = min(fresh_row(CONSTRAINTS["regex"], [], set(), 0))
        with monkeypatch.context() as patch:
            patch.setattr(gl.Matcher, name, broken)
            row.fill_drafts([first, first], mask, 0)
        assert row.error == "no more"
        row.fill(mask, 0)
        assert set(ids_of(mask[0])) == STOPS


@pytest.mark.parametrize(
    ("most", "close", "ends"), [(4, None, True), (4, False, False), (1, None, False), (4, True, True)]
)
def test_close(most: int, close: bool | None, ends: bool) -> None:
    """`[1,...` of a model that would go on for ever: complete within 4 tokens, the stop id included where that fits."""
    row = ServedRow(VOCAB).start(gl.compile(gl.Regex("aa+"), VOCAB), most, close)
    if most < 2:
        return
    mask, count = gl.allocate_mask(1, VOCAB.size), 0
    while count < 10:
        row.fill(mask, 0)
        others = sorted(set(ids_of(mask[0])) - STOPS)
        if not others:
            break
        assert row.read(others[0])
        count += 1
    assert (count < most) == ends


def test_close_that_is_impossible_is_an_error_if_asked_for() -> None:
    constraint = gl.compile(gl.Regex("c{9}"), VOCAB)
    assert not ServedRow(VOCAB).start(constraint, 2).error
    assert "close: max_tokens=2" in ServedRow(VOCAB).start(constraint, 2, True).error


def test_hard_requests_are_closed_within_the_limits_of_a_server(caplog: pytest.LogCaptureFixture) -> None:
    compiler, mask = warm_compiler(VOCAB), gl.allocate_mask(1, VOCAB.size)
    for what, asked in HARD.items():
        grammar = read_options(asked).grammar
        assert grammar is not None
        constraint = compiler.compile(grammar)
        most = constraint.matcher().min_tokens_left
        row = ServedRow(VOCAB, name=what).start(constraint, most)
        for _ in range(most):
            row.fill(mask, 0)
            others = set(ids_of(mask[0])) - STOPS
            if not others:
                break
            assert row.read(max(others)), what
        row.fill(mask, 0)
        assert set(ids_of(mask[0])) == STOPS, (what, row.error)
        assert not row.error, what
    assert not caplog.records


def test_an_end_that_is_not_known_in_time_is_told(caplog: pytest.LogCaptureFixture) -> None:
    constraint = gl.compile(gl.Regex("(?s).*a.{12}b.*c.{9}d"), VOCAB, limits=gl.Limits(max_mask_work=1))
    with caplog.at_level(logging.WARNING, "grammarlm.serving"):
        row = ServedRow(VOCAB, name="request 7").start(constraint, 40)
    assert not row.error
    assert "request 7 may be cut at its 40 tokens: the grammar took longer than limits.max_mask_work" in caplog.text
