"""Arguments that are text never open a file, and a file that is named is a regular one, read up to a bound and never repeated."""

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import grammarlm as gl
from grammarlm.cli import main
from grammarlm.errors import TokenizerError
from grammarlm.files import read_file
from grammarlm.retrieval.item_set import ItemSet
from tests.texts import BYTES

SECRET = "root:x:0:0:a secret:/root:/bin/sh"


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    path = tmp_path / "secret"
    path.write_text(f"{SECRET}\n")
    return path


@pytest.fixture(params=["pipe", "device", "socket", "folder", "link to a pipe"])
def no_file(request: Any, tmp_path: Path) -> Iterator[Path]:
    """Something that is there and no regular file."""
    path = tmp_path / "thing"
    if request.param == "device":
        yield Path("/dev/zero")
        return
    if request.param == "socket":
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(str(path))
            yield path
        return
    if request.param == "folder":
        path.mkdir()
    else:
        os.mkfifo(path)
    if request.param == "link to a pipe":
        (tmp_path / "link").symlink_to(path)
        path = tmp_path / "link"
    yield path


def generate(**held: Any) -> Any:
    pytest.importorskip("torch")
    return gl.generate(lambda ids: pytest.fail("the model is called"), [0], vocab=BYTES, **held)


def test_a_regular_file_is_read_up_to_the_bound(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"12345")
    assert read_file(path, 5) == b"12345"
    with pytest.raises(ValueError, match="is larger than 4 bytes"):
        read_file(path, 4)
    with pytest.raises(FileNotFoundError):
        read_file(tmp_path / "none")


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="no /proc")
def test_a_file_that_says_it_is_empty_is_bounded_too() -> None:
    with pytest.raises(ValueError, match="is larger than 3 bytes"):
        read_file("/proc/self/status", 3)


def test_what_is_no_file_is_refused_by_name(no_file: Path) -> None:
    with pytest.raises(ValueError, match=r"is a (pipe|device|socket|folder), not a regular file"):
        read_file(no_file)


