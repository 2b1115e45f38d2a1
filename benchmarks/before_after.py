"""Two checkouts side by side: the same benchmarks in turns, and how the figures of this one compare with those of the other.

usage: python -m benchmarks.before_after --base FOLDER [--suites grammar_masks maskbench ...] [--rounds 2] [--data FOLDER]

FOLDER is another checkout of this project, whose kernels are compiled. Each benchmark runs there and here, round after round, the
second round in the other order, with the caches of each as they are; of each figure the least of its rounds counts. Committed
results of either checkout are left as they were. Ratios: here over there; below 1 this checkout is faster.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from statistics import geometric_mean

from benchmarks.report import table, write

HERE = Path(__file__).parent.parent
# Arguments of each benchmark, and the figures that are times of ours, by their path in its JSON.
SUITES = {
    "grammar_masks": (
        ["--seconds", "1", "--tokenizers", "llama3_1", "--engines", "grammarlm"],
        r"/grammarlm/(compile|compile \+ first mask|first 200|cold|cold mask|warm|warm mask)(/(avg|p50|p99))?$",
    ),
    "generate": (
        ["--models", "tiny", "--batches", "1", "8", "--tokens", "10", "--rounds", "3"],
        r"(grammarlm|generate, constrained|generate, thought and schema)/(outside|ratio)$",
    ),
    "regex_masks": (["--engines", "grammarlm"], r"/grammarlm/.*/(avg|p50|p99)$"),
    "items": (["--searches", "4"], r"(seconds|_ms|milliseconds)\w*$"),
    "maskbench": (["--every", "40"], r"^all/grammarlm[^/]*/[^/]*(mask|compile|step)[^/]*/(avg|quantiles/p(50|99))$"),
}
BAR = 1.05


def figures_of(suite: str, checkout: Path, data: Path) -> dict[str, float]:
    """One run in a checkout."""
    arguments, pattern = SUITES[suite]
    environment = {**os.environ, "PYTHONPATH": str(checkout), "GRAMMARLM_DATA": str(data)}
    with tempfile.TemporaryDirectory() as out:
        if suite == "maskbench":
            tokenizer = ["--tokenizer", str(data / "tokenizers" / "llama3_1")]
            command = [
                "grammarlm",
                "bench",
                suite,
                str(data / suite),
                "--engines",
                "grammarlm",
                *tokenizer,
                "--out",
                out,
            ]
            result, kept = Path(out, "figures.json"), {}
        else:
            command = [f"benchmarks.{suite}"]
            result = checkout / "benchmarks" / "results" / f"{suite}.json"
            pages = [*result.parent.glob("*"), *(checkout / "docs" / "figures").glob("*.md")]
            kept = {path: path.read_bytes() for path in pages if path.is_file()}
        ran = [sys.executable, "-m", *command, *arguments]
        try:
            subprocess.run(ran, cwd=checkout, env=environment, check=True, stdout=subprocess.DEVNULL)
            found = dict(_numbers(json.loads(result.read_text()), ""))
        finally:
            for path, content in kept.items():
                path.write_bytes(content)
    return {path: value for path, value in found.items() if value > 0 and re.search(pattern, path)}


def _numbers(value: object, path: str) -> Iterator[tuple[str, float]]:
    if isinstance(value, dict):
        name = " ".join(str(value[key]) for key in ("model", "batch", "engine", "items", "vocabulary") if key in value)
        for key, inner in value.items():
            yield from _numbers(inner, f"{path}/{name}/{key}".replace("//", "/").lstrip("/"))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _numbers(inner, path if isinstance(inner, dict) else f"{path}/{index}")
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        yield path, float(value)


def compare(suite: str, base: Path, data: Path, rounds: int) -> dict[str, tuple[float, float]]:
    """The least of each figure's rounds, there and here."""
    least: dict[Path, dict[str, float]] = {base: {}, HERE: {}}
    for turn in range(rounds):
        for checkout in (base, HERE) if turn % 2 == 0 else (HERE, base):
            for path, value in figures_of(suite, checkout, data).items():
                least[checkout][path] = min(value, least[checkout].get(path, value))
    return {path: (least[base][path], least[HERE][path]) for path in least[base] if path in least[HERE]}


def kind_of(path: str) -> str:
    """What a figure is of, the cases left out."""
    parts = path.split("/")
    parts = [part for part in parts if part != "quantiles"]
    return " ".join(parts[-2:]) if parts[-1] in ("avg", "p50", "p99") else parts[-1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--base", type=Path, required=True)
    parser.add_argument("--suites", nargs="+", choices=SUITES, default=list(SUITES))
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("GRAMMARLM_DATA", "data")))
    options = parser.parse_args()
    rows, found = [], {}
    for suite in options.suites:
        pairs = compare(suite, options.base.resolve(), options.data.resolve(), options.rounds)
        found[suite] = {path: {"base": one, "here": other} for path, (one, other) in pairs.items()}
        kinds: dict[str, list[tuple[float, str]]] = defaultdict(list)
        for path, (one, other) in pairs.items():
            kinds[kind_of(path)].append((other / one, path))
        for kind, ratios in kinds.items():
            mean, (worst, where) = geometric_mean(ratio for ratio, _ in ratios), max(ratios)
            rows.append(
                [
                    suite,
                    kind,
                    len(ratios),
                    f"{'**' * (mean > BAR)}{mean:.3f}{'**' * (mean > BAR)}",
                    f"{worst:.2f}",
                    where,
                ]
            )
    commits = {
        name: subprocess.run(
            ["git", "describe", "--always"], cwd=folder, capture_output=True, text=True, check=False
        ).stdout.strip()
        for name, folder in (("base", options.base), ("here", HERE))
    }
    text = f"Commit {commits['here']} over {commits['base']}; bold: the mean is above {BAR}.\n\n"
    text += table(["benchmark", "figure", "cases", "geometric mean", "worst", "of"], rows)
    write("before_after", "Figures before and after", {"commits": commits, "figures": found}, text)


if __name__ == "__main__":
    main()
