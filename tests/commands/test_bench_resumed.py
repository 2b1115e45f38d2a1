"""A run that is killed again and again ends with the results of one that is not."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.commands.bench_cases import case_of, write_cases

pytest.importorskip("transformers")
pytest.importorskip("jsonschema")
pytest.importorskip("llguidance")

SEED = 7
ROWS = ("grammarlm", "grammarlm-not-closed", "llguidance")
TIMES = {"compile_time", "first_token", "later_token", "later_tokens", "total", "peak_bytes"}


def cases_of(count: int) -> dict[str, dict[str, Any]]:
    """Valid and invalid instances, and schemas that an engine refuses or that nothing satisfies."""
    found = {}
    for i in range(count):
        schema: dict[str, Any] = {
            "type": "object",
            "properties": {"id": {"type": "integer", "minimum": i}, "name": {"type": "string", "maxLength": 3 + i % 5}},
            "required": ["id"],
            "additionalProperties": False,
        }
        if i % 7 == 3:
            schema["properties"]["name"] = {"type": "string", "pattern": f"^a{{{i}}}(?=b)b$"}
        if i % 10 == 5:
            schema["properties"]["id"]["maximum"] = i - 1
        good = {"id": i + 3, "name": "ab"} if i % 7 != 3 else {"id": i + 3}
        tests = [(good, i % 10 != 5), ({"id": i - 1}, False), ({"id": i, "name": "x" * 20}, False)]
        found[f"{('Snowplow', 'Github_easy', 'Kubernetes')[i % 3]}---c{i}"] = case_of(schema, *tests)
    return found


def without_times(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: without_times(each) for name, each in value.items() if name not in TIMES}
    return [without_times(each) for each in value] if isinstance(value, list) else value


def results(out: Path) -> dict[str, Any]:
    """All that a run leaves behind, times aside."""
    read: dict[str, Any] = {}
    for row in ROWS:
        _, *lines = (out / f"{row}.jsonl").read_text().splitlines()
        read[row] = [without_times(json.loads(line)) for line in lines]
    read["figures"] = without_times(json.loads((out / "figures.json").read_text()))
    read["failing"] = (out / "failing.md").read_text()
    read["report"] = (out / "report.md").read_text().partition("## Times")[0]
    return read


def written(out: Path) -> int:
    """Records of all rows so far."""
    files = [out / f"{row}.jsonl" for row in ROWS]
    return sum(max(file.read_bytes().count(b"\n") - 1, 0) for file in files if file.exists())


@pytest.mark.proof  # a dozen processes; test_bench_cli.py takes a run up again that nobody has killed
@pytest.mark.parametrize(("count", "kills"), [(10, 1), (60, 6)])
def test_a_run_that_is_killed_again_and_again(tmp_path: Path, count: int, kills: int) -> None:
    """By SIGKILL, each time after a random number of records and a random while more."""
    rng, cases = random.Random(SEED), cases_of(count)
    folder, total = write_cases(tmp_path / "data", cases), len(ROWS) * count
    command = [sys.executable, "-m", "grammarlm", "bench", "jsonschemabench", str(folder), "--model", "scripted"]
    command += ["--engines", "grammarlm,llguidance", "--out"]
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    subprocess.run([*command, str(whole)], capture_output=True, check=True)
    resumed: list[str] = []
    for moment in sorted(rng.sample(range(1, total - count // 3), kills)):
        given = [*command, str(killed), *resumed]
        process = subprocess.Popen(given, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while written(killed) < moment:
            assert process.poll() is None
            time.sleep(0.001)
        time.sleep(rng.random() * 0.1)
        assert process.poll() is None
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        assert moment <= written(killed) < total
        resumed = ["--resume"]
    subprocess.run([*command, str(killed), *resumed], capture_output=True, check=True)
    assert results(killed) == results(whole)
    outcomes = results(whole)["figures"]["all"]
    assert outcomes["grammarlm"]["counts"]["passing"] == count
    assert 0 < outcomes["llguidance"]["counts"]["refused"] < count
