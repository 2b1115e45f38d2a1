"""`grammarlm bench jsonschemabench` on folders made here: a model that knows its answer, engines that do as told, and ours."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from benchmarks.schemas.llama_cpp import LlamaCpp
from grammarlm.bench import engines
from grammarlm.bench.cases import Case
from grammarlm.bench.generation.figures import Figures
from grammarlm.bench.generation.record import Generated, Output
from grammarlm.bench.generation.validation import VALID, Validate
from tests.commands.bench_cases import SCRIPTED, case_of, records_of, scripted_cases, write_cases
from tests.commands.command_line import call
from tests.corpus_files import tables

pytest.importorskip("transformers")
pytest.importorskip("jsonschema")

PERSON = {
    "type": "object",
    "properties": {"name": {"type": "string", "minLength": 1}, "age": {"type": "integer", "minimum": 0}},
    "required": ["name", "age"],
    "additionalProperties": False,
}
REAL = {
    "Github_easy---person": case_of(
        PERSON, ({"age": 36, "name": "Ada"}, True), ({"name": "", "age": 1}, False), ({"name": "Tom", "age": -1}, False)
    ),
    "Snowplow---day": case_of({"type": "string", "format": "date"}, ("2024-02-29", True), ("2023-02-29", False)),
    "Kubernetes---nothing": case_of({"type": "integer", "minimum": 3, "maximum": 2}, (3, False)),
    "BFCL_simple_1": case_of({}, (1, True)),  # of MaskBench, and of none of the data sets
}


def run(capsys, folder: Path, out: Path, *more: str) -> tuple[int, str, str]:
    given = ("bench", "jsonschemabench", str(folder), "--model", "scripted", "--out", str(out), *more)
    code, printed, err = call(capsys, *given)
    return code, re.sub(" +", " ", printed), err


def test_a_scripted_model_under_the_real_engine(capsys, tmp_path) -> None:
    folder, out = write_cases(tmp_path / "data", REAL), tmp_path / "out"
    code, printed, _ = run(capsys, folder, out, "--engines", "grammarlm,none")
    assert code == 0
    assert "# JSONSchemaBench, 3 of 3 schemas, model: scripted" in printed
    assert "| grammarlm | 3 | 3 (100.00%) | 3 (100.00%) | 3 (100.00%) | 3 (100.00%) | 3 (100.00%) |" in printed
    assert "| grammarlm | 2 | 2 (100.00%) | 2 (100.00%) | 0 | 100.00% | 3 | 0 |" in printed
    assert "| none | 2 | 2 (100.00%) | 2 (100.00%) | 0 | 100.00% | 4 | 4 |" in printed
    ours, free = records_of(out / "grammarlm.jsonl"), records_of(out / "none.jsonl")
    assert ours["Kubernetes---nothing"].is_unsatisfiable
    assert [output.text for output in free["Snowplow---day"].outputs] == ['"2024-02-29"', '"2023-02-29"']
    valid, *invalid = ours["Github_easy---person"].outputs
    assert (valid.text, valid.is_exact, valid.verdict, valid.fields) == ('{"age": 36, "name": "Ada"}', True, VALID, 1.0)
    for output in invalid:
        assert output.is_finished
        assert output.verdict == VALID
        assert not output.is_equal
    failing = (out / "failing.md").read_text()
    assert "let through, invalid (instance 1)" in failing or "invalid, let through (instance 1)" in failing


CASES, OUTCOMES = scripted_cases("jsonschemabench")


@pytest.fixture
def scripted(monkeypatch) -> None:
    monkeypatch.setitem(engines.GENERATING, "llguidance", [("scripted", SCRIPTED, {})])


def test_every_outcome_is_a_row(capsys, monkeypatch, scripted, tmp_path) -> None:
    folder, out = write_cases(tmp_path / "data", CASES), tmp_path / "out"
    (folder / "Github_ultra---broken.json").write_text("{")
    monkeypatch.setitem(engines.GENERATING, "xgrammar", [("starts badly", SCRIPTED, {"unknown": 1})])
    monkeypatch.setattr(engines.Outlines, "package", "no-such-package")
    monkeypatch.setattr(LlamaCpp, "package", "no-llama")
    more = (
        "--engines",
        "llguidance,xgrammar,outlines,benchmarks.schemas.llama_cpp:LlamaCpp",
        "--limit",
        "3",
        "--jobs",
        "2",
    )
    code, printed, _ = run(capsys, folder, out, *more)
    assert code == 0
    found = records_of(out / "scripted.jsonl")
    assert {name: record.outcomes() for name, record in found.items()} == {
        **OUTCOMES,
        "Github_ultra---broken": {"broken"},
    }
    assert "SIGSEGV" in str(found["Github_hard---die"].crash)
    assert found["Github_hard---fail"].is_declared  # it was compiled
    assert "- starts badly: not measured: starts badly: the engine does not start" in printed
    assert "- outlines: not measured: no-such-package is not installed: pip install 'grammarlm[bench]'" in printed
    assert "- llamacpp: not measured: no-llama is not installed: pip install llama-cpp-python gguf" in printed
    assert "| Github_hard | scripted | 5 | 1,240 | 1 (20.00%) | 0 (0.00%) |" in printed
    failing = (out / "failing.md").read_text()
    assert "let through, invalid" in failing or "invalid, let through" in failing


@pytest.mark.proof  # three processes that load the model
def test_the_embedded_model_with_examples(capsys, tmp_path) -> None:
    folder, out = write_cases(tmp_path / "data", REAL), tmp_path / "out"
    more = ("--engines", "grammarlm", "--max-tokens", "24", "--samples", "1", "--temperature", "1", "--shots", "1")
    code, _, err = call(capsys, "bench", "jsonschemabench", str(folder), "--model", "tiny", "--out", str(out), *more)
    assert (code, err) == (0, "")
    closed, open_ = records_of(out / "grammarlm.jsonl"), records_of(out / "grammarlm-not-closed.jsonl")
    for record in closed.values():
        assert record.is_unsatisfiable or [output.verdict for output in record.outputs] == [VALID]
        assert all(output.tokens <= 24 and output.is_finished for output in record.outputs)
    assert {name: len(record.outputs) for name, record in open_.items()} == {
        "Github_easy---person": 1,
        "Snowplow---day": 1,
        "Kubernetes---nothing": 0,
    }


def test_schemas_as_published(capsys, tmp_path) -> None:
    """Folders of bare schemas, and a file that names a part of them; no labels, so a scripted model has nothing to write."""
    for name in ("a", "b"):
        (tmp_path / "data" / "Glaiveai2K").mkdir(parents=True, exist_ok=True)
        (tmp_path / "data" / "Glaiveai2K" / f"{name}.json").write_text(json.dumps(PERSON))
    (tmp_path / "split").write_text("b\n")
    code, printed, _ = run(
        capsys, tmp_path / "data", tmp_path / "out", "--engines", "grammarlm", "--split", str(tmp_path / "split")
    )
    assert code == 0
    assert "1 of 1 schemas" in printed
    assert list(records_of(tmp_path / "out" / "grammarlm.jsonl")) == ["Glaiveai2K---b"]


# ---------------------------------------------------------------- the parts


@pytest.mark.parametrize(("schema", "text", "verdict"), tables("commands")["verdicts"])
def test_verdicts(schema: str, text: str, verdict: str) -> None:
    found = Validate({}).run(Case("", content={"schema": json.loads(schema)}, texts=[text]), lambda record: None)
    assert found.verdicts[0].startswith(verdict)


def test_figures_count_as_they_say() -> None:
    def output(text: str = "", ended: str = "stop", verdict: str | None = VALID, **more: Any) -> Output:
        return Output(text, 5, ended, 10.0, 40.0, verdict, **more)

    records = [
        Generated("Snowplow---a", compile_time=100.0, outputs=[output()]),
        Generated("Snowplow---b", compile_time=300.0, outputs=[output(verdict="invalid at $"), output()]),
        Generated("Snowplow---c", compile_time=200.0, outputs=[output(ended="length", verdict=None)]),
        Generated("Snowplow---d", refused="no"),
        Generated("Snowplow---e", is_unsatisfiable=True),
        Generated("Snowplow---f", compile_time=1.0, timeout=True),
        Generated("Snowplow---g", compile_time=1.0, outputs=[output(label=False, ended="length", verdict=None)]),
        Generated("Snowplow---h", compile_time=1.0, outputs=[output(label=False, is_equal=True, verdict="invalid")]),
        Generated(
            "Snowplow---i", compile_time=1.0, outputs=[output(label=True, is_equal=True, fields=1.0, instance=0)]
        ),
    ]
    figures = Figures.of(records)
    assert (figures.schemas, figures.declared, figures.empirical, figures.finished) == (9, 8, 4, 6)
    assert (figures.valid_instances, figures.reproduced, figures.invalid_instances, figures.let_through) == (1, 1, 2, 1)
    assert figures.counts["cut"] == 1
    assert figures.counts["invalid"] == 2
    assert figures.later_token.value == 8.0
    again = [Generated.from_json(json.loads(json.dumps(record.as_json()))) for record in records]
    assert again == records
