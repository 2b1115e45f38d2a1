"""Named parts of answers: in results, and in the events of a stream, which put together are the result's."""

import copy
import json
import pickle
from dataclasses import dataclass
from typing import Any

import pytest

import grammarlm as gl
from grammarlm.decoding.answers.events import Event
from grammarlm.decoding.answers.json_events import JsonEvents
from grammarlm.decoding.result import Part, Result
from grammarlm.grammars.capture import Capture
from grammarlm.grammars.compose import Grammar
from grammarlm.grammars.repeat import Repeat
from tests.decoding.json_rebuilding import rebuilt

torch = pytest.importorskip("torch")

LINE = {
    "type": "object",
    "properties": {"é": {"type": "string", "maxLength": 5}, "n": {"type": "integer", "minimum": 0, "maximum": 999}},
    "required": ["é", "n"],
    "additionalProperties": False,
}
WORD = gl.Regex("[a-z]{1,4}")
WARM = {"temperature": 1.5, "max_tokens": 120, "close": False}


@dataclass
class Count:
    n: int

    def __post_init__(self) -> None:
        if self.n > 500:
            raise ValueError("that is too many")


GRAMMARS: dict[str, Grammar] = {
    "text and schema": Capture("head", gl.Regex("[é€😀a]{1,6}")) + ": " + Capture("line", gl.JsonSchema(LINE)) + ";",
    "repeats": Repeat(Capture("word", WORD), min=2, max=4, separator=" ") + Capture("end", gl.Regex("[.!]")),
    "nested": Capture("all", Repeat(Capture("pair", WORD + "=" + Capture("value", gl.Regex("[0-9]?"))), 1, 3, ",")),
    "a schema inside": Capture("call", "<call>" + gl.JsonSchema(LINE) + "</call>") + gl.Regex("x{0,3}"),
    "alternatives": Capture("number", gl.Regex("[0-9]{1,3}"))
    | Capture("line", gl.JsonSchema(LINE))
    | Capture("word", WORD),
    "special tokens": Capture("call", gl.Token("<eot>") + Capture("name", WORD) + gl.Token("<pad>")) + gl.Regex("é?"),
    "rules": Capture("brackets", gl.Gbnf('root ::= "(" root ")" | [a-c]')) + Capture("rest", gl.Regex("[)é]{0,3}")),
    "held": (Capture("a", WORD) + Capture("b", gl.Regex("[a-z]{0,4};"))) & gl.Ban(["z;"]),
}


def told_parts(events: list[Event]) -> list[Part]:
    """The parts in the order of their beginnings; what is told between a beginning and its end is the part's text."""
    found: list[Part | None] = []
    waiting: list[tuple[int, tuple[str | None, int], list[str]]] = []
    for event in events:
        owner = event.part, event.number
        if event.kind == "begin":
            waiting.append((len(found), owner, []))
            found.append(None)
        elif event.kind == "part":
            at, begun, pieces = waiting.pop()
            assert (owner, "".join(pieces)) == (begun, event.value.text)
            found[at] = event.value
        else:
            assert owner == (waiting[-1][1] if waiting else (None, 0))
            for _, _, pieces in waiting:
                pieces.append(event.text)
    assert None not in found
    return [part for part in found if part is not None]


def check(events: list[Event], result: Result) -> None:
    """The events of one answer, without the last one."""
    assert "".join(event.text for event in events) == result.text
    assert told_parts(events) == result.parts
    data = result.text.encode()
    for part in result.parts:
        assert data[slice(*part.span)].decode() == part.text
    for name, value in result.named.items():
        values = [part.value for part in result.parts if part.name == name]
        assert (value if isinstance(value, list) else [value]) == values
        assert result[name] is value


@pytest.mark.parametrize("name", GRAMMARS)
def test_events_are_the_result(model, tokenizer, name: str) -> None:
    for seed in range(6):
        options = {"tokenizer": tokenizer, "grammar": GRAMMARS[name], "seed": seed, **WARM}
        *events, last = gl.stream(model, "the cat", **options)
        want = gl.generate(model, "the cat", **options)
        assert (last.result.tokens, last.result.parts, last.result.value) == (want.tokens, want.parts, want.value)
        assert want.finish_reason == "stop"
        check(events, want)
        told = [event for event in events if event.kind not in ("text", "begin", "part")]
        if told:
            assert repr(rebuilt(told)) == repr(want.value) == repr(told[-1].value)
            reader = JsonEvents()
            text = next(part.text for part in want.parts if part.name in ("line", "call")).removeprefix("<call>")
            alone = [*reader.feed(text.removesuffix("</call>").encode()), *reader.finish()]
            assert [(e.kind, e.path) for e in alone if e.kind != "string"] == [
                (e.kind, e.path) for e in told if e.kind != "string"
            ]


def test_a_batch_tells_of_each_row_what_it_tells_of_it_alone(model, tokenizer) -> None:
    prompts, names = ["the cat", "x", "a hat"], ["text and schema", "repeats", "nested"]
    options = {"tokenizer": tokenizer, "seed": 5, "n": 2, **WARM}
    *events, last = gl.stream(model, prompts, grammar=[GRAMMARS[name] for name in names], batch_size=4, **options)
    for at, result in enumerate(last.result):
        check([event for event in events if event.row == at], result)
        assert result.parts


