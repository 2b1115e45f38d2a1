"""Turns as real chat templates write them: taken, read back, and written again from what was read."""

from collections import Counter
from typing import Any

import pytest

import grammarlm as gl
from grammarlm.grammars.tools.learning.chat_template import ChatTemplate
from grammarlm.grammars.tools.read import read
from tests.corpus_files import corpus
from tests.counts import tiers
from tests.grammars.tools.layouts import message_of
from tests.grammars.tools.turns import TOOLS, accepts, tool
from tests.oracles.tool_turns import units
from tests.real_data import FOLDER, needs_data
from tests.texts import BYTES

GIVEN = [tool(name, schema) for name, schema in TOOLS.items()]
LOOK = ("look", {"city": 'Rio\'s "x"\nb', "days": 2, "note": None})
TURNS = [
    ("Hello there.", []),
    ("", [LOOK]),
    ("", [("set", {})]),
    ("", [("look_up", {"q": "ab", "tags": ["p", "q"], "or": {"a": [1, True]}})]),
    ("Let me see.", [("look", {"city": "Paris"}), ("set", {"flag": True})]),
]
OPTIONS = [{}, {"enable_thinking": True, "thinking": True}, {"enable_thinking": False, "thinking": False}]
OWN = {case["name"]: case["template"].strip() for case in corpus("chat_templates") if "refused" not in case}
USER: dict[str, Any] = {"role": "user", "content": "Well?"}


def outcomes(source: str) -> Counter[str]:
    """How often a template's turns are exact, refused or wrong; "other prompt": the prompt is no beginning of the conversation,
    since it opens a thought that the message lacks, or hides one that it has."""
    found: Counter[str] = Counter()
    form, template = gl.ToolFormat.of(source), ChatTemplate(source, {"eos_token": "<EOS>"})
    for thought in (None, "I think.\nHard."):
        for options in OPTIONS:
            for content, calls in TURNS:
                if (len(calls) > 1 and form.between is None) or (content and calls and form.beside is None):
                    continue
                message = message_of(form, calls, content, thought)
                try:
                    prompt = template.render(messages=[USER], tools=GIVEN, add_generation_prompt=True, **options)
                    whole = template.render(
                        messages=[USER, message], tools=GIVEN, add_generation_prompt=False, **options
                    )
                except gl.GrammarError:
                    found["not written"] += 1
                    continue
                if not all(name in whole.rpartition(USER["content"])[2] for name, _ in calls):
                    found["not written"] += 1
                    continue
                turn = whole.removeprefix(prompt)
                if turn == whole or (thought and thought not in turn):
                    found["other prompt"] += 1
                    continue
                turn = turn[
                    : next((turn.rindex(end) for end in (form.stop[not calls], "<EOS>") if end and end in turn), None)
                ]
                tools = gl.Tools(GIVEN, format=form, reasoning=True if thought else None).after(prompt)
                if not accepts(gl.compile(tools, BYTES), units(turn)):
                    found["refused"] += 1
                    continue
                back = read(tools, turn)
                again = {
                    **back.message,
                    **(dict.fromkeys(("reasoning", "thinking"), thought) if back.reasoning else {}),
                }
                same = [(call.name, call.json) for call in back.calls] == calls and back.content == content
                rendered = template.render(messages=[USER, again], tools=GIVEN, add_generation_prompt=False, **options)
                found["exact" if same and rendered == whole else "wrong"] += 1
    return found


@pytest.mark.parametrize("name", OWN)
def test_turns_of_our_own_templates_are_taken_and_read(name):
    found = outcomes(OWN[name])
    assert not found["wrong"] + found["refused"], found
    assert found["exact"] + found["other prompt"] > 0


@needs_data
@tiers("every", 3, 1)
def test_turns_of_real_templates_are_taken_and_read(every, record_property):
    exact, total = 0, Counter[str]()
    written = {}
    for path in sorted((FOLDER / "chat_templates").glob("*.jinja"))[::every]:
        try:
            found = outcomes(path.read_text("utf-8"))
        except gl.UnsupportedFeature:
            total["refused by name"] += 1
            continue
        assert not found["wrong"], (path.name, found)
        if found["exact"] + found["refused"]:
            written[path.name] = found
            exact += not found["refused"]
        total += found
    for outcome, count in total.items():
        record_property(outcome, count)
    assert exact >= 0.9 * len(written), {name: found for name, found in written.items() if found["refused"]}


@pytest.mark.parametrize(
    "name", ["hermes", "llama3", "qwen3_coder", "glm_4_7", "kimi", "deepseek_v3_2", "mistral_v3", "gemma4", "harmony"]
)
def test_formats_with_a_name_are_taken_and_read(name):
    form = gl.ToolFormat.named(name)
    tools = gl.Tools(GIVEN, format=form)
    constraint = gl.compile(tools, BYTES)
    for content, calls in TURNS[1:]:
        listed = calls if form.between is not None else calls[:1]
        beside = (form.beside[0] + content + form.beside[1]) if form.beside and content else ""
        text = beside + form.write([(*call, f"abcdefgh{i}") for i, call in enumerate(listed)])
        assert accepts(constraint, units(text)), text
        turn = read(tools, text)
        assert ([(call.name, call.json) for call in turn.calls], turn.content) == (listed, content if beside else "")
