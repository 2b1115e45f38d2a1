"""Every text of corpus/library.toml through every route from a grammar's name and a text to yes or no.

A route is a line of ROUTES. What the corpus says is checked beside, against the languages' own parsers (`oracles/languages.py`).
"""

import functools
import re
from collections.abc import Callable, Iterator
from importlib import resources
from pathlib import Path
from typing import Any

import lark
import pytest

from grammarlm.grammars import library
from tests.corpus_files import read_toml
from tests.grammars.library.library_texts import CASES, NAMES, dead_texts, stock_lark, stock_parser
from tests.oracles.languages import KNOWS, csv_records

ROUTES: dict[str, Callable[[str, str], bool]] = {
    "stock lark": stock_lark,
}


@pytest.mark.parametrize("case", CASES, ids=NAMES)
@pytest.mark.parametrize("route", ROUTES)
def test_the_route_agrees_with_the_corpus(route: str, case: dict[str, Any]) -> None:
    accepted = functools.partial(ROUTES[route], case["grammar"])
    for text in case["accepts"]:
        assert accepted(text), text
    for text in dead_texts(case):
        assert not accepted(text), text
    for text, rest in case.get("unfinished", []):
        assert not accepted(text), text
        assert accepted(text + rest), (text, rest)


def test_the_corpus_is_whole() -> None:
    assert len(set(NAMES)) == len(NAMES)
    assert {case["grammar"] for case in CASES} == {*library.names(), "python"}
    keys = {"grammar", "name", "accepts", "rejects", "left_out", "unfinished"}
    assert all(set(case) <= keys for case in CASES)


@pytest.mark.parametrize("case", CASES, ids=NAMES)
def test_the_language_knows_what_the_grammar_takes(case: dict[str, Any]) -> None:
    if (knows := KNOWS.get(case["grammar"])) is None:
        pytest.skip("gofmt or a C compiler is not installed")
    for text in [*case["accepts"], *(text + rest for text, rest in case.get("unfinished", []))]:
        assert knows(text), text
    for text in case.get("left_out", []):
        assert knows(text), text
    if case["grammar"] in {
        "json",
        "arithmetic",
        "sqlite",
        "yaml",
        "go",
    }:  # where the parser is no more lenient than the language
        for text in case["rejects"]:
            assert not knows(text), text


def records(tree: lark.Tree[Any]) -> Iterator[list[str]]:
    """What a tree of csv.lark says: the fields of its records."""
    for record in tree.find_data("record"):
        yield [unquoted(field.children[0]) for field in record.children]


def unquoted(field: Any) -> str:
    if field is None or not field.startswith('"'):
        return field or ""
    return field[1:-1].replace('""', '"')


def test_csv_has_the_fields_that_the_csv_module_sees() -> None:
    texts = [text for case in CASES if case["grammar"] == "csv" for text in case["accepts"]]
    for text in texts:
        found = sorted(records(stock_parser("csv").parse(text)))
        # A line break at the end begins one more record here, an empty one; so does an empty text.
        expected = csv_records(text) + [[""]] * (text == "" or re.search(r"\n\Z", text) is not None)
        assert found == sorted(expected), text


@pytest.mark.parametrize("name", library.names())
def test_a_grammar_of_the_library_says_what_it_is(name: str) -> None:
    text = library.text(name)
    opening = text[: text.index("\n\n")]
    assert all(line.startswith("//") for line in opening.splitlines())
    assert "Left out" in text[: text.index("\nstart: ")]
    for terminal in stock_parser(name).terminals:
        assert terminal.pattern.min_width > 0, terminal
        assert re.fullmatch(terminal.pattern.to_regexp(), "") is None, terminal


def test_an_unknown_name_lists_the_grammars() -> None:
    with pytest.raises(ValueError, match=r"'pascal'; there are arithmetic, c, csv, .*yaml"):
        library.text("pascal")
    assert library.names() == sorted(library.names())


def test_the_grammars_are_package_data() -> None:
    """A wheel holds what pyproject.toml names; the pattern there must find every grammar."""
    pyproject = read_toml(Path(__file__).parents[3] / "pyproject.toml")
    patterns = pyproject["tool"]["setuptools"]["package-data"]["grammarlm"]
    package = resources.files("grammarlm")
    assert isinstance(package, Path)
    packed = {path.stem for pattern in patterns for path in package.glob(pattern) if path.suffix == ".lark"}
    assert packed == set(library.names())
