"""Patterns that fuzzing found: each crashed, hung or was misread once. The others are in tests/corpus/regex.toml."""

import contextlib
import random
import re

import pytest

import grammarlm as gl
from grammarlm.grammars.regular.derivatives import Algebra
from grammarlm.grammars.regular.syntax import parse_regex
from tests.oracles.random_regex import RandomRegex, respelled
from tests.texts import BYTES, accepts


@pytest.mark.parametrize(
    "pattern",
    [
        rb"\p{L}",
        rb"[\pL]",
        rb"\N{BULLET}",
        rb"[a-\N{BULLET}]",
        "\\N{\ud800}",
        "\\p{\x00",
        "\\p{--m\u00dfa{9}",
        "\\p{" + "L" * 5000 + "}",
    ],
)
def test_refused_with_a_short_message(pattern: str | bytes) -> None:
    with pytest.raises(gl.GrammarError) as caught:
        gl.compile(gl.Regex(pattern), BYTES)
    assert len(str(caught.value)) <= 500


@pytest.mark.parametrize(
    "pattern",
    [
        ("ab.[c-d]?" * 120_000)[:1_000_000],
        "".join(chr(97 + i % 26) + "?" for i in range(20_000)),
        "(?:a{1,3}(?=\\D{2,}\\n))+a" * 3,
    ],
    ids=["a long pattern", "20,000 optional letters", "look-ahead in loops"],
)
def test_the_clock_holds_everywhere(pattern: str) -> None:
    limits = gl.Limits(max_ms=200)
    with contextlib.suppress(gl.LimitExceeded, gl.UnsatisfiableGrammar):
        matcher = gl.compile(gl.Regex(pattern), BYTES, limits=limits).matcher()
        matcher.fill_mask(gl.allocate_mask(1, BYTES.size))
        assert matcher.advance(97)


@pytest.mark.parametrize("pattern", ["(?<=)c", "(?<!)c|d", "(?<=|)cd?"])
def test_empty_look_behind_is_a_plain_truth(pattern: str) -> None:
    constraint = gl.compile(gl.Regex(pattern), BYTES)
    for text in ("c", "d", "cd", ""):
        assert accepts(constraint, text) == bool(re.fullmatch(pattern, text))


@pytest.mark.parametrize("part", range(4))
def test_other_spellings_are_the_same_term(part: int) -> None:
    """One algebra has one object for a language as it is written, so the two are the same or one was misread."""
    rng, supply, changed = random.Random(part), RandomRegex(f"spellings {part}"), 0
    for _ in range(300):
        algebra, pattern = Algebra(), supply.pattern()
        other = respelled(pattern, rng)
        try:
            expected = parse_regex(pattern, algebra)
        except gl.GrammarError as refusal:
            with pytest.raises(type(refusal)):
                parse_regex(other, algebra)
            continue
        assert parse_regex(other, algebra) is expected, (pattern, other)
        changed += other != pattern
    assert changed > 100
