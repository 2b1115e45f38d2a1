"""Terminals with a common text: each example by `re`, all pairs by enumeration, and which of two lark's lexer takes."""

import itertools
import random
import re

import pytest
from lark import lexer as lark_lexer
from lark.common import LexerConf
from lark.load_grammar import load_grammar

import grammarlm as gl
from grammarlm.grammars.lark.collisions import MOST_FOUND, Collision, collisions
from grammarlm.grammars.lark.loading import load
from grammarlm.masks.runtime.limits import Clock

LONGEST = 5
TEXTS = ["".join(letters) for length in range(1, LONGEST + 1) for letters in itertools.product("ab", repeat=length)]


def clock() -> Clock:
    return Clock(gl.Limits())


def taken(terminals: list, text: str) -> str | None:
    """The terminal that lark's lexer takes the text for, where it takes all of it."""
    lexer = lark_lexer.BasicLexer(LexerConf(terminals, re, skip_validation=True))
    found = lexer.scanner.match(lark_lexer.TextSlice.cast_from(text), 0)
    assert found is not None
    value, name = found
    if value != text:
        return None
    callback = lexer.callback.get(name)
    return name if callback is None else callback(lark_lexer.Token(name, value)).type


@pytest.mark.parametrize("name", ["arithmetic", "c", "go", "html", "json", "smiles", "sqlite", "yaml", "python"])
def test_examples_are_texts_of_both_and_lark_takes_the_first(name: str) -> None:
    grammar = gl.Lark.library(name)
    kept = {grammar.indent.newline} if grammar.indent else set()
    compiled, _, _ = load_grammar(grammar.text, "", [], False)[0].compile([grammar.start], kept)
    known = {terminal.name: terminal for terminal in compiled}
    result = collisions(grammar, clock().tick)
    assert (result.refused, result.unfinished) == ({}, None)
    for pair in result.found:
        both = [known[pair.preferred], known[pair.other]]
        assert all(re.fullmatch(terminal.pattern.to_regexp(), pair.text) for terminal in both), pair
        assert taken(both, pair.text) in (pair.preferred, None), pair


def test_what_is_known_of_the_library() -> None:
    found = collisions(gl.Lark.python(), clock().tick).found
    assert Collision("IF", "NAME", "if") in found
    assert {pair.other for pair in found if pair.preferred.isalpha() and pair.text.isalpha()} == {"NAME"}
    assert Collision("STRING", "PATH", '"0"') not in found
    assert not collisions(gl.Lark.library("json"), clock().tick).found


def a_pattern(rng: random.Random, depth: int = 2) -> str:
    if not depth or rng.random() < 0.3:
        return rng.choice(["a", "b", "[ab]", "ab", "a(?!b)", "(?<=a)b"])
    inner = [a_pattern(rng, depth - 1) for _ in range(rng.randint(1, 3))]
    return rng.choice(
        ["".join(inner), f"(?:{'|'.join(inner)})", f"(?:{inner[0]})" + rng.choice("?*+"), f"(?:{inner[0]}){{1,2}}"]
    )


def test_all_pairs_by_enumeration() -> None:
    rng, pairs = random.Random(3), 0
    for _ in range(60):
        patterns = {name: a_pattern(rng) for name in "PQRS"}
        patterns = {name: f"{p}[ab]" if re.fullmatch(p, "") else p for name, p in patterns.items()}
        lines = "".join(f"{name}: /{pattern}/\n" for name, pattern in patterns.items())
        found = {
            frozenset((pair.preferred, pair.other)): pair.text
            for pair in collisions(gl.Lark(f"start: {' '.join(patterns)}\n{lines}"), clock().tick).found
        }
        for pair in itertools.combinations(patterns, 2):
            shortest = next((t for t in TEXTS if all(re.fullmatch(patterns[name], t) for name in pair)), None)
            text = found.get(frozenset(pair))
            if shortest is not None:
                assert text is not None, (lines, pair)
                assert len(text) == len(shortest), (lines, pair)
                pairs += 1
            if text is not None:
                assert all(re.fullmatch(patterns[name], text) for name in pair), (lines, pair)
                assert shortest is not None or len(text) > LONGEST, (lines, pair)
    assert pairs > 60


@pytest.mark.parametrize(
    ("terminals", "text"),
    [
        (r"A: /\w+/" "\n" r"B: /[à]+x/", "àx"),
        (r"A: /(?i:k)/" "\n" 'B: "\N{KELVIN SIGN}"', "\N{KELVIN SIGN}"),
        (r"A: /(?x: [a-z]+ [0-9] )/" "\n" 'B: "a1"', "a1"),
        (r"A: /\p{L}+/" "\n" r'B: "é"', "é"),
    ],
)
def test_characters_beyond_ascii_and_flags(terminals: str, text: str) -> None:
    (pair,) = collisions(gl.Lark(f"start: A B\n{terminals}"), clock().tick).found
    assert pair.text == text


def test_what_is_refused_is_named() -> None:
    result = collisions(gl.Lark('start: A B C\nA: /(a)\\1/\nB: /aa/\nC: "aa"'), clock().tick)
    assert list(result.refused) == ["A"]
    assert "backreference" in result.refused["A"]
    assert result.found == [Collision("C", "B", "aa")]


def test_the_search_is_bounded() -> None:
    """Exponentially many states, a time that is over, and too many pairs."""
    explosive = gl.Lark("start: A B C\nA: /(a|b)*a(a|b){14}c/\nB: /(a|b)*b(a|b){14}d/\nC: /a+c?/")
    result = collisions(explosive, lambda: None)  # bounded by states alone, whatever else runs
    assert "states" in (result.unfinished or "")
    assert not result.found
    result = collisions(explosive, Clock(gl.Limits(max_ms=1)).tick)
    assert "max_ms" in (result.unfinished or "")
    names = [f"A{i}" for i in range(60)]
    many = gl.Lark(
        f"start: {' '.join(names)}\n" + "".join(f"{name}: /a{{1,{i + 1}}}/\n" for i, name in enumerate(names))
    )
    result = collisions(many, clock().tick)
    assert len(result.found) == MOST_FOUND
    assert "pairs" in (result.unfinished or "")


def test_large_grammars_are_read_as_compile_reads_them() -> None:
    rules = "".join(f'r{i}: ("a" | "b{i}")~10\n' for i in range(12))
    text = f"start: {' | '.join(f'r{i}' for i in range(12))}\n{rules}WORD: /[a-c]/\nword: WORD\n"
    with pytest.raises(gl.LimitExceeded):
        load(text, "start", None, max_size=100_000)
    assert not collisions(gl.Lark(text), clock().tick).refused
