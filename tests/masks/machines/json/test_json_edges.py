"""Schemas at the edge of what the tables of the JSON machine hold; each case was once wrong."""

from __future__ import annotations

import itertools
import re
from decimal import Decimal
from typing import Any

import pytest

import grammarlm as gl
from grammarlm.grammars.regular.derivatives import Algebra
from grammarlm.grammars.regular.syntax import parse_regex
from grammarlm.masks.machines.json.compile import compile as json_compile
from grammarlm.masks.machines.json.languages import LanguageStates
from grammarlm.masks.runtime import limits
from tests.internals import current_epoch, epoch_of
from tests.laws.laws import allowed_ids
from tests.mask_bits import ids_of
from tests.texts import BYTES, accepts


def is_valid(schema: Any, text: str) -> bool:
    return accepts(gl.compile(gl.JsonSchema(schema, property_order="any"), BYTES), text)


@pytest.mark.parametrize("pattern", ["^(a+b)?$", "^x(a+b)?y$", "^(a+b)?c{0,1}$"])
def test_lengths_between_none_and_some_turns(pattern: str) -> None:
    """0 * inf is no number: a body without a greatest length, taken or not, seemed to have words of every length, so that masks
    led to where nothing was allowed (a schema of Prometheus rules)."""
    words = [
        word
        for n in range(6)
        for word in map("".join, itertools.product("abcxy", repeat=n))
        if re.search(pattern, word)
    ]
    for least, most in itertools.combinations_with_replacement(range(6), 2):
        schema = {"type": "string", "pattern": pattern, "minLength": least, "maxLength": most}
        expected = {word for word in words if least <= len(word) <= most}
        if not expected:
            with pytest.raises(gl.UnsatisfiableGrammar):
                gl.compile(gl.JsonSchema(schema), BYTES)
            continue
        matcher = gl.compile(gl.JsonSchema(schema), BYTES).matcher()
        mask = gl.allocate_mask(1, BYTES.size)
        for word in expected:
            matcher.reset()
            for at, byte in enumerate(f'"{word}"'.encode()):
                matcher.fill_mask(mask)
                plain = {chr(token) for token in ids_of(mask[0])} & set("abcxy")
                assert plain == {
                    other[at - 1] for other in expected if at and other[: at - 1] == word[: at - 1] and at <= len(other)
                }
                assert matcher.advance(byte)


def test_a_value_that_no_text_spells_is_unsatisfiable() -> None:
    with pytest.raises(gl.UnsatisfiableGrammar):
        gl.compile(gl.JsonSchema({"const": "\ud800"}), BYTES)


def test_a_schema_whose_parts_stand_in_very_many_places(monkeypatch) -> None:
    monkeypatch.setattr("grammarlm.grammars.json_schema.read.content.MOST_PARTS", 100_000)
    schema: Any = {"type": "integer"}
    for _ in range(300):
        schema = {"type": "object", "properties": {"a": schema, "b": schema}}
    assert is_valid(schema, '{"a": {"b": {"a": 1}}}') is False
    assert is_valid(schema, '{"a": {"b": {"a": {}}}}') is True
    schema["title"] = Decimal(1)  # no data that marshal takes
    assert is_valid(schema, '{"a": {"b": {"a": {}}}}') is True
    schema["maxProperties"], schema["allOf"] = 1, [{"required": ["a"]}, schema["properties"]["a"]]
    assert is_valid(schema, '{"a": {"b": {}}}') is True
    grammar = gl.JsonSchema(schema)
    assert len(repr(grammar)) < 200
    assert grammar == gl.JsonSchema(schema)
    assert hash(grammar) != hash(gl.JsonSchema(schema | {"maxProperties": 2}))
    constraint = gl.compile(grammar, BYTES)
    assert constraint.fingerprint
    with pytest.raises(gl.LimitExceeded, match="places"):
        constraint.to_bytes()


