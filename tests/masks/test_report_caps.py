"""The report names what the engine adds to a language."""

import grammarlm as gl
from tests.texts import BYTES


def test_indented_languages_have_caps() -> None:
    constraint = gl.compile(gl.Lark.python(), BYTES)
    assert any("1,023 columns" in cap for cap in constraint.report.caps)
    for width, taken in ((1023, True), (1024, False)):
        assert constraint.matcher().advance_bytes(b"if x:\n" + b" " * width + b"y\n") == taken


def test_others_have_none() -> None:
    for grammar in (gl.Regex("a"), gl.Gbnf('root ::= "(" root? ")"'), gl.Lark.library("json")):
        assert gl.compile(grammar, BYTES).report.caps == ()
