"""The arguments of `grammarlm bench`; a benchmark's modules are imported when it runs."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

ENGINES = "grammarlm,llguidance,xgrammar,xgrammar-compliant,outlines"
GENERATING_ENGINES = f"{ENGINES},none"


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
    add_jsonschemabench(benches)


def add_jsonschemabench(benches: Any) -> None:
    parser = benches.add_parser(
        "jsonschemabench",
        help="texts generated under JSONSchemaBench's schemas",
        description="Coverage, compliance and times of engines on the ten data sets of JSONSchemaBench: a model writes "
        "a text for each schema, under the constraint of each engine.",
    )
    parser.add_argument(
        "folder", metavar="DIR", help="the folder with files SET---NAME.json, or folders SET of files NAME.json"
    )
    parser.add_argument(
        "--model",
        default="tiny",
        metavar="M",
        help="tiny (the embedded one), a transformers model's folder, or scripted: one that knows a labelled instance (tiny)",
    )
    add_generation(parser)
    parser.set_defaults(command=run_jsonschemabench)
    add_common(parser, "grammarlm-jsonschemabench", GENERATING_ENGINES, limit=40.0, tokenizer=None)


def add_generation(parser: argparse.ArgumentParser) -> None:
    """Which schemas, and how texts are written for them."""
    parser.add_argument("--sample", type=positive(int), metavar="N", help="a mixed sample of so many schemas (all)")
    parser.add_argument("--split", metavar="FILE", help="only the schemas whose names stand in this file, one a line")
    parser.add_argument(
        "--shots", type=int, default=2, metavar="N", help="examples in a prompt (2); scripted has no prompt"
    )
    parser.add_argument("--temperature", type=float, default=0.0, metavar="T", help="0 is greedy (0)")
    parser.add_argument("--samples", type=positive(int), default=1, metavar="N", help="texts for each schema (1)")
    parser.add_argument("--seed", type=int, default=0, metavar="N")
    parser.add_argument("--max-tokens", type=positive(int), default=512, metavar="N", help="of a text (512)")


def add_common(
    parser: argparse.ArgumentParser,
    folder: str,
    engines: str = ENGINES,
    limit: float = 10.0,
    tokenizer: str | None = "tiny",
) -> None:
    known = engines.split(",")
    parser.add_argument(
        "--engines",
        type=names(known),
        default=["grammarlm"],
        metavar="E,...",
        help=f"which, of {engines}, or MODULE:CLASS (grammarlm)",
    )
    parser.add_argument(
        "--limit",
        type=positive(float),
        default=limit,
        metavar="SECONDS",
        help=f"time for one schema, or one text ({limit:g})",
    )
    of_model = tokenizer or "the model's"
    parser.add_argument(
        "--tokenizer", default=tokenizer, metavar="PATH", help=f"a folder with tokenizer.json, or tiny ({of_model})"
    )
    parser.add_argument("--jobs", type=positive(int), default=1, metavar="N", help="schemas measured at a time (1)")
    parser.add_argument("--out", default=folder, metavar="FOLDER", help=f"where records and report go ({folder})")
    parser.add_argument("--resume", action="store_true", help="go on where an earlier run into the same folder ended")


def names(known: Any) -> Callable[[str], list[str]]:
    """A parser of comma-separated lists of known names; one with a colon is of a class elsewhere."""

    def read(text: str) -> list[str]:
        found = list(dict.fromkeys(name for name in text.split(",") if name))
        unknown = [name for name in found if name not in known and ":" not in name]
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
    from .verdicts.maskbench import run

    return run(options)


def run_jsonschemabench(options: argparse.Namespace) -> int:
    from .generation.jsonschemabench import run

    return run(options)
