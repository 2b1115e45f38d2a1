"""Values in Python's notation: exactly what str() writes, over all short strings."""

from itertools import product

import pytest

import grammarlm as gl
from grammarlm.grammars.tools.read import read
from tests.grammars.tools.layouts import BY_NAME
from tests.grammars.tools.turns import tool
from tests.texts import BYTES, accepts

FORM = BY_NAME["python call"].form
LETTERS = "a'\"\\\n"
SHORT = ["".join(letters) for size in range(4) for letters in product(LETTERS, repeat=size)]
ITEMS = {
    "any": (True, lambda text: True),
    "strings": ({"type": "string"}, lambda text: True),
    "of one or two letters": ({"type": "string", "minLength": 1, "maxLength": 2}, lambda text: 1 <= len(text) <= 2),
    "listed": ({"enum": ["a", "'\"", "\\"]}, lambda text: text in ("a", "'\"", "\\")),
    "with a pattern": ({"type": "string", "pattern": "^a"}, lambda text: text[:1] == "a" and text == repr(text)[1:-1]),
}


def call_of(value: str) -> str:
    return FORM.write([("f", {"x": [value]})])


@pytest.mark.parametrize("name", ITEMS)
def test_strings_in_arrays_are_written_as_python_writes_them(name):
    items, is_taken = ITEMS[name]
    schema = {"type": "object", "properties": {"x": {"type": "array", "items": items}}, "required": ["x"]}
    tools = gl.Tools([tool("f", schema)], format=FORM, calls="required")
    constraint = gl.compile(tools, BYTES)
    for text in SHORT:
        written = call_of(text)
        assert accepts(constraint, written) == is_taken(text), written
        if is_taken(text):
            assert read(tools, written).calls[0].arguments == {"x": [text]}
    known = {repr(text) for text in SHORT}
    frame = call_of("a").split("'a'")
    others = [quote + body + quote for body in SHORT for quote in "'\"" if quote + body + quote not in known]
    assert others
    for other in others:
        assert not accepts(constraint, frame[0] + other + frame[1]), other


@pytest.mark.parametrize(
    "schema",
    [{"type": "object"}, {"type": "object", "properties": {"b": {}}, "additionalProperties": True}],
    ids=["any object", "and declared keys"],
)
def test_keys_are_written_as_python_writes_them(schema):
    """Without escapes: a line's end in a key was taken as it is, which Python does not read."""
    tools = gl.Tools(
        [tool("f", {"type": "object", "properties": {"x": schema}, "required": ["x"]})], format=FORM, calls="required"
    )
    constraint = gl.compile(tools, BYTES)
    frame = FORM.write([("f", {"x": {"kk": 1}})]).split("kk")
    for key in ("a", "a\na", "\n", "\x7f", "a\x9f", "\\", "é", "a b"):
        taken = accepts(constraint, key.join(frame))
        assert taken == (repr(key) == f"'{key}'"), key
