"""Schemas between other grammars over tokenizers of real models: at places of a text many ids, of those that may cross and of all,
are read byte by byte, which uses no table of borders; texts end in time, however few tokens they have.
"""

import json
import random
from collections.abc import Callable
from typing import Any

import jsonschema
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
    "calls again and again": (
        gl.Repeat(gl.Text(until="<call>") + OBJECT + "</call>") + gl.Ban(["<call>"]),
        f"so <call>{VALUE}</call> and <call> {VALUE}</call>",
    ),
    "lines": (gl.Repeat(OBJECT, 1, 3, "\n"), f"{VALUE}\n{VALUE}"),
    "a deadline": (gl.Text(until="</think>", max_tokens=20) + OBJECT, f"so be it</think>{VALUE}"),
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


VALIDATOR = jsonschema.Draft202012Validator(json.loads(OBJECT.saved()[0]))


def is_record(text: str) -> bool:
    return VALIDATOR.is_valid(json.loads(text))


def is_row_of_calls(text: str) -> bool:
    decoder, at = json.JSONDecoder(), 0
    while (found := text.find("<call>", at)) >= 0:
        value, at = decoder.raw_decode(text, found + len("<call>"))
        assert VALIDATOR.is_valid(value)
        assert text.startswith("</call>", at)
        at += len("</call>")
    return True


ENDING: dict[str, tuple[Any, Callable[[str], bool]]] = {
    "a thought": (
        gl.Text(until="</think>") + OBJECT.as_generated(),
        lambda text: is_record(text.partition("</think>")[2]),
    ),
    "a short thought": (
        gl.Text(until="</think>", max_tokens=12) + OBJECT.as_generated(),
        lambda text: is_record(text.partition("</think>")[2]),
    ),
    "lines": (
        gl.Repeat(OBJECT.as_generated(), 2, 4, "\n---\n"),
        lambda text: all(map(is_record, text.split("\n---\n"))),
    ),
    "calls": (
        gl.Repeat(gl.Text(until="<call>") + OBJECT.as_generated() + "</call>") + gl.Ban(["<call>"]),
        is_row_of_calls,
    ),
}


def check_ends(name: str, case: str, walks: int) -> int:
    """Texts of whatever may come, long tokens more often, from the least budget up."""
    vocab, (grammar, is_valid) = real_vocabulary(name), ENDING[case]
    constraint, rng, narrowed = gl.compile(grammar, vocab), random.Random(f"{name} {case}"), 0
    least = constraint.matcher().min_tokens_left
    for walk in range(walks):
        budget = least + (0, 1, 2, 3, 5, 8, 20)[walk % 7]
        matcher, tokens = constraint.matcher(max_tokens=budget), list[int]()
        while not (matcher.is_accepting and rng.random() < 0.2):
            allowed = sorted(allowed_ids(matcher, vocab) - set(vocab.stop_ids))
            assert allowed or matcher.is_accepting, (case, budget, tokens)
            narrowed += matcher.is_narrowed
            if not allowed:
                break
            some = rng.sample(allowed, min(20, len(allowed)))
            tokens.append(max(some, key=lambda token: len(vocab.token_bytes(token))) if rng.random() < 0.4 else some[0])
            assert matcher.advance(tokens[-1])
        assert len(tokens) <= budget
        text = b"".join(map(vocab.token_bytes, tokens)).decode(errors="surrogateescape")
        assert is_valid(text), (case, budget, text)
    return narrowed


@pytest.mark.parametrize("case", ENDING)
@pytest.mark.parametrize(
    ("name", "walks"),
    [
        *((name, 7) for name in NAMES[:1]),
        *(pytest.param(name, 140, marks=pytest.mark.proof) for name in NAMES),
    ],
)
def test_texts_end_in_time(name: str, case: str, walks: int, record_property) -> None:
    assert check_ends(name, case, walks) > walks
    record_property("cases", walks)
