"""What the readers of EBNF and GBNF promise alike: large texts are read under the clock, errors say where they are."""

import pytest

import grammarlm as gl
from grammarlm.grammars.cfg.rules import Alternatives, Chars, Text

HOSTILE = {
    "brackets": "root ::= " + "(" * 200_000 + '"a"' + ")" * 200_000,
    "nested": "root ::= " + '("a" x ' * 50_000 + '"a"' + ")*" * 50_000 + '\nx ::= "x"',
    "alternatives": "root ::= " + " | ".join(f'"{i}"' for i in range(100_000)),
    "rules": "root ::= r0\n" + "\n".join(f'r{i} ::= "a" r{i // 2}' for i in range(100_000)),
    "class": "root ::= [" + r"a-f\n0-8" * 100_000 + "]",
    "literals": "root ::= " + '"a" ' * 200_000,
}


def check_clock(grammar: gl.Ebnf | gl.Gbnf, name: str) -> None:
    """The text is read right, and the clock can stop it."""
    ticks = limit = 0

    def tick() -> None:
        nonlocal ticks
        ticks += 1
        if ticks == limit:
            raise gl.LimitExceeded("time is over")

    rules = grammar.rules(tick)
    assert ticks > 100
    if name == "brackets":
        assert rules.bodies == {"root": Text(b"a")}
    elif name == "alternatives":
        assert rules.bodies["root"] == Alternatives(tuple(Text(str(i).encode()) for i in range(100_000)))
    elif name == "rules":
        assert len(rules.bodies) == 100_001
    elif name == "class":
        assert rules.bodies["root"] == Chars(((10, 10), (48, 56), (97, 102)))
    elif name == "literals":
        assert rules.bodies["root"] == Text(b"a" * 200_000)
    ticks, limit = 0, 50
    with pytest.raises(gl.LimitExceeded, match=r"^time is over$"):
        grammar.rules(tick)
    assert ticks == 50


def check_place(error: BaseException, notation: str, text: str, position: int, words: str) -> None:
    assert words in str(error)
    assert isinstance(error, gl.GrammarError)
    assert error.position == position
    before = text[:position]
    where = f"line {before.count(chr(10)) + 1}, column {position - before.rfind(chr(10))} of the {notation} text:"
    assert where in str(error)
    assert str(error).endswith("^")
