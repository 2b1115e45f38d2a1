"""The tests of what stands on others' packages, with what a user's `pip install` gets today: `make newest`.

usage: python -m tests.newest [--short] [pytest options]      in an environment that no constraints bind

Says first which versions are others than those of constraints.txt, and again after a failure: one of them is new to this project.
"""

import re
import subprocess
import sys
from importlib.metadata import distributions
from pathlib import Path

ROOT = Path(__file__).parent.parent
ALL = ["decoding", "published", "integrations", "commands"]
SHORT = [
    "decoding/readers",
    "decoding/test_batches.py",
    "published/drafters/test_exits.py",
    "published/drafters/test_other_vocabulary.py",
    "integrations",
    "commands/test_bench_generation.py",
    "commands/test_bench_cli.py",
    "commands/test_generate_cli.py",
]


def main(options: list[str]) -> int:
    found = differing(pinned((ROOT / "constraints.txt").read_text()), installed())
    print(found, flush=True)
    tests = SHORT if "--short" in options else ALL
    options = [option for option in options if option != "--short"]
    run = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *(f"tests/{test}" for test in tests), *options]
    status = subprocess.run(run, cwd=ROOT, check=False).returncode
    if status:
        print(f"FAILED with the newest releases. {found}", flush=True)
    return status


def pinned(constraints: str) -> dict[str, str]:
    return dict(re.findall(r"^([\w-]+)==([^\s;]+)", constraints, re.MULTILINE))


def installed() -> dict[str, str]:
    return {re.sub(r"[-_.]+", "-", one.name).lower(): one.version for one in distributions()}


def differing(pins: dict[str, str], versions: dict[str, str]) -> str:
    """A line for each package whose version here is another than the pinned one; builds (`+cpu`) are alike."""
    lines = [
        f"    {name} {versions[name]}, constraints.txt has {version}"
        for name, version in pins.items()
        if name in versions and versions[name].partition("+")[0] != version
    ]
    if not lines:
        return "No version is another than in constraints.txt."
    return "\n".join(["Other versions than in constraints.txt:", *lines])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
