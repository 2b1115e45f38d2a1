"""gl.stream(): its events, put together, are what generate() returns, whatever the tokens cut."""

import json
from typing import Any

import pytest

import grammarlm as gl
from grammarlm.decoding.answers.events import Event
from tests.decoding.json_rebuilding import rebuilt
from tests.decoding.random_models import random_model

torch = pytest.importorskip("torch")

SCHEMAS: list[Any] = [
    {
        "type": "object",
        "properties": {"é": {"type": "string", "maxLength": 9}, "n": {"type": "number"}},
        "required": ["é", "n"],
    },
    {"type": "array", "items": {"enum": [1, -2.5, "😀", None, True, [], {}, {"a": [1]}]}, "minItems": 2, "maxItems": 5},
    {"type": "integer", "minimum": 7, "maximum": 99999},
    {"type": "string", "minLength": 3, "maxLength": 12},
    {"const": {"a": {"b": [{"c": "\n"}]}, "d": ""}},
    True,
]
WARM = {"temperature": 1.5, "max_tokens": 60}


def parts(events: list[Event], row: int) -> tuple[str, list[Event]]:
    """Of one answer: its text, and what else was told of it."""
    own = [event for event in events[:-1] if event.row == row]
    return "".join(event.text for event in own), [event for event in own if event.kind != "text"]


def check(events: list[Event], row: int, result: Any, is_json: bool) -> None:
    text, told = parts(events, row)
    assert text == result.text
    if is_json:
        assert repr(rebuilt(told)) == repr(json.loads(text)) == repr(told[-1].value)
    else:
        assert told == []


@pytest.mark.parametrize("schema", SCHEMAS, ids=lambda schema: json.dumps(schema)[:30])
def test_events_are_the_value(model, tokenizer, schema) -> None:
    for seed in range(3):
        options = {"tokenizer": tokenizer, "schema": schema, "seed": seed, "forced": ("score", "off")[seed % 2], **WARM}
        events = list(gl.stream(model, "the cat", **options))
        want = gl.generate(model, "the cat", **options)
        assert events[-1].kind == "end"
        assert (events[-1].result.tokens, events[-1].result.value) == (want.tokens, want.value)
        check(events, 0, want, is_json=True)
        assert repr(want.value) == repr(parts(events, 0)[1][-1].value)


def test_where_the_answer_is_no_json_there_are_deltas_only(model, tokenizer) -> None:
    for held in (
        {"regex": "[é€😀]{1,5}"},
        {"choices": ["the cat", "a hät"]},
        {},
        {"grammar": gl.Gbnf('root ::= "[" root "]" | "1"')},
    ):
        for seed in range(3):
            events = list(gl.stream(model, "x", tokenizer=tokenizer, seed=seed, **held, **WARM))
            check(events, 0, events[-1].result, is_json=False)
            assert all(event.text and event.path == () for event in events[:-1])
            if "regex" in held:
                assert not any("\ufffd" in event.text for event in events)


