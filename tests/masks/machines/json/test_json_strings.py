"""Strings: masks that are kept whole while a text stays in one, and alternatives that are one automaton."""

import json

import jsonschema
import numpy as np
import pytest

import grammarlm as gl
from grammarlm.layout.json_calls import WHOLE_MASKS
from tests.internals import epoch_of, state_of
from tests.mask_bits import ids_of

VOCAB = gl.Vocabulary(
    [*(bytes([b]) for b in range(256)), b"ab", b'a"', b'",', b'"}', b'b"}', "é".encode(), b"\\u00", b"</s>"],
    stop_ids=[263],
    special_ids=[263],
)


def ids(mask: np.ndarray) -> set[int]:
    return set(ids_of(mask[0]))


def matcher_of(schema: dict, begin: bytes) -> gl.Matcher:
    matcher = gl.compile(gl.JsonSchema(schema), VOCAB).matcher()
    assert matcher.advance_bytes(begin)
    return matcher


def test_masks_within_strings_are_each_text_s_own() -> None:
    """More texts than masks are kept, of equal schemas but for what may follow a string, read in turn."""
    keys = [f"k{i}" for i in range(WHOLE_MASKS + 9)]
    matchers, wanted = [], []
    for i, key in enumerate(keys):
        closes = i % 3 == 0
        schema = {
            "type": "object",
            "properties": {key: {"type": "string"}},
            "required": [key] if closes else [key, "more"],
        }
        matchers.append(matcher_of(schema, b'{"' + key.encode() + b'":"x'))
        wanted.append(closes)
    for _ in range(3):
        for matcher, closes in zip(matchers, wanted, strict=True):
            mask = gl.allocate_mask(1, VOCAB.size)
            matcher.fill_mask(mask)
            assert (258 + 1 in ids(mask)) == closes  # "}
            mask[:] = 0  # the caller's own
            assert matcher.advance(97)


def test_a_text_that_stays_in_a_string_stays_in_its_state() -> None:
    """So that its mask is found again; and what it takes back and forth is where it was."""
    matcher = matcher_of({"type": "object", "properties": {"a": {"type": "string"}}}, b'{"a":"')
    first = state_of(matcher)
    mask, again = gl.allocate_mask(1, VOCAB.size), gl.allocate_mask(1, VOCAB.size)
    matcher.fill_mask(mask)
    for token in (97, 256, 261, 98):
        assert matcher.advance(token)
    assert state_of(matcher) == first
    matcher.fill_mask(again)
    assert np.array_equal(mask, again)
    fork = matcher.fork()
    assert fork.advance_bytes(b'"')
    matcher.rollback(4)
    matcher.fill_mask(again)
    assert np.array_equal(mask, again)
    assert fork.advance_bytes(b"}")


def test_a_row_without_room_is_a_right_mask() -> None:
    """Rows of a pattern with a length differ along the string until the first pool is full."""
    schema = {"type": "string", "pattern": "^([ab]|.c){200}$"}
    constraint = gl.compile(gl.JsonSchema(schema), VOCAB)
    matcher = constraint.matcher()
    assert matcher.advance_bytes(b'"')
    for _ in range(150):
        mask = gl.allocate_mask(1, VOCAB.size)
        matcher.fill_mask(mask)
        allowed = ids(mask)
        assert allowed == {token for token in range(VOCAB.size - 1) if matcher.fork().advance(token)}
        assert matcher.advance(97)


WORDS = ["customer", "maker", "operator", "admin"]
TEXTS = [
    "customer",
    "a maker",
    "makers",
    "customermaker",
    "operator admin",
    "custome",
    "",
    "xadminx",
    "adminadmin",
    "é",
]


@pytest.mark.parametrize("more", [{}, {"minLength": 6}, {"format": "email"}, {"enum": [*TEXTS, "maker"]}])
def test_one_of_several_patterns(more: dict) -> None:
    schema = {"type": "string", "oneOf": [{"pattern": word} for word in WORDS], **more}
    constraint = gl.compile(gl.JsonSchema(schema), VOCAB)
    judge = jsonschema.Draft202012Validator(schema, format_checker=jsonschema.FormatChecker(["email"]))
    for text in [*TEXTS, "maker@x.org", "admin@maker.org"]:
        assert constraint.matcher().advance_bytes(json.dumps(text, ensure_ascii=False).encode()) == judge.is_valid(
            text
        ), text


def test_a_described_dependency_on_keys_makes_no_alternatives() -> None:
    """Thirty-two ways to read each object of a recursive schema were more than a text could be read in at once."""
    needs = {key: {"description": f"with {key}", "required": [f"{key}-too"]} for key in "abcde"}
    schema = {"type": "object", "dependencies": needs, "additionalProperties": {"$ref": "#"}}
    matcher = gl.compile(gl.JsonSchema(schema), VOCAB).matcher()
    assert matcher.advance_bytes(b'{"x":' * 9 + b'{"a":{},"a-too":{}}')
    assert not matcher.fork().advance_bytes(b',"b":{}}')
    assert matcher.advance_bytes(b"}" * 9)
    assert matcher.is_accepting


def test_masks_that_a_budget_tries_are_of_the_texts_at_hand() -> None:
    """What it has tried and forgotten had the same numbers: the masks kept under them are not taken for the next text's."""
    patterns = {"a": "^/[ab]*$", "b": "^(é|ab){2}$"}
    names = {key: {"type": "string", "pattern": pattern} for key, pattern in patterns.items()}
    constraint = gl.compile(gl.JsonSchema({"type": "object", "properties": names, "required": ["a", "b"]}), VOCAB)
    tried = []
    for begin in (b'{"a":"', b'{"a":"/","b":"'):
        matcher = constraint.matcher()
        assert matcher.advance_bytes(begin)
        epoch, state = epoch_of(matcher), state_of(matcher)
        endings, mask, row = epoch.endings, gl.allocate_mask(1, VOCAB.size), np.zeros(VOCAB.words, np.int32)
        with endings.reader.scratch():
            (thread,) = endings.reader.threads_of(state)
            record = endings.reader.record(*thread)
            endings.reader.machine.fill(record, row)
            tried.append(record)
        matcher.fill_mask(mask)
        assert np.array_equal(row, mask[0])
    assert tried[0] == tried[1]
