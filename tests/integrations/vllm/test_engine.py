"""The real engine: every finished answer is valid, unconstrained requests are untouched, bad requests end in peace.

Each setting is a process of its own (scenario.py), with the embedded model at temperature 1: it obeys nothing by itself.
"""

import ast
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from grammarlm.grammars.generated import as_generated
from grammarlm.integrations.serving.options import read_options
from tests.integrations.vllm.bad_requests import BAD, TOLD_BY_TEMPLATE
from tests.integrations.vllm.scenario import ARITHMETIC, CALL, DATE, MARK, OLDER, PERSON, TAGS, WORDS

HERE, ROOT = Path(__file__).parent, Path(__file__).parents[3]
ROUTES = ["processor", "backend"]


def run(**options: Any) -> dict[str, Any]:
    path = [str(ROOT), *([str(HERE / "shim")] if options.get("runner") == "v2" else [])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path)}
    command = [sys.executable, "-m", "tests.integrations.vllm.scenario", json.dumps(options)]
    child = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    lines = [line for line in child.stdout.splitlines() if line.startswith(MARK)]
    assert child.returncode == 0, (child.stdout + child.stderr)[-6000:]
    assert lines, (child.stdout + child.stderr)[-6000:]
    found: dict[str, Any] = json.loads(lines[-1].removeprefix(MARK))
    return found


KEEPS = jsonschema.Draft202012Validator(
    {
        "properties": {"name": {"const": "keep"}, "arguments": PERSON},
        "required": ["name", "arguments"],
        "type": "object",
    }
)


def calls_of(text: str) -> list[Any] | None:
    """The calls in a text; None where one is begun otherwise."""
    free, *rest = text.split("<tool_call>\n")
    parts = [each.partition("\n</tool_call>") for each in rest]
    if any("<tool_call>" in each for each in (free, *(after for _, _, after in parts))):
        return None
    try:
        return [json.loads(call) if end else None for call, end, _ in parts]
    except ValueError:
        return None


def is_valid(form: dict[str, Any], text: str) -> bool:
    """By jsonschema, re and the grammar's own meaning in Python; never by a mask of ours."""
    if "reasoning" in form:
        thought, end, text = text.partition("\n</think>\n\n")
        if not end or not thought.startswith("<think>\n"):
            return False
    elif "tools" in form or "structural_tag" in form:
        calls = calls_of(text)
        most = 1 if "stop_after_first" in form.get("structural_tag", "") else len(text)
        least = (
            0 if "triggers" in form.get("structural_tag", "") and "at_least_one" not in form["structural_tag"] else 1
        )
        return calls is not None and least <= len(calls) <= most and all(map(KEEPS.is_valid, calls))
    if "schema" in form:
        try:
            value = json.loads(text)
        except ValueError:
            return False
        between = re.sub(r'"(\\.|[^"\\])*"', "", text)  # strings may hold blanks
        is_compact = form.get("whitespace") != "compact" or not re.search(r"\s", between)
        return is_compact and jsonschema.Draft202012Validator(form["schema"]).is_valid(value)
    if "regex" in form:
        return re.fullmatch(form["regex"], text) is not None
    if "choices" in form:
        return text in form["choices"]
    if form["grammar"] == ARITHMETIC:
        try:
            ast.parse(re.sub(r"\b0+(?=\d)", "", text), mode="eval")
        except SyntaxError:
            return False
        return re.fullmatch(r"[0-9+() ]+", text) is not None
    assert form["grammar"] == CALL
    return re.fullmatch(r"[a-z]{1,6}\((([a-z]{1,6}|[0-9]{1,4})(,([a-z]{1,6}|[0-9]{1,4}))*)?\)", text) is not None


def test_the_judge_can_say_no() -> None:
    assert not is_valid({"regex": DATE}, "2024-13-01")
    assert not is_valid({"choices": WORDS}, "ye")
    assert not is_valid({"grammar": ARITHMETIC}, "1 + ")
    assert not is_valid({"grammar": CALL}, "f(1,)")
    assert not is_valid({"schema": {"type": "integer"}}, "1.5")
    call = '<tool_call>\n{"name": "keep", "arguments": {"name": "a", "age": 3}}\n</tool_call>'
    for asked, least, most in (
        ({"structural_tag": json.dumps(TAGS)}, 1, 1),
        ({"tools": []}, 1, 9),
        ({"structural_tag": json.dumps(OLDER)}, 0, 9),
    ):
        assert [is_valid(asked, "\n".join([call] * n)) for n in range(3)] == [least <= n <= most for n in range(3)]
        assert not any(is_valid(asked, wrong) for wrong in (call[:-1], call.replace("3", "131"), f"{call}<tool_call>"))
    thinks = {"reasoning": 5, "schema": {"type": "integer"}}
    assert [is_valid(thinks, text) for text in ("<think>\na\n</think>\n\n1", "1", "<think>\na\n</think>\n\n")] == [
        True,
        False,
        False,
    ]
    compact = {"schema": {}, "whitespace": "compact"}
    assert is_valid(compact, '{"a b":"\u0521 \\" x"}')
    assert not is_valid(compact, '{"a b": "\u0521"}')


def check(found: dict[str, Any]) -> None:
    for one in found["held"]:
        assert one["reason"] == "stop", one
        assert is_valid(one["asked"], one["text"]), one
    assert len({one["text"] for one in found["held"]}) > len(found["held"]) / 5  # it is the model that wrote them


