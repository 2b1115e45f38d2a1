"""Lark grammars as parts of a text: behind each other, as alternatives, within other grammars."""

import pytest

import grammarlm as gl
from grammarlm.grammars.compose import Grammar

VOCAB = gl.Vocabulary([bytes([b]) for b in range(256)] + [b"</s>"], stop_ids=[256], special_ids=[256])
JSON, ARITHMETIC, PYTHON = (gl.Lark.library(name) for name in ("json", "arithmetic", "python"))
BRACKETS = gl.Gbnf('root ::= "(" root ")" | "x"')

CASES = [
    (JSON + ";" + ARITHMETIC, [b'{"a": [1, 2]} ; 1+2*(3)', b"[];1"], [b'{"a": 1};', b"[],1", b"1;[]"]),
    (JSON + ";" + JSON, [b"[];[]", b"[1 ] ; 3"], [b"[];{", b"[]"]),
    (("x=" + JSON) | ("y=" + ARITHMETIC), [b"x=[1]", b"y=1+1"], [b"y=[1]", b"x=1+1"]),
    (BRACKETS + JSON + "!", [b"((x))[1]!", b"x[ ]  !"], [b"((x)[1]!", b"x[]"]),
    ("```\n" + PYTHON + "```", [b"```\nx = 1\n```", b"```\nif x:\n  y\n```"], [b"```\nif x:\n```", b"```\nx = 1```"]),
    (gl.Regex("[a-z]+: ") + (JSON | gl.Regex("none")), [b"abc: none", b"abc: {}", b"abc: null"], [b"abc: nul", b"{}"]),
    (gl.Lark('start: "a"*') + "b", [b"b", b"aab"], [b"a", b"ba"]),
]


@pytest.mark.parametrize(("grammar", "good", "bad"), CASES, ids=[repr(case[0])[:60] for case in CASES])
def test_texts(grammar: Grammar, good: list[bytes], bad: list[bytes]) -> None:
    constraint = gl.compile(grammar, VOCAB)
    for text in good + bad:
        matcher = constraint.matcher()
        accepted = all(matcher.advance(byte) for byte in text) and matcher.is_accepting
        assert accepted == (text in good), text
        matcher.reset()
        assert (matcher.advance_bytes(text) and matcher.is_accepting) == (text in good), text


def test_two_grammars_with_blocks_are_refused() -> None:
    other = gl.Lark(PYTHON.text + "\n// another", start="file_input", indent=gl.Indent())
    with pytest.raises(gl.UnsupportedFeature, match="two grammars with indented blocks"):
        gl.compile(PYTHON + "-" + other, VOCAB)
