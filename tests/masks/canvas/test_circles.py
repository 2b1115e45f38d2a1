"""Grammars of which one token may end any number of rules: the micro points of their tables go round in a circle."""

import numpy as np
import pytest

import grammarlm as gl
from grammarlm.masks.canvas.stack import heights
from grammarlm.masks.canvas.stack.heights import HEIGHTS
from grammarlm.masks.canvas.views import view_of
from tests.texts import BYTES

JSON = (
    'root ::= value\nvalue ::= object | array | string | number | "true"\nobject ::= "{" ws (members)? "}" ws\n'
    'members ::= pair | pair "," ws members\npair ::= string ":" ws value\narray ::= "[" ws (elements)? "]" ws\n'
    'elements ::= value | value "," ws elements\nstring ::= "\\"" [a-z ]* "\\"" ws\nnumber ::= [0-9]+ ws\nws ::= [ ]*\n'
)
ELSE = 'root ::= stmt\nstmt ::= "if(" [a-z]+ ")" stmt ("else " stmt)? | [a-z]+ "=" [0-9]+ ";" | "{" stmt+ "}"\n'


def test_a_circle_in_which_no_text_goes_round() -> None:
    """JSON of right recursion: elements return to an array, which may end the elements of another, with a bracket between them."""
    constraint = gl.compile(gl.Gbnf(JSON), BYTES)
    view = view_of(constraint)
    assert view.table.has_circles
    text = b'{"a": ["b", {"c": [[], true]}], "d": "e"}'
    row = [-1 if at % 3 else byte for at, byte in enumerate(text)] + [-1] * 40
    grid = view.grid(len(row), None, 0, lambda: None)
    grid.left_border()
    assert grid.table.sets.rounds > 0
    canvas = constraint.canvas(len(row))
    allowed = canvas.allowed(row)
    assert allowed.test(1, [ord('"'), ord("}"), ord(" "), ord("x")]).tolist() == [True, False, True, False]
    filled = canvas.fill(row, np.zeros((len(row), BYTES.size), np.float32))
    matcher = constraint.matcher()
    assert all(matcher.advance(token) for token in filled if token != 256)
    assert matcher.is_accepting


def test_a_token_that_ends_any_number_of_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    constraint = gl.compile(gl.Gbnf(ELSE), BYTES)
    ifs = b"if(a)if(b)if(c)x=1;else y=2;"
    canvas = constraint.canvas(len(ifs) + 5)
    row = [*ifs, *b"else "]
    assert not canvas.is_completable(row)
    row = [*ifs, *[-1] * 5]
    assert canvas.allowed(row).test(len(ifs), [ord("e"), 256, ord("i"), ord("}")]).tolist() == [
        False,
        True,
        False,
        False,
    ]
    row = [*ifs[:-9], *[-1] * 14]
    assert canvas.allowed(row).test(len(ifs) - 9, [ord("e"), 256, ord("i")]).tolist() == [True, True, False]
    nested = b"if(a)" * (HEIGHTS[-1] + 1) + b"x=1;"
    long = constraint.canvas(len(nested) + 1)
    with pytest.raises(gl.LimitExceeded, match="any number of"):
        long.is_completable([*nested, -1])
    monkeypatch.setattr(heights, "HEIGHTS", (8, 64))
    assert long.is_completable([*nested, -1])