def test_text_never_opens_a_file(secret: Path, no_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(secret.parent)
    for text in (str(secret), "secret", "./secret", str(no_file), f"file://{secret}", ""):
        with pytest.raises(gl.GrammarError) as caught:
            generate(schema=text)
        assert "a secret" not in str(caught.value)
        assert "is no JSON" in str(caught.value)
    with pytest.raises(gl.GrammarError, match=r"schema=pathlib\.Path"):
        generate(schema="nowhere.json")
    for make in (gl.Gbnf, gl.Ebnf, gl.Lark, gl.JsonSchema):
        with pytest.raises(gl.GrammarError) as caught:
            gl.compile(make(str(secret)), BYTES)
        assert "a secret" not in str(caught.value)
        with pytest.raises(TypeError):
            make(secret)
    assert gl.compile(gl.Regex("secret"), BYTES).matcher().advance_bytes(b"secret")
    assert gl.compile(gl.Choices([str(secret)]), BYTES).matcher().advance_bytes(str(secret).encode())


def test_a_schema_in_a_file_is_named_by_a_path(tmp_path: Path, no_file: Path) -> None:
    with pytest.raises(ValueError, match="not a regular file"):
        generate(schema=no_file)
    other = tmp_path / "other"
    for content in (
        SECRET,
        f'{{"type": "{SECRET}',
        f'"{SECRET}"',
        f"[1, 2] {SECRET}",
        f'{{"a": {SECRET}}}',
        f"\xe9 {SECRET}",
    ):
        other.write_bytes(content.encode("latin-1"))
        with pytest.raises(gl.GrammarError) as caught:
            generate(schema=other)
        assert SECRET[:5] not in str(caught.value)
        assert "other" in str(caught.value)
    with pytest.raises(gl.GrammarError, match="cannot be read: No such file"):
        generate(schema=tmp_path / "none")


def test_references_and_imports_open_nothing(secret: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(secret.parent)
    (secret.parent / "other.lark").write_text('A: "a secret"\n')
    for reference in (f"file://{secret}", str(secret), "secret", "secret#/a", "//localhost/secret"):
        with pytest.raises(gl.GrammarError) as caught:
            gl.compile(gl.JsonSchema({"$ref": reference}), BYTES)
        assert "a secret" not in str(caught.value)
    for statement in (
        "%import other.A",
        "%import .other.A",
        "%import ..other (A)",
        f"%import .{secret.parent}/other.A",
    ):
        with pytest.raises(gl.GrammarError) as caught:
            gl.compile(gl.Lark(f"start: A\n{statement}\n"), BYTES)
        assert "a secret" not in str(caught.value)


def test_items_as_text_open_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    np.save(tmp_path / "items.npy", np.array([[1, 2]]))
    for text in (str(tmp_path / "items.npy"), "items.npy", "nowhere.npy", ""):
        for take in (gl.Tokens, gl.ItemSet, lambda items: generate(items=items)):
            with pytest.raises(TypeError, match=r"text is never taken for a path: pass pathlib\.Path"):
                take(text)
    assert gl.Tokens(tmp_path / "items.npy") == gl.Tokens([[1, 2]])
    with pytest.raises(FileNotFoundError):
        gl.Tokens(tmp_path / "nowhere.npy")


def npy(header: bytes, version: int = 1, length: int | None = None) -> bytes:
    size = (len(header) if length is None else length).to_bytes(2 if version == 1 else 4, "little")
    return b"\x93NUMPY" + bytes([version, 0]) + size + header


SHAPED = b"{'descr': '<i8', 'fortran_order': False, 'shape': %s, }\n"
NO_ARRAYS = {
    "nothing": (b"", "is no .npy file"),
    "text": (SECRET.encode(), "is no .npy file"),
    "a zip": (b"PK\x03\x04" + SECRET.encode(), "is no .npy file"),
    "the beginning alone": (b"\x93NUMPY", "cannot be mapped"),
    "another version": (npy(SHAPED % b"(1, 1)", 9), "cannot be mapped"),
    "no header": (npy(SECRET.encode()), "cannot be mapped"),
    "an endless header": (npy(b"", 2, 2**32 - 1), "cannot be mapped"),
    "a header of brackets": (npy(b"(" * 9_000), "cannot be mapped"),
    "cut off": (npy(SHAPED % b"(9, 9)"), "cannot be mapped"),
    "larger than the memory": (npy(SHAPED % b"(%d, 2)" % 2**50), "cannot be mapped"),
    "less than nothing": (npy(SHAPED % b"(-1, 2)"), "cannot be mapped"),
    "objects": (npy(b"{'descr': '|O', 'fortran_order': False, 'shape': (1, 1), }\n") + bytes(8), "cannot be mapped"),
    "fractions": (npy(b"{'descr': '<f8', 'fortran_order': False, 'shape': (1, 1), }\n") + bytes(8), "float64"),
    "one row": (npy(SHAPED % b"(1,)") + bytes(8), "one row for each item"),
}


@pytest.mark.parametrize("name", NO_ARRAYS)
def test_items_in_a_file_that_is_no_matrix(tmp_path: Path, name: str) -> None:
    content, reason = NO_ARRAYS[name]
    (tmp_path / "items.npy").write_bytes(content)
    with pytest.raises((TypeError, ValueError), match=reason) as caught:
        gl.Tokens(tmp_path / "items.npy")
    assert "items.npy" in str(caught.value)
    assert "a secret" not in str(caught.value)


def test_items_tokenizers_and_saved_sets_are_regular_files(no_file: Path, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="not a regular file"):
        gl.Tokens(no_file)
    if not no_file.is_dir():
        with pytest.raises(ValueError, match=r"not a regular file|is no file here"):
            gl.Vocabulary.from_tokenizer(no_file)
    folder = tmp_path / "set"
    ItemSet(gl.Tokens(np.array([[1, 2], [3, 4]]))).save(folder)
    (folder / "set.json").unlink()
    (folder / "set.json").symlink_to(no_file)
    with pytest.raises(gl.GrammarError, match="not a regular file"):
        ItemSet.load(folder)


@pytest.mark.parametrize("name", ["tokenizer.json", "tokenizer.model"])
def test_a_tokenizer_that_is_none_is_not_repeated(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text(SECRET)
    with pytest.raises(TokenizerError) as caught:
        gl.Vocabulary.from_tokenizer(tmp_path / name)
    assert "a secret" not in str(caught.value)


@pytest.mark.parametrize(
    "arguments", [("check", "{}"), ("inspect", "{}"), ("check", "--lark", "{}"), ("check", "--regex", "a", "{}")]
)
def test_commands_read_regular_files(capsys: Any, no_file: Path, secret: Path, arguments: tuple[str, ...]) -> None:
    assert main([part.format(no_file) for part in arguments]) == 1
    assert "not a regular file" in capsys.readouterr().err
    if "--regex" not in arguments:  # there the file is the text that is checked
        assert main([part.format(secret) for part in arguments]) == 1
        assert "a secret" not in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments",
    [("--prompt", "a", "--schema", "{}"), ("--prompt", "a", "--choices", "@{}"), ("--jsonl", "{}", "--regex", "a")],
)
def test_generate_reads_regular_files(capsys: Any, no_file: Path, arguments: tuple[str, ...]) -> None:
    assert main(["generate", "--model", "tiny", *(part.format(no_file) for part in arguments)]) == 1
    assert "not a regular file" in capsys.readouterr().err


def test_a_broken_schema_of_generate_is_not_repeated(capsys: Any, secret: Path) -> None:
    assert main(["generate", "--model", "tiny", "--prompt", "a", "--schema", str(secret)]) == 1
    told = capsys.readouterr().err
    assert "a secret" not in told
    assert "line 1, column 1" in told


def test_stdin_has_a_bound(tmp_path: Path) -> None:
    """Endless input is refused, and in bounded memory."""
    code = (
        "import resource, sys\n"
        "from grammarlm.commands import grammar_arguments\n"
        "from grammarlm.cli import main\n"
        "grammar_arguments.read_bytes.__defaults__ = (1 << 20,)\n"
        "grammar_arguments.read_text.__defaults__ = (1 << 20,)\n"
        "sys.exit(main(['check', '-']))\n"
    )
    with open("/dev/zero", "rb") as endless:
        done = subprocess.run(
            [sys.executable, "-c", code], stdin=endless, capture_output=True, text=True, timeout=120, check=False
        )
    assert done.returncode == 1
    assert "stdin has more than 1,048,576 bytes" in done.stderr
