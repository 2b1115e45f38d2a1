"""Budgets of parts, `matcher(max_tokens=n)`: a text always ends in time, and no token is forbidden that leaves what is known to be
enough.

What is known to be enough is what the matcher says itself (`min_tokens_left`), and walks with no token more reach the end.
"""

import random
from collections import Counter
from typing import Any

import pytest

import grammarlm as gl
from grammarlm.masks.machines.parts import rests
from tests.counts import record_counts, tiers
from tests.laws.cfg_laws import view
from tests.laws.laws import allowed_ids
from tests.laws.promises import (
    a_token_is_allowed_iff_the_rest_is_enough,
    some_token_goes_nearer_to_the_end,
    wander,
)
from tests.laws.repeat_laws import Bounds, Case, check
from tests.oracles.random_repeats import KINDS, TIMED
from tests.texts import BYTES

SPARE = (0, 1, 3, 12)
FAR = 10**6


def texts_end_in_time(case: Case, rng: random.Random) -> Counter[str]:
    """From the least budget up: no row is empty, each is what the oracle has or less, and the text is whole at the end."""
    least, outcomes = case.constraint.matcher().min_tokens_left, Counter[str]()
    if least:
        with pytest.raises(ValueError, match=rf"max_tokens={least - 1} may not be enough.*{least} tokens are"):
            case.constraint.matcher(max_tokens=least - 1)
    oracle = case.tokens(Bounds(case))
    for spare in SPARE:
        matcher, state, path = case.constraint.matcher(max_tokens=least + spare), oracle.start, list[int]()
        while True:
            allowed, ordinary = allowed_ids(matcher, case.vocab), oracle.mask(state)
            assert allowed, f"an empty row after {path} of {least + spare}"
            assert allowed <= ordinary, (path, sorted(allowed - ordinary)[:5])
            assert allowed & oracle.stop_ids == ordinary & oracle.stop_ids, path
            assert matcher.min_tokens_left <= least + spare - len(path), path
            assert matcher.is_narrowed is (allowed != ordinary), path
            outcomes["narrowed"] += allowed != ordinary
            for token in rng.sample(sorted(ordinary - allowed), min(2, len(ordinary - allowed))):
                assert not matcher.advance(token), (path, token)
            texts = sorted(allowed - oracle.stop_ids)
            if not texts or (matcher.is_accepting and rng.random() < 0.2) or len(path) > 40:
                break
            path.append(rng.choice(texts))
            assert matcher.advance(path[-1]), path
            state = oracle.after(state, path[-1])
        assert len(path) <= least + spare
        assert matcher.is_accepting or len(path) > 40
        outcomes["texts"] += 1
    return outcomes


def what_is_enough_decides(case: Case, rng: random.Random) -> None:
    """A token is allowed iff the tokens that are left after it are known to be enough; the bound is kept, and falls to the end."""
    least = case.constraint.matcher().min_tokens_left
    for more in (0, 2):
        a_token_is_allowed_iff_the_rest_is_enough(case.constraint, least + more, rng)
    for steps in (0, 4):
        matcher = wander(case.constraint.matcher(), case.vocab, steps, rng)
        some_token_goes_nearer_to_the_end(matcher, case.vocab)


def far_is_without(case: Case, rng: random.Random) -> None:
    """A budget that is far away changes nothing, and is said not to."""
    far, plain = case.constraint.matcher(max_tokens=FAR), case.constraint.matcher()
    for _ in range(6):
        assert view(far, case.vocab) == view(plain, case.vocab)
        assert not far.is_narrowed
        seed = rng.random()
        for matcher in (far, plain):
            wander(matcher, case.vocab, 1, random.Random(seed))


BUDGETS = {
    "in time": texts_end_in_time,
    "enough": what_is_enough_decides,
    "far": far_is_without,
}


@pytest.mark.parametrize("law", BUDGETS)
@pytest.mark.parametrize("kind", [*KINDS[2:], *TIMED])
@tiers("seed, count", ("few", 7), *((f"many {number}", 150) for number in range(3)))
def test_random_budgets(law: str, kind: str, seed: str, count: int, record_property: Any) -> None:
    outcomes = check(BUDGETS[law], kind, seed, count)
    assert law != "in time" or outcomes["narrowed"] > outcomes["texts"] / 8, outcomes
    record_counts(record_property, outcomes)


