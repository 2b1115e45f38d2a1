"""A wheel, installed as a user would, in fresh environments: `python -m tests.wheel.check WHEEL [--short]` (`make wheel-test`).

Each Python from 3.10 on that this machine has gets the newest dependencies and, where these were made for it, the lowest. There is
no numba in them, nor torch: first.py compiles a grammar of each kind with empty caches, then the tests of the host half run. One
environment has torch, and runs the README's examples. --short: this Python only.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
TESTS = ["pytest>=8", "pytest-xdist>=3.5", "hypothesis>=6.100", "jsonschema[format-nongpl]>=4.20", "interegular>=0.3.1"]
LOWEST = (10, 11)  # the Pythons for which the lowest versions have wheels
EXAMPLES = (
    "import sys; from tests.documents import ROOT, run_examples; run_examples(ROOT / 'README.md'); "
    "assert 'numba' not in sys.modules; print('the examples of the README run')"
)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.wheel.check", description=__doc__)
    parser.add_argument("wheel", type=Path)
    parser.add_argument("--short", action="store_true", help="this Python, newest versions")
    options = parser.parse_args()
    pythons = {sys.version_info.minor: sys.executable} if options.short else dict(sorted(interpreters()))
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        copy_tests(folder / "copy")
        for minor, python in pythons.items():
            for versions in ["newest", *(["lowest"] if minor in LOWEST and not options.short else [])]:
                check_host_half(folder, python, options.wheel.resolve(), f"3.{minor} {versions}")
        check_examples(folder, sys.executable, options.wheel.resolve())


def interpreters() -> Iterator[tuple[int, str]]:
    """(minor version, path) of each Python 3.10 or newer."""
    known = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"), "versions")
    for minor in range(10, 20):
        # What the PATH has may be a shim that runs only for a version that was chosen.
        for found in (shutil.which(f"python3.{minor}"), *map(str, sorted(known.glob(f"3.{minor}.*/bin/python")))):
            if found and subprocess.run([found, "-c", "import venv"], capture_output=True, check=False).returncode == 0:
                yield minor, found
                break


def copy_tests(to: Path) -> None:
    """The tests and what they read, without the package: they must find the installed one."""
    to.mkdir()
    for name in ("tests", "benchmarks", "training", "examples", "docs"):
        shutil.copytree(ROOT / name, to / name, ignore=shutil.ignore_patterns("__pycache__"))
    for path in [*ROOT.glob("*.md"), ROOT / "pyproject.toml", ROOT / "Makefile"]:
        shutil.copy(path, to)


def host_tests() -> list[str]:
    """The tests of `make lowest`."""
    lines = (ROOT / "Makefile").read_text(encoding="utf-8").replace("\\\n", " ").splitlines()
    (line,) = [line for line in lines if line.startswith("CORE := ")]
    return line.split()[2:]


def check_host_half(folder: Path, python: str, wheel: Path, name: str) -> None:
    lowest = name.endswith("lowest")
    constraints = [f"--constraint={ROOT / 'constraints-lowest.txt'}"] if lowest else []
    here = environment(folder / name.replace(" ", "-"), python, [*constraints, str(wheel), *TESTS])
    absent = run(here, ["-c", "import importlib.util as u; print([n for n in ('numba', 'torch') if u.find_spec(n)])"])
    assert absent.strip() == "[]", f"{name}: {absent} came with the wheel"
    print(name, run(here, [str(Path(__file__).with_name("first.py"))], cwd=folder), sep="\n", flush=True)
    run(here, ["-m", "pytest", "-q", "-p", "no:cacheprovider", *host_tests()], cwd=folder / "copy")
    print(f"{name}: the tests of the host half pass, {installed_size(here) >> 20} MB installed", flush=True)


def check_examples(folder: Path, python: str, wheel: Path) -> None:
    constraints = f"--constraint={ROOT / 'constraints.txt'}"
    here = environment(folder / "torch", python, [constraints, f"{wheel}[torch]", "pydantic>=2.6"])
    print(run(here, ["-c", EXAMPLES], cwd=folder / "copy"), end="", flush=True)


def environment(folder: Path, python: str, packages: list[str]) -> Path:
    """A new environment; its caches are empty and of its own."""
    subprocess.run([python, "-m", "venv", str(folder)], check=True)
    install = [
        str(folder / "bin" / "python"),
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        "--no-compile",
    ]
    subprocess.run([*install, *packages], check=True)
    return folder


def run(here: Path, arguments: list[str], cwd: Path | None = None) -> str:
    variables = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "GRAMMARLM_"))}
    variables |= {"GRAMMARLM_CACHE": str(here / "cache"), "GRAMMARLM_KERNELS": "shipped"}
    if data := os.environ.get("GRAMMARLM_DATA"):
        variables["GRAMMARLM_DATA"] = data
    command = [str(here / "bin" / "python"), *arguments]
    done = subprocess.run(command, cwd=cwd, env=variables, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(command)}\n{done.stdout[-6000:]}{done.stderr[-3000:]}")
    return done.stdout


def installed_size(here: Path) -> int:
    """Bytes of the wheel and what it depends on, but for pip and what the tests need."""
    names = (
        "numpy",
        "lark",
        "regex",
        "referencing",
        "rich",
        "jsonschema_specifications",
        "grammarlm",
        "rpds",
        "attr",
        "attrs",
    )
    names += ("numpy.libs", "pygments", "markdown_it", "mdurl", "typing_extensions.py")
    (packages,) = here.glob("lib/python3*/site-packages")
    return sum(
        file.stat().st_size
        for name in names
        for file in ([packages / name] if name.endswith(".py") else (packages / name).rglob("*"))
        if file.is_file()
    )


if __name__ == "__main__":
    main()