def test_a_state_that_cannot_be_made_is_a_limit() -> None:
    """In the middle of a text nothing else may be raised."""

    def is_alive(term: object) -> bool:
        raise gl.UnsupportedFeature("more than 10,000 states")

    algebra = Algebra()
    a, b = parse_regex("(?:ab)*", algebra), parse_regex("(?:a|ba)*", algebra)
    states = LanguageStates(
        algebra, a, lambda term: True, 100, is_endless=lambda term: False, count_of=lambda term, most: is_alive(term)
    )
    start = states.number((algebra.both((a, b)),))
    states._is_alive = is_alive
    for ask in (states.make, states.count):
        with pytest.raises(gl.LimitExceeded, match="10,000"):
            ask([start])


def test_arrays_of_states_move_together() -> None:
    """Another arena may hold the arrays of before: nothing in them leads beyond what they have."""
    algebra = Algebra()
    term = parse_regex("(?:ab|c(?:d|e)f|g[h-k]{1,20})*", algebra)
    states = LanguageStates(algebra, term, lambda term: True, 1000)
    states.record_lengths(100, lambda term, most: 1)
    waiting, seen = [states.number((term,))], set()
    while waiting:
        state = waiting.pop()
        table, *_, lengths, at, _, _ = before = states.arrays
        states.make([state])
        for old, new in zip(before, states.arrays, strict=True):
            assert (old is new) is (table is states.table)
        assert at.max() < len(lengths) - 2
        seen.add(state)
        waiting += [int(after) for after in set(states.table[state].tolist()) if after > 0 and after not in seen]
    assert len(seen) > 20


def test_very_many_required_properties_are_refused_by_name() -> None:
    with pytest.raises(gl.UnsupportedFeature, match="50,000 required properties"):
        gl.compile(gl.JsonSchema({"required": [str(i) for i in range(50_000)]}), BYTES)


@pytest.mark.parametrize(("text", "left"), [(b'"]~\xee', 3), (b'"]~\xf1\x80', 3), (b'"]~\xc3', 2), (b'"]\xf1', 5)])
def test_an_end_finishes_the_character_that_has_begun(text: bytes, left: int) -> None:
    schema = {"type": "string", "minLength": 3, "maxLength": 3, "pattern": ""}
    matcher = gl.compile(gl.JsonSchema(schema), BYTES).matcher()
    assert matcher.advance_bytes(text)
    assert matcher.min_tokens_left == left


ORDERED = {
    "condition": {
        "allOf": [{"if": {"properties": {"c": {"const": 1}}}, "then": {"required": ["b"], "properties": {"b": {}}}}],
        "properties": {"a": {}, "b": {}, "c": {}},
    },
    "choice": {
        "oneOf": [{"properties": {"b": {"const": 1}}, "required": ["b"]}, {"properties": {"b": {"const": 2}, "c": {}}}],
        "required": ["d"],
        "properties": {"a": {}, "b": {}},
    },
    "parts": {
        "$defs": {"first": {"properties": {"a": {}}}, "third": {"allOf": [{"properties": {"c": {}, "a": {}}}]}},
        "$ref": "#/$defs/first",
        "required": ["d"],
        "properties": {"b": {}},
        "allOf": [{"anyOf": [{"properties": {"z": {}, "c": {}}}, True]}, {"$ref": "#/$defs/third"}],
    },
}


@pytest.mark.parametrize("name", ORDERED)
def test_declared_keys_come_in_order_of_appearance(name: str) -> None:
    matcher = gl.compile(gl.JsonSchema({"type": "object", **ORDERED[name]}), BYTES).matcher()
    good = [key for key in "abcd" if name != "condition" or key != "d"]
    text = "{" + ", ".join(f'"{key}": {2 if key == "b" else 0}' for key in good)
    assert matcher.advance_bytes(text.encode())
    for key in good:
        matcher.reset()
        assert matcher.advance_bytes(f'{{"d": 1, "{key}"'.encode()) is False
    matcher.reset()
    assert matcher.advance_bytes(b'{"b": 2, "a"') is False


