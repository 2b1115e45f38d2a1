"""Names of the kernels' constants: one that is given twice means two things, and nobody says so."""

import ast
from collections import Counter
from pathlib import Path

import grammarlm.kernels.cpu

FOLDER = Path(grammarlm.kernels.cpu.__file__).parent


def names_of(path: Path) -> Counter[str]:
    """What a module assigns at its top, and how often."""
    found: Counter[str] = Counter()
    for statement in ast.parse(path.read_text(encoding="utf-8")).body:
        targets = statement.targets if isinstance(statement, ast.Assign) else []
        found.update(node.id for target in targets for node in ast.walk(target) if isinstance(node, ast.Name))
    return found


def test_no_constant_is_given_twice() -> None:
    modules = {path.name: names_of(path) for path in FOLDER.glob("*.py")}
    assert "LOOPS" in modules["places.py"]
    assert [(name, twice) for name, names in modules.items() for twice, n in names.items() if n > 1] == []
