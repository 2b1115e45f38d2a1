"""The command line: output, exit codes, and messages without a traceback."""

import io
import json
import os
import re
import subprocess
import sys

import pytest

from grammarlm.cli import main
from tests.commands.command_line import call

pytest.importorskip("torch")


def test_help_and_version_import_nothing_heavy():
    program = "import sys; from grammarlm.cli import build_parser; build_parser().format_help(); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert not {"torch", "transformers", "numpy", "numba", "rich"} & set(done.stdout.split())
    done = subprocess.run([sys.executable, "-m", "grammarlm", "--version"], capture_output=True, text=True, check=True)
    assert re.fullmatch(r"grammarlm \S+( \S+)?\n", done.stdout)


def test_help(capsys):
    assert call(capsys, "--help")[0] == 0
    assert "demo" in call(capsys)[2]


def test_generate_prints_the_text(capsys, folder, monkeypatch):
    code, out, err = call(capsys, "generate", "--model", folder, "--prompt", "the", "--regex", "[0-9]{3}")
    assert (code, err) == (0, "")
    assert re.fullmatch(r"[0-9]{3}\n", out)
    monkeypatch.setattr(sys, "stdin", io.StringIO("the"))
    assert call(capsys, "generate", "--model", folder, "--prompt", "-", "--regex", "[0-9]{3}") == (0, out, "")


def test_generate_draws_and_prints_json(capsys, folder):
    given = ("generate", "--model", folder, "--prompt", "a", "--regex", "[a-z]{8}", "--temperature", "2", "--json")
    thin = ("--top-k", "20", "--top-p", "0.9", "--min-p", "0.01")
    code, out, _ = call(capsys, *given, *thin)
    result = json.loads(out)
    assert code == 0
    assert result["finish_reason"] == "stop"
    assert result["value"] == result["text"]
    assert len(result["tokens"]) == len(result["logprobs"]) == result["stats"]["tokens"]
    again = call(capsys, *given, *thin, "--seed", str(result["stats"]["seed"]))[1]
    assert json.loads(again)["tokens"] == result["tokens"]


def test_choices_from_the_line_and_from_a_file(capsys, folder, tmp_path):
    given = ("generate", "--model", folder, "--prompt", "a", "--choices")
    assert call(capsys, *given, "cat")[:2] == (0, "cat\n")
    assert call(capsys, *given, "cat,dog")[1] in ("cat\n", "dog\n")
    file = tmp_path / "choices.txt"
    file.write_text("one, two\nthrée, four\n", encoding="utf-8")
    assert call(capsys, *given, f"@{file}")[1] in ("one, two\n", "thrée, four\n")


def test_a_file_of_choices_with_a_byte_order_mark(capsys, folder, tmp_path):
    file = tmp_path / "choices.txt"
    file.write_bytes(b"\xef\xbb\xbfcat\r\n")
    assert call(capsys, "generate", "--model", folder, "--prompt", "a", "--choices", f"@{file}")[:2] == (0, "cat\n")


def test_prompts_in_another_encoding(capsys, folder, monkeypatch):
    given = ("generate", "--model", folder, "--regex", "a", "--prompt")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"a\xff"), encoding="utf-8"))
    assert call(capsys, *given, "-")[2] == "grammarlm: --prompt -: stdin is no utf-8: invalid start byte at byte 1\n"
    code, out, err = call(capsys, *given, "a\udcff")
    assert (code, out) == (1, "")
    assert err.startswith("grammarlm: the prompt holds '\\udcff' at position 1")


def test_a_terminal_that_cannot_show_the_answer(capsys, folder, monkeypatch):
    """JSON escapes what plain text cannot: the answer is exact, or it is not printed."""
    given = ("generate", "--model", folder, "--prompt", "a", "--choices", "café")
    written = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, encoding="ascii"))
    assert main((*given, "--json")) == 0
    assert json.loads(written.getvalue())["text"] == "café"
    assert main(given) == 1
    want = r"grammarlm: the answer 'caf\xe9' cannot be written in stdout's encoding, ascii; set PYTHONIOENCODING=utf-8"
    assert capsys.readouterr().err.startswith(want)


def test_the_reader_of_the_output_has_gone(capsys, folder, monkeypatch):
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w") as stdout:
        monkeypatch.setattr(sys, "stdout", stdout)
        assert main(("generate", "--model", folder, "--prompt", "a", "--regex", "a")) == 141
    assert capsys.readouterr().err == ""


def test_demo(capsys, monkeypatch):
    from grammarlm.commands import demo

    monkeypatch.setattr(demo, "run", lambda: 1)
    assert call(capsys, "demo")[0] == 1
