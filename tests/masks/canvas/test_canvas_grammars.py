"""Canvases over grammars with a stack against enumeration: GBNF, Lark (LALR with lark's lexer, and not LALR), ambiguous ones."""

import re
from functools import cache

import pytest

import grammarlm as gl
from grammarlm.grammars.compose import Grammar
from grammarlm.masks.canvas.views import view_of
from tests.masks.canvas.canvas_law import Case, check_edges, check_fills, check_law, check_rows
from tests.masks.canvas.lark_cases import CALLS, LEVELS, by_lark


@cache
def balanced(data: bytes) -> bool:
    while data != (data := data.replace(b"()", b"").replace(b"[]", b"")):
        pass
    return not data.strip(b"([")


BRACKETS = 'start: pair*\npair: "(" pair* ")" | "[" pair* "]"\n'
PALINDROME = 'start: "a" start "a" | "b" start "b" | "a" | "b" | "a" "a" | "b" "b"\n'
ARITHMETIC = 'start: term (("+" | "-") term)*\nterm: NUM | "(" start ")"\nNUM: /[0-9]+/\n'
TWO_NUMBERS = 'start: NUM NUM\nNUM: /[0-9]+/\n%ignore " "\n'
KEYWORDS = 'start: ("if" NAME | NAME "=" NAME ";")+\nNAME: /[a-z]+/\n%ignore " "\n'
AMBIGUOUS = 'start: start start | "a" | "aa"\n'
LISTS = 'root ::= item ("," " "? item)*\nitem ::= [0-9]+ | "<" root ">"\n'
LISTS_IN_LARK = 'start: item ("," " "? item)*\nitem: /[0-9]/+ | "<" start ">"\n'
NULLABLE = 'root ::= "a" root tail? | "b"\ntail ::= "c" root? "d"?\n'
NULLABLE_IN_LARK = 'start: "a" start tail? | "b"\ntail: "c" start? "d"?\n'
OPTIONAL = 'start: "a" empty "b" | "a" other "c"\nempty: "x"?\nother: "x"? "y"?\n'
DANGLING = 'start: "i" start | "i" start "e" start | "s"\n'
GENERICS = 'start: type "=" shift\ntype: NAME ["<" type ">"]\nshift: NAME (">>" NAME)*\nNAME: /[a-z]/\n'
CASES = {
    "brackets": (
        Case(gl.Lark(BRACKETS), [b"?", b"(", b")", b"[", b"]", b"()", b"])", b"([", b"."], by_lark(BRACKETS), balanced),
        (3, 5),
    ),
    "palindromes, not LALR": (
        Case(gl.Lark(PALINDROME), [b"?", b"a", b"b", b"ab", b"ba", b"aab", b"."], lambda d: len(d) > 0 and d == d[::-1]),
        (2, 3),
    ),
    "arithmetic": (
        Case(gl.Lark(ARITHMETIC), [b"?", b"1", b"20", b"+", b"-", b"(", b")", b"+(", b"1)", b"."], by_lark(ARITHMETIC),
             lambda d: re.fullmatch(rb"([(0-9][-(0-9+)]*)?", d) is not None),
        (3, 4),
    ),
    "maximal munch, ignored blanks": (
        Case(gl.Lark(TWO_NUMBERS), [b"?", b"1", b"2", b"12", b" ", b" 1", b"2 ", b"."], by_lark(TWO_NUMBERS)),
        (2, 4),
    ),
    "keywords": (
        Case(gl.Lark(KEYWORDS), [b"?", b"i", b"f", b"if", b" ", b"=", b";", b"x ", b"=f", b";i", b"."], by_lark(KEYWORDS),
             lambda d: d[:1] not in (b"=", b";")),
        (3, 4),
    ),
    "reductions of nothing": (
        Case(gl.Lark(OPTIONAL), [b"?", b"a", b"b", b"c", b"x", b"y", b"ax", b"xy", b"yc", b"xb", b"ab", b"."], by_lark(OPTIONAL)),
        (2, 4),
    ),
    "a conflict that lark resolves": (
        Case(gl.Lark(DANGLING), [b"?", b"i", b"s", b"e", b"is", b"se", b"ise", b"ii", b"."], by_lark(DANGLING),
             lambda d: re.fullmatch(rb"(i*(se)?)*s?", d) is not None),
        (3, 5),
    ),
    "tokens of several terminals": (
        Case(gl.Lark(CALLS), [b"?", b"a", b"b(", b"(", b")", b");", b"+a", b",", b",b+", b"(a,", b" ", b";", b"a(a+b);", b"."],
             by_lark(CALLS), lambda d: re.fullmatch(rb" *([a-z][a-z (,+);]*)?", d) is not None),
        (2, 4),
    ),
    "a terminal that one lexer knows": (
        Case(gl.Lark(GENERICS), [b"?", b"a", b"<", b">", b">>", b"=", b"<a", b"a>", b">=", b"=a", b">a", b"a<a<a>", b"."],
             by_lark(GENERICS), lambda d: re.fullmatch(rb"(a(<a)*(<?|>*(=(a(>>a)*>{0,2})?)?))?", d) is not None),
        (3, 5),
    ),
    "levels of expressions": (
        Case(gl.Lark(LEVELS), [b"?", b"x", b"+", b"-", b"|", b"?", b":", b"(", b")", b"[x", b"]", b"."],
             by_lark(LEVELS), lambda d: d[:1] not in (b"+", b"|", b"?", b":", b")", b"[", b"]")),
        (2, 4),
    ),
    "lists in GBNF": (
        Case(gl.Gbnf(LISTS), [b"?", b"1", b"20", b",", b", ", b" ", b"<", b">", b",<", b"1>", b"."],
             by_lark(LISTS_IN_LARK), lambda d: re.fullmatch(rb"([<0-9][0-9, <>]*)?", d) is not None),
        (3, 4),
    ),
    "frames that may end anywhere": (
        Case(gl.Gbnf(NULLABLE), [b"?", b"a", b"b", b"c", b"d", b"ab", b"bc", b"cd", b"dd", b"bcc", b"."],
             by_lark(NULLABLE_IN_LARK, "earley"), lambda d: d[:1] in (b"", b"a", b"b")),
        (3, 4),
    ),
    "ambiguous, Lark": (Case(gl.Lark(AMBIGUOUS), [b"?", b"a", b"aa", b"aaa", b"."], lambda d: len(d) > 0), (3, 5)),
    "ambiguous, GBNF": (
        Case(gl.Gbnf('root ::= root root | "a" | "aa"'), [b"?", b"a", b"aa", b"aaa", b"."], lambda d: len(d) > 0),
        (3, 5),
    ),
    "after a regex": (
        Case(gl.Regex("[a1]*") + gl.Lark(ARITHMETIC), [b"?", b"1", b"a1", b"1+", b"(1", b")", b"a", b"."],
             lambda d: any(by_lark(ARITHMETIC)(d[i:]) for i in range(len(d)) if re.fullmatch(rb"[a1]*", d[:i]))),
        (2, 3),
    ),
    "without a regular language": (
        Case(gl.Gbnf(LISTS.replace("0-9", "12")) - gl.Regex(".*11.*"),
             [b"?", b"1", b"2", b",", b" ", b"<", b">", b"1,", b"21>", b"."],
             lambda d: b"11" not in d and by_lark(LISTS_IN_LARK)(d), lambda d: b"11" not in d and d[:1] not in b",> "),
        (3, 4),
    ),
    "and a regular language": (
        Case(gl.Lark(ARITHMETIC) & gl.Regex("(..)*"), [b"?", b"1", b"20", b"+", b"(", b")", b"1)", b"."],
             lambda d: len(d) % 2 == 0 and by_lark(ARITHMETIC)(d), lambda d: d[:1] not in (b"+", b")")),
        (2, 3),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("count", [14, pytest.param(400, marks=pytest.mark.proof)])
def test_rows_and_commits(name: str, count: int) -> None:
    case, lengths = CASES[name]
    assert sum(check_rows(case, length, count) for length in lengths) > 0


@pytest.mark.parametrize("name", CASES)
def test_best_fills(name: str) -> None:
    case, lengths = CASES[name]
    assert sum(check_fills(case, length, 12) for length in lengths)


@pytest.mark.parametrize("name", CASES)
def test_the_law_of_samples(name: str) -> None:
    case, lengths = CASES[name]
    assert sum(check_law(case, length, 10, most=150) for length in lengths) > 1


@pytest.mark.parametrize("name", CASES)
def test_between_texts(name: str) -> None:
    case, lengths = CASES[name]
    assert check_edges(case, max(lengths), 5) > 1


def test_after_a_text_that_may_only_end() -> None:
    """The matcher's one thread is then the one that accepts, and says nothing of a border."""
    case, _ = CASES["palindromes, not LALR"]
    matcher = case.constraint.matcher()
    assert all(map(matcher.advance, [4, 1, 3]))  # ba a ab
    assert case.constraint.canvas(1, after=matcher).allowed([-1]).test(0, range(7)).tolist() == [False] * 6 + [True]
    assert case.constraint.canvas(1, after=matcher, room=1).allowed([-1]).test(0, [6]).all()


def test_what_has_no_view_is_refused_by_name() -> None:
    vocab = gl.Vocabulary([bytes([b]) for b in range(256)] + [b"<s>", b"."], [257], [256, 257])
    for grammar, message in (
        (gl.Gbnf('root ::= "a" <s> root | "b"'), "names tokens"),
        (gl.Lark.library("python"), "indented blocks"),
    ):
        with pytest.raises(gl.UnsupportedFeature, match=message):
            gl.compile(grammar, vocab).canvas(4)


def test_a_table_that_outgrows_its_limit_is_refused() -> None:
    vocab = gl.Vocabulary([bytes([b]) for b in range(256)] + [b"<s>", b"."], [257], [256, 257])
    constraint = gl.compile(gl.Lark.library("arithmetic"), vocab, limits=gl.Limits(max_states=100))
    with pytest.raises(gl.LimitExceeded, match="more than 100 different things"):
        constraint.canvas(4)


@pytest.mark.parametrize(
    ("grammar", "text"),
    [
        (gl.Lark.library("json"), b'{"a" : [1, -2e5 , true ,null ] , "b":{ }}'),
        (gl.Gbnf(LISTS), b"12,<3, 4,<5>>, 6"),
        (gl.Gbnf(NULLABLE), b"aabccd"),
    ],
    ids=["between lexemes", "where rules begin", "where rules may be empty"],
)
def test_blocks_find_their_beginnings_in_the_table(grammar: Grammar, text: bytes) -> None:
    """Also where no token ends: another table would have to learn all rows again."""
    vocab = gl.Vocabulary([bytes([b]) for b in range(256)] + [b"<s>", b"."], [257], [256, 257])
    constraint = gl.compile(grammar, vocab)
    view, matcher = view_of(constraint), constraint.matcher()

    def table() -> object:
        return view.grid(4, matcher, 8, lambda: None).table

    first = view.grid(4, None, 0, lambda: None).table
    assert table() is first
    for byte in text:
        assert matcher.advance(byte)
        assert table() is first


def test_what_only_deep_stacks_allow() -> None:
    """A token of many brackets may stand where there is room for as many more."""
    tokens = [b"?", b"(", b")", b"(" * 12, b")" * 4, b"."]
    vocab = gl.Vocabulary(tokens, stop_ids=[5], special_ids=[0, 5])
    constraint = gl.compile(gl.Gbnf('root ::= pair*\npair ::= "(" pair* ")"\n'), vocab)
    for length, is_allowed in ((3, False), (4, True), (40, True)):
        allowed = constraint.canvas(length).allowed([-1] * length)
        assert allowed.test(0, [1, 2, 3]).tolist() == [True, False, is_allowed]
        deep = constraint.canvas(length).allowed([3] + [-1] * (length - 1))
        assert deep.test(1, [1, 2, 4]).tolist() == ([length > 5, length > 10, True] if is_allowed else [False] * 3)
