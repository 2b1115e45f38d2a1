"""The texts of corpus/library.toml, and stock lark, which says of each grammar of the library what a text is."""

import functools
from typing import Any

import lark
from lark.indenter import PythonIndenter

from grammarlm.grammars import library
from tests.corpus_files import corpus

CASES = corpus("library")
NAMES = [f"{case['grammar']}: {case['name']}" for case in CASES]


@functools.cache
def stock_parser(grammar: str) -> lark.Lark:
    if grammar == "python":
        options = {"parser": "lalr", "start": "file_input", "postlex": PythonIndenter()}
        return lark.Lark.open_from_package("lark", "python.lark", ["grammars"], **options)
    # strict: no shift/reduce conflict is settled in silence, no two patterns of one state have a text in common.
    return lark.Lark(library.text(grammar), parser="lalr", lexer="contextual", propagate_positions=False, strict=True)


def stock_lark(grammar: str, text: str) -> bool:
    try:
        stock_parser(grammar).parse(text)
    except lark.exceptions.LarkError:
        return False
    return True


def stock_python(text: str) -> bool:
    """Its indenter trips over a comment without a line's end."""
    try:
        return stock_lark("python", text)
    except (IndexError, AssertionError):
        return False


def dead_texts(case: dict[str, Any]) -> list[str]:
    return case.get("rejects", []) + case.get("left_out", [])
