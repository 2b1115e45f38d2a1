"""Tests ask for behaviour: what they reach for beyond the package's public names is counted, and may only become less.

What several tests need is an accessor in `tests/internals.py`, which is counted once. Whoever makes one of the numbers smaller
lowers its bound here; whoever would make one larger asks first what a caller of the package could see instead.
"""

import ast
import functools
from collections.abc import Callable, Iterator
from pathlib import Path

FOLDER = Path(__file__).parent
MOST_ACCESSES = 38
MOST_PATCHES = 23
# Names of other packages: os._exit, namedtuple._asdict, re's parser, jsonschema, referencing, lark, tokenizers, xgrammar.
OF_OTHERS = {
    "_exit",
    "_asdict",
    "_constants",
    "_parser",
    "_resolver",
    "_legacy_keywords",
    "_anchors_in",
    "_parse_table",
    "_tokenizer",
    "_is_grammar_accept_string",
}


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__") and name not in OF_OTHERS


def accesses(tree: ast.AST) -> Iterator[str]:
    """Attributes of what is not `self` or `cls`, and imported names, that begin with one underscore."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and is_private(node.attr):
            if not (isinstance(node.value, ast.Name) and node.value.id in ("self", "cls")):
                yield f"{node.lineno}: .{node.attr}"
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.lineno}: import {alias.name}" for alias in node.names if is_private(alias.name))


def patches(tree: ast.AST) -> Iterator[str]:
    """`setattr(owner, "_name", ...)` and `setattr("module._name", ...)`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "setattr":
            texts = [argument.value for argument in node.args[:2] if isinstance(argument, ast.Constant)]
            yield from (f"{node.lineno}: {text}" for text in texts if is_private(str(text).rpartition(".")[2]))


def imports(tree: ast.AST) -> Iterator[str]:
    """Of test modules."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            named = [alias.name for alias in node.names] + [getattr(node, "module", None) or ""]
            if any(part.startswith("test_") for name in named for part in name.split(".")):
                yield f"{node.lineno}: {ast.unparse(node)}"


@functools.cache
def all_found() -> dict[Callable[[ast.AST], Iterator[str]], list[str]]:
    """What each search finds in all files, of which no tree is kept: together they are millions of objects."""
    places: dict[Callable[[ast.AST], Iterator[str]], list[str]] = {accesses: [], patches: [], imports: []}
    for path in sorted(FOLDER.rglob("*.py")):
        name, tree = path.relative_to(FOLDER).as_posix(), ast.parse(path.read_text(encoding="utf-8"))
        for search, its in places.items():
            its += [f"{name}:{place}" for place in search(tree)]
    return places


def found(search: Callable[[ast.AST], Iterator[str]]) -> list[str]:
    return all_found()[search]


def test_private_names_are_reached_for_no_more_often_than_before() -> None:
    places = found(accesses)
    assert len(places) <= MOST_ACCESSES, "\n".join(places)


def test_private_names_are_replaced_no_more_often_than_before() -> None:
    places = found(patches)
    assert len(places) <= MOST_PATCHES, "\n".join(places)


def test_the_count_sees_what_it_should() -> None:
    tree = ast.parse("from a import _b, c\nx._d + self._e + x.__f__\nm.setattr(x, '_g', 1)\nm.setattr('p.q._r', 1)")
    assert list(accesses(tree)) == ["1: import _b", "2: ._d"]
    assert list(patches(tree)) == ["3: _g", "4: p.q._r"]


def test_no_test_imports_another() -> None:
    """What several tests need is a module of its own, named after what is in it."""
    assert not found(imports)
