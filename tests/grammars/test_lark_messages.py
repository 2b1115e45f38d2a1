"""What is wrong with a grammar in lark's notation, told without what lark wraps it in."""

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


@pytest.mark.parametrize("text", ['root ::= "a" root', "root ::= [^\\u0000-\\U0010FFFF]"])
def test_a_rule_without_a_text_is_named(text: str) -> None:
    with pytest.raises(gl.UnsatisfiableGrammar, match="no text follows 'root'"):
        gl.compile(gl.Gbnf(text), VOCAB)
