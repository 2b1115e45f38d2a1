"""The tables of a file in tests/corpus, and other TOML files."""

import sys
from functools import cache
from pathlib import Path
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


def read_toml(path: Path) -> dict[str, Any]:
    return tomllib.loads(path.read_text("utf-8"))


@cache
def tables(name: str) -> dict[str, Any]:
    """All of a file in tests/corpus."""
    return read_toml(Path(__file__).parent / "corpus" / f"{name}.toml")


def corpus(name: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = tables(name)["case"]
    return found


def raw(text: str) -> bytes:
    """Bytes that a file has as the characters of their numbers."""
    return text.encode("latin-1")
