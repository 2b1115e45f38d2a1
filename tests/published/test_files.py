"""A published system is one file that a reader can take in at once: at most 90 lines, with a head that says what it is."""

import ast
from pathlib import Path

import pytest

from grammarlm import published

ROOT = Path(published.__file__).parent


@pytest.mark.parametrize("path", sorted(ROOT.rglob("*.py")), ids=lambda path: str(path.relative_to(ROOT)))
def test_a_system_is_a_short_file_with_a_head(path) -> None:
    source = path.read_text(encoding="utf-8")
    assert len(source.splitlines()) <= 90
    assert ast.get_docstring(ast.parse(source))
