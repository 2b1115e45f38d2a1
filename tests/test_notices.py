"""What is said without being asked: one line on stderr, and a record for whoever has set up logging."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

import grammarlm
from grammarlm import notices

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
