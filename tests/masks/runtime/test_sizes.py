"""How large a description may be: told before anything of it is read, by max_ms and by max_bytes, whatever kind it is."""

import functools
import json
import operator
import subprocess
import sys
from collections.abc import Callable
from decimal import Decimal

import pytest

import grammarlm as gl
from grammarlm.grammars.compose import Grammar
from grammarlm.grammars.regular.derivatives import Algebra
from grammarlm.grammars.regular.syntax import RegexParser, parse_regex
from grammarlm.masks.runtime.sizes import check_size
from tests.laws.vocabularies import every_byte

WORDS = [f"word {i}" for i in range(40_000)]
MILLION = "x" * 10**6
EVERY_BYTE = every_byte().vocabulary()
LARGE: dict[str, Callable[[], Grammar]] = {
    "an enum": lambda: gl.JsonSchema({"enum": WORDS}),
    "an enum as text": lambda: gl.JsonSchema(json.dumps({"enum": WORDS})),
    "an enum of objects": lambda: gl.JsonSchema({"enum": [{} for _ in WORDS]}),
    "properties": lambda: gl.JsonSchema({"properties": {word: {} for word in WORDS}}),
    "data that is not plain": lambda: gl.JsonSchema({"anyOf": [{"const": Decimal(i)} for i in range(40_000)]}),
    "a registry": lambda: gl.JsonSchema({}, registry={"http://a/": {"enum": WORDS}}),
    "many documents": lambda: gl.JsonSchema({}, registry=dict.fromkeys(WORDS, True)),
    "a separator": lambda: gl.TokenList(gl.Tokens([[1]]), separator=MILLION * 12),
    "many lines of GBNF": lambda: gl.Gbnf('root ::= "a" # a comment\n' * 40_000),
    "an order": lambda: gl.JsonSchema({}, property_order=WORDS),
    "long strings": lambda: gl.JsonSchema({"enum": [str(i) + MILLION for i in range(12)]}),
    "a long description": lambda: gl.JsonSchema({"description": MILLION * 12}),
    "choices": lambda: gl.Choices(WORDS),
    "long choices": lambda: gl.Choices([str(i) + MILLION for i in range(12)]),
    "items of strings": lambda: gl.Tokens(WORDS),
    "banned strings": lambda: gl.Ban(WORDS),
    "markers": lambda: gl.Text(until=WORDS),
    "a long marker": lambda: gl.Text(until=MILLION * 12),
    "a pattern": lambda: gl.Regex(MILLION * 12),
    "GBNF": lambda: gl.Gbnf(MILLION * 12),
    "EBNF": lambda: gl.Ebnf(MILLION * 12),
    "Lark": lambda: gl.Lark(MILLION * 12),
    "sums": lambda: functools.reduce(operator.add, [gl.Regex("a")] * 40_000),
    "alternatives": lambda: functools.reduce(operator.or_, [gl.Regex("a")] * 40_000),
    "differences": lambda: functools.reduce(operator.sub, [gl.Regex("a")] * 40_000),
    "a part in many places": lambda: functools.reduce(
        lambda inner, _: (inner + "a") | (inner + "b"), range(40), gl.Regex("a")
    ),
    "a list within a sum": lambda: gl.Regex("a") + gl.Choices(WORDS),
}


@pytest.mark.parametrize("name", LARGE)
def test_a_large_description_is_refused_by_both_limits(name: str) -> None:
    grammar = LARGE[name]()
    with pytest.raises(gl.LimitExceeded, match=r"max_ms (is|=) 20|combinations"):
        check_size(grammar, gl.Limits(max_ms=20))
    with pytest.raises(gl.LimitExceeded, match=r"max_bytes is 1,000|combinations"):
        check_size(grammar, gl.Limits(max_bytes=1000, max_ms=10**9))
    if name != "a part in many places":
        check_size(grammar, gl.Limits())


LONG = "[a-z]" * 60_000
PATTERNS: dict[str, Callable[[], Grammar]] = {
    "sets": lambda: gl.Regex(LONG),
    "bytes": lambda: gl.Regex(LONG.encode()),
    "the members of a set": lambda: gl.Regex(f"[{LONG.replace(']', '')}]"),
    "letters in two cases": lambda: gl.Regex("(?i)" + "a" * 60_000),
    "words": lambda: gl.Regex("|".join(WORDS * 2)),
    "one in a schema": lambda: gl.JsonSchema({"pattern": LONG}),
    "names of properties": lambda: gl.JsonSchema({"patternProperties": {LONG: {}}}),
    "one of many": lambda: gl.JsonSchema({"items": {"anyOf": [{"pattern": f"{i}{LONG[:9_000]}"} for i in range(40)]}}),
    "one in EBNF": lambda: gl.Ebnf(f'root ::= Regex("{LONG}")'),
    "one beside others": lambda: gl.Regex("a") + gl.Regex(LONG),
}


