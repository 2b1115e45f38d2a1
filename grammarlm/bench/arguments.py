"""The arguments of `grammarlm bench`; a benchmark's modules are imported when it runs."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

from grammarlm.decoding.systems import DRAFTERS, SAMPLERS

ENGINES = "grammarlm,llguidance,xgrammar,xgrammar-compliant,outlines"
GENERATING_ENGINES = f"{ENGINES},formatron,grid,llamacpp,none"
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
    add_jsonschemabench(benches)
    add_drafts(benches)
    add_parallel(benches)
    add_infilling(benches)


def add_infilling(benches: Any) -> None:
    parser = benches.add_parser(
        "infill",
        help="samplers side by side, on the embedded diffusion model",
        description="Of each sampler and driver of infill, at several numbers of steps, with the grammar of the answers and "
        "without it: right and invalid answers, and the time of the canvas beside the model's. A table a task and a picture. "
        "Each way needs up to `steps` forwards a prompt (some 8 ms), but rows that several come by are read once.",
    )
    tasks = ("record", "edit", "repeat", "call", "calls", "agent", "list", "arithmetic", "sql")
    parser.add_argument(
        "--tasks",
        type=names(tasks),
        default=["record", "edit", "call", "calls", "list", "sql"],
        metavar="T,...",
        help=f"which, of {', '.join(tasks)} (record,edit,call,calls,list,sql)",
    )
    parser.add_argument(
        "--samplers",
        type=names(SAMPLERS),
        default=list(SAMPLERS),
        metavar="S,...",
        help=f"which, of {', '.join(SAMPLERS)} (all)",
    )
    parser.add_argument(
        "--steps",
        type=lambda text: [positive(int)(one) for one in text.split(",")],
        default=[4, 8, 16, 32, 64],
        metavar="N,...",
        help="the most steps of an answer, which has 64 places (4,8,16,32,64)",
    )
    parser.add_argument("--count", type=positive(int), default=10, metavar="N", help="prompts a task (10)")
    parser.add_argument("--out", default="grammarlm-infill", metavar="FOLDER", help="where figures and report go")
    parser.set_defaults(command=run_infilling)


def add_parallel(benches: Any) -> None:
    parser = benches.add_parser(
        "parallel",
        help="what several tokens a step cost, on tasks whose joint law is known",
        description="Every sampler of infill on small tasks with a known joint law, with a constraint and without it: how far what "
        "is written is from that law, against tokens a step. Exact, without random numbers.",
    )
    tasks = ("independent", "copy", "shuffle", "sort", "replace", "record")
    parser.add_argument(
        "--tasks", type=names(tasks), default=list(tasks), metavar="T,...", help=f"which, of {', '.join(tasks)} (all)"
    )
    parser.add_argument(
        "--samplers",
        type=names(SAMPLERS),
        default=list(SAMPLERS),
        metavar="S,...",
        help=f"which, of {', '.join(SAMPLERS)} (all)",
    )
    parser.add_argument("--out", default="grammarlm-parallel", metavar="FOLDER", help="where figures and report go")
    parser.set_defaults(command=run_parallel)


def add_drafts(benches: Any) -> None:
    parser = benches.add_parser(
        "drafts",
        help="drafters side by side, on the embedded models",
        description="Forwards, accepted tokens and times of each drafter on the embedded model's tasks, with the grammar of the "
        "answers and without it. Every answer is compared with the one without a draft. Drafters of other packages, and masks of "
        "draft trees by other engines, where they are installed.",
    )
    known = ("auto", *DRAFTERS, "draft", "heads", "features")
    tasks = ("record", "edit", "repeat", "agent", "call", "calls", "sql", "arithmetic", "list", "plain")
    parser.add_argument(
        "--drafters",
        type=names(known),
        default=list(known),
        metavar="D,...",
        help=f"which, of {', '.join(known)} (all)",
    )
    parser.add_argument(
        "--tasks",
        type=names(tasks),
        default=["record", "edit", "agent", "calls", "sql", "list", "plain"],
        metavar="T,...",
        help=f"which, of {', '.join(tasks)}",
    )
    peers = ("lookup", "assisted", "universal", "arctic")
    parser.add_argument(
        "--peers",
        type=names((*peers, "none")),
        default=list(peers),
        metavar="P,...",
        help=f"rows of transformers (look-up, assisted, another vocabulary) and arctic-inference: {', '.join(peers)}, none (all)",
    )
    parser.add_argument(
        "--tokenizers",
        type=lambda text: text.split(","),
        default=["tiny"],
        metavar="T,...",
        help="for the masks of draft trees: folders with tokenizer.json, or tiny (tiny)",
    )
    parser.add_argument("--count", type=positive(int), default=40, metavar="N", help="prompts a task (40)")
    parser.add_argument("--out", default="grammarlm-drafts", metavar="FOLDER", help="where figures and report go")
    parser.set_defaults(command=run_drafts)


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
    parser.add_argument(
        "--url",
        action="append",
        metavar="[NAME=]URL",
        help="an OpenAI-compatible server instead, with the model of that name: http://host:8000/v1; several are rows of one table",
    )
    parser.add_argument(
        "--completions", action="store_true", help="of a server: the prompt as plain text, not as a chat"
    )
    parser.add_argument("--sample", type=positive(int), metavar="N", help="a mixed sample of so many schemas (all)")
    parser.add_argument("--split", metavar="FILE", help="only the schemas whose names stand in this file, one a line")
    parser.add_argument(
        "--shots", type=int, default=2, metavar="N", help="examples in a prompt (2); scripted has no prompt"
    )
    parser.add_argument("--temperature", type=float, default=0.0, metavar="T", help="0 is greedy (0)")
    parser.add_argument("--samples", type=positive(int), default=1, metavar="N", help="texts for each schema (1)")
    parser.add_argument("--seed", type=int, default=0, metavar="N")
    parser.add_argument("--max-tokens", type=positive(int), default=512, metavar="N", help="of a text (512)")
    parser.set_defaults(command=run_jsonschemabench)
    add_common(parser, "grammarlm-jsonschemabench", GENERATING_ENGINES, limit=40.0, tokenizer=None)


def add_common(
    parser: argparse.ArgumentParser,
    folder: str,
    engines: str = ENGINES,
    limit: float = 10.0,
    tokenizer: str | None = "tiny",
) -> None:
    known = engines.split(",")
    parser.add_argument(
        "--engines", type=names(known), default=["grammarlm"], metavar="E,...", help=f"which, of {engines} (grammarlm)"
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


def run_drafts(options: argparse.Namespace) -> int:
    from .drafts.report import run

    return run(options)


def run_infilling(options: argparse.Namespace) -> int:
    from .infill.bench import run

    return run(options)


def run_parallel(options: argparse.Namespace) -> int:
    from .parallel.bench import run

    return run(options)


def run_maskbench(options: argparse.Namespace) -> int:
    from .verdicts.maskbench import run

    return run(options)


def run_jsonschemabench(options: argparse.Namespace) -> int:
    from .generation.jsonschemabench import run

    return run(options)


def run_schema_suite(options: argparse.Namespace) -> int:
    from .verdicts.schema_suite import run

    return run(options)
