"""Random schemas with open objects, random partly filled rows: canvases against every way of filling them in."""

import random
from typing import Any

import pytest

import grammarlm as gl
from tests.counts import tiers
from tests.masks.canvas.canvas_cases import json_case
from tests.masks.canvas.canvas_law import Case
from tests.masks.canvas.substituted import check_partial, row_of

PIECES = [b'{"', b'":', b',"', b'"}', b'":1', b'":{}', b'{"a":', b"true", b"12", b"},", b'"ab', b"\\n"]
VALUES: list[Any] = [
    {"const": 1},
    {"type": "boolean"},
    {"enum": ["a", 12]},
    {},
    {"type": "integer", "minimum": 1, "maximum": 12},
]
HOLES = 2


def random_schema(rng: random.Random) -> dict[str, Any]:
    keys = rng.sample(["a", "b", "ab"], rng.randrange(3))
    schema: dict[str, Any] = {"type": "object", "properties": {key: rng.choice(VALUES) for key in keys}}
    if rng.random() < 0.4:
        schema["additionalProperties"] = rng.choice([{"$ref": "#"}, {"const": 1}, {"type": "object"}])
    if rng.random() < 0.3:
        schema["propertyNames"] = {"pattern": rng.choice(["^[ab]*$", "^[ab]?$", "^a"])}
    if keys and rng.random() < 0.5:
        schema["required"] = rng.sample(keys, 1)
    if rng.random() < 0.4:
        schema["maxProperties"] = rng.randrange(1, 4)
    if rng.random() < 0.2:
        schema["minProperties"] = rng.randrange(1, 3)
    return schema


TEXTS = [
    (b"{", b"}"), (b'{"a":', b"1", b"}"), (b'{"', b"a", b'":1', b"}"), (b'{"a":', b"12", b"}"), (b'{"a":', b"true", b"}"),
    (b'{"', b"b", b'":', b"true", b"}"), (b'{"a":', b"1", b',"', b"b", b'":1', b"}"), (b"{", b'"ab', b'":1', b"}"),
    (b'{"', b"a", b'":{}', b',"', b"b", b'":{}', b"}"), (b'{"a":', b'{"a":', b"1", b"}", b"}"), (b'{"', b'":1', b"}"),
]  # fmt: skip


def random_text(case: Case, rng: random.Random, length: int) -> list[int]:
    """Tokens of a text of the schema, or of another where it has none of these."""
    texts = [text for text in rng.sample(TEXTS, len(TEXTS)) if len(text) <= length]
    return next((row_of(case, 0, *text) for text in texts if case.accepts(b"".join(text))), row_of(case, 0, *texts[0]))


def random_row(case: Case, rng: random.Random, length: int) -> list[int]:
    """A text, then stop ids; sometimes with one token changed; one or two masked."""
    row = random_text(case, rng, length)
    row += case.stop_ids * (length - len(row))
    if rng.random() < 0.3:
        row[rng.randrange(length)] = rng.randrange(1, len(case.tokens) - 1)
    for at in rng.sample(range(length), HOLES if rng.random() < 0.5 else 1):
        row[at] = -1
    return row


@pytest.mark.parametrize("more", [0, 24], ids=["short", "long"])
@tiers("count", 8, 400)
def test_random_schemas(count: int, more: int) -> None:
    """`more`: stop ids behind. In the long canvas of a schema that allows anything a key may be spelled again up to the commit."""
    rng, completable, repeated = random.Random(11), 0, list[int]()
    for _ in range(count):
        schema = random_schema(rng)
        case = json_case(schema, PIECES)
        row = random_row(case, rng, rng.randrange(4, 9))
        try:
            again = repeated if more else None
            completable += check_partial(case, row + case.stop_ids[:1] * more, repeated=again)
        except gl.UnsatisfiableGrammar:  # where it is compiled
            assert not any(case.accepts(b"".join(text)) for text in TEXTS)
    assert 0 < completable < count
    assert len(repeated) <= 0.01 * count
