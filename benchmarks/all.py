"""All benchmarks, one after another; each puts its tables into a page of docs/figures.

usage: python -m benchmarks.all [--only NAME ...]     (make bench)
"""

import argparse
import subprocess
import sys

NAMES = (
    "apply_mask_cpu",
    "regex_masks",
    "start",
    "grammar_masks",
    "grammar_compiles",
    "grammar_threads",
    "tool_calls",
    "tool_steps",
    "json_schemas",
    "device_automaton",
    "sampling_methods",
    "items",
    "generate",
    "answers",
    "server",
    "suffix_store",
    "drafts",
    "canvases",
    "samplers",
    "front_page",
)


def run(name: str) -> int:
    return subprocess.run([sys.executable, "-m", f"benchmarks.{name}"], check=False).returncode


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", default=list(NAMES), choices=NAMES)
    failed = [name for name in parser.parse_args().only if run(name)]
    print(
        f"failed: {', '.join(failed)}"
        if failed
        else "done; figures are in benchmarks/results/, tables in docs/figures/"
    )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
