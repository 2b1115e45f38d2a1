"""The shortest end of a text against a search that tries all bytes."""

import contextlib
import random

import pytest

import grammarlm as gl
from grammarlm.grammars.compose import Grammar
from grammarlm.grammars.regular.derivatives import Algebra
from grammarlm.masks.machines.regular.completion import Completions
from grammarlm.masks.machines.regular.epoch import RegularEpoch
from tests.counts import tiers
from tests.internals import current_epoch
from tests.laws import vocabularies
from tests.laws.laws import allowed_ids
from tests.oracles.automata import Automaton
from tests.oracles.random_regex import RandomRegex, build
from tests.oracles.regex_oracle import Oracle, TooManyStates

VOCAB = vocabularies.every_byte().vocabulary()
PATIENT = gl.Limits(max_ms=100_000)  # the oracle between two answers is slow, and a direct call restarts no clock
BYTES = [bytes([b]) for b in range(256)]


def shortest(oracle: Automaton, state: object, most_states: int = 300) -> bytes | None:
    """The first text in byte order among the shortest, breadth first; None where the search grows too large."""
    layer, seen = {state: b""}, {state}
    while layer and len(seen) < most_states:
        ends = [text for here, text in layer.items() if oracle.accepts(here)]
        if ends:
            return min(ends)
        following: dict[object, bytes] = {}
        for here, text in sorted(layer.items(), key=lambda item: item[1]):
            for byte in range(256):
                after = oracle.step(here, byte)
                if after is not None and after not in seen:
                    following.setdefault(after, text + BYTES[byte])
        seen |= set(following)
        layer = following
    return None


def check_pattern(epoch: RegularEpoch, oracle: Automaton, steps: int, rng: random.Random) -> int:
    """The end from states along a walk; how many were small enough to be judged."""
    here, state, judged = oracle.start, epoch.start, 0
    limit = epoch.completion_limit(state)
    for _ in range(steps):
        expected = shortest(oracle, here)
        if expected is not None:
            assert b"".join(epoch.completion(state)) == expected, here
            assert limit is None or len(expected) <= limit
            judged += 1
        choices = [byte for byte in BYTES if epoch.after_bytes(state, byte)]
        if not choices:
            break
        byte = rng.choice(choices)
        here, state = oracle.step(here, byte[0]), epoch.after_bytes(state, byte)
    return judged


def check(seed: str, patterns: int, steps: int) -> int:
    drawn, rng, checked = RandomRegex(f"completion {seed}", look_around=0.15), random.Random(seed), 0
    for number in range(patterns):
        expression = drawn.expression() if number % 2 else drawn.pattern(1)
        try:
            epoch = current_epoch(gl.compile(build(expression, gl.Regex), VOCAB, limits=PATIENT))
            oracle = build(expression, Oracle)
        except (gl.GrammarError, TooManyStates):
            continue
        with contextlib.suppress(TooManyStates):
            checked += check_pattern(epoch, oracle, steps, rng)
    return checked


@tiers("seed, count, steps, least", ("few", 60, 4, 100), ("many", 3000, 8, 5000))
def test_the_shortest_end(seed: str, count: int, steps: int, least: int) -> None:
    assert check(seed, count, steps) >= least


def end(pattern: str, read: bytes = b"") -> bytes | None:
    epoch = current_epoch(gl.compile(gl.Regex(pattern), VOCAB))
    found = epoch.completion(epoch.after_bytes(epoch.start, read))
    return None if found is None else b"".join(found)


@pytest.mark.parametrize(
    ("pattern", "read", "expected"),
    [
        ("a{3}b|c{9}", b"", b"aaab"),
        ("a{3}b|c{9}", b"c", b"c" * 8),
        ("[b-z]é|aa", b"", b"aa"),
        ("é|[^a-z]", b"", b"\x00"),
        ("é|[à-ü]", b"\xc3", b"\xa0"),
        ("(a|b)*a(a|b){200}", b"", b"a" * 201),  # 2 ** 200 states within that distance: never searched
        ("(a|b)*a(a|b){200}", b"a" * 300, b""),
        ("((a{10}){10}){10}b", b"aa", b"a" * 998 + b"b"),
    ],
)
def test_ends_that_can_be_told_at_sight(pattern: str, read: bytes, expected: bytes) -> None:
    assert end(pattern, read) == expected


