"""What is wrong with a grammar in lark's notation, told without what lark wraps it in."""

import lark
import pytest

import grammarlm as gl

VOCAB = gl.Vocabulary([bytes([b]) for b in range(256)] + [b"</s>"], stop_ids=[256])
TOLD = {
    'start: "\\x4"': r"'\\\\x4' is no literal: .*truncated.*, at line 1, column 8",
    'start: "\ud800"': r"a lone surrogate, which no text in UTF-8 has, at line 1, column 9",
    'start: "a"\nx: "ab".."c"': r"a range takes two single characters, .* at line 2, column 4",
    'start: "a"\nx: "b".."c"i': r"a range takes two strings without flags, .* at line 2, column 4",
    "start: /(a/": r"/\(a/ is no regular expression: missing \) .*at line 1, column 8",
    "start: A\nA: /(a/ | /b/": r"/\(a/ is no regular expression: missing \) .*at line 2, column 1",
    "start: /a\n/": r"a regular expression on several lines needs the flag x .* at line 1, column 8",
    "start: NUMBR\n%import common.NUMBR": r"terminal NUMBR is used but not defined, at line 1, column 8",
    'start: ""': r"Empty terminals are not allowed: .* at line 1, column 8",
    "start: A\nA:\n": r"terminal A is empty; let it read a character, at line 2, column 1",
    'start: A B\nA: "a"\n%declare B\nC: B': r"terminal B is declared, not defined: no other can use it",
    "start: a\n%declare a": r"rule a is declared, not defined; only terminals can be, at line 2, column 10",
    'start: ("a" -> x) "b"': r"an alias \(-> x\) within brackets; .* at line 1, column 17",
    'start: A\nA: "a" -> x': r"an alias \(-> x\) in terminal A; only rules have aliases",
    'start: _a\n_a: "a" -> x': r"an alias \(-> x\) in _a: .* at line 2, column 1",
    'start: "a" | "b" | "a" -> c': r"start has the alternative A twice, .* at line 1, column 1",
    'start: f{"a", "b"}\nf{x, x}: x x': r"f has two parameters x, at line 2, column 1",
    'start: f{"a"}\nf{x}: x{"b"}': r"x stands for no template with 1 arguments, at line 2, column 7",
    "start: f\nf{x}: x": r"the rule 'f' is not defined; a template is used with its arguments in braces",
    "start: x\n%import common.INT -> x": r"x is a terminal where it is imported from, and has the name of a rule here",
    "start: INT\n%import common.INT\n%import common.INT -> A\n%import python.NAME -> A": r"A is imported twice, at line 4",
    'start: A\n%declare A\n%extend A: "a"': r"%extend: A is declared, not defined before, at line 3, column 9",
}


@pytest.mark.parametrize("text", TOLD)
def test_what_lark_refuses(text: str) -> None:
    # lark raises almost anything, assertions among it.
    with pytest.raises(Exception):  # noqa: B017, PT011
        lark.Lark(text, parser="lalr")
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
