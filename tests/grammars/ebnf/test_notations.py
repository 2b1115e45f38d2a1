"""What Gbnf and Ebnf read, as llama.cpp's and xgrammar's parsers do, and what they say of the rest: corpus/notations.toml."""

import contextlib
import random
import re
from pathlib import Path
from typing import Any

import pytest

import grammarlm as gl
from grammarlm.grammars.cfg.rules import Alternatives, Call, Chars, Repeat, Rules, Sequence, Text, Token
from tests.corpus_files import read_toml
from tests.oracles.cfg_oracle import CfgOracle
from tests.oracles.random_sentences import PatternSampler
from tests.texts import BYTES

CORPUS = read_toml(Path(__file__).parents[2] / "corpus" / "notations.toml")
KINDS = {"gbnf": gl.Gbnf, "ebnf": gl.Ebnf}


def table(name: str) -> list[Any]:
    return [pytest.param(kind, *row, id=f"{kind}-{row[0]}") for kind in KINDS for row in CORPUS[kind][name]]


def read(kind: str, text: str, **options: str) -> Rules:
    return KINDS[kind](text, **options).rules(lambda: None)


@pytest.mark.parametrize(("kind", "text", "same"), table("languages"))
def test_languages(kind: str, text: str, same: str) -> None:
    """The texts of a pattern, as `re` has it, and what is near them."""
    oracle, rng = CfgOracle(read(kind, text)), random.Random(text)
    texts = {"", "a", "ab", "aab", "\n"}
    if "(?!)" not in same:
        texts |= {PatternSampler(same, rng).sample() for _ in range(12)}
    for each in list(texts):
        at = rng.randrange(len(each) + 1)
        texts |= {each[:at] + each[at + 1 :], each[:at] + rng.choice("aA!-\x00é\n") + each[at:]}
    for each in texts:
        assert oracle.is_complete(each.encode()) == bool(re.fullmatch(same, each)), each


@pytest.mark.parametrize(
    ("kind", "text", "position", "words", "error"),
    [pytest.param(*each.values, *["GrammarError"] * (5 - len(each.values)), id=each.id) for each in table("broken")],
)
def test_errors_say_what_and_where(kind: str, text: str, position: int, words: str, error: str) -> None:
    with pytest.raises(gl.GrammarError) as caught:
        read(kind, text)
    assert type(caught.value) is getattr(gl, error)
    assert words in str(caught.value)
    assert caught.value.position == position
    before = text[:position]
    where = f"line {before.count(chr(10)) + 1}, column {position - before.rfind(chr(10))} of the {kind.upper()} text:"
    assert where in str(caught.value)
    assert str(caught.value).endswith("^")


@pytest.mark.parametrize("text", ['root ::= "a" root', "root ::= [^\\u0000-\\U0010FFFF]"])
def test_a_rule_without_a_text_is_named(text: str) -> None:
    with pytest.raises(gl.UnsatisfiableGrammar, match="no text follows 'root'"):
        gl.compile(gl.Gbnf(text), BYTES)


def test_half_a_surrogate_pair() -> None:
    with pytest.raises(gl.GrammarError, match=r"U\+D83D is half of a surrogate pair"):
        read("gbnf", 'root ::= "\ud83d"')


@pytest.mark.parametrize("kind", KINDS)
def test_long_things_do_not_hide_where_the_error_is(kind: str) -> None:
    with pytest.raises(gl.GrammarError, match=r"column 10 of the \w+ text:\n.*\n *\^$"):
        read(kind, "root ::= " + "x" * 10_000)


@pytest.mark.parametrize(("kind", "text", "node"), [
    ("gbnf", "<[1000]>", Token(1000, 9)),
    ("gbnf", "<|tool call|>", Token("<|tool call|>", 9)),
    ("gbnf", "</s>* <[0]>", Sequence((Repeat(Token("</s>", 9), 0, None), Token(0, 15)))),
    ("gbnf", '"a"{0,1000000000}', Repeat(Text(b"a"), 0, 1_000_000_000)),
        ("gbnf", '"a"{3000}', Repeat(Text(b"a"), 3000, 3000)),
    ("ebnf", "Token (\n 7 )", Token(7, 9)),
    ("ebnf", "Token(2, 1, 2, # 5\n 003)", Alternatives((Token(1, 9), Token(2, 9), Token(3, 9)))),
])  # fmt: skip
def test_tokens_and_great_counts(kind: str, text: str, node: Any) -> None:
    assert read(kind, f"root ::= {text}").bodies["root"] == node


