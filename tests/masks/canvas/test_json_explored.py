"""The unrolled JSON machine against the machine itself, byte by byte: no text that the machine reads is missing, and what it has
beyond those are equal keys alone."""

import numpy as np
import pytest

import grammarlm as gl
from grammarlm.layout.json_canvas import NONE, POP, PUSH, SPECIAL
from grammarlm.masks.canvas.json.tables.automaton import byte_automaton
from grammarlm.masks.canvas.json.tables.explored import Explored, Explorer, States, start_thread
from tests.internals import program_of

TOKENS = [b"?", *(bytes([b]) for b in range(256)), b"."]
DOCUMENTS = {
    "any value": ({}, [b'{"a": [1, -2.5, "x\\u001f", {"b": null}], "c": {}}', b"[[[]], true, 0.0]"]),
    "a tree": (
        {"type": "object", "properties": {"name": {"type": "string", "maxLength": 5}, "inner": {"$ref": "#"}},
         "required": ["name"], "additionalProperties": False},
        [b'{"name": "ab", "inner": {"name": "", "inner": {"name": "c"}}}'],
    ),
    "patterns and bounds": (
        {"type": "array", "items": {"anyOf": [{"type": "string", "pattern": "^[a-f\\u00e9]+$"},
                                              {"type": "integer", "minimum": 3, "maximum": 140}]}, "maxItems": 4},
        ['["abc", 12, 140, "\u00e9f"]'.encode(), '["é", 3]'.encode()],
    ),
    "an open object": (
        {"type": "object", "properties": {"id": {"type": "integer"}, "on": {"enum": ["yes", "no"]}}, "minProperties": 1,
         "additionalProperties": {"type": "boolean"}},
        [b'{"id": 7, "on": "yes", "x": true}', b'{"z": false}'],
    ),
    "keys that begin alike, in order": (
        {"type": "object", "required": ["a", "ac"], "additionalProperties": False,
         "properties": {"ab": {"const": 1}, "a": {"type": "number", "minimum": -4, "maximum": 2000}, "abc": {"const": 2},
                        "b\u00e9": {"enum": ["x", "xy", "\u00e9\n"]}, "ac": {"type": "null"}}},
        ['{"ab": 1, "a": 150.0, "bé": "xy", "ac": null}'.encode(),
         '{"a": 1999.5, "abc": 2, "bé": "é\\\\n", "ac": null}'.encode()],
    ),
    "keys that begin alike, some free": (
        {"type": "object", "properties": {"ab": {"const": 1}, "a": {"const": 3}, "abc": {"const": 2}},
         "patternProperties": {"^b[0-9\u00e9]*$": {"const": 4}}, "additionalProperties": {"const": 5}},
        ['{"ab": 1, "abc": 2, "b7é": 4, "abcd": 5, "abd": 5}'.encode(), b'{"a": 3, "b": 4, "c\\\\n": 5}'],
    ),
}  # fmt: skip


def read(explored: Explored, text: bytes) -> list[bool]:
    """Is each prefix of a text one of the table?"""
    configs: set[tuple[int, tuple[int, ...]]] = {(explored.start, ())}
    found = []
    for byte in text:
        after = set()
        for state, stack in configs:
            entry = int(explored.next[state, byte])
            while entry <= SPECIAL:
                operation, symbol, target, entry = explored.specials[SPECIAL - entry].tolist()
                if operation == POP:
                    after |= {(stack[-1], stack[:-1])} if stack else set()
                else:
                    after.add((target, (*stack, symbol) if operation == PUSH else stack))
            if entry != NONE:
                after.add((entry, stack))
        configs = after
        found.append(bool(configs))
    return found


def mutated(texts: list[bytes], count: int) -> list[bytes]:
    rng, found = np.random.default_rng(5), list(texts)
    for _ in range(count):
        text = bytearray(texts[rng.integers(len(texts))])
        for _ in range(int(rng.integers(1, 4))):
            at = int(rng.integers(len(text) + 1))
            text[at : at + int(rng.integers(0, 2))] = bytes(
                [rng.choice(list(b'{}[]":,0129-.e\\u abcdintrue\n') if rng.random() < 0.8 else 256)]
            )
        found.append(bytes(text))
    return found


@pytest.mark.parametrize("name", DOCUMENTS)
def test_table_reads_what_the_machine_reads(name: str) -> None:
    schema, texts = DOCUMENTS[name]
    constraint = gl.compile(
        gl.JsonSchema(schema, whitespace="any", spelling="plain"), gl.Vocabulary(TOKENS, [257], [0, 257])
    )
    explored = Explorer(program_of(constraint), States()).run(start_thread(program_of(constraint)))
    refused = 0
    for text in mutated(texts, 150):
        matcher = constraint.matcher()
        for at, have in enumerate(read(explored, text)):
            want = matcher.advance_bytes(text[at : at + 1])
            if have != want:
                assert have, (text, at)
                assert text[: at + 1].count(b'"') > 3, (text, at)
            if not want:
                refused += 1
                break
    assert refused > 30


@pytest.mark.parametrize("name", DOCUMENTS)
def test_merged_states_do_alike(name: str) -> None:
    """The refined automaton has the effects of the table, state by state."""
    constraint = gl.compile(
        gl.JsonSchema(DOCUMENTS[name][0], whitespace="any", spelling="plain"), gl.Vocabulary(TOKENS, [257], [0, 257])
    )
    explored = Explorer(program_of(constraint), States()).run(start_thread(program_of(constraint)))
    machine = byte_automaton(explored, lambda: None)
    assert machine.states <= len(explored.states)
    assert (machine.accepts[machine.block_of] == explored.accepts).all()
    plain = explored.next >= 0
    merged = machine.next[machine.block_of][:, machine.class_of]
    assert (merged[plain] == machine.block_of[explored.next[plain]]).all()
    assert ((explored.next == NONE) == (merged == NONE)).all()
