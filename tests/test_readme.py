"""README.md is true: its examples run in order, its commands exist, its links lead somewhere."""

import json
import re
import shlex
from pathlib import Path

from grammarlm.cli import main

ROOT = Path(__file__).parent.parent
BENCHES = ("maskbench", "schema-suite")
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_examples_run() -> None:
    blocks = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)
    assert sum(block.count("\n") for block in blocks) >= 25
    names: dict = {}
    for block in blocks:
        exec(compile(block, "README.md", "exec"), names)
    assert names["line"] is not None
    assert names["out"].finish_reason in {"stop", "closed"}


def test_the_sessions_are_true(capsys, monkeypatch) -> None:
    """Each command prints what stands below it; a line that ends with ... stands for any others from there on."""
    monkeypatch.chdir(ROOT)
    sessions = re.findall(r"```console\n(.*?)```", README, flags=re.DOTALL)
    steps = [step for session in sessions for step in session.split("$ grammarlm ")[1:]]
    assert len(steps) >= 3
    for step in steps:
        command, shown = step.split("\n", 1)
        assert main(shlex.split(command)) in (0, 1)
        out, err = capsys.readouterr()
        pattern = re.escape(shown).replace(re.escape("...\n"), "(?s:.*)")
        assert re.fullmatch(pattern, out + err), (command, out + err)


def test_the_commands_are_targets_of_the_makefile() -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE))
    named = set(re.findall(r"make ([a-z]+)\b", README)) - {"them"}
    assert {"demo", "test"} <= named <= targets


def test_the_links_lead_somewhere() -> None:
    for document in ROOT.glob("*.md"):
        for target in re.findall(r"\]\(([^)#]+)\)", document.read_text(encoding="utf-8")):
            assert "://" in target or (ROOT / target).exists(), f"{document.name}: {target}"


def test_figures_come_from_results() -> None:
    for name in re.findall(r"<!-- figures: (\w+) -->", README):
        result = json.loads((ROOT / "benchmarks" / "results" / f"{name}.json").read_text())
        words = result["command"].split()
        if words[:2] == ["grammarlm", "bench"]:
            assert words[2] in BENCHES
        else:  # python -m benchmarks.NAME ...
            assert (ROOT / (words[2].replace(".", "/") + ".py")).exists()
        assert f"Command: `{result['command']}`" in README