def test_descriptions_are_values() -> None:
    assert gl.Gbnf("root ::= x") == gl.Gbnf("root ::= x")
    assert gl.Gbnf("root ::= x") != gl.Gbnf("root ::= x", start="x")
    assert gl.Gbnf("root ::= x") != gl.Ebnf("root ::= x")
    assert hash(gl.Gbnf("root ::= x")) == hash(gl.Gbnf("root ::= x"))
    with pytest.raises(TypeError, match=r"^Gbnf\(\) takes a grammar and the name of a rule as str, not bytes$"):
        gl.Gbnf(b"root ::= x")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"not int$"):
        gl.Gbnf("", start=1)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        gl.Gbnf("root ::= x", "root")  # type: ignore[misc]


def test_where_the_notations_agree_they_make_the_same_rules() -> None:
    text = 'root ::= (a | "b" [^x-z\\n])* "\\x41" a{2,3} # c\n\na ::= "é" "\\u00e9" (a "" | ()) |\n  [\\x41-\\]] "a"+\n'
    assert read("ebnf", text) == read("gbnf", text)


# ------------------------------------------------------------------ large texts

LARGE = {
    "brackets": ("root ::= " + "(" * 200_000 + '"a"' + ")" * 200_000, Text(b"a")),
    "nested": ("root ::= " + '("a" x ' * 50_000 + '"a"' + ")*" * 50_000 + '\nx ::= "x"', None),
    "alternatives": (
        "root ::= " + " | ".join(f'"{i}"' for i in range(100_000)),
        Alternatives(tuple(Text(str(i).encode()) for i in range(100_000))),
    ),
    "rules": ("root ::= r0\n" + "\n".join(f'r{i} ::= "a" r{i // 2}' for i in range(100_000)), Call("r0", 9)),
    "class": ("root ::= [" + r"a-f\n0-8" * 100_000 + "]", Chars(((10, 10), (48, 56), (97, 102)))),
    "literals": ("root ::= " + '"a" ' * 200_000, Text(b"a" * 200_000)),
    "regex": ('root ::= Regex("' + "a" * 100_000 + '")', None),
}


@pytest.mark.parametrize("name", LARGE)
@pytest.mark.parametrize("kind", KINDS)
def test_large_texts_are_read_under_the_clock(kind: str, name: str) -> None:
    """They are read right, and the clock can stop it."""
    if (kind, name) == ("gbnf", "regex"):
        return
    ticks = limit = 0

    def tick() -> None:
        nonlocal ticks
        ticks += 1
        if ticks == limit:
            raise gl.LimitExceeded("time is over")

    text, root = LARGE[name]
    rules = KINDS[kind](text).rules(tick)
    assert ticks > 100
    assert root in (None, rules.bodies["root"])
    ticks, limit = 0, 50
    with pytest.raises(gl.LimitExceeded, match=r"^time is over$"):
        KINDS[kind](text).rules(tick)
    assert ticks == 50


UNITS = {
    "gbnf": [*'("[{<#|\\*\r]', '"\\', "[^", "{1", "!<", "::=", "a::=", "x ", "a ::= #"],
    "ebnf": [
        *('(|"[{#\\\r'),
        *("(=", '"\\', "[^", "{1", "::=", "a::=", "\na::=", "x ", "x[lazy"),
        *("Token(", "Token(1,", "Token (# \n", 'Regex("', 'Regex("a'),
    ],
}


@pytest.mark.parametrize(("kind", "unit"), [(kind, unit) for kind, units in UNITS.items() for unit in units])
def test_nothing_is_scanned_again_and_again(kind: str, unit: str) -> None:
    """A reader that looks for an end from every place where one might be missing takes minutes for each of these."""
    with contextlib.suppress(gl.GrammarError):
        read(kind, 'root ::= "a" ' + unit * 200_000)
