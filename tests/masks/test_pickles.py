"""What a user sends from process to process: constraints, reports, canvases; what stays says what to send instead."""

import copy
import pickle
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

import grammarlm as gl
from grammarlm.retrieval.item_set import ItemSet

VOCAB = gl.Vocabulary([bytes([b]) for b in range(256)] + [b"ab", b"</s>"], [257])
SCHEMA = {"type": "object", "properties": {"name": {"type": "string", "maxLenght": 3}}, "required": ["name"]}
GRAMMARS = {
    "a schema": gl.JsonSchema(SCHEMA),
    "parts": "ab" + gl.JsonSchema(SCHEMA),
    "Lark": gl.Lark('start: "a"+'),
    "Regex": gl.Regex("[ab]*"),
    "Tokens": gl.Tokens([[97, 98], [99]]),
}


@dataclass
class Person:
    name: str


@pytest.mark.parametrize("name", GRAMMARS)
@pytest.mark.parametrize(
    "way", [lambda one: pickle.loads(pickle.dumps(one)), copy.deepcopy], ids=["pickle", "deepcopy"]
)
def test_reports(name: str, way: Callable[[Any], Any]) -> None:
    report = gl.compile(GRAMMARS[name], VOCAB).report
    again = way(report)
    assert repr(again) == repr(report)
    assert (again.limits, again.caps, again.relaxed) == (report.limits, report.caps, report.relaxed)
    assert again.warnings == report.warnings
    assert bool(report.warnings) == (name in ("a schema", "parts"))
    assert (again.keywords is None) == (report.keywords is None)
    if report.keywords is not None:
        assert list(again.keywords()) == list(report.keywords())
    assert way(again).warnings == report.warnings


def test_a_report_in_another_process() -> None:
    report = gl.compile(GRAMMARS["a schema"], VOCAB).report
    code = "import pickle, sys; print(pickle.load(sys.stdin.buffer).warnings[0])"
    done = subprocess.run([sys.executable, "-c", code], input=pickle.dumps(report), capture_output=True, check=True)
    assert done.stdout.decode().strip() == report.warnings[0]


def test_canvases() -> None:
    constraint = gl.compile(gl.Regex("[ab]{3}"), VOCAB)
    after = constraint.matcher()
    assert after.advance(97)
    for canvas in (constraint.canvas(4), constraint.canvas(3, room=1), constraint.canvas(2, after=after)):
        rows = [[97] * k + [-1] * (canvas.length - k) for k in range(canvas.length + 1)]
        for again in (pickle.loads(pickle.dumps(canvas)), copy.deepcopy(canvas)):
            assert [again.is_completable(row) for row in rows] == [canvas.is_completable(row) for row in rows]
            assert (again.length, again.room) == (canvas.length, canvas.room)


@pytest.mark.parametrize(
    ("make", "instead"),
    [
        (lambda: gl.Compiler(VOCAB), "make one in each; its constraints and its vocabulary"),
        (lambda: ItemSet([[1, 2]]), r"ItemSet.load\(folder\)"),
        (lambda: gl.DeviceAutomaton(gl.compile(gl.Regex("ab"), VOCAB)), r"pickle the constraint, or save\(\) it"),
    ],
)
def test_what_stays_in_its_process_says_what_to_send(make: Callable[[], Any], instead: str) -> None:
    with pytest.raises(TypeError, match=instead):
        pickle.dumps(make())


def test_answers_events_and_errors() -> None:
    model, _ = gl.load_tiny()
    events = list(gl.stream(model, "Ada, 36.\n", schema=SCHEMA, max_tokens=30))
    again = pickle.loads(pickle.dumps(events))
    assert [(e.kind, e.text) for e in again] == [(e.kind, e.text) for e in events]
    result = gl.generate(model, "Ada, 36.\n", schema=Person, max_tokens=30)
    assert pickle.loads(pickle.dumps(result)) == result
    with pytest.raises(gl.GrammarError) as broken:
        gl.compile(gl.Lark("start: ("), VOCAB)
    assert str(pickle.loads(pickle.dumps(broken.value))) == str(broken.value)
