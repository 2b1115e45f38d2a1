"""One corpus of cases, a file a notation: a grammar, texts of its language, texts that begin some, and texts that begin none.

tests/test_cases.py runs each case through every engine and, where there is one, an oracle that shares no code with them. A case is

    [[case]]
    name = "a few words"                    # unique in the corpus
    grammar = 'a text of the notation'      # choices: a list; compositions and items: an expression over grammarlm's names
    options = {start = "all"}               # the constructor's, where it needs some
    accepted = ["..."]                      # texts of the language
    unfinished = ["..."]                    # may not end here, but some accepted text begins so
    refused = ["..."]                       # nothing that follows can make a text of it; the last byte or an earlier one is refused
    same = 'a pattern of re'                # the same language, where the notation has no oracle and the language is regular
    refuses = ["canvas"]                    # engines that refuse this grammar, or one of its texts, by name
    why = "what was wrong once, or what the case shows"

and where the grammar itself is refused, `error`, the exception's name, and `says`, words of its message, stand for the texts.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path
from typing import Any

import grammarlm as gl
from tests.corpus_files import read_toml

HERE = Path(__file__).parent
CONSTRUCTORS = {  # a notation: what its `grammar` is given to
    "regex": gl.Regex,
    "choices": gl.Choices,
    "lark": gl.Lark,
    "gbnf": gl.Gbnf,
    "ebnf": gl.Ebnf,
    "json_schema": gl.JsonSchema,
}
EXPRESSIONS = ("compositions", "items")
NAMES = (
    "Regex",
    "Choices",
    "Substring",
    "Ltl",
    "Lark",
    "Gbnf",
    "Ebnf",
    "JsonSchema",
    "Text",
    "Ban",
    "Token",
    "Tokens",
    "TokenList",
    "Indent",
    "Repeat",
    "Capture",
)


def grammar_of(expression: str, **others: Any) -> Any:
    """What an expression over grammarlm's names, and others, makes."""
    return eval(expression, {"__builtins__": {}}, {name: getattr(gl, name) for name in NAMES} | others)


VERDICTS = ("accepted", "unfinished", "refused")


@dataclass(frozen=True)
class Case:
    notation: str
    name: str
    grammar: str | tuple[str, ...]
    why: str
    accepted: tuple[str, ...] = ()
    unfinished: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
    options: str = "{}"  # JSON, so that a case can be hashed
    same: str = ""
    refuses: tuple[str, ...] = ()
    error: str = ""
    says: str = ""

    def made(self) -> Any:
        """The grammar that it describes."""
        if self.notation in EXPRESSIONS:
            return grammar_of(str(self.grammar))
        return CONSTRUCTORS[self.notation](self.grammar, **json.loads(self.options))

    def texts(self, verdict: str) -> list[bytes]:
        return [text.encode() for text in getattr(self, verdict)]


@cache
def cases() -> tuple[Case, ...]:
    """All cases of all files."""
    return tuple(
        _read(path.stem, entry) for path in sorted(HERE.glob("*.toml")) for entry in read_toml(path).get("case", [])
    )


def _read(notation: str, entry: Mapping[str, Any]) -> Case:
    if notation not in CONSTRUCTORS and notation not in EXPRESSIONS:
        raise ValueError(f"tests/cases/{notation}.toml: there is no notation of that name")
    unknown = set(entry) - {field.name for field in fields(Case)} - {"notation"}
    if unknown:
        raise ValueError(f"the case {entry.get('name')!r} has unknown keys: {sorted(unknown)}")
    values = {key: tuple(value) if isinstance(value, list) else value for key, value in entry.items()}
    if "options" in values:
        values["options"] = json.dumps(values["options"])
    return Case(notation, **values)