@pytest.mark.parametrize("first", ["x", "{", "x1"])
def test_what_is_enough_is_the_same_whatever_was_asked_before(first: str) -> None:
    """Where one way on is longer than another, and only the longer one has been looked at."""
    tokens = [bytes([byte]) for byte in range(256)] + [b"x"]
    vocab = gl.Vocabulary([*tokens, b"</s>"], stop_ids=[len(tokens)], special_ids=[len(tokens)])
    side = "{" | ("x" + gl.JsonSchema({"enum": [1]}))
    for grammar in (side + side, gl.Repeat(side, 2, 2), gl.Repeat(side, 2)):
        constraint = gl.compile(grammar, vocab)
        matcher = constraint.matcher()
        assert all(map(matcher.advance, first.encode()))
        assert matcher.min_tokens_left == (2 if first == "x" else 1)
        assert constraint.matcher().min_tokens_left == 2
        assert constraint.matcher(max_tokens=2).min_tokens_left == 2


MANY = 1 << 30


def test_an_end_behind_very_many_turns_is_not_looked_for() -> None:
    """It is as if there were none: at once, not when the time is over."""
    one, vocab = gl.JsonSchema({"enum": [True]}, whitespace="compact"), BYTES
    for least in (MANY, rests.MOST_ENDS + 2):
        constraint = gl.compile(gl.Repeat(one, least, MANY, ","), vocab)
        with pytest.raises(gl.LimitExceeded, match="no end of the text is known"):
            _ = constraint.matcher().min_tokens_left
        with pytest.raises(ValueError, match="no number of tokens is known to be"):
            constraint.matcher(max_tokens=100)
    matcher = gl.compile(one | gl.Repeat(one, MANY, MANY, "+"), vocab).matcher(max_tokens=9)
    assert matcher.min_tokens_left == 4
    assert matcher.advance_bytes(b"true")
    assert allowed_ids(matcher, vocab) == set(vocab.stop_ids)
    assert "might not be enough to end the text" in matcher.explain(ord("+"))


@pytest.mark.parametrize("inner", [3, 4, 5, 9])
def test_a_search_for_the_end_looks_at_so_many_parts(inner: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rests, "MOST_ENDS", 40)
    one = gl.JsonSchema({"enum": [True]}, whitespace="compact")
    matcher = gl.compile(gl.Repeat(gl.Repeat(one, inner, 20, ","), inner, 20, ";"), BYTES).matcher()
    ends = 2 * inner * inner - 1  # of values, which are four tokens, and separators
    if ends <= 40:
        assert matcher.min_tokens_left == 5 * inner * inner - 1
        return
    for read in (b"", b"true,", b"true,true,"):  # whatever was found before
        assert matcher.advance_bytes(read)
        with pytest.raises(gl.LimitExceeded, match="no end of the text is known"):
            _ = matcher.min_tokens_left
        matcher.reset()
    assert matcher.advance_bytes(b";".join([b",".join([b"true"] * inner)] * inner))
    assert matcher.min_tokens_left == 0


# ---------------------------------------------------------------------- the laws bite


class Spendthrift:
    """A constraint whose matchers have one token more than they say."""

    def __init__(self, constraint: gl.Constraint):
        self.constraint, self.vocab, self.grammar = constraint, constraint.vocab, constraint.grammar

    def matcher(self, max_tokens: int | None = None) -> gl.Matcher:
        return self.constraint.matcher(max_tokens=None if max_tokens is None else max_tokens + 1)


def test_a_budget_that_is_overdrawn_is_caught() -> None:
    outcomes = Counter[str]()

    def law(case: Case, rng: random.Random) -> None:
        spendthrift: Any = case._replace(constraint=Spendthrift(case.constraint))  # type: ignore[arg-type]
        for each in (texts_end_in_time, what_is_enough_decides):
            outcomes["runs"] += 1
            try:
                each(spendthrift, rng)
            except (AssertionError, pytest.fail.Exception):  # what is refused, and what raises no ValueError
                outcomes["caught"] += 1

    check(law, "json", "spent", 10)
    assert outcomes["caught"] > outcomes["runs"] * 2 / 3, outcomes
