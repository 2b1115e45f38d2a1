"""`&` and `-` where a side has a stack: what is taken off, and what is refused by name."""

import pytest

import grammarlm as gl
from grammarlm.grammars.cfg.assembly import needs_stack
from grammarlm.grammars.cfg.top_level import split
from grammarlm.grammars.regular.derivatives import Algebra
from grammarlm.grammars.regular.terms import ANYTHING

VOCAB = gl.Vocabulary([bytes([b]) for b in range(256)] + [b"</s>", b"<|x|>"], stop_ids=[256], special_ids=[256, 257])
BRACKETS = gl.Gbnf('root ::= "(" root? ")"')
LARK = gl.Lark('start: "(" start? ")"')
WORDS = gl.Regex("[a-z]+")


def accepts(term, algebra: Algebra, data: bytes) -> bool:
    for byte in data:
        term = next((target for bits, target in algebra.edges(term) if bits >> byte & 1), None)
        if term is None:
            return False
    return term.nullable


@pytest.mark.parametrize("core", [BRACKETS, LARK, gl.Token("<|x|>") + BRACKETS], ids=["gbnf", "lark", "token"])
def test_what_is_taken_off(core: gl.Gbnf) -> None:
    """A text satisfies the border iff each regular side says so."""
    cases = {
        core: lambda t: True,
        core & gl.Regex("[()]{4}"): lambda t: len(t) == 4,
        gl.Regex("[()]{4}") & core: lambda t: len(t) == 4,
        core - "()": lambda t: t != "()",
        core - "()" - "(())": lambda t: t not in ("()", "(())"),
        (core & gl.Ban(["(("])) - "()": lambda t: "((" not in t and t != "()",
        core & gl.Ban(["(("]) & (gl.Regex("[()]*") - "()"): lambda t: "((" not in t and t != "()",
    }
    for grammar, expected in cases.items():
        algebra = Algebra()
        found = split(grammar, needs_stack, algebra)
        assert found.grammar == core
        for text in ("", "()", "(())", "((()))", ")(", "()()"):
            assert accepts(found.border, algebra, text.encode()) is expected(text), (grammar, text)
    assert split(core, needs_stack, Algebra()).border is ANYTHING


@pytest.mark.parametrize(
    ("grammar", "message"),
    [
        (BRACKETS & LARK, "'&' with a context-free grammar on both sides"),
        (BRACKETS & WORDS & LARK, "'&' with a context-free grammar on both sides"),
        (WORDS - BRACKETS, "'-' with a context-free grammar after it"),
        (BRACKETS - LARK, "'-' with a context-free grammar after it"),
        (WORDS - "a" - BRACKETS, "'-' with a context-free grammar after it"),
        ((WORDS + (BRACKETS & WORDS)) & WORDS, "stands inside another grammar"),
        (WORDS + ((BRACKETS - "()") | "a") - "b", "stands inside another grammar"),
        ((WORDS + (BRACKETS & WORDS)) & LARK, "'&' with a context-free grammar on both sides"),
        (gl.JsonSchema({}) & WORDS, "'&' with a JsonSchema"),
        ((gl.JsonSchema({}) + (BRACKETS & WORDS)) & WORDS, "'&' with a JsonSchema"),
    ],
    ids=str,
)
def test_what_is_refused_by_name(grammar: gl.Gbnf, message: str) -> None:
    with pytest.raises(gl.UnsupportedFeature, match=message):
        gl.compile(grammar, VOCAB)


def test_below_other_grammars_each_is_a_part() -> None:
    short, no_pair = BRACKETS & gl.Regex("[()]{2,4}"), LARK - "()"
    cases = {
        gl.Text(until=";") + short: (["a;()", ";(())"], ["a;((()))", "()", "a;"]),
        short | WORDS: (["()", "(())", "ab"], ["((()))", "", "()a"]),
        gl.Repeat(no_pair, 1, 2, separator=",") + "!": (["(())!", "(()),((()))!"], ["()!", "(()),()!", "!"]),
        short + gl.JsonSchema({"type": "boolean"}): (["()true"], ["((()))true", "()"]),
        gl.Substring("ab") + no_pair: (["ab(())", "(())"], ["ab()", "c(())"]),
    }
    for grammar, (good, bad) in cases.items():
        constraint = gl.compile(grammar, VOCAB)
        for text in good + bad:
            matcher = constraint.matcher()
            assert (matcher.advance_bytes(text.encode()) and matcher.is_accepting) is (text in good), (grammar, text)


def test_regular_sides_are_read_as_ever() -> None:
    """An intersection of regular parts may stand anywhere."""
    matcher = gl.compile((gl.Regex("[a-c]{3}") - "abc") + BRACKETS, VOCAB).matcher()
    assert not matcher.advance_bytes(b"abc(")
    assert matcher.advance_bytes(b"abb()")
    with pytest.raises(gl.GrammarError, match="empty string"):
        gl.compile(BRACKETS & gl.Ban([""]), VOCAB)
