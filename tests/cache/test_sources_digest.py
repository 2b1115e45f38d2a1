"""What is kept on the disk is made anew when any source that makes it has changed."""

import ast
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.counts import tiers

PACKAGE = Path(__file__).parents[2] / "grammarlm"
KERNELS = ("kernels/cpu", "layout")
# The name of each kind of file, and the sources that it must change with.
KEYS = {
    "grammarlm.kernels.cpu.jit.kernel_folder": KERNELS,
    "grammarlm.grammars.regular.unicode_cache._versions": ("grammars", "layout"),
    "grammarlm.masks.machines.json.formats._fingerprint": ("grammars", "layout", "masks/machines/json/formats.py"),
}
EDIT_EACH = """
import importlib, json, sys
from pathlib import Path
from grammarlm import cache
keys, each = json.loads(sys.argv[1]), sys.argv[2] == "each"
functions = {}
for name in keys:
    module, function = name.rsplit(".", 1)
    functions[name] = getattr(importlib.import_module(module), function)

def names(chosen):
    for function in (*functions.values(), cache.sources_digest):
        if hasattr(function, "cache_clear"):
            function.cache_clear()
    return {name: str(f()) for name, f in functions.items() if name in chosen}

def is_below(source, packages):
    return any(source == package or source.startswith(package + "/") for package in packages)

before, same, count, folders = names(keys), [], 0, set()
assert names(keys) == before
root = cache.PACKAGE
for path in sorted(root.rglob("*.py")):
    source = path.relative_to(root).as_posix()
    of_it = [name for name, packages in keys.items() if is_below(source, packages)]
    if not of_it or not each and path.parent in folders:
        continue
    folders.add(path.parent)
    count += 1
    path.write_bytes(path.read_bytes() + b"# edited\\n")
    after = names(of_it)
    same += [(source, name) for name in of_it if after[name] == before[name]]
    before |= after
print(json.dumps([count, same]))
"""


@tiers("which, most", ("one a folder", 30), ("each", 200))
def test_an_edit_is_another_name(which: str, most: int, tmp_path: Path) -> None:
    assert edited(which, tmp_path) > most


def edited(which: str, tmp_path: Path) -> int:
    """Edits sources in a copy, one by one, and asks for the names; how many they were."""
    shutil.copytree(PACKAGE, tmp_path / "grammarlm", ignore=shutil.ignore_patterns("__pycache__", "tiny"))
    done = subprocess.run(
        [sys.executable, "-c", EDIT_EACH, json.dumps(KEYS), which],
        cwd=tmp_path,
        env={"PYTHONPATH": str(tmp_path), "GRAMMARLM_CACHE": str(tmp_path / "cache"), "PATH": ""},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    count, same = json.loads(done.stdout)
    assert same == []
    return int(count)


@pytest.mark.parametrize(
    "packages", [KERNELS, ("grammars", "layout"), ("grammars", "layout", "masks", "vocab", "kernels")]
)
def test_what_they_import_is_among_them(packages: tuple[str, ...]) -> None:
    """But for what has no part in what is made: errors, notices, the collector, where files lie and how they are written. Tables of
    grammars are made without a vocabulary; that of special names is in annotations."""
    others = {"__init__", "errors", "notices", "cache", "files", "version", "collector", "array_files"}
    others |= {"vocab"} if packages == ("grammars", "layout") else set()
    for package in packages:
        path = PACKAGE / package
        for source in [path] if path.is_file() else path.rglob("*.py"):
            for imported in _imports(source):
                is_among = any(imported == p.removesuffix(".py") or imported.startswith(p + "/") for p in packages)
                assert is_among or imported.split("/")[0] in others or imported in packages, (source, imported)


def _imports(source: Path) -> set[str]:
    """Modules and folders of the package that a source names, as `kernels/cpu/table`."""
    here = source.relative_to(PACKAGE).parent.parts
    found = set()
    for node in ast.walk(ast.parse(source.read_text(encoding="utf-8"))):
        if not isinstance(node, ast.ImportFrom):
            continue
        module = (node.module or "").split(".") if node.module else []
        if node.level:
            parts = [*here[: len(here) - node.level + 1], *module]
        elif module[:1] == ["grammarlm"]:
            parts = module[1:]
        else:
            continue
        for name in [None] if PACKAGE.joinpath(*parts).with_suffix(".py").exists() else [a.name for a in node.names]:
            inner = "/".join([*parts, *([name] if name else [])])
            found.add(
                inner
                if (PACKAGE / f"{inner}.py").exists() or (PACKAGE / inner).is_dir()
                else "/".join(parts) or "__init__"
            )
    return found
