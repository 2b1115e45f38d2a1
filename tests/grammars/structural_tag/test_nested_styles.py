"""Values that are written in the notation of their style at every depth, beside jsonschema and a writer of its own."""

import json
import random
from collections import Counter
from typing import Any

import jsonschema
import pytest

import grammarlm as gl
from grammarlm.models.tiny import FOLDER as EMBEDDED
from tests.texts import accepts

VOCAB = gl.Vocabulary.from_tokenizer(EMBEDDED)
ROW = {"type": "array", "items": {"enum": ["p", 2, True]}, "maxItems": 2}
POINT = {"x": {"type": "number"}, "y": {"type": "string", "maxLength": 2}}
NODE = {
    "type": "object",
    "properties": {
        "s": {"type": ["string", "null"]},
        "n": {"type": "integer", "minimum": 0},
        "l": {"type": "array", "items": ROW, "minItems": 1},
        "o": {"type": "object", "properties": POINT, "required": ["x"], "additionalProperties": False},
    },
    "required": ["n"],
    "additionalProperties": False,
}


def word(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def minimax(key: str, value: Any) -> str:
    items = [("item", each) for each in value] if isinstance(value, list) else []
    entries = list(value.items()) if isinstance(value, dict) else items
    inner = "".join(minimax(*each) for each in entries) if isinstance(value, (dict, list)) else word(value)
    return f"]<]minimax[>[<{key}>{inner}]<]minimax[>[</{key}>"


def cohere(name: str, value: Any) -> str:
    if isinstance(value, dict):
        kind, inner = "dict", "".join(cohere(f' name="{key}"', each) for key, each in value.items())
    elif isinstance(value, list):
        kind, inner = "list", "".join(cohere("", each) for each in value)
    else:
        kind, inner = "raw" if isinstance(value, str) else "json", word(value)
    return f'<cofl:value{name} type="{kind}">{inner}</cofl:value>'


def gemma(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ",".join(f"{key}:{gemma(each)}" for key, each in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(gemma, value)) + "]"
    return f'<|"|>{value}<|"|>' if isinstance(value, str) else json.dumps(value)


WRITERS = {
    "minimax_m3_xml": lambda whole: "".join(minimax(*each) for each in whole.items()),
    "cohere_xml": lambda whole: "".join(cohere(f' name="{key}"', each) for key, each in whole.items()),
    "gemma": gemma,
}


def some(rng: random.Random) -> Any:
    """A value near the schema; its keys in the declared order."""
    value = {
        "s": rng.choice(["", "a<b", None, ["x"]]),
        "n": rng.choice([0, 7, 7, 12, -1]),
        "l": [rng.choice([[], ["p"], [2, True], ["p", 2, 2], ["q"]]) for _ in range(rng.randint(0, 2))],
        "o": rng.choice([{"x": 1.5}, {"x": -2, "y": "éz"}, {"x": 1, "y": "abc"}, {"y": "a"}, {"x": 0, "z": 1}]),
    }
    return {key: each for key, each in value.items() if rng.random() < 0.6}


@pytest.mark.parametrize("style", sorted(WRITERS))
def test_what_is_accepted_is_what_is_valid(style: str) -> None:
    content = {"type": "json_schema", "style": style, "json_schema": NODE}
    constraint = gl.compile(gl.StructuralTag({"type": "structural_tag", "format": content}), VOCAB)
    rng, outcomes = random.Random(0), Counter[bool]()
    for _ in range(300):
        value = some(rng)
        valid = jsonschema.Draft202012Validator(NODE).is_valid(value)
        accepted = accepts(constraint, WRITERS[style](value))
        assert accepted == valid, value
        outcomes[accepted] += 1
    assert min(outcomes[True], outcomes[False]) > 40
