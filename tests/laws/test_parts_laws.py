"""Random grammars of parts.

Lark grammars with something before and after them: every law that needs no oracle of its own. What a lexer cuts across the end of
a part has no other reading than the machine's bytes, one by one: masks are held against those.

JSON schemas beside anything: all laws, against a regular expression of the same texts.
"""

import random
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

import grammarlm as gl
from tests.counts import record_counts, tiers
from tests.laws.cfg_laws import assert_advance_agrees, assert_batch_of_three, assert_rollback_undoes
from tests.laws.cfg_vocabularies import VOCABULARIES
from tests.laws.laws import allowed_ids, assert_walk_equals_oracle
from tests.oracles.random_lark import RandomLark
from tests.oracles.random_parts import RandomParts, crossing_tokens
from tests.oracles.regex_oracle import Oracle, TooManyStates

AROUND: dict[str, Callable[[gl.Lark], Any]] = {
    "behind": lambda lark: lark + gl.Regex("[ab1]{1,2}"),
    "before": lambda lark: gl.Regex("a?b*") + lark,
    "rules behind": lambda lark: lark + gl.Gbnf('root ::= "a" root "b" | "b" | "1"'),
    "twice": lambda lark: lark + "," + lark,
    "or": lambda lark: (lark + "b") | gl.Regex("a+1"),
    "without": lambda lark: (lark + gl.Regex("[ab]+")) - gl.Regex(".*bb.*"),
}


def assert_reads_alike(constraint: Any, text: bytes, rng: random.Random) -> None:
    """The text in any pieces leads to the same place as byte by byte."""
    at_once, bytewise, pieces = constraint.matcher(), constraint.matcher(), constraint.matcher()
    assert at_once.advance_bytes(text)
    assert all(bytewise.advance_bytes(text[i : i + 1]) for i in range(len(text)))
    at = 0
    while at < len(text):
        length = rng.randint(1, 4)
        assert pieces.advance_bytes(text[at : at + length])
        at += length
    assert at_once.is_accepting == bytewise.is_accepting == pieces.is_accepting


def walk(constraint: Any, name: str, rng: random.Random, steps: int) -> int:
    token_list = VOCABULARIES[name]
    vocab, matcher, text, masks = token_list.vocabulary(), constraint.matcher(), b"", 0
    for step in range(steps):
        allowed = allowed_ids(matcher, vocab)
        assert allowed, text
        masks += 1
        assert_advance_agrees(matcher, vocab)
        for token in allowed - set(token_list.stop_ids):  # as bytes, so without what is remembered of tokens
            assert matcher.fork().advance_bytes(token_list.tokens[token]), (text, token)
        if step % 3 == 2:
            assert_rollback_undoes(matcher, vocab, rng)
            assert_batch_of_three(matcher, vocab, rng)
        following = sorted(allowed - set(token_list.stop_ids))
        if not following:
            break
        token = rng.choice(following)
        assert matcher.advance(token)
        text += token_list.tokens[token]
    assert_reads_alike(constraint, text, rng)
    return masks


def check_many(around: str, name: str, seed: str, count: int, steps: int) -> Counter[str]:
    drawn, outcomes, rng = (
        RandomLark(f"parts {around} {seed}"),
        Counter[str](),
        random.Random(f"{around} {name} {seed}"),
    )
    vocab = VOCABULARIES[name].vocabulary()
    for _ in range(count):
        text = drawn.readable()[0].text
        try:
            constraint = gl.compile(AROUND[around](gl.Lark(text)), vocab, limits=gl.Limits(max_ms=60_000))
        except gl.UnsatisfiableGrammar:
            outcomes["no text"] += 1
            continue
        except (gl.UnsupportedFeature, gl.LimitExceeded):
            outcomes["refused"] += 1
            continue
        try:
            outcomes["masks"] += walk(constraint, name, rng, steps)
        except AssertionError as broken:
            raise AssertionError(f"{around}, {name}, {text!r}: {broken}") from broken
        outcomes["walked"] += 1
    assert outcomes["walked"] > count / 3, outcomes
    return outcomes


@pytest.mark.parametrize("around", AROUND)
@tiers(
    "name, seed, count, steps",
    ("pieces", "few", 2, 5),
    *((name, "many", 60, 10) for name in ("bytes", "pieces", "hostile")),
)
def test_random_parts(around: str, name: str, seed: str, count: int, steps: int, record_property: Any) -> None:
    record_counts(record_property, check_many(around, name, seed, count, steps))


def check_json_parts(seed: str, count: int, steps: int, tokens: int) -> Counter[str]:
    drawn, outcomes, rng = RandomParts(f"json {seed}"), Counter[str](), random.Random(f"walks {seed}")
    token_list = crossing_tokens(seed, tokens)
    vocab = token_list.vocabulary()
    for number in range(count):
        grammar, pattern = drawn.nest(1 + number // 4 % 3) if number % 4 == 0 else drawn.draw()
        matcher = gl.compile(grammar, vocab).matcher()
        try:
            assert_walk_equals_oracle(matcher, token_list.token_oracle(Oracle(pattern)), vocab, rng, steps)
            outcomes["walked"] += 1
        except TooManyStates:
            outcomes["too many states"] += 1
        except AssertionError as broken:
            raise AssertionError(f"{seed} {number}: {grammar!r} {pattern!r}: {broken}") from broken
    assert outcomes["walked"] > count / 2, outcomes
    return outcomes


@tiers("seed, sizes", ("one", (12, 8, 150)), *((f"many {number}", (60, 14, 400)) for number in range(8)))
def test_random_json_parts(seed: str, sizes: tuple[int, int, int], record_property: Any) -> None:
    record_counts(record_property, check_json_parts(seed, *sizes))
