"""All benchmarks, one after another, then their tables into README.md.

usage: python -m benchmarks.all [--only NAME ...]     (make bench)
"""

import argparse
import re
import subprocess
import sys
from pathlib import Path

NAMES = (
    "apply_mask_cpu",
    "regex_masks",
    "start",
    "grammar_masks",
    "grammar_compiles",
    "grammar_threads",
    "json_schemas",
    "device_automaton",
    "sampling_methods",
    "items",
    "generate",
)
ROOT = Path(__file__).parent.parent


def splice() -> None:
    """Puts the tables of benchmarks/results/NAME.md between README's markers."""
    readme = ROOT / "README.md"
    text = readme.read_text(encoding="utf-8")
    for name in re.findall(r"<!-- figures: (\w+) -->", text):
        result = ROOT / "benchmarks" / "results" / f"{name}.md"
        if result.exists():
            body = re.sub(r"^# (.*)", r"### \1", result.read_text(encoding="utf-8").strip())
            body = re.sub(r"\]\(([\w-]+\.png)\)", r"](benchmarks/results/\1)", body)
            marker = f"<!-- figures: {name} -->"
            pattern = re.escape(marker) + r".*?<!-- end -->"
            text = re.sub(pattern, lambda _, b=body, m=marker: f"{m}\n{b}\n<!-- end -->", text, flags=re.DOTALL)
    readme.write_text(text, encoding="utf-8")


def run(name: str) -> int:
    return subprocess.run([sys.executable, "-m", f"benchmarks.{name}"], check=False).returncode


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="*", default=list(NAMES), choices=NAMES)
    failed = [name for name in parser.parse_args().only if run(name)]
    splice()
    print(f"failed: {', '.join(failed)}" if failed else "done; tables are in benchmarks/results/ and README.md")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
