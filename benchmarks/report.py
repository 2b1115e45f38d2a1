"""What every benchmark writes: figures as JSON, and tables into docs/figures, with machine, versions, date and command."""

import datetime
import json
import os
import platform
import re
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import numpy as np

RESULTS = Path(__file__).parent / "results"
FIGURES = Path(__file__).parent.parent / "docs" / "figures"
ROOT = FIGURES.parent.parent
TEXTS = (ROOT / "README.md", ROOT / "CHANGELOG.md", FIGURES.parent / "reference" / "support.md")
PACKAGES = ("numpy", "numba", "torch", "transformers", "triton", "llguidance", "xgrammar", "outlines-core")


def machine() -> str:
    """The processor and how many of its cores we have."""
    name = platform.processor() or platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        lines = [
            line.partition(":")[2].strip() for line in cpuinfo.read_text().splitlines() if line.startswith("model name")
        ]
        name = lines[0] if lines else name
    return f"{name}, {os.cpu_count()} cores, Python {platform.python_version()}"


def versions() -> dict[str, str]:
    found = {}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def quantiles(values) -> dict[str, float]:
    """Average and tails of a list of times."""
    values = np.asarray(values, float)
    if not len(values):
        return {}
    points = {"p50": 50, "p90": 90, "p99": 99, "p99.9": 99.9}
    return {
        "avg": float(values.mean()),
        **{name: float(np.percentile(values, at)) for name, at in points.items()},
        "max": float(values.max()),
    }


def table(header: list[str], rows: list[list[str]]) -> str:
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    return "\n".join(lines + ["| " + " | ".join(map(str, row)) + " |" for row in rows])


def write(name: str, title: str, figures: dict, markdown: str, module: str = "") -> None:
    """benchmarks/results/NAME.json, and the Markdown as `show` puts it; made by the module of that name or another."""
    command = "python -m " + " ".join(["benchmarks." + (module or name), *sys.argv[1:]])
    facts = {
        "date": datetime.date.today().isoformat(),
        "machine": machine(),
        "versions": versions(),
        "command": command,
    }
    RESULTS.mkdir(exist_ok=True)
    if figures:
        (RESULTS / f"{name}.json").write_text(json.dumps({**facts, **figures}, indent=1) + "\n")
    packages = ", ".join(f"{k} {v}" for k, v in facts["versions"].items())
    show(
        name,
        f"# {title}\n\n{facts['date']}, {facts['machine']}; {packages}. Command: `{command}`\n\n{markdown}\n",
    )
    print(markdown)


def show(name: str, report: str) -> None:
    """Puts a report between its markers in a page of docs/figures; one that no page has becomes benchmarks/results/NAME.md."""
    marker, end = f"<!-- figures: {name} -->", "<!-- end -->"
    for page in FIGURES.glob("*.md"):
        before, found, after = page.read_text(encoding="utf-8").partition(marker)
        if found:
            filled = f"{before}{marker}\n{as_section(report)}\n{end}{after.partition(end)[2]}"
            page.write_text(filled, encoding="utf-8")
            return
    (RESULTS / f"{name}.md").write_text(report, encoding="utf-8")


def fill(name: str, words: str) -> None:
    """Puts words between their markers in the texts that say one figure."""
    marker, end = f"<!-- figures: {name} -->", "<!-- end -->"
    for page in TEXTS:
        before, found, after = page.read_text(encoding="utf-8").partition(marker)
        if found:
            page.write_text(f"{before}{marker}{words}{end}{after.partition(end)[2]}", encoding="utf-8")


def as_section(report: str) -> str:
    """A report as a part of a page: its title is a heading of the second level, and what is below it one level further down."""
    body = re.sub(r"^(#+ )", r"#\1", report.strip(), flags=re.MULTILINE)
    return re.sub(r"\n{3,}", "\n\n", body)