def test_the_first_compile_on_a_machine_is_not_the_schemas_time(monkeypatch) -> None:
    """The kernel takes half a minute to compile, once; a schema has ten seconds."""
    ready, passed = json_compile.tables_of, [0.0]

    def slow(*arguments):
        passed[0] += 60
        return ready(*arguments)

    monkeypatch.setattr(json_compile, "tables_of", slow)
    monkeypatch.setattr(limits.time, "perf_counter", lambda: passed[0])
    gl.compile(gl.JsonSchema({"oneOf": [{"type": "object", "required": [f"k{i}"]} for i in range(40)]}), BYTES)


def test_an_item_that_must_be_unique_moves_to_a_new_epoch_half_read() -> None:
    schema = gl.JsonSchema({"type": "array", "items": {"type": "string"}, "uniqueItems": True})
    text = b'["one", "other"'
    for place in range(1, len(text)):
        constraint = gl.compile(schema, BYTES)
        matcher = constraint.matcher()
        assert matcher.advance_bytes(text[:place])
        current_epoch(constraint).is_full = True
        assert matcher.advance_bytes(text[place:] + b', "')
        assert current_epoch(constraint) is epoch_of(matcher)
        for again in (b'one"', b'other"'):
            assert not matcher.advance_bytes(again), (place, again)
        assert matcher.advance_bytes(b'others"]')


@pytest.mark.parametrize(
    ("schema", "begun"),
    [
        # an item after a comma: the search for different items was used although nothing had to be contained
        ({"type": "array", "items": {"type": ["array", "integer"], "maximum": -1e308}}, b"[[],"),
        # different integers of many digits: 4,096 digits were tried at each of them
        ({"type": "array", "items": {"type": "integer", "maximum": -1e40}, "minItems": 2, "uniqueItems": True}, b"["),
        # one number in all its spellings
        (
            {"type": "array", "items": {"enum": [True, False, 0.5]}, "uniqueItems": True, "minItems": 3},
            b"[true,0.5",
        ),
    ],
)
def test_budgets_of_numbers_that_take_many_digits(schema: Any, begun: bytes) -> None:
    for spelling in ("any", "plain"):
        constraint = gl.compile(gl.JsonSchema(schema, spelling=spelling, whitespace="compact"), BYTES)
        matcher = constraint.matcher(max_tokens=1500)
        assert matcher.advance_bytes(begun)
        matcher = constraint.matcher(max_tokens=matcher.min_tokens_left + len(begun))
        mask = gl.allocate_mask(1, BYTES.size)
        assert matcher.advance_bytes(begun)
        while not matcher.is_accepting:  # the shortest end, or one as short, within the budget
            matcher.fill_mask(mask)
            allowed = ids_of(mask[0])
            assert allowed
            assert matcher.advance(allowed[0])


def test_a_budget_that_is_far_from_its_end_forbids_no_key() -> None:
    """Names apart from several long patterns: where no bound was found for their ends, every key but the required one was
    forbidden, however large the budget (an OCDS schema of JSONSchemaBench)."""
    language = "([A-Za-z]{2,3}(-([A-Za-z]{3}(-[A-Za-z]{3}){0,2}))?|[A-Za-z]{4}|[A-Za-z]{5,8})(-[A-Za-z]{4})?"
    variants = (
        "(-([A-Za-z]{2}|[0-9]{3}))?(-([A-Za-z0-9]{5,8}|[0-9][A-Za-z0-9]{3}))*(-[0-9A-WY-Za-wy-z](-[A-Za-z0-9]{2,8})+)*"
    )
    tag = f"{language}{variants}(-x(-[A-Za-z0-9]{{1,8}})+)?|x(-[A-Za-z0-9]{{1,8}})+"  # BCP 47
    names = (
        "awardDetails",
        "description",
        "rationale",
        "criteria",
        "methodDetails",
        "title",
        "procedure",
        "submission",
    )
    schema = {
        "type": "object",
        "properties": {name: {"type": ["string", "null"]} for name in (*names, "id", "awarded", "value")},
        "patternProperties": {f"^({name}_({tag}))$": {"maxLength": len(name)} for name in names},
        "required": ["id"],
    }
    words = [bytes(three) for three in itertools.product(range(97, 123), repeat=3)]  # many tokens that fit a key
    vocab = gl.Vocabulary([*(bytes([b]) for b in range(256)), *words, b"<eos>"], stop_ids=[256 + len(words)])
    constraint = gl.compile(gl.JsonSchema(schema, property_order="any"), vocab)
    for text in (b'{"awarded": null, "other": 1, "id": ""}', b'{"title_en-abc": "", "id": "1"}'):
        matcher = constraint.matcher(max_tokens=3000)
        assert all(matcher.advance(byte) for byte in text)
        assert matcher.is_accepting


