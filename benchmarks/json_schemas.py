"""What `grammarlm bench` reports, with pictures, in docs/figures: MaskBench, the JSON Schema Test Suite, JSONSchemaBench.

usage: python -m benchmarks.json_schemas [--every N] [--peers-every N] [--sample N] [--only PART ...]
                                         [--jobs N] [--engines E,...] [--tokenizer T]

    maskbench      all schemas, grammarlm and llguidance; an hour or less on two cores, nothing else running
    peers          a sample, with xgrammar and outlines, which take minutes for some schemas
    suite          the official suite, drafts 2020-12 and 7
    scripted       JSONSchemaBench with a model that knows the answer, all schemas, grammarlm and llguidance; half an hour
    scripted_peers the same, 500 schemas, every engine that is installed
    tiny           JSONSchemaBench with the embedded model, 500 schemas that fit

$GRAMMARLM_DATA has maskbench/, json-schema-test-suite/ and tokenizers/llama3_1/.
"""

import argparse
import os
import shutil
import sys
import tempfile
from pathlib import Path

from benchmarks import front_page
from benchmarks.report import FIGURES, RESULTS, show
from benchmarks.schemas import pictures, suite
from grammarlm.bench.arguments import ENGINES
from grammarlm.cli import main as grammarlm

PARTS = ("maskbench", "peers", "suite", "scripted", "scripted_peers", "tiny")
OTHERS = "benchmarks.schemas.engines:Formatron,benchmarks.schemas.engines:Grid,benchmarks.schemas.llama_cpp:LlamaCpp"
GENERATING_ENGINES = f"{ENGINES},{OTHERS},none"


def run(name: str, command: str, *given: str) -> int:
    """One run of `grammarlm bench`, or of the suite: figures into results/NAME.json, report and picture into docs/figures."""
    with tempfile.TemporaryDirectory() as out:
        code = (
            suite.main([*given, "--out", out])
            if command == "suite"
            else grammarlm(["bench", command, *given, "--out", out])
        )
        if code:
            return code
        report = (Path(out) / "report.md").read_text(encoding="utf-8")
        shown = " ".join(Path(each).name if each.startswith("/") else each for each in given)
        said = (
            f"python -m benchmarks.schemas.suite {shown}"
            if command == "suite"
            else f"grammarlm bench {command} {shown}"
        )
        report = report.replace("\n\n", f"\n\nCommand: `{said}`\n\n", 1)
        pictures.draw(Path(out), FIGURES / f"{name}.png")
        show(name, f"{report}\n![{name}]({name}.png)\n")
        shutil.copy(Path(out) / "figures.json", RESULTS / f"{name}.json")
        if name == "maskbench":
            front_page.main()
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--every", default="1", help="take each N-th schema of MaskBench (1)")
    parser.add_argument("--peers-every", default="80", help="the same for the run with all engines (80)")
    parser.add_argument("--sample", help="schemas of JSONSchemaBench (all for scripted, 500 for the others)")
    parser.add_argument("--jobs", default="2", help="schemas of JSONSchemaBench at a time (2)")
    parser.add_argument(
        "--tokenizer", help="of scripted_peers (llama3_1); with tiny all engines take seconds a schema at most"
    )
    parser.add_argument("--engines", default=GENERATING_ENGINES, help="of scripted_peers (all)")
    parser.add_argument("--limit", default="40", help="seconds for one schema, or one text, of JSONSchemaBench (40)")
    parser.add_argument("--only", nargs="*", default=list(PARTS), choices=PARTS)
    options = parser.parse_args()
    data = os.environ.get("GRAMMARLM_DATA")
    if not data:
        print("GRAMMARLM_DATA does not say where MaskBench, the suite and the tokenizers are", file=sys.stderr)
        return 0  # as the other benchmarks do without what they compare with
    common = ("--tokenizer", f"{data}/tokenizers/llama3_1")
    parts = {
        "maskbench": ("maskbench", f"{data}/maskbench", "--engines", "grammarlm,llguidance", "--every", options.every),
        "peers": ("maskbench", f"{data}/maskbench", "--engines", ENGINES, "--every", options.peers_every),
        "suite": ("suite", f"{data}/json-schema-test-suite", "--engines", "grammarlm,llguidance"),
    }
    two, every = "grammarlm,llguidance", options.engines
    texts = ("jsonschemabench", f"{data}/maskbench", "--jobs", options.jobs, "--limit", options.limit)
    sample = ("--sample", options.sample) if options.sample else ()
    parts |= {
        "scripted": (*texts, "--model", "scripted", "--engines", two, *sample),
        "scripted_peers": (*texts, "--model", "scripted", "--engines", every, *(sample or ("--sample", "500"))),
        "tiny": (*texts, "--model", "tiny", "--engines", f"{two},none", *(sample or ("--sample", "500"))),
    }
    names = {
        "maskbench": "maskbench",
        "peers": "maskbench_peers",
        "suite": "schema_suite",
        "scripted": "jsonschemabench",
    }
    names |= {"scripted_peers": "jsonschemabench_peers", "tiny": "jsonschemabench_tiny"}
    tokenizers = dict.fromkeys(PARTS, common) | {"tiny": ()}
    if options.tokenizer:
        tokenizers["scripted_peers"] = ("--tokenizer", options.tokenizer)
    with_tokenizer = [(*parts[part], *tokenizers[part]) for part in options.only]
    return max([run(names[part], *given) for part, given in zip(options.only, with_tokenizer, strict=True)], default=0)


if __name__ == "__main__":
    sys.exit(main())
