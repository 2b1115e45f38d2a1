"""`grammarlm generate` writes to files of its own alone: what stands at --out or --report is checked whole before it is touched."""

import json
import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from grammarlm.commands import jsonl
from tests.commands.command_line import call_generate, write

pytest.importorskip("torch")

PROMPTS = [{"prompt": "the cat", "id": "a"}, {"prompt": "a hat", "id": "b\u2028c\u0085d"}, {"prompt": "x"}]


@pytest.fixture
def given(folder, tmp_path) -> tuple[str, ...]:
    lines = write(tmp_path / "lines.jsonl", "\n".join(json.dumps(line, ensure_ascii=False) for line in PROMPTS))
    return "--model", folder, "--jsonl", lines, "--choices", "cat\u2028,hat\u0085", "--out", str(tmp_path / "out.jsonl")


@pytest.fixture
def whole(capsys, given) -> bytes:
    """The file of a run that was not cut."""
    assert call_generate(capsys, *given)[0] == 0
    return Path(given[-1]).read_bytes()


def test_its_own_output_is_read_back_whatever_characters_it_holds(capsys, given, whole) -> None:
    assert "\u2028" in whole.decode()
    code, _, err = call_generate(capsys, *given, "--resume")
    assert (code, err) == (0, "grammarlm: 3 lines, 3 answered\n")
    assert Path(given[-1]).read_bytes() == whole


@pytest.mark.parametrize("lines", ["", "\n \n"])
def test_no_lines_make_an_empty_file(capsys, given, tmp_path, lines) -> None:
    write(tmp_path / "lines.jsonl", lines)
    for resumed in ((), ("--resume",)):
        code, out, err = call_generate(capsys, *given, *resumed)
        assert (code, out, err) == (0, "", "grammarlm: 0 lines, 0 answered\n")
        assert Path(given[-1]).read_bytes() == b""


def test_a_run_that_fails_before_its_first_line_leaves_no_file(capsys, given, tmp_path) -> None:
    code, _, err = call_generate(capsys, "--model", str(tmp_path / "nowhere"), *given[2:])
    assert (code, "there is no such folder" in err) == (1, True)
    assert not Path(given[-1]).exists()


def test_a_file_that_was_cut_anywhere_is_completed(capsys, given, whole) -> None:
    out, draw = Path(given[-1]), random.Random(3)
    for end in [*sorted(draw.sample(range(len(whole) - 1), 20)), 0, 1, len(whole)]:
        out.write_bytes(whole[:end])
        assert call_generate(capsys, *given, "--resume")[0] == 0, end
        assert out.read_bytes() == whole, end


FOREIGN = [
    b"my only copy of a thesis, without a final newline",
    b"my only copy\nwithout a final newline",
    b'{"line": 1, "of": null}\n',
    b'{"line": "1", "of": null}\n',
    b'{"line": 7, "of": null, "text": ""}\n',
    b'{"line": true, "of": null, "text": ""}\n',
    b'{"line": 1, "text": "mine"}',
    b'{"line": 1, "mine": "te',
    b'{"line": 9, "text": "te',
    b"\n",
    b"[1]\n",
    b"NaN\n",
    b"[" * 100_000,
    b"\xff\xfe\x00",
]


@pytest.mark.parametrize("content", FOREIGN, ids=lambda content: repr(content[:30]))
@pytest.mark.parametrize("own", [0, 1])
def test_a_file_that_is_not_its_own_stays_as_it_is(capsys, given, whole, content, own) -> None:
    out = Path(given[-1])
    before = b"".join(whole.splitlines(keepends=True)[:own]) + content
    out.write_bytes(before)
    for more in ((), ("--resume",)):
        code, printed, err = call_generate(capsys, *given, *more)
        assert (code, printed) == (1, "")
        assert out.read_bytes() == before
        assert "thesis" not in err


def test_the_last_line_survives_a_run_that_is_refused(capsys, given, whole) -> None:
    out = Path(given[-1])
    cut = whole[:-20]
    out.write_bytes(cut)
    for other in (("--temperature", "1"), ("--max-tokens", "9"), ("--model", "nowhere")):
        assert call_generate(capsys, *given, *other, "--resume")[0] == 1
        assert out.read_bytes() == cut


def test_schemas_that_begin_alike_are_told_apart(capsys, folder, tmp_path) -> None:
    """The digest of an answer is of the whole grammar."""
    lines, out = write(tmp_path / "lines.jsonl", '{"prompt": "a"}\n'), str(tmp_path / "out.jsonl")
    long = "x" * 300
    given = ("--model", folder, "--jsonl", lines, "--out", out)
    for number, schema in enumerate(({"description": long, "const": 1}, {"description": long, "const": 2})):
        code, _, err = call_generate(capsys, *given, "--schema", json.dumps(schema), "--resume")
        assert code == number, err
    assert json.loads(Path(out).read_text())["value"] == 1


@pytest.mark.parametrize("how", ["the same name", "a symbolic link", "a hard link"])
@pytest.mark.parametrize("read", ["lines.jsonl", "schema.json", "choices.txt"])
def test_what_is_read_is_never_written(capsys, folder, tmp_path, how, read) -> None:
    lines = write(tmp_path / "lines.jsonl", '{"prompt": "a"}\n')
    held = {
        "lines.jsonl": ("--regex", "a"),
        "schema.json": ("--schema", write(tmp_path / "schema.json", {"const": 1})),
        "choices.txt": ("--choices", "@" + write(tmp_path / "choices.txt", "a\nb")),
    }[read]
    target, out = tmp_path / read, tmp_path / "out"
    before = target.read_bytes()
    if how == "the same name":
        out = target
    elif how == "a symbolic link":
        out.symlink_to(target)
    else:
        os.link(target, out)
    for more in (("--jsonl", lines, "--out", str(out)), ("--jsonl", lines, "--out", str(out), "--resume")):
        code, _, err = call_generate(capsys, "--model", folder, *held, *more)
        assert code == 1
        assert "name another" in err
        assert target.read_bytes() == before
    if read != "lines.jsonl":
        code, _, err = call_generate(capsys, "--model", folder, "--prompt", "a", *held, "--report", str(out))
        assert (code, target.read_bytes()) == (1, before)
        assert "that is read" in err


