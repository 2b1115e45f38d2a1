"""Masks where names are read: subtrees of the vocabulary that are words are taken whole, against the oracle of patterns."""

import random

import pytest

import grammarlm as gl
from grammarlm.layout import utf8
from tests.laws.laws import assert_walk_equals_oracle
from tests.laws.vocabularies import TokenList
from tests.oracles.automata import TokenOracle
from tests.oracles.regex_oracle import Oracle

NAMES = [
    "[a-z_][a-z0-9_]*",
    "[a-z]+",
    "[a-eg-z]+",
    "[0-9a-f]+",
    "[A-Z][a-z]*",
    "[A-Za-z]{1,5}",
    "(?:[a-z][0-9]?)+",
    "[a-z]+(?:-[a-z]+)*",
    "[^\\W\\d]\\w*",
    "(?:[a-z]|[0-9](?![a-f]))+",
]
MOST_STATES = 20_000  # `\w` has some hundreds, twice
SEPARATORS = [" ", "[.]", "!e", "::", "="]


def vocabulary(rng: random.Random, words: int) -> TokenList:
    """All bytes, and words of letters and digits, most of them whole subtrees of such words."""
    tokens = [bytes([byte]) for byte in range(256)]
    for _ in range(words):
        letters = "".join(rng.choice("abefzZQ09_") for _ in range(rng.randint(2, 6)))
        behind = rng.choice(["", "", "é", " ", ".", "-"]) if letters[0] in "abZ" else ""
        tokens.append((rng.choice(["", "", " ", "."]) + letters + behind).encode())
    return TokenList([*tokens, b"</s>"], [len(tokens)], [], len(tokens) + 1)


def check(seed: int, grammars: int, walks: int, words: int) -> int:
    rng, steps = random.Random(seed), 12
    tokens = vocabulary(rng, words)
    vocab = tokens.vocabulary()
    for _ in range(grammars):
        name, other, separator = rng.choice(NAMES), rng.choice(NAMES), rng.choice(SEPARATORS)
        literal = separator.strip("[]")
        grammar = f'start: "<" NAME ">" | "(" OTHER ("{literal}" OTHER)* ")"\nNAME: /{name}/\nOTHER: /{other}/\n'
        pattern = f"(?u)<(?:{name})>|[(](?:{other})(?:{separator}(?:{other}))*[)]"
        oracle = TokenOracle(
            Oracle(pattern, MOST_STATES), tokens.tokens, tokens.stop_ids, tokens.special_ids, MOST_STATES
        )
        constraint = gl.compile(gl.Lark(grammar), vocab)
        for _ in range(walks):
            assert_walk_equals_oracle(constraint.matcher(), oracle, vocab, rng, steps)
    return grammars * walks * steps


@pytest.mark.parametrize("seed", range(4))
def test_words(seed: int) -> None:
    check(seed, 4, 5, 1500)


@pytest.mark.proof
@pytest.mark.parametrize("seed", range(100, 112))
def test_many_words(seed: int, record_property) -> None:
    record_property("moves", check(seed, 20, 12, 4000))


def test_the_kinds_of_words_are_those_of_no_other_byte() -> None:
    of_words = {int(utf8.KINDS[byte]) for byte in utf8.WORD_BYTES}
    assert sum(1 << kind for kind in of_words) == utf8.WORDS
    assert sorted(byte for byte in range(256) if int(utf8.KINDS[byte]) in of_words) == utf8.WORD_BYTES.tolist()
