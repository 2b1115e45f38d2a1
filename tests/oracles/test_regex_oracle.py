"""The oracle against Python's `re`: every short text over small alphabets, on hundreds of random patterns."""

import contextlib
import re
from itertools import product

import pytest

from tests.counts import tiers
from tests.oracles.automata import Completion
from tests.oracles.code_points import ANYTHING, class_ranges, complement
from tests.oracles.random_regex import RandomRegex, build, random_byte_patterns
from tests.oracles.regex_oracle import Oracle, TokenOracle, TooManyStates, python_flags

ALPHABETS = ["ab1 ", "a_\n", "aZé", "1€😀\n"]


def short_texts(alphabet: str, longest: int) -> list[str]:
    return ["".join(text) for length in range(longest + 1) for text in product(alphabet, repeat=length)]


def check_against_re(pattern: str, alphabet: str, longest: int) -> int:
    """Membership of every short text, and completability of every beginning of one; how many texts matched."""
    compiled = re.compile(pattern, python_flags(pattern))
    matched = []
    with contextlib.suppress(TooManyStates):
        oracle = Oracle(pattern)
        for text in short_texts(alphabet, longest):
            expected = compiled.fullmatch(text) is not None
            assert oracle.matches(text.encode()) is expected, (pattern, text)
            matched += [text.encode()] if expected else []
        for data in matched:
            for end in range(len(data) + 1):
                assert oracle.completable_bytes(oracle.read(oracle.start, data[:end])), (pattern, data[:end])
    return len(matched)


@pytest.mark.parametrize("alphabet", ALPHABETS)
@tiers("count, longest", (50, 4), (2000, 5))
def test_random_patterns_match_as_re_does(count: int, longest: int, alphabet: str) -> None:
    patterns = RandomRegex(f"oracle {alphabet}")
    matched = sum(check_against_re(patterns.pattern(), alphabet, longest) for _ in range(count))
    assert matched > 2 * count


@tiers("count", 30, 100)
def test_random_look_arounds_match_as_re_does(count: int) -> None:
    patterns = RandomRegex("look around", "ab1 \n-é€", look_around=0.35)
    for place in range(count):
        check_against_re(patterns.pattern(1), ["a1 \n", "b-\né"][place % 2], 4)


def test_patterns_of_bytes_match_as_re_does() -> None:
    patterns = random_byte_patterns("bytes")
    texts = [bytes(text) for length in range(4) for text in product(b"a1\n\xe9\xff", repeat=length)]
    for _ in range(60):
        pattern = next(patterns)
        oracle, compiled = Oracle(pattern), re.compile(pattern)
        for text in texts:
            assert oracle.matches(text) is (compiled.fullmatch(text) is not None), (pattern, text)


def test_combinations_are_those_of_the_sets_of_texts() -> None:
    patterns = RandomRegex("combinations")
    texts = short_texts("ab1", 5)
    for _ in range(30):
        a, b = patterns.pattern(2), patterns.pattern(2)
        left = {text for text in texts if re.fullmatch(a, text, python_flags(a))}
        right = {text for text in texts if re.fullmatch(b, text, python_flags(b))}
        sequences = {first + second for first in left for second in right if len(first + second) <= 5}
        expected = {"&": left & right, "|": left | right, "-": left - right, "+": sequences}
        for operator, language in expected.items():
            oracle = build((operator, a, b), Oracle)
            assert {text for text in texts if oracle.matches(text.encode())} == language, (operator, a, b)


def test_classes_are_read_off_re() -> None:
    assert class_ranges("[a-cz]", re.ASCII) == ((97, 99), (122, 122))
    assert class_ranges("[k]", re.IGNORECASE) == ((75, 75), (107, 107), (0x212A, 0x212A))
    assert class_ranges("[k]", re.IGNORECASE | re.ASCII) == ((75, 75), (107, 107))
    assert complement(()) == ANYTHING
    assert complement(complement(((5, 9), (0x110, 0x10FFFF)))) == ((5, 9), (0x110, 0xD7FF), (0xE000, 0x10FFFF))


def test_tokens_complete_only_what_tokens_can_spell() -> None:
    oracle = Oracle("ab|acd")
    tokens = [b"a", b"b", b"ac", b"", b"ab", b"stop", b"acd"]
    assert TokenOracle(oracle, tokens, [5]).mask(oracle.start) == {0, 4, 6}
    assert TokenOracle(oracle, tokens, [5], [4]).mask(oracle.start) == {0, 6}
    assert TokenOracle(oracle, [*tokens, b"d"], [5]).mask(oracle.start) == {0, 2, 4, 6}
    after_a = oracle.read(oracle.start, b"a")
    assert TokenOracle(oracle, tokens, [5, 6]).mask(after_a) == {1}
    assert TokenOracle(oracle, tokens, [5, 6]).mask(oracle.read(after_a, b"b")) == {5, 6}
    assert not TokenOracle(oracle, tokens[2:3], [5]).completable(oracle.start)


def test_a_search_that_grows_too_large_says_so() -> None:
    counting = Completion(lambda state: [state + 1], lambda state: False, most_states=100)
    with pytest.raises(TooManyStates):
        counting.holds(0)
