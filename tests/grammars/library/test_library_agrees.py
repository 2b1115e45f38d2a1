"""The library's grammars through the engine mean what stock lark takes them to mean: generated texts, and damaged ones."""

import functools
from collections import Counter

import pytest

import grammarlm as gl
from grammarlm.grammars import library
from tests.counts import record_counts, tiers
from tests.grammars.library.library_sentences import damaged, sentences
from tests.laws.cfg_vocabularies import VOCABULARIES
from tests.oracles.random_sentences import Sentences
from tests.texts import accepts

LONGEST = 1500  # characters


@functools.cache
def constraint(name: str) -> gl.Constraint:
    return gl.compile(gl.Lark.library(name), VOCABULARIES["bytes"].vocabulary())


def assert_beginnings_are_read(matcher: gl.Matcher, source: Sentences, text: str) -> None:
    """Of a text that lark accepts every beginning can be read, and may be the end where lark says so."""
    data, cut = text.encode(), source.rng.randint(0, len(text))
    matcher.reset()
    assert matcher.advance_bytes(text[:cut].encode()), (text, cut)
    assert matcher.is_accepting == source.is_read(text[:cut]), (text, cut)
    assert matcher.advance_bytes(data[len(text[:cut].encode()) :]), (text, cut)
    assert matcher.is_accepting, (text, cut)


def compare(name: str, seed: int, count: int) -> Counter[str]:
    """`count` texts, every second one damaged."""
    source, matcher = sentences(name, seed), constraint(name).matcher()
    derived = [text for text in (source.text() for _ in range(2 * count)) if len(text) <= LONGEST][: count // 2]
    assert len(derived) == count // 2
    outcomes: Counter[str] = Counter(cases=count, derived=len(derived))
    for text in derived:
        assert accepts(constraint(name), text), text
        assert_beginnings_are_read(matcher, source, text)
    short = sorted(derived, key=len)[: 1 + len(derived) // 2]  # damage to a long text mostly kills it
    for _, text in zip(range(count - len(derived)), damaged(source, short), strict=False):
        expected = source.is_read(text)
        outcomes["damaged, accepted" if expected else "damaged, rejected"] += 1
        assert accepts(constraint(name), text) == expected, (text, expected)
        if expected:
            assert_beginnings_are_read(matcher, source, text)
    return outcomes


@pytest.mark.parametrize("name", library.names())
@tiers("seed, count, accepted, rejected", (11, 6, 0, 0), (12, 600, 16, 31))
def test_generated_and_damaged_texts(name, seed, count, accepted, rejected, record_property) -> None:
    outcomes = compare(name, seed, count)
    record_counts(record_property, outcomes)
    assert outcomes["damaged, accepted"] >= accepted, outcomes
    assert outcomes["damaged, rejected"] >= rejected, outcomes
