"""Grammars and texts that the benchmarks of grammars measure: `load(name)` gives a Corpus.

The texts are stored, so that every run reads the same ones; `python -m benchmarks.corpora` wrote them, by the seeded generators
in this folder, and `generate` makes longer ones. The grammars json, sql, c_like and arithmetic are written by hand, `settings` is
written by device_settings.py, and `python` is the file that lark ships.
"""

import json
import random
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from . import arithmetic_expressions, c_like_programs, device_settings, json_documents, python_files, sql_scripts

HERE = Path(__file__).parent
GENERATORS = {
    "json": json_documents.text,
    "sql": sql_scripts.text,
    "c_like": c_like_programs.text,
    "python": python_files.text,
    "arithmetic": arithmetic_expressions.text,
    "settings": device_settings.text,
}
SIZES = (1000, 1500, 2500, 4000, 6000)  # characters of the generated texts


@dataclass(frozen=True)
class Corpus:
    name: str
    generate: Callable[[random.Random, int], str]

    @cached_property
    def texts(self) -> list[str]:
        files = sorted((HERE / "texts" / self.name).iterdir())
        return [file.read_text(encoding="utf-8") for file in files]

    def grammar(self, notation: str, engine: str = "") -> str:
        """The grammar in a notation: "lark", "gbnf" or "ebnf"; an engine that is faster with another spelling has its own file."""
        own = HERE / f"{self.name}.{engine}.{notation}"
        if own.exists():
            return own.read_text(encoding="utf-8")
        if self.name == "python":
            import lark

            return (Path(lark.__file__).parent / "grammars" / "python.lark").read_text(encoding="utf-8")
        return (HERE / f"{self.name}.{notation}").read_text(encoding="utf-8")

    @cached_property
    def oracle(self) -> Callable[[str], object]:
        """Raises where the text is not valid; shares no code with any engine: the json module, or stock lark's LALR parser."""
        if self.name == "json":
            return json.loads
        import lark

        if self.name == "python":
            from lark.indenter import PythonIndenter

            return lark.Lark(self.grammar("lark"), parser="lalr", start="file_input", postlex=PythonIndenter()).parse
        return lark.Lark(self.grammar("lark"), parser="lalr").parse


def load(name: str) -> Corpus:
    return Corpus(name, GENERATORS[name])