@pytest.mark.parametrize("name", PATTERNS)
def test_a_pattern_is_weighed_before_it_is_read(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many bytes a character takes: max_bytes holds, and most of them are never taken."""
    pushed: list[object] = []
    push = RegexParser.push
    monkeypatch.setattr(RegexParser, "push", lambda parser, item: (pushed.append(item), push(parser, item)))
    with pytest.raises(gl.LimitExceeded, match="max_bytes is 1,000,000"):
        gl.compile(PATTERNS[name](), EVERY_BYTE, limits=gl.Limits(max_bytes=10**6))
    assert len(pushed) < 60_000


def test_what_was_read_is_forgotten_with_its_terms() -> None:
    algebra = Algebra(max_bytes=10**6)
    for _ in range(10):
        parse_regex("[a-z]" * 3_000, algebra)
        algebra.forget()


@pytest.mark.parametrize("pattern", ["[a-z]" * 20_000, "(?i)" + "ab" * 10_000, "|".join(WORDS[:9_000])])
def test_an_ordinary_pattern_is_far_from_the_limits(pattern: str) -> None:
    gl.compile(gl.Regex(pattern), EVERY_BYTE)


def test_the_clock_looks_at_each_document() -> None:
    ticks: list[None] = []
    grammar = gl.JsonSchema({}, registry={f"http://a/{i}": {"type": "string"} for i in range(500)})
    grammar.document(lambda: ticks.append(None))
    assert len(ticks) >= 500


def test_a_long_separator_has_a_clock() -> None:
    grammar = gl.TokenList(gl.Tokens([[1]]), separator="ab" * 20_000)
    with pytest.raises(gl.LimitExceeded, match="max_ms"):
        gl.compile(grammar, EVERY_BYTE, limits=gl.Limits(max_ms=45))


def test_white_space_that_is_too_long() -> None:
    with pytest.raises(gl.LimitExceeded, match="at most 1,000 characters"):
        gl.compile(gl.JsonSchema({}, whitespace="[ ]" * 400), EVERY_BYTE)


def test_what_compiles_has_a_fingerprint(monkeypatch: pytest.MonkeyPatch) -> None:
    """The bounds of what is written are for schemas whose parts stand in several places."""
    monkeypatch.setattr("grammarlm.grammars.json_schema.read.content.MOST_PARTS", 10)
    monkeypatch.setattr("grammarlm.masks.saved.codec.LARGEST", 10**6)
    for schema in ({"enum": WORDS}, {"enum": [Decimal(i) / 4 for i in range(100)]}):
        constraint = gl.compile(gl.JsonSchema(schema), EVERY_BYTE)
        assert constraint.fingerprint
        assert gl.Constraint.from_bytes(constraint.to_bytes(), EVERY_BYTE).fingerprint == constraint.fingerprint
    assert gl.compile(gl.Choices([*WORDS, MILLION]), EVERY_BYTE).fingerprint


def test_the_first_look_is_the_compile(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is unpacked, sorted or split before."""
    vocab = gl.Vocabulary([b"a", b""], stop_ids=[1])
    monkeypatch.setattr("grammarlm.kernels.entries.load", lambda *_: pytest.fail("something was read"))
    for name, make in LARGE.items():
        grammar = make()
        with pytest.raises(gl.LimitExceeded):
            gl.compile(grammar, vocab, limits=gl.Limits(max_ms=20))
        assert name


def test_chains_of_operators_are_flat_and_equal() -> None:
    a, b, c = gl.Regex("a"), gl.Regex("b"), gl.Regex("c")
    assert (a + b + c).parts == (a + (b + c)).parts == (a, b, c)
    assert a + b + c == a + (b + c)
    assert hash(a + b + c) == hash(a + (b + c))
    assert (a - b - c).parts == (a, b, c)
    assert (a - (b - c)).parts == (a, b - c)
    assert (a + b) | c != a + (b | c)
    assert ((a | b) | (c | a)).parts == (a, b, c, a)
    for long in (
        functools.reduce(operator.add, [a] * 100_000),
        functools.reduce(lambda right, left: left + right, [a] * 100_000),
    ):
        assert len(long.parts) == 100_000
        assert repr(long).startswith("(Regex(pattern='a') + ")
    assert len(repr(functools.reduce(lambda inner, _: (inner + a) | (inner + b), range(60), a))) < 5000


def test_a_chain_of_operators_is_made_in_linear_memory() -> None:
    """In a process of its own: a chain of 50,000 that lists its parts at each step would write 10 GB."""
    code = (
        "import resource, functools, operator, grammarlm as gl\n"
        "a = gl.Regex('a')\n"
        "chain = [a]\n"
        "for _ in range(50_000): chain.append(chain[-1] + a)\n"
        "assert len(chain[-1].parts) == 50_001\n"
    )
    limit = "import resource; resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))\n"
    subprocess.run([sys.executable, "-c", limit + code], check=True, timeout=300)
