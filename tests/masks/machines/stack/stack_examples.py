"""The grammars of tests/corpus/stack.toml, and vocabularies for them."""

from typing import Any

import grammarlm as gl
from tests.cases import grammar_of
from tests.corpus_files import tables
from tests.laws import vocabularies
from tests.laws.cfg_vocabularies import bytes_only

TABLES = tables("stack")
VOCABULARIES = {"bytes": bytes_only(), "merged": vocabularies.merged_pairs(), "hostile": vocabularies.every_byte()}
COMPILED = {name: token_list.vocabulary() for name, token_list in VOCABULARIES.items()}
TEXTS: dict[str, str] = TABLES["lark"] | TABLES["gbnf"]
_NAMES = {name: gl.Lark(text) for name, text in TABLES["lark"].items()} | {
    name: gl.Gbnf(text) for name, text in TABLES["gbnf"].items()
}


def made(expression: str) -> Any:
    return grammar_of(expression, **_NAMES)


CASES = {name: made(expression) for name, expression in TABLES["grammars"].items()}
REGULAR = {name: made(expression) for name, expression in TABLES["regular"].items()}
