"""What is said without being asked: one line on stderr, and a record for whoever has set up logging."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

import grammarlm
from grammarlm import cache, notices

SAID = r"compiling kernels \.\.\."
FILE = "logging.getLogger({!r}).addHandler(logging.FileHandler('log'))"


@pytest.mark.parametrize(
    ("set_up", "on_stderr", "in_file"),
    [
        ("", f"grammarlm: {SAID}", ""),
        ("logging.basicConfig()", f"WARNING:grammarlm.kernels:{SAID}", ""),
        ("logging.basicConfig(stream=sys.stdout)", f"grammarlm: {SAID}", ""),
        ("logging.getLogger('grammarlm').addHandler(logging.NullHandler())", f"grammarlm: {SAID}", ""),
        ("logging.getLogger('grammarlm').setLevel(logging.ERROR)", "", ""),
        ("logging.disable()", "", ""),
        (FILE.format(""), f"grammarlm: {SAID}", SAID),
        (FILE.format("grammarlm.kernels"), f"grammarlm: {SAID}", SAID),
        (FILE.format("") + "; logging.getLogger().addHandler(logging.StreamHandler())", SAID, SAID),
        (FILE.format("") + "; logging.getLogger('grammarlm').propagate = False", f"grammarlm: {SAID}", ""),
        ("sys.stderr = None", "", ""),
        ("sys.stderr.close()", "", ""),
    ],
)
def test_one_line_however_logging_is_set_up(tmp_path, set_up, on_stderr, in_file):
    code = f"import logging, sys\n{set_up}\nfrom grammarlm.notices import warn\nwarn('grammarlm.kernels', 'compiling kernels ...')"
    package = Path(grammarlm.__file__).parent.parent
    ran = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env={"PYTHONPATH": str(package)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert re.fullmatch(on_stderr, ran.stderr.rstrip("\n"))
    log = tmp_path / "log"
    assert re.fullmatch(in_file, log.read_text().rstrip("\n") if log.exists() else "")


def test_it_is_a_record(caplog, capsys):
    notices.warn("grammarlm.kernels", "100 % of it")
    assert caplog.record_tuples == [("grammarlm.kernels", 30, "100 % of it")]
    assert capsys.readouterr().err == "grammarlm: 100 % of it\n"


def test_a_cache_that_cannot_be_written_is_said_once(tmp_path, monkeypatch, capsys):
    (tmp_path / "file").write_text("not a folder")
    for folder in ("file/cache", "file/other"):
        monkeypatch.setenv("GRAMMARLM_CACHE", str(tmp_path / folder))
        for name in "ab":
            assert not cache.write_atomically(cache.cache_folder("kind") / name, lambda file: file.write(b""))
        said = capsys.readouterr().err
        assert said.startswith(f"grammarlm: the cache folder {tmp_path / folder} cannot be written (Not a directory)")
        assert said.endswith("; set GRAMMARLM_CACHE to a folder that can be\n")
        assert said.count("\n") == 1
