"""All benchmarks, one after another, then their tables into the pages of docs/figures.

usage: python -m benchmarks.all [--only NAME ...]     (make bench; without a name after --only the tables alone)
"""

import argparse
import re
import subprocess
import sys
from pathlib import Path

from .report import RESULTS

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
FIGURES = Path(__file__).parent.parent / "docs" / "figures"


def splice() -> None:
    """Puts the tables of benchmarks/results/NAME.md between the markers of the pages in docs/figures."""
    for page in sorted(FIGURES.glob("*.md")):
        text = page.read_text(encoding="utf-8")
        for name in re.findall(r"<!-- figures: (\w+) -->", text):
            result = RESULTS / f"{name}.md"
            if result.exists():
                marker, body = f"<!-- figures: {name} -->", as_section(result.read_text(encoding="utf-8"))
                filled = f"{marker}\n{body}\n<!-- end -->"
                text = re.sub(re.escape(marker) + r".*?<!-- end -->", lambda _, f=filled: f, text, flags=re.DOTALL)
        page.write_text(text, encoding="utf-8")


def as_section(result: str) -> str:
    """A result as a part of a page: its title is a heading of the second level, and what is below it one level further down."""
    body = re.sub(r"^(#+ )", r"#\1", result.strip(), flags=re.MULTILINE)
    return re.sub(r"\n{3,}", "\n\n", body)


def run(name: str) -> int:
    return subprocess.run([sys.executable, "-m", f"benchmarks.{name}"], check=False).returncode


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="*", default=list(NAMES), choices=NAMES)
    failed = [name for name in parser.parse_args().only if run(name)]
    splice()
    print(f"failed: {', '.join(failed)}" if failed else "done; tables are in benchmarks/results/ and docs/figures/")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
