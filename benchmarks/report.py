"""What every benchmark writes: figures as JSON and Markdown, with machine, versions, date and command beside them."""

import datetime
import json
import os
import platform
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import numpy as np

RESULTS = Path(__file__).parent / "results"
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
    """benchmarks/results/NAME.json and NAME.md, made by the module of that name or another; the Markdown is printed too."""
    RESULTS.mkdir(exist_ok=True)
    command = "python -m " + " ".join(["benchmarks." + (module or name), *sys.argv[1:]])
    facts = {
        "date": datetime.date.today().isoformat(),
        "machine": machine(),
        "versions": versions(),
        "command": command,
    }
    (RESULTS / f"{name}.json").write_text(json.dumps({**facts, **figures}, indent=1) + "\n")
    packages = ", ".join(f"{k} {v}" for k, v in facts["versions"].items())
    text = f"# {title}\n\n{facts['date']}, {facts['machine']}; {packages}. Command: `{command}`\n\n{markdown}\n"
    (RESULTS / f"{name}.md").write_text(text)
    print(markdown)
