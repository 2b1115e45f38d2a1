"""Reads cases: a folder in MaskBench's layout, or JSONSchemaBench's ten data sets."""

from __future__ import annotations

import json
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

# JSONSchemaBench's data sets, as files of MaskBench begin and as its own folders are called, and the sizes published.
DATA_SETS = {
    "Glaiveai2K": 1707,
    "Github_trivial": 444,
    "Github_easy": 1943,
    "Github_medium": 1976,
    "Github_hard": 1240,
    "Github_ultra": 164,
    "Snowplow": 403,
    "Kubernetes": 1064,
    "WashingtonPost": 125,
    "JsonSchemaStore": 492,
}


class BrokenCase(ValueError):
    """A file that is not a case: not an engine's fault."""


@dataclass(frozen=True)
class Case:
    """A schema with labelled instances, as {"schema": ..., "tests": [{"data": ..., "valid": ...}]}: in a file, or in memory."""

    name: str
    path: str | None = None
    content: dict[str, Any] | None = None
    data_set: str = ""
    is_bare: bool = False  # the file is the schema itself
    texts: list[str] | None = None  # what is to be validated

    def load(self) -> dict[str, Any]:
        if self.content is not None:
            return self.content
        try:
            content = json.loads(Path(self.path or "").read_bytes())
        except (ValueError, RecursionError, OSError) as error:
            raise BrokenCase(f"{self.path}: {error}") from None
        if self.is_bare:
            content = {"schema": content}
        if not isinstance(content, dict) or "schema" not in content:
            raise BrokenCase(f"{self.path}: it is no {{schema, tests: [{{data, valid}}]}}")
        if not all(isinstance(test, dict) and test.keys() >= {"data", "valid"} for test in content.get("tests", [])):
            raise BrokenCase(f"{self.path}: a test is no {{data, valid}}")
        return content

    @property
    def labelled(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.load().get("tests", [])
        return found

    def count(self) -> int:
        """Number of instances."""
        return len(self.labelled)


def maskbench(folder: Path, every: int = 1) -> list[Case]:
    """Every `every`-th .json file, in an order that depends on file names alone (a hash), so that any part is a mixed sample."""
    if not folder.is_dir():
        raise FileNotFoundError(f"{folder}: there is no such folder; give one with .json files like MaskBench's data/")
    files = sorted(folder.glob("*.json"), key=lambda file: (zlib.crc32(file.name.encode()), file.name))
    if not files:
        raise FileNotFoundError(f"{folder}: there are no .json files; give a folder like MaskBench's data/")
    return [Case(file.name, path=str(file.resolve())) for file in files[::every]]


def jsonschemabench(folder: Path, sample: int | None = None, split: Path | None = None) -> list[Case]:
    """The schemas of its ten data sets: files SET---NAME.json, or SET/NAME.json as published; in an order that depends on names
    alone, so that the first of them are a mixed sample. `split`: a file with the names of those that are taken, one a line.
    """
    if not folder.is_dir():
        raise FileNotFoundError(
            f"{folder}: there is no such folder; give one with .json files SET---NAME.json or SET/NAME.json"
        )
    found = [
        Case(file.name.removesuffix(".json"), str(file.resolve()), data_set=file.name.split("---")[0])
        for file in folder.glob("*---*.json")
        if file.name.split("---")[0] in DATA_SETS
    ]
    found += [
        Case(f"{name}---{file.stem}", str(file.resolve()), data_set=name, is_bare=True)
        for name in DATA_SETS
        for file in (folder / name).glob("*.json")
    ]
    if split is not None:
        wanted = set(split.read_text().split("\n"))
        found = [case for case in found if case.name in wanted or case.name.partition("---")[2] in wanted]
    if not found:
        raise FileNotFoundError(
            f"{folder}: there is no schema of {', '.join(DATA_SETS)}; they are SET---NAME.json or SET/NAME.json"
        )
    found.sort(key=lambda case: (zlib.crc32(case.name.encode()), case.name))
    return found[:sample]
