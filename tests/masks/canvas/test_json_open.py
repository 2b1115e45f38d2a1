"""Random schemas with open objects, random partly filled rows: canvases against every way of filling them in."""

import random
from typing import Any

import pytest

from tests.masks.canvas.canvas_law import Case
from tests.masks.canvas.substituted import check_partial, json_case

PIECES = [b'{"', b'":', b',"', b'"}', b'":1', b'":{}', b'{"a":', b"true", b"12", b"},", b'"ab', b"\\u0061"]
ALPHABET = b'{}[]":,ab12true\\u06'
VALUES: list[Any] = [
    {"const": 1},
    {"type": "boolean"},
    {"enum": ["a", 12]},
    {},
    {"type": "integer", "minimum": 1, "maximum": 12},
]
FEW, MANY, HOLES, TRIES = 12, 400, 2, 20


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


def random_text(case: Case, rng: random.Random, length: int) -> list[int]:
    """Tokens that the matcher reads, nearly always those of a text."""
    ids = [token for token in range(1, len(case.tokens) - 1) if case.begins(case.tokens[token])]
    row = list[int]()
    for _ in range(TRIES):
        matcher, row = case.constraint.matcher(), []
        while len(row) < length and not (matcher.is_accepting and rng.random() < 0.7):
            tokens = [token for token in rng.sample(ids, len(ids)) if matcher.fork().advance(token)]
            longer = [token for token in tokens if len(case.tokens[token]) > 1]
            if not tokens or not matcher.advance(
                token := rng.choice(longer if longer and rng.random() < 0.8 else tokens)
            ):
                break
            row.append(token)
        if matcher.is_accepting:
            break
    return row


def random_row(case: Case, rng: random.Random, length: int) -> list[int]:
    """A text, then stop ids; sometimes with one token changed; one or two masked."""
    row = random_text(case, rng, length)
    row += case.stop_ids * (length - len(row))
    if rng.random() < 0.3:
        row[rng.randrange(length)] = rng.randrange(1, len(case.tokens) - 1)
    for at in rng.sample(range(length), HOLES if rng.random() < 0.5 else 1):
        row[at] = -1
    return row


@pytest.mark.parametrize("count", [FEW, pytest.param(MANY, marks=pytest.mark.proof)])
def test_random_schemas(count: int) -> None:
    rng, completable = random.Random(11), 0
    for _ in range(count):
        schema = random_schema(rng)
        declared = tuple(schema["properties"])
        case = json_case(schema, PIECES, ALPHABET, order=declared)
        completable += check_partial(case, random_row(case, rng, rng.randrange(4, 9)))
    assert count / 4 < completable < count
