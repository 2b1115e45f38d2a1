"""Samplers of diffusion models: `grammarlm bench parallel` and `grammarlm bench infill`, into docs/figures/canvases.md.

usage: python -m benchmarks.samplers [--parts parallel infill] [--tasks ...] [--count N] [--steps N,...]

    parallel   all samplers on tasks whose joint law is known, by enumeration
    infill     the same on the embedded diffusion model: right answers and the time of the canvas, by steps
"""

import argparse
import json
import shutil
import tempfile
from pathlib import Path

from benchmarks.report import FIGURES, write
from grammarlm.bench.arguments import add_infilling, add_parallel


def run(add, part: str, asked: list[str]) -> None:
    """One command of `grammarlm bench`."""
    parser = argparse.ArgumentParser()
    add(parser.add_subparsers())
    with tempfile.TemporaryDirectory() as folder:
        options = parser.parse_args([part, *asked, "--out", folder])
        options.command(options)
        figures = json.loads((Path(folder) / "figures.json").read_text(encoding="utf-8"))
        title, _, report = (Path(folder) / "report.md").read_text(encoding="utf-8").partition("\n\n")
        for picture in Path(folder).glob("*.png"):
            shutil.copy(picture, FIGURES / picture.name)
    write(part, title.removeprefix("# "), {"figures": figures}, report, module="samplers")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parts", nargs="+", default=["parallel", "infill"])
    parser.add_argument("--tasks")
    parser.add_argument("--samplers")
    parser.add_argument("--count")
    parser.add_argument("--steps")
    options = parser.parse_args()
    common = [
        word for name in ("tasks", "samplers") if (given := getattr(options, name)) for word in (f"--{name}", given)
    ]
    if "parallel" in options.parts:
        run(add_parallel, "parallel", common)
    if "infill" in options.parts:
        own = [
            word for name in ("count", "steps") if (given := getattr(options, name)) for word in (f"--{name}", given)
        ]
        run(add_infilling, "infill", common + own)


if __name__ == "__main__":
    main()
