"""Canvases over grammars with a stack, beside their laws: what is refused by name, blocks, what only deep stacks allow."""

import pytest

import grammarlm as gl
from grammarlm.grammars.compose import Grammar
from grammarlm.masks.canvas.views import view_of
from tests.masks.canvas.canvas_cases import canvas_case, grammar_of

VOCAB = gl.Vocabulary([bytes([b]) for b in range(256)] + [b"<s>", b"."], [257], [256, 257])


def test_after_a_text_that_may_only_end() -> None:
    """The matcher's one thread is then the one that accepts, and says nothing of a border."""
    case = canvas_case("rules: palindromes, not LALR")
    matcher = case.constraint.matcher()
    assert all(map(matcher.advance, [4, 1, 3]))  # ba a ab
    assert case.constraint.canvas(1, after=matcher).allowed([-1]).test(0, range(7)).tolist() == [False] * 6 + [True]
    assert case.constraint.canvas(1, after=matcher, room=1).allowed([-1]).test(0, [6]).all()


def test_what_has_no_view_is_refused_by_name() -> None:
    for grammar, message in (
        (gl.Gbnf('root ::= "a" <s> root | "b"'), "names tokens"),
        (gl.Lark.library("python"), "indented blocks"),
        (gl.TokenList(gl.Tokens([[97], [98, 97]]), separator=",", most=3), "TokenList"),
        (gl.Regex("a") + gl.Tokens([[97, 98], [98]]), r"a canvas over Tokens\(2 items\) beside other grammars"),
        (gl.Ebnf('root ::= "a" ExcludeToken(98)*'), r"a canvas over Tokens\(256 items\) beside other grammars"),
        (gl.Text(until="<s>"), "names tokens"),
    ):
        with pytest.raises(gl.UnsupportedFeature, match=message):
            gl.compile(grammar, VOCAB).canvas(4)


def test_a_derived_grammar_has_the_canvas_of_what_it_stands_for() -> None:
    """A structural tag was taken for regular, and its canvas failed with AttributeError."""
    schema = {"type": "object", "properties": {"a": {"enum": [1, "b"]}}, "additionalProperties": False}
    content = {"type": "json_schema", "json_schema": schema}
    tag = gl.StructuralTag(
        {"type": "structural_tag", "format": {"type": "tag", "begin": "<f>", "content": content, "end": "</f>"}}
    )
    for length in (6, 9, 15):
        for row in ([-1] * length, [60, *[-1] * (length - 1)]):
            here, there = (
                gl.compile(grammar, VOCAB).canvas(length) for grammar in (tag, "<f>" + gl.JsonSchema(schema) + "</f>")
            )
            assert here.is_completable(row) == there.is_completable(row) == (length >= 9)
            if length >= 9:
                rows = [
                    canvas.allowed(row).test(place, range(258)) for canvas in (here, there) for place in range(length)
                ]
                assert [each.tolist() for each in rows[:length]] == [each.tolist() for each in rows[length:]]


def test_a_table_that_outgrows_its_limit_is_refused() -> None:
    constraint = gl.compile(gl.Lark.library("arithmetic"), VOCAB, limits=gl.Limits(max_states=100))
    with pytest.raises(gl.LimitExceeded, match="more than 100 different things"):
        constraint.canvas(4)


@pytest.mark.parametrize(
    ("grammar", "text"),
    [
        (gl.Lark.library("json"), b'{"a" : [1, -2e5 , true ,null ] , "b":{ }}'),
        (grammar_of("LISTS"), b"12,<3, 4,<5>>, 6"),
        (grammar_of("NULLABLE"), b"aabccd"),
    ],
    ids=["between lexemes", "where rules begin", "where rules may be empty"],
)
def test_blocks_find_their_beginnings_in_the_table(grammar: Grammar, text: bytes) -> None:
    """Also where no token ends: another table would have to learn all rows again."""
    constraint = gl.compile(grammar, VOCAB)
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
