"""Names of the kernels' constants: each is given once, and is an integer in a kernel."""

import ast
from collections import Counter
from pathlib import Path

import numba
import pytest

import grammarlm.kernels.cpu.jit
import grammarlm.layout
from grammarlm.layout.constants import Constants
from grammarlm.layout.table import Arena

FOLDER = Path(grammarlm.kernels.cpu.__file__).parent
LAYOUT = Path(grammarlm.layout.__file__).parent
SOURCES = sorted([*FOLDER.rglob("*.py"), *LAYOUT.glob("*.py")])


def names_of(path: Path) -> Counter[str]:
    """What a module assigns at its top, and how often."""
    found: Counter[str] = Counter()
    for statement in ast.parse(path.read_text(encoding="utf-8")).body:
        targets = statement.targets if isinstance(statement, ast.Assign) else []
        found.update(node.id for target in targets for node in ast.walk(target) if isinstance(node, ast.Name))
    return found


def test_no_constant_is_given_twice() -> None:
    modules = {path.relative_to(FOLDER.parents[1]).as_posix(): names_of(path) for path in SOURCES}
    assert "LOOPS" in modules["layout/stack.py"]
    assert [(name, twice) for name, names in modules.items() for twice, n in names.items() if n > 1] == []


def test_constants_are_plain_integers_to_numba() -> None:
    """A member of another IntEnum has a type of its own there, which some versions do not take as an index."""

    @numba.njit
    def last(array):  # type: ignore[no-untyped-def]
        return array[Arena.LENGTH - 1] + Arena.NEXT, Arena.CLASSES

    assert last(tuple(range(Arena.LENGTH))) == (Arena.LENGTH - 1, Arena.CLASSES)
    assert last.nopython_signatures[0].return_type == numba.types.UniTuple(numba.int64, 2)


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_kernels_have_no_other_enums(path: Path) -> None:
    if path.stem == Constants.__module__.rpartition(".")[2]:
        return
    tree = ast.parse(path.read_text(encoding="utf-8"))
    assert not [node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module == "enum"]
