"""The arguments of `grammarlm bench`; a benchmark's modules are imported when it runs."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

ENGINES = "grammarlm,llguidance,xgrammar,xgrammar-compliant,outlines"
DRAFTS = ("draft4", "draft6", "draft7", "draft2019-09", "draft2020-12")


def add_bench(commands: Any) -> None:
    parser = commands.add_parser("bench", help="measure engines side by side on JSON schemas")
    benches = parser.add_subparsers(title="benchmarks", metavar="benchmark", required=True)
    maskbench = benches.add_parser(
        "maskbench",
        help="a folder of schemas with labelled instances, as MaskBench has them",
        description="Verdicts and times of engines on a folder of files {schema, tests: [{data, valid}]}.",
    )
    maskbench.add_argument("folder", metavar="DIR", help="the folder with the .json files")
    maskbench.add_argument("--every", type=positive(int), default=1, metavar="N", help="take each N-th schema (1)")
    maskbench.set_defaults(command=run_maskbench)
    add_common(maskbench, "grammarlm-maskbench")
    suite = benches.add_parser(
        "schema-suite",
        help="the official JSON Schema Test Suite",
        description="Verdicts of engines on the groups of the JSON Schema Test Suite.",
    )
    suite.add_argument("folder", metavar="DIR", help="the suite's folder, with tests/ and remotes/")
    suite.add_argument(
        "--draft",
        type=names(DRAFTS),
        default=["draft2020-12", "draft7"],
        metavar="D,...",
        help=f"which drafts, of {', '.join(DRAFTS)} (draft2020-12,draft7)",
    )
    suite.set_defaults(command=run_schema_suite)
    add_common(suite, "grammarlm-schema-suite")


def add_common(parser: argparse.ArgumentParser, folder: str) -> None:
    known = ENGINES.split(",")
    parser.add_argument(
        "--engines", type=names(known), default=["grammarlm"], metavar="E,...", help=f"which, of {ENGINES} (grammarlm)"
    )
    parser.add_argument(
        "--limit", type=positive(float), default=10.0, metavar="SECONDS", help="time for one schema (10)"
    )
    parser.add_argument(
        "--tokenizer", default="tiny", metavar="PATH", help="a folder with tokenizer.json, or tiny (the default)"
    )
    parser.add_argument("--out", default=folder, metavar="FOLDER", help=f"where records and report go ({folder})")
    parser.add_argument("--resume", action="store_true", help="go on where an earlier run into the same folder ended")


def names(known: Any) -> Callable[[str], list[str]]:
    """A parser of comma-separated lists of known names."""

    def read(text: str) -> list[str]:
        found = list(dict.fromkeys(name for name in text.split(",") if name))
        unknown = [name for name in found if name not in known]
        if unknown or not found:
            raise argparse.ArgumentTypeError(f"{', '.join(unknown) or 'nothing'}: there are {', '.join(known)}")
        return found

    return read


def positive(kind: Callable[[str], Any]) -> Callable[[str], Any]:
    def read(text: str) -> Any:
        value = kind(text)
        if not value > 0:
            raise argparse.ArgumentTypeError(f"{text}: it takes a positive number")
        return value

    read.__name__ = getattr(kind, "__name__", "number")  # argparse's message names it
    return read


def run_maskbench(options: argparse.Namespace) -> int:
    from .maskbench import run

    return run(options)


def run_schema_suite(options: argparse.Namespace) -> int:
    from .schema_suite import run

    return run(options)
