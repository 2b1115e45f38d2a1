"""The version: of the source tree that the package is imported from, else of the installed package."""

import re
from importlib.metadata import PackageNotFoundError, metadata
from pathlib import Path

SOURCE = Path(__file__).parent.parent / "pyproject.toml"


def version() -> str:
    """A source tree's own pyproject.toml comes first: another version may be installed as well."""
    try:
        text = SOURCE.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        text = ""
    found = re.search(r'^name = "grammarlm"\nversion = "([^"]+)"$', text, re.MULTILINE)
    if found:
        return found[1]
    try:
        return metadata("grammarlm")["Version"]
    except PackageNotFoundError:
        return "0+unknown"
