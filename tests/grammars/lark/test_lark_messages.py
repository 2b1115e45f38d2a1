"""What is wrong with a grammar in lark's notation, told without what lark wraps it in."""

import lark
import pytest

import grammarlm as gl

VOCAB = gl.Vocabulary([bytes([b]) for b in range(256)] + [b"</s>"], stop_ids=[256])
TOLD = {
    'start: "\\x4"': r"'\\\\x4' is no literal: .*truncated",
    'start: "\ud800"': r"a lone surrogate, which no text in UTF-8 has \(line 1\)",
    'start: "a"\nx: "ab".."c"': r"a range takes two single characters, .* \(line 2\)",
    "start: /(a/": r"/\(a/ is no regular expression: missing \)",
    "start: NUMBR\n%import common.NUMBR": r"refuses the grammar: Rule 'NUMBR' used but not defined",
    'start: ""': r"refuses the grammar: Empty terminals are not allowed",
}


@pytest.mark.parametrize("text", TOLD)
def test_what_lark_refuses(text: str) -> None:
    with pytest.raises(gl.GrammarError, match=TOLD[text]):
        gl.compile(gl.Lark(text), VOCAB)


NULLABLE = [
    "start: /a*/",
    'start: A "b"\nA: "a"?',
    'start: A "b"\nA: ["a"]',
    'start: "b" A?\nA: "a"~0..2',
    'start: A "b"\nA: /(?=b)/',
    'start: "b" A?\nA: /$/',
    'start: "b"\n%ignore A\nA: /a*/',
]
NOT_NULLABLE = {  # a terminal that may be empty is no lexeme of its own here
    'start: "b"\nA: /a*/': ["b"],
    'start: "b" A\nA: B "c"\nB: /a*/': ["bc", "bac"],
    'start: A\nA: B? "c"\nB: "a"*': ["c", "ac", "aac"],
}


@pytest.mark.parametrize("text", NULLABLE)
def test_terminals_that_may_be_empty_are_refused_where_lark_does(text: str) -> None:
    for parser in ("lalr", "earley"):
        with pytest.raises(lark.exceptions.LarkError, match="zero-width"):
            lark.Lark(text, parser=parser)
    with pytest.raises(gl.GrammarError, match=r"may match the empty text.* in lark neither"):
        gl.compile(gl.Lark(text), VOCAB)


@pytest.mark.parametrize("text", NOT_NULLABLE)
def test_and_taken_where_lark_takes_them(text: str) -> None:
    parser, constraint = lark.Lark(text, parser="lalr"), gl.compile(gl.Lark(text), VOCAB)
    for probe in NOT_NULLABLE[text]:
        parser.parse(probe)
        matcher = constraint.matcher()
        assert matcher.advance_bytes(probe.encode())
        assert matcher.is_accepting


@pytest.mark.parametrize("text", ['root ::= "a" root', "root ::= [^\\u0000-\\U0010FFFF]"])
def test_a_rule_without_a_text_is_named(text: str) -> None:
    with pytest.raises(gl.UnsatisfiableGrammar, match="no text follows 'root'"):
        gl.compile(gl.Gbnf(text), VOCAB)
