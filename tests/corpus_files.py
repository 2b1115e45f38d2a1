"""The cases of a file in tests/corpus, and other TOML files."""

import sys
from pathlib import Path
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


def read_toml(path: Path) -> dict[str, Any]:
    return tomllib.loads(path.read_text("utf-8"))


def corpus(name: str) -> list[dict[str, Any]]:
    return read_toml(Path(__file__).parent / "corpus" / f"{name}.toml")["case"]
