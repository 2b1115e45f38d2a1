"""`grammarlm generate` with conversations, tools and stops."""

import json

import pytest

from tests.commands.command_line import call_generate, write

pytest.importorskip("torch")

ASKED = [{"role": "user", "content": "Count 15 minutes."}]
TOOL = {
    "type": "function",
    "function": {
        "name": "set_timer",
        "parameters": {"type": "object", "properties": {"minutes": {"type": "integer"}}, "required": ["minutes"]},
    },
}


def test_a_conversation_calls_a_tool(capsys, tmp_path) -> None:
    file = write(tmp_path / "messages.json", json.dumps(ASKED))
    tools = ("--tools", json.dumps([TOOL]), "--max-tokens", "60")
    code, out, err = call_generate(capsys, "--model", "tiny", "--messages", file, *tools)
    assert code == 0, err
    assert "set_timer" in out
    code, same, _ = call_generate(capsys, "--model", "tiny", "--messages", json.dumps(ASKED), *tools)
    assert (code, same) == (0, out)


def test_a_line_may_be_a_conversation(capsys, tmp_path) -> None:
    rows = [
        {"messages": ASKED, "id": 1},
        {"messages": ASKED, "choices": ["yes", "no"]},
        {"prompt": "x"},
        {"messages": 3},
    ]
    lines = write(tmp_path / "lines.jsonl", "\n".join(map(json.dumps, rows)))
    code, out, _ = call_generate(capsys, "--model", "tiny", "--jsonl", lines, "--max-tokens", "8")
    free, chosen, without, wrong = map(json.loads, out.splitlines())
    assert code == 1
    assert free["message"]["role"] == "assistant"
    assert chosen["value"] in ("yes", "no")
    assert "give a schema" in without["error"]
    assert "messages" in wrong["error"]


def test_an_answer_ends_before_a_stop(capsys) -> None:
    given = ("--model", "tiny", "--prompt", "x", "--regex", "[a-c]{9}|[a-c]", "--max-tokens", "20")
    whole = call_generate(capsys, *given)[1].strip()
    cut = call_generate(capsys, *given, "--stop", whole[1:2], "--stop", "zz")[1].strip()
    assert cut == whole[: max(1, whole.find(whole[1:2]))]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (("--messages", "[1"), "no JSON"),
        (("--messages", "no_such_file.json"), "no_such_file.json"),
        (("--messages", '[{"role": "user"}]'), "content"),
        (("--prompt", "x", "--regex", "a", "--tools", "[]"), "--messages"),
        (("--messages", "[]", "--tools", "no_such_file.json"), "no_such_file.json"),
        (("--messages", "[]", "--prompt", "x"), "not allowed with"),
    ],
    ids=["no JSON", "no file", "no content", "tools of a text", "no file of tools", "both"],
)
def test_what_is_refused(capsys, given, said) -> None:
    code, out, err = call_generate(capsys, "--model", "tiny", *given)
    assert code != 0
    assert not out
    assert said in err


def test_answers_of_parts_are_json(capsys, tmp_path) -> None:
    """A turn with calls has named parts."""
    given = ("--model", "tiny", "--messages", json.dumps(ASKED), "--tools", json.dumps([TOOL]), "--json")
    code, out, err = call_generate(capsys, *given)
    assert code == 0, err
    assert json.loads(out)["turn"]["tool_calls"][0]["function"]["name"] == "set_timer"
