"""What a JSON text must go on with, white space aside: against texts drawn from the masks, and counted on records."""

import itertools
import json
import os
import random
import re
from typing import Any

import pytest

import grammarlm as gl
from benchmarks.forced_runs import RECORDS, STYLES, count, counted, schema_of
from benchmarks.tokenizers import load
from grammarlm.masks.machines.json.skeleton import skeleton
from tests.laws.json_laws import WALKED, compiled, text_of, walk
from tests.laws.laws import allowed_ids
from tests.oracles.random_json_schemas import RandomSchemas

DATA = os.environ.get("GRAMMARLM_DATA")
NATURAL = {"whitespace": "natural", "spelling": "plain"}


def packed(text: bytes) -> bytes:
    """A text, or the beginning of one, without the white space between its tokens."""
    return re.sub(rb'("(?:[^"\\]|\\.)*"?)|[ \t\r\n]+', lambda found: found[1] or b"", text)


def test_every_text_has_the_skeleton() -> None:
    rng, supply, forced = random.Random("skeleton"), RandomSchemas("skeleton"), 0
    while forced < 150:
        schema = supply.schema()
        try:
            constraint = compiled(schema, property_order="schema", **NATURAL)
        except gl.GrammarError:
            continue
        matcher, path = constraint.matcher(), list[int]()
        while len(path) < 20:
            must = skeleton(matcher)
            assert not matcher.is_accepting or must == b""
            for _ in range(2 if must else 0):
                text = walk(constraint, WALKED, rng, 15, path)
                here = f"{json.dumps(schema)} {text_of(path, WALKED)!r}: {must!r} is no part of {text!r}"
                assert text is not None
                assert packed(text).startswith(packed(text_of(path, WALKED)) + must), here
            forced += bool(must)
            allowed = sorted(allowed_ids(matcher, WALKED) - set(WALKED.stop_ids))
            if not allowed:
                break
            path.append(rng.choice(allowed))
            assert matcher.advance(path[-1])


@pytest.mark.parametrize(
    ("before", "must"),
    [
        (b"", b'{"ab":'),
        (b'{"', b'ab":'),
        (b'{\n  "a', b'b":'),
        (b'{"ab":', b""),
        (b'{"ab": 12,', b'"c":"x\\ny"}'),
        (b'{"ab": 12, "c":', b'"x\\ny"}'),
        (b'{"ab": true', b',"c":"x\\ny"}'),
        (b'{"ab": true, "c": "x\\ny"', b"}"),
    ],
)
def test_what_must_come(before: bytes, must: bytes) -> None:
    properties: dict[str, Any] = {"ab": {"type": ["integer", "boolean"]}, "c": {"const": "x\ny"}}
    schema = {"type": "object", "properties": properties, "required": ["ab", "c"], "additionalProperties": False}
    matcher = compiled(schema, property_order="schema", **NATURAL).matcher()
    assert matcher.advance_bytes(before)
    assert skeleton(matcher) == must
    assert skeleton(matcher, 2) == must[:2]


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("name", RECORDS)
def test_keys_of_closed_records_are_forced(name: str, style: str) -> None:
    _, tokenizer = gl.load_tiny()
    vocab = gl.Vocabulary.from_tokenizer(tokenizer)
    record = RECORDS[name]
    tokens = vocab.encode(json.dumps(record, **STYLES[style]))
    _, in_skeleton = counted(schema_of(record), tokens, vocab)
    assert in_skeleton >= 2 * len(record)


@pytest.mark.skipif(not DATA, reason="GRAMMARLM_DATA says where the tokenizers are")
def test_more_is_forced_than_llguidance_finds() -> None:
    tokenizer, vocab, _ = load("qwen3")
    for name, style in itertools.product(RECORDS, STYLES):
        found = count(name, style, tokenizer, vocab)
        assert found.skeleton >= max(found.peers, 12), (name, style, found)
