"""`grammarlm bench`, on folders made here: outcomes counted apart, limits, resumption, tables; with an engine that does as told."""

import json
import re

import pytest

from grammarlm.bench import engines
from grammarlm.bench.verdicts.figures import Figures, Ratios, Times
from grammarlm.bench.verdicts.record import Verdicts
from tests.commands.bench_cases import SCRIPTED, case_of, scripted_cases, write_cases
from tests.commands.command_line import call

pytest.importorskip("transformers")
CASES, OUTCOMES = scripted_cases("maskbench")


@pytest.fixture
def scripted(monkeypatch) -> None:
    """`--engines llguidance` means the scripted engine."""
    monkeypatch.setitem(engines.RUNS, "llguidance", [("scripted", SCRIPTED, {})])


def test_every_outcome_is_counted_apart(capsys, scripted, tmp_path) -> None:
    folder, out = write_cases(tmp_path / "data", CASES), tmp_path / "out"
    given = ("bench", "maskbench", str(folder), "--engines", "llguidance", "--limit", "3", "--out", str(out))
    code, printed, _ = call(capsys, *given)
    assert code == 0
    lines = [json.loads(line) for line in (out / "scripted.jsonl").read_text().splitlines()]
    records = {record.case: record for record in map(Verdicts.from_json, lines[1:])}
    assert {name.removesuffix(".json"): record.outcomes() for name, record in records.items()} == OUTCOMES
    assert records["rejects.json"].wrongly_rejects == [1, 2]
    assert "SIGSEGV" in str(records["die.json"].crash)
    assert "MemoryError" in str(records["eat.json"].crash)
    assert records["right.json"].first_mask is not None
    assert len(records["right.json"].masks) >= 4
    rows = [re.sub(" +", " ", line) for line in printed.splitlines()]
    for row in (
        "schemas | 15",
        "passing | 3 (20.00%)",
        "timeout | 1 (6.67%)",
        "passing, of those with tests | 2 (15.38%)",
    ):
        assert f"| {row} |" in rows
    assert printed.rstrip("\n") in (out / "report.md").read_text()
    assert "wrongly rejects tests 1, 2" in (out / "failing.md").read_text()
    assert json.loads((out / "figures.json").read_text())["all"]["scripted"]["counts"]["crash"] == 4


def test_a_run_is_taken_up_where_it_ended(capsys, monkeypatch, tmp_path) -> None:
    log = tmp_path / "log"
    monkeypatch.setitem(engines.RUNS, "llguidance", [("scripted", SCRIPTED, {"log": str(log)})])
    folder = write_cases(
        tmp_path / "data", {f"c{i}": case_of({"allows": [f'"{i}"']}, (str(i), True)) for i in range(4)}
    )
    given = ("bench", "maskbench", str(folder), "--engines", "llguidance", "--out", str(tmp_path / "out"))
    code, first, _ = call(capsys, *given)
    assert code == 0
    results = tmp_path / "out" / "scripted.jsonl"
    lines = results.read_text().splitlines()
    assert len(lines) == 5
    results.write_text("\n".join([*lines[:3], lines[3][:-5]]))  # two records, and one that was cut
    log.unlink()
    code, again, _ = call(capsys, *given, "--resume")
    assert code == 0
    assert len(log.read_text().splitlines()) == 2
    assert again.split("| us ")[0].split("peak of")[0] == first.split("| us ")[0].split("peak of")[0]
    assert sorted(json.loads(line).get("case", "") for line in results.read_text().splitlines()[1:]) == [
        f"c{i}.json" for i in range(4)
    ]
    code, printed, err = call(capsys, *given, "--resume", "--limit", "5")
    assert (code, printed) == (1, "")
    assert "is of another run" in err