def test_what_out_value_is(model, tokenizer) -> None:
    def answer(grammar: Grammar) -> Result:
        return gl.generate(model, "x", tokenizer=tokenizer, grammar=grammar, seed=1, **WARM)

    schema = gl.JsonSchema(LINE)
    out = answer(gl.Regex("[ab]{2}") + ": " + schema)  # the value of the only schema
    assert out.value == json.loads(out.text[4:])
    assert (out.parts, out.named) == ([], {})
    out = answer("x" + Capture("line", schema) + Capture("word", WORD))
    assert out.value == out["line"] == json.loads(out.parts[0].text)
    out = answer(Capture("line", schema) + Capture("other", schema))  # several: all that have names
    assert out.value == {"line": out["line"], "other": out["other"]} == out.named
    out = answer(schema + "," + schema)
    assert out.value == out.text
    out = answer(Capture("word", WORD) + Capture("rest", gl.Regex("[0-9]{2}")))
    assert out.value == {"word": out.parts[0].text, "rest": out.text[-2:]}
    out = answer(Capture("line", schema))
    assert out.value == out["line"] == json.loads(out.text)


def test_values_of_parts(model, tokenizer) -> None:
    items = gl.Tokens([[7, 8, 9], [7, 8], [20]], ids=["seven", "eight", "twenty"])
    grammar = Capture("count", gl.JsonSchema(Count)) + Capture("item", items) + Repeat(Capture("word", WORD), 0, 2, " ")
    for seed in range(12):
        out = gl.generate(model, "x", tokenizer=tokenizer, grammar=grammar, seed=seed, **WARM)
        count, item, *words = out.parts
        assert item.value == out["item"] in ("seven", "eight", "twenty")
        assert out["word"] == [part.text for part in words]
        n = json.loads(count.text)["n"]
        if n > 500:
            assert "that is too many" in (out.error or "")
            assert (count.error, count.value, out.value) == (out.error, None, None)
        else:
            assert out["count"] == out.value == Count(n)
            assert out.error is None


def test_a_name_that_is_not_there(model, tokenizer) -> None:
    out = gl.generate(model, "x", tokenizer=tokenizer, grammar=Capture("a", "x") | Capture("b", "y"), **WARM)
    name, other = ("a", "b") if out.text == "x" else ("b", "a")
    assert out[name] == out.text
    assert (name in out, other in out, "c" in out) == (True, False, False)
    with pytest.raises(KeyError, match=f"no part '{other}'; there is '{name}'"):
        out[other]
    with pytest.raises(TypeError):
        list(out)
    plain = gl.generate(model, "x", tokenizer=tokenizer, regex="[ab]", **WARM)
    with pytest.raises(KeyError, match="no part 'a'; there is none"):
        plain["a"]
    assert (plain.parts, plain.named) == ([], {})


def test_results_are_copied_and_pickled(model, tokenizer) -> None:
    out = gl.generate(model, "x", tokenizer=tokenizer, grammar=GRAMMARS["repeats"], seed=2, **WARM)
    for again in (pickle.loads(pickle.dumps(out)), copy.deepcopy(out)):
        assert again == out
        assert again["word"] == out["word"]
        assert [part.tokens for part in again.parts] == [part.tokens for part in out.parts]
    assert "parts=[Part('word'" in repr(out)


def test_an_answer_that_was_cut_has_the_parts_that_are_certain(model, tokenizer) -> None:
    grammar = GRAMMARS["text and schema"]
    whole = gl.generate(model, "x", tokenizer=tokenizer, grammar=grammar, seed=3, **WARM)
    reasons = set()
    for most in range(1, len(whole.tokens) + 1):
        options: dict[str, Any] = {"tokenizer": tokenizer, "grammar": grammar, "seed": 3, **WARM, "max_tokens": most}
        *events, last = gl.stream(model, "x", **options)
        out = last.result
        reasons.add(out.finish_reason)
        assert "".join(event.text for event in events) == out.text
        assert [event.value for event in events if event.kind == "part"] == out.parts
        assert out.parts == whole.parts[: len(out.parts)]
        assert (out.value is None) == (out.finish_reason == "length")
        assert len(out.parts) >= sum(part.tokens.stop < most for part in whole.parts)
    assert reasons == {"length", "stop"}


def test_with_healing_the_first_part_is_what_comes_after_the_prompt() -> None:
    model, tokenizer = gl.load_tiny()
    grammar = Capture("first", gl.Regex("[ -~]{1,9}e")) + Capture("second", gl.Regex("[a-z]{1,3}"))
    for seed in range(4):
        options = {"tokenizer": tokenizer, "grammar": grammar, "heal": True, "temperature": 1.0, "seed": seed}
        *events, last = gl.stream(model, "Mira ordered lam", max_tokens=40, close=False, **options)
        check(events, last.result)
        assert [part.name for part in last.result.parts] == ["first", "second"]


def test_rows_that_are_filled_in_have_parts() -> None:
    model, tokenizer = gl.load_tiny(diffusion=True)
    grammar = Capture("digits", gl.Regex("[0-9]{2}")) + Capture("word", gl.Regex("[a-z]{1,8}"))
    out = gl.infill(model, [gl.Hole(8)], tokenizer=tokenizer, grammar=grammar)
    assert out["digits"] + out["word"] == out.text
    assert out.value == out.named
