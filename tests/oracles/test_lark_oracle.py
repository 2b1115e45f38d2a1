"""The oracle of Lark grammars against languages that are known otherwise, and its verdicts against each other."""

import random
import re
from itertools import product

import pytest

from tests.counts import tiers
from tests.oracles.lark_oracle import LarkOracle, Sentences, Witnesses
from tests.oracles.random_lark import RandomLark


def all_texts(alphabet: str, longest: int) -> list[str]:
    return ["".join(letters) for length in range(longest + 1) for letters in product(alphabet, repeat=length)]


KNOWN = [
    ('start: A "b"*\nA: /a+/', "ab", "a+b*", "lalr"),
    # The lexer takes every a; none is left for the rule, though the grammar alone has the text.
    ('start: A "a"\nA: /a+/', "ab", "(?!)", "lalr"),
    (
        'start: KEY NAME | NAME "!"\nKEY: "if"\nNAME: /[if]+/\n%ignore " "',
        "if! ",
        "(?! *if *!) *(if +[if]+|[if]+ *!) *",
        "lalr",
    ),
    ('start: start "a" | ', "ab", "a*", "lalr"),
    ('start: x "b" | y "c" | z\nx: "a" z\ny: "a" "a"\nz: "a"\n', "abc", "aab|aac|a", "lalr"),
    # Not LALR: x and y end before the same character. Earley tries both.
    ('start: x "b" "c" | y "b" "d"\nx: "a"\ny: "a"', "abcd", "abc|abd", "earley"),
    # With and without the spaces at its end the text is recognised twice, which stock lark calls a bug of its own.
    ('start: x | y | A " "\nx: A\ny: A\nA: "a"\n%ignore " "', "a b", " *a *", "earley"),
    ('start: "a" start "a" | "b" start "b" | x | y\nx: "a" | "b"\ny: "a" | "b"', "ab", None, "earley"),
]


@pytest.mark.parametrize(("grammar", "alphabet", "pattern", "route"), KNOWN)
def test_known_languages(grammar: str, alphabet: str, pattern: str | None, route: str) -> None:
    oracle = LarkOracle(grammar)
    assert oracle.route == route
    expected = {
        text
        for text in all_texts(alphabet, 6)
        if (re.fullmatch(pattern, text) if pattern else text == text[::-1] and len(text) % 2)
    }
    assert oracle.enumerate_language(alphabet, 6) == expected


def test_what_the_lexer_cuts_is_never_called_dead_without_a_proof() -> None:
    """`a` has no completion, but only a bound on completions can prove it; `b` cannot be read at all."""
    oracle = LarkOracle('start: A "a"\nA: /a+/')
    assert oracle.prefixes("ab", 5).verdict("a") == "unknown"
    assert oracle.prefixes("ab", 5, completion=3).verdict("a") == "dead"
    assert oracle.prefixes("ab", 5, completion=3).verdict("aaa") == "unknown"
    assert oracle.prefixes("ab", 5).verdict("b") == "dead"
    assert Witnesses(oracle, "ab", random.Random(0)).verdict(b"a") == "unknown"
    assert LarkOracle("start: /a(?=b)/ /b/").superset is None


def test_deep_beginnings_have_witnesses() -> None:
    oracle = LarkOracle('start: "(" start ")" | NAME\nNAME: /[a-z]+/\n%ignore " "')
    witnesses = Witnesses(oracle, "(a) ", random.Random(1))
    assert witnesses.verdict(b"(" * 40 + b"ab ") == "viable"
    assert witnesses.verdict(b"(" * 40 + b"ab )" + b")" * 40) == "dead"


def check_verdicts(seed: str, count: int) -> tuple[int, int]:
    """Random grammars: nothing accepted is outside the superset, no verdict contradicts an accepted text."""
    rng, drawn, accepted, judged = random.Random(seed), RandomLark(seed), 0, 0
    for _ in range(count):
        grammar, oracle = drawn.readable()
        letters = "".join(rng.sample(grammar.alphabet, min(4, len(grammar.alphabet))))
        texts = {text for text in all_texts(letters, 4) if oracle.accepts(text)}
        assert texts == oracle.enumerate_language(letters, 4), grammar.text
        accepted += len(texts)
        beginnings = oracle.prefixes(letters, 4)
        for text in texts:
            for end in range(len(text) + 1):
                assert beginnings.verdict(text[:end]) == "viable"
        if oracle.superset is not None:
            witnesses = Witnesses(oracle, grammar.alphabet, rng)
            for text in rng.sample(sorted(texts), min(5, len(texts))):
                data = text.encode()
                assert witnesses.verdict(data[: rng.randint(0, len(data))]) != "dead", (grammar.text, text)
                judged += 1
    return accepted, judged


@tiers("seed, count", ("verdicts", 25), ("many verdicts", 150))
def test_verdicts_of_random_grammars(seed: str, count: int, record_property) -> None:
    accepted, judged = check_verdicts(seed, count)
    assert accepted > 100
    assert judged > 40
    record_property("texts accepted", accepted)


@pytest.mark.parametrize("count", [8, pytest.param(30, marks=pytest.mark.proof)])
def test_sentences_are_mostly_accepted(count: int) -> None:
    """Lexemes side by side are sometimes cut otherwise; most texts must be real ones, or they test nothing."""
    rng, drawn, accepted, made = random.Random(3), RandomLark("sentences"), 0, 0
    for _ in range(count):
        grammar, oracle = drawn.readable()
        sentences = Sentences(oracle, grammar.alphabet)
        for _ in range(10):
            if (text := sentences.sentence(rng)) is not None:
                made += 1
                accepted += oracle.accepts(text)
    assert made > 20 * count // 3
    assert accepted > made / 3, (accepted, made)
