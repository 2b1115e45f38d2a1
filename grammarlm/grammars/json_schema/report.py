"""What becomes of each keyword of a schema: made when somebody asks, not when a schema is compiled.

    enforced      no text of the language breaks it
    relaxed       it could not be enforced, and the caller allowed to leave it out
    annotation    it asserts nothing: unknown keywords, titles, `$defs`, `format` where formats do not assert or the format is
                  unknown, `then` without `if`, what stands beside `$ref` up to draft 7, what the declared draft does not know

There is no fourth: what is neither has been refused by name.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from .document import Document, Resource, below, escape
from .formats import FORMATS

ENFORCED, RELAXED, ANNOTATION = "enforced", "relaxed", "annotation"

# Keywords that say nothing without another beside them.
_NEEDS = {
    "then": "if",
    "else": "if",
    "minContains": "contains",
    "maxContains": "contains",
    "additionalItems": "items",
}


@dataclass(frozen=True)
class KeywordReport:
    pointer: str  # of the keyword; with the address in front, in another document
    keyword: str
    status: str


def keyword_reports(document: Document, relaxed: tuple[str, ...] = ()) -> Iterator[KeywordReport]:
    """Each keyword of the documents that were read, in order of appearance."""
    for contents in document.documents:
        resource = document.resource_of(contents)
        if resource is not None:
            yield from _of_document(document, resource, frozenset(relaxed))


def _of_document(document: Document, resource: Resource, relaxed: frozenset[str]) -> Iterator[KeywordReport]:
    stack: list[tuple[Any, str, Resource, str]] = [(resource.contents, resource.pointer, resource, "schema")]
    while stack:
        here, pointer, owner, reading = stack.pop()
        inside: list[tuple[Any, str, Resource, str]] = []
        if isinstance(here, dict):
            if reading == "schema":
                owner = document.enter(here, pointer, owner)
            for keyword, value in here.items():
                where = f"{pointer}/{escape(keyword)}"
                if reading == "schema":
                    status = RELAXED if where in relaxed else _status(document, owner, here, keyword)
                    yield KeywordReport(where, keyword, status)
                inner = below(reading, keyword, value)
                if inner != "data":
                    inside.append((value, where, owner, inner))
        elif isinstance(here, list) and reading == "list":
            inside = [(value, f"{pointer}/{i}", owner, "schema") for i, value in enumerate(here)]
        stack += reversed(inside)


def _status(document: Document, resource: Resource, schema: dict[str, Any], keyword: str) -> str:
    if keyword not in resource.bits or keyword in ("$id", "id"):
        return ANNOTATION
    if resource.draft <= 7 and "$ref" in schema and keyword != "$ref":
        return ANNOTATION
    if keyword in _NEEDS:
        beside = schema.get(_NEEDS[keyword])
        if beside is None or (keyword == "additionalItems" and not isinstance(beside, list)):
            return ANNOTATION
    if keyword == "if" and "then" not in schema and "else" not in schema:
        return ANNOTATION
    if keyword == "format" and (not document.formats or schema["format"] not in FORMATS):
        return ANNOTATION
    return ENFORCED
