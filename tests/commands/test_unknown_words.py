"""Misspelt keywords on the command line: one line on stderr, an error with --unknown refuse."""

import json

import pytest

from grammarlm.masks.messages import unknown_words
from tests.commands.command_line import call, model_folder, write  # noqa: F401

pytest.importorskip("torch")

SLIP = {"type": "object", "maxProperties": 0, "maxLenght": 3}
SCHEMA = json.dumps(SLIP)


@pytest.fixture(autouse=True)
def nothing_told() -> None:
    unknown_words.forget()


@pytest.mark.parametrize(
    "command",
    [
        ("generate", "--prompt", "the cat", "--max-tokens", "60", "--schema", SCHEMA),
        ("generate", "--prompt", "the cat", "--max-tokens", "60", "--n", "2", "--schema", SCHEMA),
        ("infill", "--prompt", "the cat", "--length", "8", "--schema", SCHEMA),
        ("check", SCHEMA, "--text", "{}"),
        ("inspect", SCHEMA, "--text", "{"),
    ],
)
def test_one_line(capsys, folder, command) -> None:
    model = ("--model", folder) if command[0] in ("generate", "infill") else ()
    code, out, err = call(capsys, *command, *model)
    assert code == 0, err
    (line,) = err.splitlines()
    assert line.startswith("grammarlm: the schema has words that nobody has defined")
    assert line.endswith("/maxLenght: unknown keyword; did you mean 'maxLength'?")
    code, out, err = call(capsys, *command, *model, "--unknown", "refuse")
    assert code == 1
    assert out == ""
    assert err.startswith("grammarlm: /maxLenght: unknown keyword; did you mean 'maxLength'?")
    assert call(capsys, *command, *model, "--unknown", "ignore")[0] == 2
    fine = [part.replace("maxLenght", "maxLength") for part in command]
    code, out, err = call(capsys, *fine, *model, "--unknown", "refuse")
    assert (code, err) == (0, "")


def test_the_report_has_them_itself(capsys) -> None:
    code, out, err = call(capsys, "check", SCHEMA)
    assert (code, err) == (0, "")
    assert "unknown     /maxLenght: unknown keyword; did you mean 'maxLength'?" in out
    assert call(capsys, "check", SCHEMA, "--unknown", "refuse")[0] == 1


def test_lines_with_schemas_of_their_own(capsys, folder, tmp_path) -> None:
    lines = [
        {"prompt": "a", "schema": SLIP},
        {"prompt": "b", "schema": SLIP},
        {"prompt": "c", "schema": {"enum": ["x"]}},
    ]
    prompts = write(tmp_path / "prompts.jsonl", "\n".join(map(json.dumps, lines)))
    code, out, err = call(capsys, "generate", "--model", folder, "--jsonl", prompts)
    assert code == 0
    assert err.count("did you mean 'maxLength'?") == 1
    code, out, err = call(capsys, "generate", "--model", folder, "--jsonl", prompts, "--unknown", "refuse")
    assert code == 1
    answers = [json.loads(line) for line in out.splitlines()]
    assert ["error" in answer for answer in answers] == [True, True, False]
    assert answers[0]["error"].startswith("/maxLenght: unknown keyword")
