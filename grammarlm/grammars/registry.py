"""The kinds of grammars by name, for everything that finds one by its name: `gl.<name>`, saved constraints, the command line.

A new notation is one file with its class, and one line here. A class that is not a dataclass of plain fields says in
SAVED and saved() what is written of it (items/tokens.py).
"""

from __future__ import annotations

import os.path
from functools import cache
from importlib import import_module
from typing import NamedTuple


class Kind(NamedTuple):
    """Where a class is, and for notations the suffix of their files and their shortest grammar."""

    module: str  # relative to grammars/, or absolute
    suffix: str = ""
    example: str = ""
    is_one_line: bool = False  # is the end of a file's last line no part of the grammar?


KINDS = {
    "Ban": Kind(".text"),
    "Capture": Kind(".capture"),
    "Choices": Kind(".choices"),
    "Ebnf": Kind(".ebnf.ebnf", ".ebnf", 'root ::= "a"'),
    "Gbnf": Kind(".ebnf.gbnf", ".gbnf", 'root ::= "a"'),
    "JsonSchema": Kind(".json_schema.schema", ".json", "true"),
    "Lark": Kind(".lark.grammar", ".lark", 'start: "a"'),
    "Ltl": Kind(".ltl.ltl"),
    "Marked": Kind(".derived"),
    "Regex": Kind(".regular.regex", ".regex", "a", is_one_line=True),
    "Repeat": Kind(".repeat"),
    "StructuralTag": Kind(".structural_tag.grammar"),
    "Substring": Kind(".substring"),
    "Template": Kind(".template"),
    "Text": Kind(".text"),
    "Tools": Kind(".tools.tools"),
    "Token": Kind(".items.special_token"),
    "TokenList": Kind(".items.token_list"),
    "Tokens": Kind(".items.tokens"),
}


@cache
def class_of(name: str) -> type:
    """The class of this name; KeyError where there is none."""
    found: type = getattr(import_module(KINDS[name].module, __package__), name)
    return found


def suffixes() -> list[str]:
    """The suffixes of files that hold a grammar."""
    return [kind.suffix for kind in KINDS.values() if kind.suffix]


def notation_of(path: str) -> str | None:
    """The name of the kind whose files end like this one."""
    suffix = os.path.splitext(path)[1].lower()
    return next((name for name, kind in KINDS.items() if kind.suffix and kind.suffix == suffix), None)
