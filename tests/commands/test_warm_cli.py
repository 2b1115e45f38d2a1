"""`grammarlm warm`: what it keeps is all that later processes need; where it cannot keep anything, it says so."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from grammarlm.cache import UNWRITABLE, cache_folder
from tests.commands.command_line import call

USE = """
import json, sys
import grammarlm as gl
vocab = gl.Vocabulary.from_tokenizer(sys.argv[1])
for grammar in (gl.JsonSchema({"format": "date"}), gl.Regex(r"\\w+"), gl.Lark(open(sys.argv[2]).read())):
    matcher = gl.compile(grammar, vocab).matcher()
    matcher.fill_mask(gl.allocate_mask(1, vocab.size))
"""
TINY = Path(__file__).parents[2] / "grammarlm" / "models" / "tiny"


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, but for kernels."""
    kernels = cache_folder("numba")
    folder = tmp_path / "cache"
    folder.mkdir()
    if kernels.exists():
        (folder / "numba").symlink_to(kernels)
    monkeypatch.setenv("GRAMMARLM_CACHE", str(folder))
    return folder


def listing(folder: Path) -> dict[str, int]:
    return {
        path.relative_to(folder).as_posix(): path.stat().st_mtime_ns
        for path in folder.rglob("*")
        if path.is_file() and "numba" not in path.parts
    }


def run(cache: Path, *arguments: str) -> str:
    """Runs Python in a new process, which has nothing in memory; what it prints."""
    command = [sys.executable, *arguments]
    variables = {**os.environ, "GRAMMARLM_CACHE": str(cache)}
    done = subprocess.run(command, env=variables, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_what_is_kept_is_all_that_is_needed(cache: Path, tmp_path: Path) -> None:
    grammar = tmp_path / "pairs.lark"
    grammar.write_text('start: "(" start ")" | WORD\nWORD: /\\w+/')
    lines = run(cache, "-m", "grammarlm", "warm", "--tokenizer", str(TINY), "--grammar", str(grammar)).splitlines()
    names = [line.split()[0] for line in lines]
    assert names[:4] == ["kernels", "formats", "tokenizer", "characters"]
    assert {"JsonSchema", "Lark", "Regex", str(grammar)} <= set(names)
    assert lines[-1].split() == ["kept", "in", str(cache)]

    moved = tmp_path / "elsewhere"
    shutil.copytree(cache, moved, symlinks=True)  # other paths and times
    before = listing(moved)
    assert {"lark", "tries", "unicode", "vocab"} <= {name.split("/")[0] for name in before}
    run(moved, "-c", USE, str(TINY), str(grammar))
    assert {name for name in listing(moved) if not name.startswith("surveys")} == {
        name for name in before if not name.startswith("surveys")
    }, "something had to be made"


def test_a_folder_that_cannot_be_written_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("GRAMMARLM_CACHE", str(tmp_path / "file" / "cache"))
    try:
        code, _, err = call(capsys, "warm", "--tokenizer", str(TINY))
    finally:
        UNWRITABLE.discard(str(cache_folder()))
    assert code == 1
    assert err.splitlines()[-1].startswith("grammarlm: nothing is kept: ")
    assert "set GRAMMARLM_CACHE to a folder that can be" in err


def test_what_is_no_grammar_is_refused_before_anything_is_made(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = call(capsys, "warm", "--grammar", "/etc/passwd")
    assert (code, out) == (1, "")
    assert "/etc/passwd" in err
    assert "root" not in err.replace("/root", "")
