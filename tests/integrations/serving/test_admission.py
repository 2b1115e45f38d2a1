"""Admission: what is refused, what is too much for an event loop, and what is remembered."""

import asyncio
from typing import Any

import pytest

import grammarlm as gl
from grammarlm.integrations.serving import admission


def on_a_loop(call: Any) -> None:
    async def run() -> None:
        call()

    asyncio.run(run())


def test_fine_grammars_are_admitted_anywhere() -> None:
    for grammar in (
        gl.JsonSchema(True),
        gl.Regex("a+"),
        gl.Gbnf('root ::= "a" <|b|>'),
        gl.Text(until="x", max_tokens=1) + gl.Regex("y"),
        gl.Text() + gl.Token("<|call|>") + gl.JsonSchema(True),  # of a vocabulary that is not known here
        gl.StructuralTag({"type": "structural_tag", "format": {"type": "token", "token": "<|call|>"}}),
        gl.Tools([], format="hermes", calls="none", reasoning=3),
    ):
        admission.admit(grammar)
        on_a_loop(lambda grammar=grammar: admission.admit(grammar))


def test_what_compile_refuses_is_refused() -> None:
    for grammar in (gl.Regex("("), gl.JsonSchema({"type": "strng"}), gl.Lark("start: X")):
        with pytest.raises(gl.GrammarError):
            admission.admit(grammar)
        with pytest.raises(gl.GrammarError):
            on_a_loop(lambda grammar=grammar: admission.admit(grammar))


def test_much_work_is_too_much_on_a_loop_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ON_THE_LOOP", "IN_PASSING"):
        monkeypatch.setattr(admission, name, gl.Limits(max_work=5))
    patterns = ["^([a-z][0-9])+$", "((c1d3g3).{4,8}){6,6}", "(t|8){10,10}$"]
    heavy = gl.JsonSchema({"type": "string", "allOf": [{"pattern": pattern} for pattern in patterns]})
    with pytest.raises(gl.LimitExceeded, match="response_format"):
        on_a_loop(lambda: admission.admit(heavy))
    on_a_loop(lambda: admission.admit(heavy, in_background=True))
    admission.admit(heavy)


def test_other_limits_are_errors_wherever_they_are_reached(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ON_THE_LOOP", "IN_PASSING"):
        monkeypatch.setattr(admission, name, gl.Limits(max_depth=10))
    deep = gl.Regex("(b" * 30 + "a" + "c)?" * 30)
    for in_background in (False, True):
        with pytest.raises(gl.LimitExceeded, match="max_depth"):
            on_a_loop(lambda in_background=in_background: admission.admit(deep, in_background=in_background))


def test_verdicts_are_remembered_by_text() -> None:
    calls = []

    def judge(error: Exception | None) -> Any:
        def judged() -> None:
            calls.append(error)
            if error:
                raise error

        return judged

    admission.remembered("one", judge(None))
    admission.remembered("one", judge(ValueError("never asked")))
    for _ in range(2):
        with pytest.raises(ValueError, match="broken"):
            admission.remembered("two", judge(gl.GrammarError("broken")))
    for _ in range(2):
        with pytest.raises(gl.LimitExceeded):
            admission.remembered("three", judge(gl.LimitExceeded("slow today")))
    assert len(calls) == 4


def test_few_verdicts_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(admission, "REMEMBERED", 10)
    for number in range(50):
        admission.remembered(f"number {number}", lambda: None)
    asked: list[int] = []
    for number in range(50):
        admission.remembered(f"number {number}", lambda number=number: asked.append(number))
    assert len(asked) >= 40  # the others were forgotten