NOTHING = gl.Regex("a+") & gl.Regex("b+")


@pytest.mark.parametrize(
    "dead", [NOTHING + "c", "ab" + NOTHING, gl.Repeat(NOTHING, 2, 3) + "c", gl.Repeat(NOTHING, 0, 3) + "c"]
)
def test_a_way_without_a_text_bounds_nothing(dead: Grammar) -> None:
    """Of a sequence with a part that has no text, and a repeat of one, there is no distance to the end."""
    for grammar in (
        "x" | ("a" + dead),
        gl.Repeat("x" | ("a" + dead), 1, 3, ","),
        ("x" | dead) + gl.JsonSchema({"const": 1}),
    ):
        constraint = gl.compile(grammar, VOCAB)
        least = constraint.matcher().min_tokens_left
        matcher = constraint.matcher(max_tokens=least)
        for _ in range(least):
            allowed = allowed_ids(matcher, VOCAB) - set(VOCAB.stop_ids)
            assert matcher.advance(min(allowed))
        assert allowed_ids(matcher, VOCAB) == set(VOCAB.stop_ids)


def test_following_an_end_shortens_it() -> None:
    """What remains of it after a byte is the end from there, whatever the terms look like by then."""
    for pattern in (r"(?=.*1)[ab1_]{4,30}", r"(?:a(?:b(?:1_?){3}Z)+-){2}", r"\b\w{5}\b.{3}\B"):
        epoch = current_epoch(gl.compile(gl.Regex(pattern) & gl.Regex(r"[^x]*"), VOCAB))
        whole = b"".join(epoch.completion(epoch.start))
        for read in range(len(whole) + 1):
            assert b"".join(epoch.completion(epoch.after_bytes(epoch.start, whole[:read]))) == whole[read:]


def test_alternatives_inside_each_other_take_no_time() -> None:
    """Each level uses the one below twice: 2 ** 60 ways through 60 terms."""
    algebra = Algebra()
    term = algebra.words([b"d", b"c"])
    for _ in range(60):
        term = algebra.alt([algebra.cat(term, algebra.words([b"y"])), algebra.cat(term, algebra.words([b"x"]))])
    completions = Completions(algebra, 1000, lambda: None)
    assert completions.of(term) == b"c" + b"x" * 60
    assert completions.ceiling(term) == 61


def test_bounds_of_languages_with_exceptions() -> None:
    """Any characters but some texts: from no state is the end farther than a bound that the form of the term gives."""
    drawn, rng, bounded = RandomRegex("exceptions", alphabet="ab1é"), random.Random(7), 0
    for _ in range(40):
        expression = ("-", r"(?s:.*)", drawn.pattern(2))
        try:
            epoch = current_epoch(gl.compile(build(expression, gl.Regex), VOCAB, limits=PATIENT))
            oracle = build(expression, Oracle)
        except (gl.GrammarError, TooManyStates):
            continue
        bounded += epoch.completion_limit(epoch.start) is not None
        with contextlib.suppress(TooManyStates):
            check_pattern(epoch, oracle, 6, rng)
    assert bounded >= 15


def test_an_end_beyond_the_limit() -> None:
    assert end("a{1048576}") == b"a" * 1048576
    assert end("a{1048577}") is None
    assert end("a{1048577}", b"a") == b"a" * 1048576


def test_a_part_whose_start_is_made_on_demand_is_counted() -> None:
    """A grammar in Lark's notation that was compiled before has no first state until somebody asks."""
    vocab = gl.Vocabulary([*(bytes([b]) for b in range(256)), b"<eos>", b"<item>"], stop_ids=[256], special_ids=[257])
    grammar = gl.Lark('start: "(" start ")" | "x"') + gl.Tokens([[257], [257, 97]])
    for _ in range(2):
        constraint = gl.compile(grammar, vocab)
        assert constraint.matcher().min_tokens_left == 2
        assert constraint.matcher(max_tokens=2).advance(ord("x"))
