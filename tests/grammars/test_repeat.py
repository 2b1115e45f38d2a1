"""What is wrong with a repeat is said in a sentence; a body that has no text is repeated no times, where it may be."""

from typing import Any

import pytest

import grammarlm as gl
from tests.texts import BYTES

NOTHING: dict[str, tuple[Any, str]] = {
    "schema": (gl.JsonSchema({"type": "integer", "minimum": 3, "maximum": 2}), "these contradict each other"),
    "both": (gl.Regex("a+") & gl.Regex("b+"), "matches no text at all"),
    "rules": (gl.Gbnf('root ::= "a" root'), "no text"),
}


@pytest.mark.parametrize(
    ("bounds", "kind", "message"),
    [
        ({"min": 3, "max": 2}, ValueError, "Repeat(min=3, max=2): min is above max"),
        ({"min": -1}, ValueError, "Repeat(min=-1): it takes a number from 0 to 1,073,741,824"),
        ({"max": 1 << 40}, ValueError, "Repeat(max=1099511627776): it takes a number from 0 to 1,073,741,824"),
        ({"min": 1.5}, TypeError, "Repeat(min=...) takes a number, not float"),
        ({"max": True}, TypeError, "Repeat(max=...) takes a number, not bool"),
    ],
)
def test_bounds(bounds: dict[str, Any], kind: type[Exception], message: str) -> None:
    with pytest.raises(kind) as caught:
        gl.Repeat("a", **bounds)
    assert str(caught.value) == message


@pytest.mark.parametrize("name", NOTHING)
def test_a_body_without_a_text(name: str) -> None:
    body, message = NOTHING[name]
    for least in (1, 2):
        for grammar in (gl.Repeat(body, least, 3, ","), gl.Repeat(gl.Capture("x", body), least) + "."):
            with pytest.raises(gl.UnsatisfiableGrammar, match=message) as caught:
                gl.compile(grammar, BYTES)
            assert len(str(caught.value)) <= 500
    matcher = gl.compile("(" + gl.Repeat(body, 0, 3, ",") + ")", BYTES).matcher()
    assert matcher.forced_bytes() == b"()"


def test_a_separator_without_a_text() -> None:
    grammar = gl.Repeat(gl.JsonSchema({"enum": [True]}, whitespace="compact"), 1, 3, NOTHING["both"][0])
    matcher = gl.compile(grammar, BYTES).matcher()
    assert matcher.forced_bytes() == b"true"
    with pytest.raises(gl.UnsatisfiableGrammar):
        gl.compile(gl.Repeat("a", 2, 3, NOTHING["both"][0]), BYTES)
