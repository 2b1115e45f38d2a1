"""The grammar files in lark's package."""

import importlib.resources
import importlib.util
from pathlib import Path


def shipped(name: str) -> str:
    """The text of a file, read without importing lark if that is a folder: the import takes 0.1 s."""
    spec = importlib.util.find_spec("lark")
    for folder in (spec and spec.submodule_search_locations) or ():
        path = Path(folder, "grammars", name)
        if path.is_file():
            return path.read_text(encoding="utf-8")
    return importlib.resources.files("lark.grammars").joinpath(name).read_text(encoding="utf-8")
