"""Options of JsonSchema: a wrong value is refused where it is given, by the option's name."""

import inspect
from typing import Any

import numpy as np
import pytest

import grammarlm as gl
from tests.texts import BYTES

SCHEMA = {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "integer"}}}
OPTIONS = [name for name in inspect.signature(gl.JsonSchema.__init__).parameters if name not in ("self", "schema")]
WRONG: list[Any] = [
    0, 3.5, "x y", b"any", [["a"]], [1], [None], ["a", {}], {"a": 1}, {1: {}, "a": {}}, {"a": b""}, {("a",): {}}, object(), object,
    {1, 2}, np.array([1, 2]), float("nan"), 10**400, [b"a"], ((),),
]  # fmt: skip


@pytest.mark.parametrize("name", OPTIONS)
def test_wrong_values(name: str) -> None:
    for value in WRONG:
        if name == "whitespace" and isinstance(value, str):
            continue  # a pattern, which compile reads
        with pytest.raises((ValueError, TypeError), match=rf"JsonSchema\({name}="):
            gl.JsonSchema(SCHEMA, **{name: value})


@pytest.mark.parametrize("value", [[["a"]], [1], [None], {"a": 1}, [{}], 5, None, True, "schemas", b"any"])
def test_wrong_orders(value: Any) -> None:
    with pytest.raises(ValueError, match=r'property_order=.* takes "schema", "any" or a list of names'):
        gl.JsonSchema(SCHEMA, property_order=value)


def test_an_empty_pattern_of_white_space_is_none_at_all() -> None:
    for grammar in (
        gl.JsonSchema(SCHEMA, whitespace=""),
        gl.JsonSchema(SCHEMA, whitespace="").as_generated(),
        gl.Regex("x") + gl.JsonSchema(SCHEMA, whitespace=""),
    ):
        matcher = gl.compile(grammar, BYTES).matcher()
        matcher.advance_bytes(b"x")
        assert not matcher.advance_bytes(b'{"a": ""}')
        assert matcher.advance_bytes(b'{"a":"","b":1}')
        assert matcher.is_accepting


def test_orders_of_any_kind() -> None:
    for names in (["b", "a"], ("b", "a"), {"b": 0, "a": 0}.keys(), iter(["b", "a"])):
        grammar = gl.JsonSchema(SCHEMA, property_order=names)
        assert grammar.property_order == ("b", "a")
        matcher = gl.compile(grammar, BYTES).matcher()
        assert not matcher.advance_bytes(b'{"a": "", "b": 1}')
        assert matcher.advance_bytes(b'{"b": 1, "a": ""}')
