"""Reads cases: a folder in MaskBench's layout, or the official JSON Schema Test Suite."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

DRAFTS = {
    "draft4": "http://json-schema.org/draft-04/schema#",
    "draft6": "http://json-schema.org/draft-06/schema#",
    "draft7": "http://json-schema.org/draft-07/schema#",
    "draft2019-09": "https://json-schema.org/draft/2019-09/schema",
    "draft2020-12": "https://json-schema.org/draft/2020-12/schema",
}
SUITE_SERVER = "http://localhost:1234/"  # where the suite's schemas expect its remotes/


class BrokenCase(ValueError):
    """A file that is not a case: not an engine's fault."""


@dataclass(frozen=True)
class Case:
    """A schema with labelled instances, as {"schema": ..., "tests": [{"data": ..., "valid": ...}]}: in a file, or in memory."""

    name: str
    path: str | None = None
    content: dict[str, Any] | None = None

    def load(self) -> dict[str, Any]:
        if self.content is not None:
            return self.content
        try:
            content = json.loads(Path(self.path or "").read_bytes())
        except (ValueError, RecursionError) as error:
            raise BrokenCase(f"{self.path}: {error}") from None
        if not isinstance(content, dict) or "schema" not in content:
            raise BrokenCase(f"{self.path}: it is no {{schema, tests: [{{data, valid}}]}}")
        return content

    def count(self) -> int:
        """Number of instances."""
        return len(self.load().get("tests", []))


def maskbench(folder: Path, every: int = 1) -> list[Case]:
    """Every `every`-th .json file, in an order that depends on file names alone (a hash), so that any part is a mixed sample."""
    if not folder.is_dir():
        raise FileNotFoundError(f"{folder}: there is no such folder; give one with .json files like MaskBench's data/")
    files = sorted(folder.glob("*.json"), key=lambda file: (zlib.crc32(file.name.encode()), file.name))
    if not files:
        raise FileNotFoundError(f"{folder}: there are no .json files; give a folder like MaskBench's data/")
    return [Case(file.name, path=str(file.resolve())) for file in files[::every]]


def schema_suite(folder: Path, draft: str) -> list[Case]:
    """The groups of one draft; a schema without $schema gets the draft's."""
    tests = folder / "tests" / draft
    if not tests.is_dir():
        raise FileNotFoundError(f"{tests}: there is no such folder; give the test suite's, with tests/ and remotes/")
    return list(_groups(tests, DRAFTS[draft]))


def _groups(tests: Path, uri: str) -> Iterator[Case]:
    for file in sorted(tests.glob("*.json")):
        for number, group in enumerate(json.loads(file.read_bytes())):
            schema = group["schema"]
            if isinstance(schema, dict) and "$schema" not in schema:
                schema = {"$schema": uri, **schema}
            name = f"{file.stem}/{number} {group['description']}"
            yield Case(name, content={"schema": schema, "tests": group["tests"]})


def remotes(folder: Path) -> dict[str, Any]:
    """{uri: schema}: what the suite's own server would serve."""
    files = folder.rglob("*.json")
    return {SUITE_SERVER + file.relative_to(folder).as_posix(): json.loads(file.read_bytes()) for file in files}
