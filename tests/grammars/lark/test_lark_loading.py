"""Grammars loaded without lark are what lark's loader makes of them: rules, terminals, names, order."""

import re
from collections import Counter
from collections.abc import Callable

import pytest

from grammarlm.errors import GrammarError
from grammarlm.grammars.lark.loading import read_parts
from tests.grammars.lark.lark_texts import RandomText, written_grammars
from tests.oracles.lark_loader import NamedParts, by_name, load_with_lark
from tests.oracles.random_lark import RandomLark


def nothing() -> None:
    pass


def ours(text: str, start: str = "start", kept: frozenset[str] = frozenset()) -> NamedParts:
    return by_name(read_parts(text, start, {*kept}, nothing))


def one_order(regex: str) -> str:
    """lark writes several flags in an order that depends on hashes."""
    return re.sub(r"(\(\?[imslux]:)+", lambda found: "".join(sorted(found[0])), regex)


def check(text: str, start: str = "start") -> str:
    """Compares both; says what happened."""
    try:
        found = ours(text, start)
    except GrammarError:
        return "refused"
    theirs = load_with_lark(text, start, set())
    assert found.rules == theirs.rules
    assert found.ignored == theirs.ignored
    assert [t.name for t in found.terminals] == [t.name for t in theirs.terminals]
    for one, other in zip(found.terminals, theirs.terminals, strict=True):
        assert (one.priority, one.pattern.kind, one.pattern.flags) == (
            other.priority,
            other.pattern.kind,
            other.pattern.flags,
        )
        assert one_order(one.pattern.value) == one_order(other.pattern.value)
        assert one_order(one.pattern.regex) == one_order(other.pattern.regex)
        assert one.pattern.widths == other.pattern.widths
    return "equal"


@pytest.mark.parametrize(("text", "start"), written_grammars())
def test_written_grammars(text: str, start: str, request: pytest.FixtureRequest) -> None:
    """One has a pattern that `re` and `regex` refuse, so that nothing can be read with it."""
    is_refused = request.node.callspec.id == "regular expressions"
    assert check(text, start) == ("refused" if is_refused else "equal")
    assert lark_refuses(text, start) is is_refused


def check_random_grammars(seed: str, count: int) -> Counter[str]:
    outcomes, drawn, texts = Counter[str](), RandomLark(f"loading {seed}"), RandomText(f"loading {seed}")
    for case in range(count):
        text = (texts.with_templates(), texts.changed(), drawn.grammar().text)[case % 3]
        outcome = check(text)
        if outcome == "refused":
            assert lark_refuses(text), text
        outcomes[outcome] += 1
    return outcomes


def lark_refuses(text: str, start: str = "start") -> bool:
    try:
        load_with_lark(text, start, set())
    except GrammarError:
        return True
    return False


def test_random_grammars() -> None:
    outcomes = check_random_grammars("some", 150)
    assert outcomes["equal"] > 75, outcomes
    assert outcomes["refused"] > 10, outcomes


@pytest.mark.proof
@pytest.mark.parametrize("seed", range(4))
def test_many_random_grammars(seed: int, record_property: Callable[[str, object], None]) -> None:
    outcomes = check_random_grammars(f"many {seed}", 1500)
    record_property("cases", outcomes.total())
    assert outcomes["equal"] > 750, outcomes


@pytest.mark.parametrize("names", [("NEWLINE",), ("NEWLINE", "X")])
def test_terminals_that_are_kept(names: tuple[str, ...]) -> None:
    text = 'start: "a"\nNEWLINE: /\\n/\nX: "x"'
    assert ours(text, kept=frozenset(names)).terminals == load_with_lark(text, "start", {*names}).terminals


WRITTEN = r"""
start: "\\" "\"" "\x41" "\u00e9" "\d" "\n" "\\n" "\\\\" | /\\"/ | /\//i | /[\/"]/ | "'" | /'/
===
start: /a b # c
 d/x "e"i /f/is "..." /\.\./ "a".."z" "\x00".."\x1f"
===
start: [A] [B] "c"
A: "a"~2..3 | "aa"
B: ("b" | /b+/ | )["x"] "y"~3
===
!start: ["a" "b"] [_C d] [d | "e" "f"]
_C: "c"
d: "d"
===
start: "été" "_" "a_b" "1a" "A" "É" "ab" AB
AB: "x"
===
start: A B
A: "x"i
B: "x"
%ignore "x"i
%ignore A
%ignore " " | "\t"
===
start.5: a _b
a: "x"
_b.-3: "y"
===
%import common (INT, WS)
%import common.CNAME -> N
start: INT N
%ignore WS
===
%import common.INT
%override INT: "7"
%import common.NUMBER
start: INT NUMBER
===
start: a
a: "x"
%extend a: "y" | "z"
%extend a: ("u" | "v")*
B: "b"
%extend B: "c"
%ignore B
===
start: x -> one | x -> two | (x | y)+ -> three
x: "x"
y: "y" |
===
%import python (expr, NAME)
start: expr NAME
===
start: _sep{a, ","} _sep{_sep{a, ";"}, /b/} both{_sep}
_sep{x, y}: x (y x)*
both{f}: f{a, "."} | [f{"c", a}]
a: "a"
===
start: A?
%declare A _INDENT
===
start: ("a" "b"?)~2..3 ("c"+)* ["d" ["e"]] | ("a"+ | "b"+ "a"+)*
"""


@pytest.mark.parametrize(
    "text", [*WRITTEN.split("===\n"), 'start: "a\rb" /[a\rz]/ "\\r"', 'start: "a\0b"', 'start: "\f\v\x85\u2028"']
)
def test_what_is_written_in_many_ways(text: str) -> None:
    if check(text) == "refused":
        assert lark_refuses(text)