def test_a_batch_tells_of_each_row_what_it_tells_of_it_alone(model, tokenizer) -> None:
    prompts, schemas = ["the cat", "x", "a hat sat"], [SCHEMAS[0], None, SCHEMAS[1]]
    options = {"tokenizer": tokenizer, "seed": 5, "n": 2, **WARM}
    events = list(gl.stream(model, prompts, schema=schemas, batch_size=4, **options))  # two batches
    assert len(events[-1].result) == 6
    for at, result in enumerate(events[-1].result):
        check(events, at, result, is_json=schemas[at // 2] is not None)
    for at, (prompt, schema) in enumerate(zip(prompts, schemas, strict=True)):
        alone = list(gl.stream(model, prompt, schema=schema, **options))
        assert [one.tokens for one in alone[-1].result] == [
            one.tokens for one in events[-1].result[2 * at : 2 * at + 2]
        ]
        for k in range(2):
            assert [repr(e) for e in alone[:-1] if e.row == k] == [repr(e) for e in events[:-1] if e.row == 2 * at + k]


def test_a_cut_answer_has_no_value_and_its_whole_text(model, tokenizer) -> None:
    ends = set()
    for tokens in (*range(1, 12), 50):
        options = {"tokenizer": tokenizer, "max_tokens": tokens, "close": False}
        for schema in (SCHEMAS[3], gl.JsonSchema(SCHEMAS[4], whitespace="compact"), {"const": 123456789012345}):
            events = list(gl.stream(model, "x", schema=schema, **options))
            text, told = parts(events, 0)
            result = events[-1].result
            ends.add(result.finish_reason)
            assert text == result.text
            assert (result.finish_reason == "length") == (not any(e.kind == "value" and e.path == () for e in told))
        events = list(gl.stream(model, "x", regex="(é|😀){4}", **options))
        assert parts(events, 0)[0] == events[-1].result.text
    assert ends == {"stop", "length"}


def test_with_healing_the_deltas_are_the_answer_alone() -> None:
    model, tokenizer = gl.load_tiny()
    for seed in range(2):
        options = {"tokenizer": tokenizer, "heal": True, "temperature": 1.0, "seed": seed, "max_tokens": 40}
        for prompt in ("Mira ordered lam", 'Mira: {"'):
            for held in ({"schema": SCHEMAS[0]}, {"regex": "[a-z]{2,9}é"}):
                events = list(gl.stream(model, prompt, **options, **held))
                check(events, 0, events[-1].result, is_json="schema" in held)


def test_events_come_while_the_answer_is_written() -> None:
    calls = 0
    network = random_model("Llama", 257, eos_token_id=256)

    def model(ids):
        nonlocal calls
        calls += 1
        return network(ids).logits

    vocab = gl.Vocabulary([bytes([i]) for i in range(256)] + [b""], stop_ids=[256])
    events = gl.stream(
        model, [7], vocab=vocab, schema={"type": "string", "minLength": 20, "maxLength": 20}, forced="off"
    )
    assert calls == 0
    seen = [(next(events), calls) for _ in range(6)]
    assert [count for _, count in seen] == sorted(count for _, count in seen)
    assert seen[0][1] == 1
    assert seen[-1][1] < 10
    assert len(list(events)) > 10
    assert calls > 20


def test_python_types_and_nested_paths() -> None:
    import pydantic

    class Seat(pydantic.BaseModel):
        row: int = pydantic.Field(ge=1, le=30)
        name: str = pydantic.Field(max_length=8)

    model, tokenizer = gl.load_tiny()
    options = {"tokenizer": tokenizer, "schema": list[Seat], "max_tokens": 120, "temperature": 1.0, "seed": 2}
    events = list(gl.stream(model, "Two seats in row 4, for Ada and Tom.\n", **options))
    items = [event for event in events if event.kind == "value" and len(event.path) == 1]
    assert all(isinstance(seat, Seat) for seat in events[-1].result.value)
    assert [Seat(**item.value) for item in items] == events[-1].result.value
    assert [item.path for item in items] == [(at,) for at in range(len(items))]
    assert {("row", 0), ("name", 0)} <= {(event.path[1], event.path[0]) for event in events if event.kind == "key"}


def test_wrong_arguments_are_named_before_the_first_event(model, tokenizer) -> None:
    for wrong, error, message in (
        ({"metod": "masked"}, TypeError, "no argument metod=; did you mean method="),
        ({"method": "smc"}, ValueError, "method"),
        ({"batch_size": 0}, ValueError, "batch_size"),
        ({"regex": "a", "choices": ["a"]}, ValueError, "regex= and choices="),
        ({"regex": "[0-9]{9}", "max_tokens": 3}, ValueError, "max_tokens"),
        ({"regex": "(a"}, gl.GrammarError, "line 1"),
    ):
        with pytest.raises(error, match=message):
            gl.stream(model, "x", tokenizer=tokenizer, **wrong)
