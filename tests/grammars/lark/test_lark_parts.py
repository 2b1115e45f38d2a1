"""Lark grammars as parts of a text: after each other, as alternatives, within other grammars."""

import pytest

import grammarlm as gl
from grammarlm.grammars.compose import Grammar
from tests.laws.laws import allowed_ids
from tests.texts import BYTES, accepts

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
    constraint = gl.compile(grammar, BYTES)
    for text in good + bad:
        matcher = constraint.matcher()
        accepted = all(matcher.advance(byte) for byte in text) and matcher.is_accepting
        assert accepted == (text in good), text
        assert accepts(constraint, text) == (text in good), text


def test_two_grammars_with_blocks_are_refused() -> None:
    other = gl.Lark(PYTHON.text + "\n// another", start="file_input", indent=gl.Indent())
    with pytest.raises(gl.UnsupportedFeature, match="two grammars with indented blocks"):
        gl.compile(PYTHON + "-" + other, BYTES)


AFTER = [gl.Regex("b"), gl.Gbnf('root ::= "b"'), gl.Lark('start: "b"'), gl.Text(until="b")]


@pytest.mark.parametrize(
    "lark", ['start: A\nA: "a"\n%ignore "<"', 'start: "a" "<"*', 'start: "a" "<"?', 'start: "a"', 'start: "a"*']
)
@pytest.mark.parametrize("after", AFTER, ids=[type(part).__name__ for part in AFTER])
def test_tokens_that_cross_the_end_of_a_part(lark: str, after: Grammar) -> None:
    """A token is allowed where advance takes it: what may be ignored before the part's end is no reason to forget the end."""
    tokens = [b"<", b"a", b"b", b"ab", b"<b", b"a<b", b"ab<", b"</s>"]
    vocab = gl.Vocabulary(tokens, stop_ids=[7])
    for prefix in ([], [1]):
        matcher = gl.compile(gl.Lark(lark) + after, vocab).matcher()
        if all(matcher.advance(token) for token in prefix):
            taken = {token for token in range(7) if matcher.fork().advance(token)}
            assert allowed_ids(matcher, vocab) - {7} == taken
            assert 3 in taken or prefix


def test_the_last_lexeme_of_a_part_takes_what_it_can() -> None:
    """As lark would cut the whole text; the error says where to look."""
    with pytest.raises(gl.UnsatisfiableGrammar, match="their last lexeme takes what it can"):
        gl.compile(gl.Lark("start: /[0-9]+/") + "0", BYTES)
    matcher = gl.compile(gl.Lark("start: /[0-9]+/") + gl.Regex("[0-9]?[a-z]"), BYTES).matcher()
    assert matcher.advance_bytes(b"12a")
