"""Folders of labelled schemas for tests of the bench, and the records of a run."""

import json
from pathlib import Path
from typing import Any

from grammarlm.bench.generation.record import Generated
from tests.corpus_files import tables

SCRIPTED = "tests.scripted_engine:Scripted"


def write_cases(folder: Path, contents: dict[str, dict[str, Any]]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in contents.items():
        (folder / f"{name}.json").write_text(json.dumps(content))
    return folder


def case_of(schema: Any, *tests: tuple[Any, bool]) -> dict[str, Any]:
    return {"schema": schema, "tests": [{"data": data, "valid": is_valid} for data, is_valid in tests]}


def scripted_cases(bench: str) -> tuple[dict[str, dict[str, Any]], dict[str, set[str]]]:
    """Cases for an engine that does as it is told, and their outcomes: corpus/commands.toml."""
    rows = tables("commands")[bench].items()
    cases = {name: case_of(json.loads(schema), *json.loads(tests)) for name, (schema, tests, _) in rows}
    return cases, {name: set(outcomes) for name, (_, _, outcomes) in rows}


def records_of(path: Path) -> dict[str, Generated]:
    found = [Generated.from_json(json.loads(line)) for line in path.read_text().splitlines()[1:]]
    return {record.case: record for record in found}
