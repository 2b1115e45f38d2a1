"""Repeats of one character that are counted as lengths: masks against `re` over all strings, and schemas in which they stand."""

import itertools
import json
import re

import pytest

import grammarlm as gl
from grammarlm.grammars.json_schema.shapes.shapes import StringShape
from grammarlm.masks.machines.json.rows import string_shapes
from tests.laws.laws import allowed_ids
from tests.mask_bits import ids_of
from tests.texts import accepts

SIGNS, LONGEST = "ab-é😀", 6
PATTERNS = [
    "^[ab]{2,4}$",
    "^[^a]{0,5}$",
    "^.{1,3}$",
    "^[é😀a]{1,3}$",
    "^a[ab-]{0,3}$",
    "^[a-b]b{1,4}-$",
    r"^\w{1,4}-.$",
    "^é😀{2,3}a$",
    r"^[\da\-]{3,3}$",
]


def languages(kind: str, text: str) -> StringShape:
    return StringShape(language=frozenset({(kind, text, True)}))


@pytest.fixture
def from_two(monkeypatch) -> None:
    """Two repeats are counted already."""
    monkeypatch.setattr(string_shapes, "COUNTED_FROM", 2)


@pytest.fixture(scope="module")
def vocab() -> gl.Vocabulary:
    tokens = [bytes([byte]) for byte in range(256)]
    for size in (2, 3, 4):
        tokens += ["".join(letters).encode() for letters in itertools.product(SIGNS, repeat=size)]
    tokens += [b'"' + token for token in tokens[256:400]] + [token + b'"' for token in tokens[256:400]]
    return gl.Vocabulary([*tokens, b""], stop_ids=[len(tokens)])


@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("lengths", [{}, {"minLength": 2, "maxLength": 3}])
def test_masks_are_those_of_all_strings(pattern: str, lengths: dict, vocab: gl.Vocabulary, from_two: None) -> None:
    assert string_shapes.counted(languages("pattern", pattern)).maximum is not None
    meaning = re.compile(pattern.replace(r"\d", "0-9").replace(r"\w", "[A-Za-z0-9_]"))
    least, most = lengths.get("minLength", 0), lengths.get("maxLength", LONGEST)
    strings = ["".join(s) for size in range(least, most + 1) for s in itertools.product(SIGNS, repeat=size)]
    whole = [f'"{s}"' for s in strings if meaning.fullmatch(s)]
    schema = gl.JsonSchema({"type": "string", "pattern": pattern, **lengths})
    if not whole:
        with pytest.raises(gl.UnsatisfiableGrammar):
            gl.compile(schema, vocab)
        return
    begun = {text[:end] for text in whole for end in range(len(text) + 1)}
    matcher = gl.compile(schema, vocab).matcher()
    asked = {token: text for token in range(vocab.size - 1) if (text := spelled(vocab.token_bytes(token)))}
    for text in whole[:: max(1, len(whole) // 12)]:
        matcher.reset()
        for end in range(len(text)):
            expected = {token for token, more in asked.items() if text[:end] + more in begun}
            assert allowed_ids(matcher, vocab) & set(asked) == expected, text[:end]
            assert matcher.advance_bytes(text[end].encode())
        assert matcher.is_accepting


def spelled(token: bytes) -> str:
    """A token of whole characters, all of which the strings here have; others may be allowed, too."""
    text = token.decode(errors="replace")
    return text if {*text} <= {*SIGNS, '"'} else ""


@pytest.mark.parametrize(
    ("pattern", "least", "most", "language"),
    [
        ("^[a-z]{1,255}$", 1, 255, "^[a-z]*$"),
        (r"^[a-z\]]{0,12}$", 0, 12, r"^[a-z\]]*$"),
        ("^[a-z][a-z0-9-]{0,253}[a-z]$", 2, 255, "^[a-z][a-z0-9-]*[a-z]$"),
        (r"^\w\.x{5,300}$", 7, 302, r"^\w\.x*$"),
    ],
)
def test_what_is_counted(pattern: str, least: int, most: int, language: str) -> None:
    assert string_shapes.counted(languages("pattern", pattern)) == StringShape(
        least, most, frozenset({("pattern", language, True)})
    )


@pytest.mark.parametrize(
    "pattern",
    [
        "^[a-z]{1,11}$", "^[a-z]{9,255}$", "^[a-z]{300,255}$", "[a-z]{1,255}", "^[a-z]{1,255}", "^[a-z]+x{1,255}$", "^(ab){1,255}$",
        "^a|b{1,255}$", "^[a-z]{1,255}?$", "^[a-z]{200}$", r"^\ba{1,255}$", "^[]a]{1,255}$", "^(?=a)a{1,255}$", "^x?a{1,255}$",
    ],
)  # fmt: skip
def test_what_is_not(pattern: str) -> None:
    shape = languages("pattern", pattern)
    assert string_shapes.counted(shape) is shape


def test_a_format_and_what_must_not_match_are_left() -> None:
    for shape in (
        languages("format", "^[a-z]{1,255}$"),
        StringShape(language=frozenset({("pattern", "^a{1,255}$", False)})),
    ):
        assert string_shapes.counted(shape) is shape


def test_values_of_more_than_one_repeat() -> None:
    """In lists whose items differ, next to other patterns, and as names of keys."""
    vocab = gl.Vocabulary([*(bytes([byte]) for byte in range(256)), b""], stop_ids=[256])
    schema = {
        "type": "object",
        "properties": {
            "tags": {"type": "array", "items": {"type": "string", "pattern": "^[ab]{1,255}$"}, "uniqueItems": True},
            "name": {
                "allOf": [{"type": "string", "pattern": "^[ab-]{1,255}$"}, {"pattern": "^[^-]"}, {"maxLength": 250}]
            },
        },
        "propertyNames": {"pattern": "^[a-z]{1,255}$"},
    }
    constraint = gl.compile(gl.JsonSchema(schema, property_order="any"), vocab)
    for value, is_valid in (
        ({"tags": ["a", "b", "aa"]}, True),
        ({"tags": ["a", "b", "a"]}, False),
        ({"tags": ["a" * 255]}, True),
        ({"tags": ["a" * 256]}, False),
        ({"name": "a" * 250}, True),
        ({"name": "a" * 251}, False),
        ({"name": "-a"}, False),
        ({"name": ""}, False),
        ({"x" * 255: 1}, True),
        ({"x" * 256: 1}, False),
    ):
        assert accepts(constraint, json.dumps(value)) is is_valid, value
    mask = gl.allocate_mask(1, vocab.size)
    matcher = constraint.matcher()
    matcher.advance_bytes(b'{"name": "' + b"a" * 249)
    matcher.fill_mask(mask)
    assert sorted(chr(i) for i in ids_of(mask)) == [*'"-\\ab']
