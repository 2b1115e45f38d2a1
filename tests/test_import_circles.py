"""No module of the package imports another in a circle, not inside a function either, nor for annotations.

Who needs a little of an owner is not given the owner, but what it reads.
"""

import ast
import functools
import graphlib
from importlib.util import resolve_name
from pathlib import Path

import grammarlm

ROOT = Path(grammarlm.__file__).parent


def module_of(path: Path) -> str:
    parts = path.relative_to(ROOT.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_of(path): path for path in sorted(ROOT.rglob("*.py"))}


def parsed(path: Path) -> ast.AST:
    """Python 3.11 counts the depth of all threads' trees together, and raises SystemError where two are made at once."""
    for _ in range(10):
        try:
            return ast.parse(path.read_text())
        except SystemError:
            continue
    raise AssertionError(path)


def imports_of(name: str) -> set[str]:
    """The modules of the package that a module imports anywhere."""
    path = MODULES[name]
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    found: set[str] = set()
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.ImportFrom):
            base = resolve_name("." * node.level + (node.module or ""), package) if node.level else node.module or ""
            for alias in node.names:
                full = f"{base}.{alias.name}"
                found |= {full} if full in MODULES else {base} & MODULES.keys()
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names} & MODULES.keys()
    return found - {name}


@functools.cache
def every_import() -> dict[str, set[str]]:
    return {name: imports_of(name) for name in MODULES}


def circle_in(graph: dict[str, set[str]]) -> list[str]:
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as error:
        found: list[str] = error.args[1]
        return found
    return []


def test_no_circles() -> None:
    assert circle_in(every_import()) == []


def test_a_circle_would_be_found() -> None:
    graph = {**every_import(), "grammarlm.errors": {"grammarlm.masks.matcher"}}
    assert circle_in(graph)


def test_imports_for_annotations_count() -> None:
    assert "grammarlm.masks.canvas.json.unrolled_view" in imports_of("grammarlm.masks.canvas.json.rows")