@pytest.mark.parametrize("count", [50, 90])  # the words of a frame hold 62 keys
def test_ends_of_objects_whose_short_keys_have_all_come(count: int) -> None:
    """Only the 32 shortest keys were tried as the end of one, also when all of them had been read: no end was known, so the
    mask allowed a key that advance refused (Z-Wave and Snowplow schemas of JSONSchemaBench)."""
    names = [f"k{i:02}" for i in range(count)]
    schema = {
        "type": "object",
        "properties": {name: {"type": "integer"} for name in names},
        "additionalProperties": False,
    }
    constraint = gl.compile(gl.JsonSchema(schema, property_order="any"), BYTES)
    text = ("{" + ", ".join(f'"{name}": 1' for name in names) + "}").encode()
    matcher = constraint.matcher(max_tokens=len(text) + 40)
    mask = gl.allocate_mask(1, BYTES.size)
    for byte in text:
        assert not matcher.fill_mask(mask) or byte in ids_of(mask[0])
        assert matcher.advance(byte)
    assert matcher.is_accepting


@pytest.mark.parametrize(
    ("schema", "text"),
    [
        ({"pattern": "^[0-9a-zA-Z_-]{1,255}$"}, "example"),
        ({"pattern": "^([^~]{0,5}|[^~]{30})$", "minLength": 10}, "\\u0001" * 30),
        ({"pattern": "^[a-z]*$", "maxLength": 300}, "a" * 40),
    ],
)
def test_strings_of_bounded_length_need_no_budget_for_all_of_it(schema: Any, text: str) -> None:
    """A string of up to 255 characters of a language was thought to need 1,532 tokens to its end, from its start."""
    words = [bytes(three) for three in itertools.product(range(97, 123), repeat=3)]
    vocab = gl.Vocabulary([*(bytes([b]) for b in range(256)), *words, b"<eos>"], stop_ids=[256 + len(words)])
    matcher = gl.compile(gl.JsonSchema({"type": "string", **schema}), vocab).matcher(max_tokens=500)
    for byte in f'"{text}"'.encode():
        assert matcher.advance(byte), text
    assert matcher.is_accepting


@pytest.mark.parametrize("begun", [b'["a\\u0062", "\\u', b'["a\\u0062", "\\', b'["a\\u0062", "\xd9'])
def test_the_end_of_an_escape_in_an_item_that_must_differ(begun: bytes) -> None:
    """The nearest end of the escape made the item that had come, and no other was tried: no end of the text was known."""
    schema = {"type": "array", "items": {"enum": ["ab", "\u0663"]}, "minItems": 2, "uniqueItems": True}
    constraint = gl.compile(gl.JsonSchema(schema), BYTES)
    matcher = constraint.matcher()
    assert matcher.advance_bytes(begun)
    budget = constraint.matcher(max_tokens=matcher.min_tokens_left + len(begun))
    assert budget.advance_bytes(begun)
    while not budget.is_accepting:
        assert budget.advance(min(allowed_ids(budget, BYTES)))
