"""The official JSON Schema Test Suite, group by group: `python -m benchmarks.schemas.suite DIR [--draft draft2020-12 draft7]`.

DIR has tests/ and remotes/. Verdicts of engines as `grammarlm bench maskbench` takes them; --out, --engines, --limit, --tokenizer,
--jobs and --resume are that command's.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

from grammarlm.bench.arguments import add_common
from grammarlm.bench.cases import Case
from grammarlm.bench.comparison import Comparison, runs_of
from grammarlm.bench.engines import RUNS, GrammarLM
from grammarlm.bench.verdicts.report import tell

DRAFTS = {
    "draft4": "http://json-schema.org/draft-04/schema#",
    "draft6": "http://json-schema.org/draft-06/schema#",
    "draft7": "http://json-schema.org/draft-07/schema#",
    "draft2019-09": "https://json-schema.org/draft/2019-09/schema",
    "draft2020-12": "https://json-schema.org/draft/2020-12/schema",
}
SUITE_SERVER = "http://localhost:1234/"  # where the suite's schemas expect its remotes/
NOTES = (
    "A group passes where every verdict is right, ends included; refused as unsatisfiable is right where every test is invalid.",
    "grammarlm takes formats as annotations, as the suite's format.json expects, and its remotes/ as a registry under "
    f"{SUITE_SERVER}; the peers have no such options.",
    "The optional tests are left out.",
)


class WithRemotes(GrammarLM):
    """Ours, with a folder as the registry of the suite's remotes."""

    def __init__(self, tokenizer: Any, remotes: str, **options: Any):
        super().__init__(tokenizer, registry=remotes_of(Path(remotes)), **options)


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, metavar="DIR")
    parser.add_argument("--draft", nargs="+", default=["draft2020-12", "draft7"], choices=list(DRAFTS))
    add_common(parser, "schema-suite")
    options = parser.parse_args(arguments)
    own = {"formats": "annotation", "remotes": str((options.folder / "remotes").resolve())}
    ours = [(title, f"{__name__}:WithRemotes", {**given, **own}) for title, _, given in RUNS["grammarlm"]]
    runs, absent = runs_of(options.engines, options.tokenizer, options.limit, catalogue={**RUNS, "grammarlm": ours})
    groups, found = {}, []
    for draft in options.draft:
        of_draft = [dataclasses.replace(case, name=f"{draft}/{case.name}") for case in cases_of(options.folder, draft)]
        groups[f"{draft}: {len(of_draft)} groups"] = [case.name for case in of_draft]
        found += of_draft
    about = {"data": str(options.folder.resolve()), "drafts": options.draft}
    out = Path(options.out)
    title = "JSON Schema Test Suite"
    comparison = Comparison(title, runs, out, options.resume, options.jobs, about, NOTES, absent)
    print(tell(comparison, comparison.measure(found, Console(stderr=True)), groups))
    return 0


def cases_of(folder: Path, draft: str) -> list[Case]:
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


def remotes_of(folder: Path) -> dict[str, Any]:
    """{uri: schema}: what the suite's own server would serve."""
    files = folder.rglob("*.json")
    return {SUITE_SERVER + file.relative_to(folder).as_posix(): json.loads(file.read_bytes()) for file in files}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
