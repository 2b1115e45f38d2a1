"""Schemas between other grammars over tokenizers of real models: at places of a text many ids, of those that may cross and of all,
are read byte by byte, which uses no table of borders.
"""

import random
from typing import Any

import pytest

import grammarlm as gl
from tests.laws.laws import allowed_ids
from tests.real_data import NAMES, needs_data, real_vocabulary

pytestmark = needs_data

OBJECT = gl.JsonSchema({"properties": {"a": {"type": "string"}, "n": {"type": "integer"}}, "type": "object"})
VALUE = '{"a": "b c}", "n": 12 }'


def calls(levels: int) -> Any:
    grammar: Any = gl.Text()
    for _ in range(levels):
        grammar = gl.Ban(["<call>"]) | (gl.Text(until="<call>") + OBJECT + "</call>" + grammar)
    return grammar


CASES = {
    "fence": (gl.Regex("```json\n") + OBJECT + "\n```", f"```json\n{VALUE}\n```"),
    "anything or a schema": (OBJECT + ";" + (gl.Text() | OBJECT), f"{VALUE};{VALUE}"),
    "calls": (calls(3), f"so <call>{VALUE}</call> and <call> {VALUE}</call>"),
    "values side by side": (gl.JsonSchema({}) + OBJECT + gl.Regex("[^x]*"), f"{VALUE}{VALUE} and"),
    "a text before": (gl.Regex("[^x]*") + OBJECT, f'a, b {{"c": {VALUE}'),
}


def check_case(name: str, case: str, places: int, sample: int) -> int:
    vocab = real_vocabulary(name)
    grammar, text = CASES[case]
    constraint, rng = gl.compile(grammar, vocab), random.Random(f"{name} {case}")
    texts = vocab.text_ids.tolist()
    crossing = [
        t for t in texts if len(data := vocab.token_bytes(t)) > 1 and any(byte in data[:-1] for byte in b'}]>;"`\n')
    ]
    data, compared = text.encode(), 0
    for length in sorted(rng.sample(range(len(data) + 1), places)):
        matcher = constraint.matcher()
        assert matcher.advance_bytes(data[:length]), data[:length]
        allowed = allowed_ids(matcher, vocab)
        for token in {*rng.sample(texts, sample), *rng.sample(crossing, min(sample, len(crossing)))}:
            by_bytes = matcher.fork().advance_bytes(vocab.token_bytes(token))
            assert by_bytes == (token in allowed) == matcher.fork().advance(token), (
                data[:length],
                vocab.token_bytes(token),
            )
            compared += 1
    return compared


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize(
    ("name", "count", "most"),
    [
        *((name, 2, 300) for name in NAMES[:1]),
        *(pytest.param(name, 12, 10_000, marks=pytest.mark.proof) for name in NAMES),
    ],
)
def test_masks_are_what_bytes_say(name: str, case: str, count: int, most: int, record_property) -> None:
    found = check_case(name, case, count, most)
    assert found
    record_property("cases", found)
