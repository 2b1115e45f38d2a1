"""`grammarlm bench schema-suite DIR`: the official JSON Schema Test Suite, group by group."""

from __future__ import annotations

import argparse
import dataclasses
from pathlib import Path

from rich.console import Console

from grammarlm.bench import cases
from grammarlm.bench.comparison import Comparison, runs_of
from grammarlm.bench.tokenizer import find_tokenizer

from .report import tell

NOTES = (
    "A group passes where every verdict is right, ends included; refused as unsatisfiable is right where every test is invalid.",
    "grammarlm takes formats as annotations, as the suite's format.json expects, and its remotes/ as a registry under "
    f"{cases.SUITE_SERVER}; the peers have no such options.",
    "The optional tests are left out.",
)


def run(options: argparse.Namespace) -> int:
    folder = Path(options.folder)
    if options.tokenizer != "tiny":
        find_tokenizer(options.tokenizer)
    ours = {"formats": "annotation", "remotes": str((folder / "remotes").resolve())}
    runs, absent = runs_of(options.engines, options.tokenizer, options.limit, {"grammarlm": ours})
    groups, found = {}, []
    for draft in options.draft:
        of_draft = [
            dataclasses.replace(case, name=f"{draft}/{case.name}") for case in cases.schema_suite(folder, draft)
        ]
        groups[f"{draft}: {len(of_draft)} groups"] = [case.name for case in of_draft]
        found += of_draft
    about = {"data": str(folder.resolve()), "drafts": options.draft}
    comparison = Comparison(
        "JSON Schema Test Suite", runs, Path(options.out), options.resume, options.jobs, about, NOTES, absent
    )
    records = comparison.measure(found, Console(stderr=True))
    print(tell(comparison, records, groups))
    return 0
