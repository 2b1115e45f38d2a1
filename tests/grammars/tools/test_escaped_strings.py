"""Strings in which some characters are written as others, beside every string of a small alphabet."""

import itertools
import json
import re

import pytest

import grammarlm as gl
from grammarlm.grammars.tools.entries.escapes import Escaped
from grammarlm.grammars.tools.read import read
from grammarlm.grammars.tools.tool_format import Entries, ToolFormat
from tests.grammars.tools.turns import accepts, tool
from tests.texts import BYTES

BACKSLASHES = (("'", "\\'"), ("\\", "\\\\"), ("\n", "\\n"))
ENTITIES = (("&", "&amp;"), ("<", "&lt;"))
# The letters of texts that are tried, and around which a value stands.
CASES = {
    "quoted": (Entries(("", "=", ""), ", ", strings=("'", "'"), escapes=BACKSLASHES), "an\\'", "'{}'"),
    "a backslash is not escaped": (
        Entries(("", "=", ""), strings=("'", "'"), escapes=BACKSLASHES[:1]),
        "an\\'",
        "'{}'",
    ),
    "raw": (Entries(("", "=", "\n</p>"), escapes=ENTITIES), "n<;&", "{}\n</p>"),
}
SCHEMAS = {
    "any": {"type": "string"},
    "lengths": {"type": "string", "minLength": 1, "maxLength": 2},
    "enum": {"enum": ["a'", "\\", "a<&", "\n"]},
    "pattern": {"type": "string", "pattern": "^a*[n&']"},
    "or null": {"type": ["string", "null"], "maxLength": 2},
}


def is_valid(text: str, schema: dict) -> bool:
    has_length = schema.get("minLength", 0) <= len(text) <= schema.get("maxLength", 9)
    return text in schema.get("enum", [text]) and has_length and bool(re.search(schema.get("pattern", ""), text))


def written(text: str, entries: Entries) -> str | None:
    """By hand; None where it could not be read back."""
    known = dict(entries.escapes)
    announced = {spelling[0] for spelling in known.values()} - known.keys()
    return None if announced & set(text) else "".join(known.get(letter, letter) for letter in text)


@pytest.mark.parametrize("kind", SCHEMAS)
@pytest.mark.parametrize("name", CASES)
def test_every_short_string(name, kind):
    entries, letters, around = CASES[name]
    schema = SCHEMAS[kind]
    parameters = {"type": "object", "properties": {"q": schema}, "required": ["q"], "additionalProperties": False}
    form = ToolFormat("own", ("<c>", "(", ")</c>"), arguments=entries)
    tools = gl.Tools([tool("f", parameters)], format=form, calls="required")
    texts = ["".join(one) for size in range(5) for one in itertools.product(letters, repeat=size)]
    short = ["".join(one) for size in range(5) for one in itertools.product(letters + "\n", repeat=size)]
    # A pattern or a format holds strings as they are: those in which nothing is escaped.
    special = {letter for pair in entries.escapes for letter in (pair[0], pair[1][0])}
    valid = [text for text in short if is_valid(text, schema) and not ("pattern" in schema and special & set(text))]
    taken = {spelling: text for text in valid if (spelling := written(text, entries)) is not None}
    tried = {*texts, *taken}
    constraint = gl.compile(tools, BYTES)
    for inner in sorted(tried):
        text = f"<c>f(q={around.format(inner)})</c>"
        assert accepts(constraint, text) == (inner in taken), inner
        if inner in taken:
            assert read(tools, text).calls[0].json == {"q": taken[inner]}
            assert form.write([("f", {"q": taken[inner]})]) == text


def test_strings_that_cannot_be_written():
    form = ToolFormat("own", ("<c>", "(", ")</c>"), arguments=CASES["a backslash is not escaped"][0])
    parameters = {"type": "object", "properties": {"q": {"enum": ["\\", "a\\'"]}}, "required": ["q"]}
    with pytest.raises(
        gl.UnsupportedFeature, match="tool 'f': /properties/q: this format can write none of its strings"
    ):
        gl.compile(gl.Tools([tool("f", parameters)], format=form), BYTES)


@pytest.mark.parametrize("pairs", [BACKSLASHES, ENTITIES])
def test_what_is_written_is_read(pairs):
    escaped = Escaped(pairs)
    for size in range(5):
        for letters in itertools.product("an\\'\n<&;l", repeat=size):
            text = "".join(letters)
            assert escaped.read(escaped.write(text)) == text


def test_formats_with_escapes_are_saved():
    form = ToolFormat("own", ("<c>", "(", ")</c>"), arguments=CASES["quoted"][0], lead="<t>", thought_gap="\n")
    tools = gl.Tools([tool("f", {"type": "object", "properties": {"q": {"type": "string"}}})], format=form)
    names, schemas, *rest = tools.saved()
    again = gl.Tools.from_saved(names, schemas, **dict(zip(list(gl.Tools.SAVED)[2:], rest, strict=True)))
    assert again == tools
    assert again.format == form
    assert json.loads(rest[0])["lead"] == "<t>"
    with pytest.raises(TypeError, match="takes a text"):
        ToolFormat("own", ("<c>", "(", ")</c>"), lead=None)
