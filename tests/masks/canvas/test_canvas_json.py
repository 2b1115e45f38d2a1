"""Canvases of JSON schemas against enumeration: tokens of several bytes, escapes, free keys, frames within frames."""

import itertools

import pytest

from tests.masks.canvas.canvas_law import check_edges, check_fills, check_law, check_rows
from tests.masks.canvas.json_cases import beginning_of, case, like, objects

RECORDS = [b'{"a":%s%s}' % (a, b) for a in (b"true", b"false") for b in (b"", b',"b":"x"')]
UNIQUE = [b"[" + b",".join(x) + b"]" for n in range(4) for x in itertools.permutations((b"1", b'"a"', b'"b"'), n)]
NESTED_OBJECT = like(r'(\{(\}?|"([ab]?("(:(\{.*)?)?)?)?)?)?')
CASES = {
    "a record": (
        case({"type": "object", "properties": {"a": {"type": "boolean"}, "b": {"enum": ["x"]}}, "required": ["a"],
              "additionalProperties": False},
             [b'{"a":', b"true", b"fal", b"se", b',"b"', b'"x"', b'"}', b"\\u00", b"61"], b'{}":,truefalsbx\\0612',
             beginning_of(*RECORDS)),
        (4, 6),
    ),
    "an array of bounded integers": (
        case({"type": "array", "items": {"type": "integer", "minimum": 0, "maximum": 12}, "minItems": 1, "maxItems": 3},
             [b"12", b"[1", b"],", b",0", b"0]"], b"[]0123456789-+.eE,",
             like(r"(\[([0-9]+([.eE][-+0-9eE]*)?,?|-0*[.eE]?[-+0-9eE]*,?)*\]?)?")),
        (3, 4),
    ),
    "numbers": (
        case({"type": "number", "exclusiveMinimum": -2, "maximum": 10}, [b"10", b"e-", b"-1", b".0", b"E+0", b"e00"],
             b"0123456789-+.eE", like(r"(-?(0|[1-9][0-9]*)?(\.[0-9]*)?([eE][-+]?[0-9]*)?)?")),
        (2, 3),
    ),
    "two readings of a number": (
        case({"anyOf": [{"type": "integer", "minimum": 0, "maximum": 3}, {"enum": [2, 3, 4, "2"]},
                        {"type": "number", "multipleOf": 2, "minimum": 0, "maximum": 4}]},
             [b"2.", b"e0", b'"2'], b'0123456789-+.eE"\\u', like(r'(-?[0-9]*(\.[0-9]*)?([eE][-+]?[0-9]*)?|"[2\\u03]*"?)?')),
        (3,),
    ),
    "items that must differ": (
        case({"type": "array", "items": {"enum": [1, "a", "b"]}, "uniqueItems": True},
             [b'"a"', b',"b', b"\\u00", b"61", b'["', b"1,", b"1.", b"0e"], b'[]102."abu6\\eE,+-', beginning_of(*UNIQUE)),
        (4,),
    ),
    "few free keys": (
        case({"type": "object", "properties": {"a": {"const": True}}, "propertyNames": {"pattern": "^[ab]?$"},
              "additionalProperties": {"const": None}},
             [b'{"', b'":', b',"', b"null", b"true", b'":true', b'b"', b'":null'], b'{}":,abtruenl',
             beginning_of(*objects(a=b"true", b=b"null", _=b"null")), ("a",)),
        (5, 7),
    ),
    "any free keys": (
        case({"type": "object", "properties": {"a": {"const": 1}}}, [b'{"', b'":', b'":1}', b',"', b'":null}', b"\\u00", b"61"],
             bytes(range(256)), like(r'(\{("([^"\\\x00-\x1f]|\\.[0-9a-fA-F]{0,4}|\\$)*("(:.*)?)?|\}?))?'), ("a",)),
        (2,),
    ),
    "equal keys that only a nested object keeps apart": (
        case({"type": "object", "additionalProperties": {"$ref": "#"}, "maxProperties": 2},
             [b'{"a":', b'{"b":', b',"a":', b"{}", b"}}", b"},"], b'{}":,ab', NESTED_OBJECT),
        (4, 5),
    ),
    "keys in any order": (
        case({"type": "object", "properties": {"a": {"const": True}, "b": {"const": None}}, "required": ["b"],
              "additionalProperties": False},
             [b'{"', b'":', b',"', b"true", b'":null', b'"a":true', b'{"b', b"l}", b"\\u00", b"61"], b'{}":,abtruenl\\0612',
             beginning_of(*objects(a=b"true", b=b"null")), property_order="any"),
        (4, 6),
    ),
    "escapes": (
        case({"type": "string", "pattern": '^(a|\t|"|/){1,3}$'}, [b"\\t", b'"a', b'a"', b"\\u00", b"09", b"2", b"\\/", b'\\"'],
             b'"a\\t/u01269Ff', like(r'("[a/\\t"u0-9Ff]*)?'), oracle={"type": "string", "pattern": '^(a|\t|"|/){1,3}\\Z'}),
        (3, 4),
    ),
    "white space": (
        case({"type": "array", "items": {"enum": [1]}, "maxItems": 3}, [b"[1", b"  ", b"\n ", b", ", b"1]"], b"[]1,.0eE+- \n\t\r",
             like(r"\s*(\[[1,\s.0eE+-]*\]?\s*)?"), blanks=r"[ \t\r\n]*", whitespace="any"),
        (3,),
    ),
    "arrays of arrays": (
        case({"type": "array", "items": {"$ref": "#"}, "maxItems": 2}, [b"[[", b"]]", b"],", b"],[", b"]]]"], b"[],",
             lambda data: b"[," not in data and b",," not in data and b",]" not in data and b"][" not in data),
        (4, 6),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_rows(name: str) -> None:
    at, lengths = CASES[name]
    for length in lengths:
        assert check_rows(at, length, 14) > 0


@pytest.mark.parametrize("name", CASES)
def test_fills(name: str) -> None:
    at, lengths = CASES[name]
    check_fills(at, lengths[-1], 6)


@pytest.mark.parametrize("name", ["a record", "two readings of a number", "items that must differ", "few free keys"])
def test_samples(name: str) -> None:
    at, lengths = CASES[name]
    check_law(at, lengths[-1], 10, 60)


@pytest.mark.parametrize("name", CASES)
def test_edges(name: str) -> None:
    at, lengths = CASES[name]
    check_edges(at, lengths[-1], 2)