@pytest.mark.parametrize("route", ROUTES)
def test_v1(route: str) -> None:
    """With unconstrained requests in the same batches, whose greedy answers do not change."""
    found = run(route=route, count=120, mixed=True)
    check(found)
    assert found["mixed"] == found["alone"]


@pytest.mark.proof
@pytest.mark.parametrize("route", ROUTES)
def test_v1_a_thousand(route: str, record_property: Any) -> None:
    found = run(route=route, count=1000, mixed=True, seed=1)
    check(found)
    record_property("cases", 1000)


@pytest.mark.parametrize("draft", ["", "ngram"])
@pytest.mark.parametrize("route", ROUTES)
def test_v2(route: str, draft: str) -> None:
    found = run(runner="v2", route=route, draft=draft, count=16, mixed=True, max_tokens=48)
    check(found)
    assert found["mixed"] == found["alone"]


@pytest.mark.proof
@pytest.mark.parametrize("draft", ["", "ngram"])
@pytest.mark.parametrize("route", ROUTES)
def test_v2_sixty(route: str, draft: str, record_property: Any) -> None:
    check(run(runner="v2", route=route, draft=draft, count=60, mixed=True, max_tokens=48, seed=1))
    record_property("cases", 60)


def test_v1_drafts_of_the_backend() -> None:
    check_drafts(run(route="backend", draft="ngram", count=40, temperature=0.0))


def test_v1_drafts_of_the_backend_at_temperature_1() -> None:
    """There vLLM 0.32 sometimes samples token 0 as the first one, whatever its mask says, with its own backends as well. We refuse
    it, vLLM ends that request with an error, and all others are valid."""
    found = run(route="backend", draft="ngram", count=40)
    assert all(one["tokens"] == [0] for one in found["held"] if one["reason"] == "error")
    fine = [one for one in found["held"] if one["reason"] != "error"]
    assert len(fine) > 20
    check_drafts({"held": fine})


def check_drafts(found: dict[str, Any]) -> None:
    for one in found["held"]:
        assert one["reason"] == "stop", one
        assert is_valid(one["asked"], one["text"]), one


@pytest.mark.parametrize(
    ("route", "others"),
    [
        ("processor", {"min_tokens": 30}),
        ("processor", {"ignore_eos": True}),
        ("processor", {"bad_words": ["{", '"', "2", "(", "y", "1"]}),
        ("processor", {"allowed_token_ids": [5, 6, 7]}),
        ("processor", {"logit_bias": {"1": 100}, "repetition_penalty": 2.0}),
        ("processor", {"stop_token_ids": [300, 301]}),
        ("backend", {"min_tokens": 30}),
        ("backend", {"ignore_eos": True}),
        ("backend", {"logit_bias": {"1": 100}, "repetition_penalty": 2.0}),
        ("backend", {"stop_token_ids": [300, 301]}),
    ],
)
def test_other_options_let_nothing_through(route: str, others: dict[str, Any]) -> None:
    """Whatever they ask for, each answer is a text of its grammar; what follows its end are stop ids."""
    found = run(route=route, count=32, others=others)
    for one in found["held"]:
        assert is_valid(one["asked"], one["text"]), one
        if "ignore_eos" in others:
            end = one["tokens"].index(1)
            assert set(one["tokens"][end:]) == {1}


@pytest.mark.parametrize("others", [{"bad_words": ["a"]}, {"allowed_token_ids": [5]}])
def test_what_could_leave_the_backend_without_a_token_is_refused(others: dict[str, Any]) -> None:
    with pytest.raises(AssertionError, match="may forbid every token"):
        run(route="backend", count=1, others=others)


def test_without_closing_answers_may_be_cut() -> None:
    """Otherwise nothing above would show that they are closed."""
    longer = {"tools", "structural_tag"}
    for more, reasons in (({"close": False}, {"length", "stop"}), ({}, {"stop"})):
        found = run(count=40, max_tokens=12, more=more, engine={"max_model_len": 128})
        closable = [one for one in found["held"] if one["asked"].get("schema", {}).get("type") != "object"]
        closable = [one for one in closable if "regex" not in one["asked"] and not longer & one["asked"].keys()]
        assert {one["reason"] for one in closable} == reasons


@pytest.mark.parametrize("route", ROUTES)
def test_bad_requests(route: str) -> None:
    found = run(route=route, count=4, bad=True)
    assert len(found["refused"]) == len(BAD)
    for name, outcome, message, after, text in found["refused"]:
        assert after == "stop", (name, after, text)
        if route == "backend" and name in TOLD_BY_TEMPLATE:
            assert outcome == "stop", (name, outcome, message)
        elif outcome not in ("stop", "length"):
            assert outcome in ("VLLMValidationError", "ValidationError"), (
                name,
                outcome,
                message,
            )  # pydantic's: vLLM's own
            assert message, name
        else:  # served to an end of its own
            assert message == "", (name, outcome, message)
    assert sum(outcome.endswith("ValidationError") for _, outcome, *_ in found["refused"]) > 0.8 * len(BAD)


def test_options_of_the_scenario_are_read() -> None:
    for form in ({"grammar": ARITHMETIC}, {"grammar": CALL}):
        grammar = read_options(form).grammar
        assert grammar is not None
        assert as_generated(grammar) == grammar
