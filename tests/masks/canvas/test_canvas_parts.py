"""Canvases of compositions against enumeration: tokens across the ends of parts, parts that end in several places."""

import pytest

import grammarlm as gl
from tests.masks.canvas.canvas_law import check_edges, check_fills, check_law, check_rows
from tests.masks.canvas.parts_cases import case, one_after_another, one_of, regex, rules, schema
from tests.masks.canvas.substituted import check_partial, row_of

NUMBER = schema({"type": "integer", "minimum": 0, "maximum": 99})
RECORD = schema({"type": "object", "properties": {"a": {"enum": [None, "b"]}}, "additionalProperties": False})
NESTED = schema({"type": "array", "items": {"$ref": "#"}, "maxItems": 2})
KEYS = schema({"type": "object", "propertyNames": {"pattern": "^[ab]?$"}, "additionalProperties": {"const": None}})
BLANKS = schema({"type": "array", "items": {"const": "b"}}, whitespace="any")
BRACKETS = rules(gl.Lark('start: pair*\npair: "(" pair* ")" | "[" pair* "]"\n'))
TWO_NUMBERS = rules(gl.Lark('start: NUM NUM\nNUM: /[0-9]+/\n%ignore " "\n'))
NUMBERS = b"0123456789-+.eE"
IN_RECORD = r'\{(\}|"(a("(:("(b("\}?)?)?|n(u(l(l\}?)?)?)?)?)?)?)?)?'
IN_KEYS = r'\{("[ab]?(":(n(u(ll?)?)?|null,?)?|"?))*\}?'
CASES = {
    "digits, then a number": (
        case(one_after_another(regex("[0-9]{1,2}"), NUMBER), [b"12", b"3.", b"0e"],
             r"[0-9]{0,4}(\.[0-9]*)?([eE][-+]?[0-9]*)?|[0-9]{1,2}-?0?.*", NUMBERS),
        (2, 3),
    ),
    "a number, then digits": (
        case(one_after_another(NUMBER, regex("[0-9]?;")), [b"12", b"2;", b"0e", b"12;"], r"[-+.0-9eE]*;?", NUMBERS + b";"),
        (2, 3),
    ),
    "two numbers": (case(one_after_another(NUMBER, NUMBER), [b"12", b"7-0"], r"[^.eE+].*|", NUMBERS), (2, 3)),
    "a record between texts": (
        case(one_after_another(regex("[a{]*"), RECORD, regex("[}]*")),
             [b'{"a":', b'a{"', b'"b"', b"}}", b"{}", b"null}}", b"aa", b"{{"], rf"[a{{]*({IN_RECORD})?\}}*"),
        (3, 5),
    ),
    "a schema first": (
        case(one_after_another(RECORD, regex("[ab]*")), [b'{"a":', b'"b"', b"}a", b"ba", b"{}", b"l}b", b"nu"],
             rf"({IN_RECORD})?[ab]*"),
        (3, 5),
    ),
    "brackets of two schemas": (
        case(one_after_another(NESTED, NESTED), [b"][", b"]][", b"[[", b"[]", b"][[", b",["], r"(\[[][,]*)?", b"[],"),
        (4, 6),
    ),
    "two schemas of few keys": (
        case(one_after_another(KEYS, KEYS), [b'{"', b'":null', b',"', b'b"', b"}{", b'}{"a":', b'{"a":', b"null"],
             rf"({IN_KEYS}){{0,2}}"),
        (4, 5),
    ),
    "blanks of either part": (
        case(one_after_another(regex("[ x]*"), BLANKS, regex("[ y]*")),
             [b"  ", b" [", b'["b"', b"] y", b"x ", b'"b"', b"\n "], r'[ x]*\s*(\[(\s|,|"b?"?)*(\][ \r\n\ty]*)?)?'),
        (2, 4),
    ),
    "one or the other": (
        case(one_after_another(one_of(NUMBER, RECORD, regex("[a1]*")), one_of(regex("a?"), KEYS)),
             [b"1a", b"a{", b'"a"', b':"', b'b"}', b'}{"', b"{}", b":null", b'b"'],
             rf"([-+.0-9eE]*|{IN_RECORD}|[1a]*)(a|{IN_KEYS})?"),
        (2, 3),
    ),
    "brackets of rules, then a number": (
        case(one_after_another(BRACKETS, NUMBER), [b")1", b"()", b"12", b"])1"], r"[][()]*[-+.0-9eE]*", b"()[]" + NUMBERS), (2, 3),
    ),
    "a number, then brackets of rules": (
        case(one_after_another(NUMBER, BRACKETS), [b"1(", b"()", b"12", b"2()"], r"[-+.0-9eE]*[][()]*", b"()[]" + NUMBERS), (2, 3),
    ),
    "brackets of rules between those of schemas": (
        case(one_after_another(NESTED, BRACKETS, NESTED), [b"][", b"]]", b"[[", b"[]"], r"(\[[][,()]*)?", b"[],()"), (3, 5),
    ),
    "lexemes that end in front of a number": (
        case(one_after_another(TWO_NUMBERS, NUMBER), [b"1 ", b" 2", b"2 1", b"12"], r"[ 0-9]+[-+.0-9eE]*|", NUMBERS + b" "), (3,),
    ),
    "rules or a number": (
        case(one_of(BRACKETS, NUMBER), [b"()", b"12", b"])", b"2["], r"[-+.0-9eE]*|[][()]*", b"()[]" + NUMBERS), (3, 4),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("count", [8, pytest.param(400, marks=pytest.mark.proof)])
def test_rows(name: str, count: int) -> None:
    at, lengths = CASES[name]
    assert sum(check_rows(at, length, count) for length in lengths) > 0


@pytest.mark.parametrize("name", CASES)
def test_fills(name: str) -> None:
    at, lengths = CASES[name]
    check_fills(at, lengths[-1], 8)


@pytest.mark.parametrize("name", CASES)
def test_samples(name: str) -> None:
    at, lengths = CASES[name]
    assert check_law(at, lengths[-1], 12, 100)


@pytest.mark.parametrize("name", CASES)
def test_edges(name: str) -> None:
    at, lengths = CASES[name]
    assert check_edges(at, lengths[-1], 3)


MANY_BLANKS = [
    b" " * 40,
    b" " * 41,
    b"x" + b" " * 40,
    b"x" + b" " * 43,
    b"x" + b" " * 44,
    b'"b"]' + b" " * 42,
    b"]" + b" " * 43 + b"y",
]
X = r"x {0,3}"


@pytest.mark.parametrize(
    "before", [regex(X), rules(gl.Gbnf('root ::= "x" " "{0,3} | "(" root ")"'), 'start: "x" " "~0..3 | "(" start ")"')]
)
@pytest.mark.parametrize("after", ["[ ]{0,2}y?", "y"])
def test_blanks_beyond_the_cap(before: object, after: str) -> None:
    """Of a token's blanks those of the part before or after count for nothing."""
    at = case(one_after_another(before, BLANKS, regex(after)), MANY_BLANKS, r".*", b'()[]xy "b,\t\r\n')
    rows = [
        row_of(at, 6, None, b"[", b"]", b"y"), row_of(at, 7, b"x", None, b"[", b"]", b"y"), row_of(at, 6, b"x", b"[", None, b"y"),
        row_of(at, 6, b"x", b"[", b"]", None, b"y"), row_of(at, 5, b"x", b"[", None), row_of(at, 6, b"x", b"[", b"]", None),
        row_of(at, 7, b"x", None, None, b"[", b"]", b"y"), row_of(at, 8, b"x", b" " * 40, None, b"[", b"]", None, b"y"),
    ]  # fmt: skip
    assert sum(check_partial(at, row) for row in rows) > 2
