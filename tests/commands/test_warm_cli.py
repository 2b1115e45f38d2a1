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


def kept(folder: Path) -> set[str]:
    """The files but kernels, and surveys: those are written again when a process has made more of them."""
    names = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    return {name for name in names if not name.startswith(("numba/", "surveys/"))}


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
    before = kept(moved)
    assert {"tries", "unicode", "vocab"} <= {name.split("/")[0] for name in before}
    run(moved, "-c", USE, str(TINY), str(grammar))
    assert kept(moved) == before, "something had to be made"


def test_two_that_warm_at_once(cache: Path, tmp_path: Path) -> None:
    """No lock is taken, so that a file system needs none: each file appears whole."""
    grammar = tmp_path / "pairs.lark"
    grammar.write_text('start: "(" start ")" | WORD\nWORD: /\\w+/')
    command = [sys.executable, "-m", "grammarlm", "warm", "--tokenizer", str(TINY), "--grammar", str(grammar)]
    variables = {**os.environ, "GRAMMARLM_CACHE": str(cache)}
    both = [subprocess.Popen(command, env=variables, stdout=subprocess.PIPE, stderr=subprocess.PIPE) for _ in range(2)]
    for process in both:
        _, err = process.communicate(timeout=300)
        assert (process.returncode, err) == (0, b"")
    before = kept(cache)
    assert not [name for name in before if name.endswith(".part")]
    run(cache, "-c", USE, str(TINY), str(grammar))
    assert kept(cache) == before, "something had to be made"


FULL = """
import resource, sys
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))  # as if the disk were full: no file can grow beyond
from grammarlm.cli import main
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="limits of files are Unix's")
def test_a_full_disk(cache: Path, tmp_path: Path) -> None:
    grammar = tmp_path / "pairs.lark"
    grammar.write_text('start: "(" start ")" | WORD\nWORD: /\\w+/')
    command = [sys.executable, "-c", FULL, "warm", "--tokenizer", str(TINY), "--grammar", str(grammar)]
    variables = {**os.environ, "GRAMMARLM_CACHE": str(cache)}
    done = subprocess.run(command, env=variables, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "File too large" in done.stderr
    assert "Traceback" not in done.stderr
    assert not [name for name in kept(cache) if name.endswith(".part")]
    run(cache, "-c", USE, str(TINY), str(grammar))  # what little was kept is right, the rest is made now


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