def test_what_is_no_regular_file_is_not_written(capsys, given, tmp_path) -> None:
    pipe, link = tmp_path / "pipe", tmp_path / "dangling"
    os.mkfifo(pipe)
    link.symlink_to(tmp_path / "nothing")
    for name in (pipe, tmp_path, Path("/dev/null"), link, tmp_path / "no" / "folder"):
        for more in ((), ("--resume",)):
            code, _, err = call_generate(capsys, *given[:-1], str(name), *more)
            assert code == 1, (name, err)
        if name is not link:
            code, _, err = call_generate(capsys, *given[:2], "--prompt", "a", "--regex", "a", "--report", str(name))
            assert code == 1, (name, err)
    assert not (tmp_path / "nothing").exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["dangling", "lines.jsonl", "pipe"]


def test_a_report_replaces_a_report_and_nothing_else(capsys, folder, tmp_path) -> None:
    given = ("--model", folder, "--prompt", "a", "--regex", "[ab]{2}", "--report")
    mine, report = tmp_path / "mine.html", tmp_path / "report.html"
    mine.write_text("<!DOCTYPE html>\n<html>my page</html>")
    code, _, err = call_generate(capsys, *given, str(mine))
    assert (code, mine.read_text()) == (1, "<!DOCTYPE html>\n<html>my page</html>")
    assert "is no report" in err
    for _ in range(2):
        assert call_generate(capsys, *given, str(report))[0] == 0
        assert report.read_text().startswith("<!DOCTYPE html>")
    (tmp_path / "link").symlink_to(report)
    report.chmod(0o640)
    assert call_generate(capsys, *given, str(tmp_path / "link"))[0] == 0
    assert (tmp_path / "link").is_symlink()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link", "mine.html", "report.html"]


def test_a_schema_with_fractions_has_a_report(capsys, folder, tmp_path) -> None:
    given = ("--model", folder, "--prompt", "a", "--schema", '{"const": 1.5}', "--report", str(tmp_path / "a.html"))
    assert call_generate(capsys, *given)[0] == 0


def test_numbers_that_json_does_not_have(capsys, folder, tmp_path) -> None:
    text = '{"prompt": "a", "id": NaN}\n{"prompt": "a", "id": [-Infinity]}\n{"prompt": "a", "id": 1}\n'
    text += '{"prompt": "a", "regex": "1e999", "id": 2}\n{"prompt": "a", "schema": {"const": 1}, "id": "\\ud800"}\n'
    lines, out = write(tmp_path / "lines.jsonl", text), tmp_path / "out.jsonl"
    code, _, _ = call_generate(capsys, "--model", folder, "--jsonl", lines, "--regex", "a", "--out", str(out))
    assert code == 1

    def refuse(name: str) -> None:
        raise AssertionError(name)

    answers = [json.loads(line, parse_constant=refuse) for line in out.read_text().splitlines()]
    assert ["no number in JSON" in answer.get("error", "") for answer in answers] == [True, True, False, False, False]
    assert answers[4]["id"] == "\ud800"


def test_a_row_that_fails_takes_no_other_with_it(capsys, given, monkeypatch) -> None:
    from grammarlm.decoding import generate

    ask = generate.generate

    def failing(model: Any, prompts: Any, **options: Any) -> Any:
        if "a hat" in prompts:
            raise RuntimeError("no memory for a hat")
        return ask(model, prompts, **options)

    monkeypatch.setattr(generate, "generate", failing)
    code, _, err = call_generate(capsys, *given)
    answers = [json.loads(line) for line in Path(given[-1]).read_text(encoding="utf-8").split("\n")[:-1]]
    assert code == 1
    assert ["error" in answer for answer in answers] == [False, True, False]
    assert answers[1]["error"] == "RuntimeError: no memory for a hat"
    assert "1 at fault or cut: 2" in err


def test_two_runs_at_once(capsys, given, whole) -> None:
    """While one process has the file, another is refused, and the file is as it was."""
    out = Path(given[-1])
    code = f"import fcntl; f = open({str(out)!r}, 'r+b'); fcntl.flock(f, fcntl.LOCK_EX); print(flush=True); input()"
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdin is not None
        assert other.stdout is not None
        other.stdout.readline()
        done, _, err = call_generate(capsys, *given, "--resume")
        other.stdin.write(b"\n")
        other.stdin.close()
    assert done == 1
    assert "another run is writing it" in err
    assert out.read_bytes() == whole


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
def test_a_full_disk_leaves_what_was_written(capsys, given, whole, monkeypatch) -> None:
    out, append = Path(given[-1]), jsonl.appender

    def full(file: Any, end: int) -> Any:
        write, count = append(file, end), 0

        def once(line: bytes) -> None:
            nonlocal count
            count += 1
            if count > 1:
                raise OSError(28, "No space left on device")
            write(line)

        return once

    out.unlink()
    monkeypatch.setattr(jsonl, "appender", full)
    code, _, err = call_generate(capsys, *given)
    assert (code, out.read_bytes()) == (1, whole[: whole.index(b"\n") + 1])
    assert "No space left" in err
    monkeypatch.setattr(jsonl, "appender", append)
    assert call_generate(capsys, *given, "--resume")[0] == 0
    assert out.read_bytes() == whole