def test_an_engine_that_does_not_start(capsys, monkeypatch, tmp_path) -> None:
    monkeypatch.setitem(engines.RUNS, "llguidance", [("scripted", SCRIPTED, {"unknown": 1})])
    folder = write_cases(tmp_path / "data", {"a": case_of({})})
    code, _, err = call(
        capsys, "bench", "maskbench", str(folder), "--engines", "llguidance", "--out", str(tmp_path / "out")
    )
    assert code == 1
    assert err.startswith("grammarlm: scripted: the engine does not start: ")
    assert "unexpected keyword argument 'unknown'" in err


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "Expecting property name"),
        ("[]", "it is no {schema, tests: [{data, valid}]}"),
        ('{"schema": true, "tests": [1]}', "a test is no {data, valid}"),
    ],
)
def test_a_file_that_is_no_case_is_a_row(capsys, scripted, tmp_path, text, message) -> None:
    folder = write_cases(tmp_path / "data", {"good": CASES["right"]})
    (folder / "bad.json").write_text(text)
    out = tmp_path / "out"
    code, printed, _ = call(capsys, "bench", "maskbench", str(folder), "--engines", "llguidance", "--out", str(out))
    assert code == 0
    assert "| broken | 1 (50.00%) |" in re.sub(" +", " ", printed)
    assert f"broken: {folder / 'bad.json'}: {message}" in (out / "failing.md").read_text()


def test_a_missing_package_is_named(capsys, monkeypatch, tmp_path) -> None:
    folder = write_cases(tmp_path / "data", {"a": case_of({})})
    monkeypatch.setattr(engines.LLGuidance, "package", "no-such-package")
    code, _, err = call(capsys, "bench", "maskbench", str(folder), "--engines", "llguidance")
    assert code == 1
    assert "no-such-package is not installed: pip install 'grammarlm[bench]'" in err


def test_figures() -> None:
    records = [
        Verdicts("a", tests=1, first_mask=10.0, masks=[1.0, 3.0], nbytes=5),
        Verdicts("b", tests=1, first_mask=30.0, masks=[5.0], wrongly_accepts=[0], nbytes=7),
        Verdicts("c", refused="no"),
    ]
    figures = Figures.of(records)
    assert figures.counts == {
        "broken": 0,
        "crash": 0,
        "timeout": 0,
        "wrongly accepts": 1,
        "wrongly rejects": 0,
        "refused": 1,
        "passing": 1,
    }
    assert (figures.cases, figures.with_tests, figures.passing_with_tests, figures.median_bytes) == (3, 2, 1, 7)
    assert figures.first_mask.avg == 20.0
    assert figures.masks.quantiles["max"] == 5.0
    others = [Verdicts("a", first_mask=20.0, masks=[2.0, 6.0]), Verdicts("b", masks=[1.0, 1.0], first_mask=1.0)]
    ratios = Ratios.of(records, others)
    assert (ratios.cases, ratios.first_mask["p50"], ratios.masks["avg"]) == (1, 0.5, 0.5)
    times = Times.of([float(i) for i in range(1000)])
    assert (times.quantiles["p50"], times.quantiles["p99"], times.quantiles["p99.9"]) == (500.0, 990.0, 999.0)


REAL = ["grammarlm", "llguidance"]
SLOW_TO_IMPORT = ["xgrammar", "outlines"]
SMALL = {
    "object": case_of(
        {
            "type": "object",
            "properties": {"a": {"type": "integer"}, "b": {"enum": ["x", "y"]}},
            "required": ["a", "b"],
            "additionalProperties": False,
        },
        ({"a": 12, "b": "x"}, True),
        ({"a": "12", "b": "x"}, False),
        ({"a": 1}, False),
    ),
    "no tests": case_of({"type": "boolean"}),
}


@pytest.mark.parametrize("name", [*REAL, *(pytest.param(name, marks=pytest.mark.proof) for name in SLOW_TO_IMPORT)])
def test_real_engines(capsys, tmp_path, name) -> None:
    pytest.importorskip({"outlines": "outlines_core"}.get(name, name))
    folder = write_cases(tmp_path / "data", SMALL)
    out = tmp_path / "out"
    code, printed, _ = call(capsys, "bench", "maskbench", str(folder), "--engines", name, "--out", str(out))
    assert code == 0
    row = next(line for line in printed.splitlines() if line.startswith("| passing  "))
    assert "2 (100.00%)" in row, (out / "failing.md").read_text()
    if name == "grammarlm":
        assert row.count("2 (100.00%)") == 2
        assert (out / "grammarlm-schema-order.jsonl").exists()
