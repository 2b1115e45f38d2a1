"""The status of each keyword of a schema: computed on demand, not when a schema is compiled.

    enforced      no text of the language violates it; for a format the note says what that means
    relaxed       it could not be enforced, and the caller allowed leaving it out
    annotation    it asserts nothing: titles, `$defs`, extensions, `format` where the caller wants it as annotation
    unread        a keyword that no draft, or not the declared one, reads there: next to `$ref` up to draft 7, `then` without `if`;
                  or a value that no draft allows, where no text of the language can reach it
    unknown       a keyword or a format that nobody has defined; JsonSchema(..., unknown="refuse") refuses it

The last two may surprise a schema's author: they are the warnings of a report. There is no sixth status: everything else has been
refused by name.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from grammarlm.errors import GrammarError, UnsupportedFeature
from grammarlm.grammars.json_schema.read.document import DRAFTS, Document, Location, Resource, escape
from grammarlm.grammars.json_schema.read.expected import wrong_value
from grammarlm.grammars.json_schema.read.keywords import KEYWORDS
from grammarlm.grammars.json_schema.read.unknown import about_format, about_keyword, annotation
from grammarlm.grammars.json_schema.strings.formats import CHECKED, FORMATS, KNOWN

ENFORCED, RELAXED, ANNOTATION, UNREAD, UNKNOWN = "enforced", "relaxed", "annotation", "unread", "unknown"

# Keywords without effect unless another one is next to them.
_NEEDS = {"then": "if", "else": "if", "minContains": "contains", "maxContains": "contains", "additionalItems": "items"}
_EXCLUSIVE = {"exclusiveMinimum": "minimum", "exclusiveMaximum": "maximum"}  # booleans, in draft 4


@dataclass(frozen=True)
class KeywordReport:
    pointer: str  # of the keyword; prefixed with the address in another document
    keyword: str
    status: str
    note: str = ""  # what is checked of it, or why nothing is

    @property
    def is_warning(self) -> bool:
        return self.status in (UNREAD, UNKNOWN)

    def __str__(self) -> str:
        return f"{self.status:<12}{self.pointer}{self.note and ': '}{self.note}"


def keyword_reports(document: Document, relaxed: tuple[str, ...] = (), once: bool = False) -> Iterator[KeywordReport]:
    """Each keyword of the documents that were read, in order of appearance. `once`: a dict in several locations is visited only
    in the first."""
    resources = [found for contents in document.documents if (found := document.resource_of(contents)) is not None]
    whole: list[Location] = [(resource.contents, resource.pointer, resource) for resource in resources]
    lines = _Lines(document, frozenset(relaxed), whole, _aside(document), set() if once else None)
    for location in lines.locations:
        yield from lines.below(location)


def refuse_unknown(document: Document) -> None:
    """Raises where a keyword or a format is unknown."""
    for line in keyword_reports(document, once=True):
        if line.status == UNKNOWN:
            raise refusal_of(line)


def refusal_of(line: KeywordReport) -> UnsupportedFeature:
    """The error for an unknown keyword or format."""
    return UnsupportedFeature(
        f"{line.pointer}: {line.note}; correct it or leave it out; with unknown='warn' it is an annotation",
        pointer=line.pointer,
        keywords=(line.keyword,),
    )


class _Lines:
    def __init__(
        self,
        document: Document,
        relaxed: frozenset[str],
        whole: list[Location],
        aside: list[Location],
        seen: set[Any] | None,
    ):
        self._document, self._relaxed, self._seen = document, relaxed, seen
        self.locations = whole + aside
        self._aside = tuple(location[1] + "/" for location in aside)

    @cached_property
    def _asks_what_is_evaluated(self) -> bool:
        """Has any schema an unevaluated keyword?"""
        schemas = (found[0] for at in self.locations for found in self._document.schemas(at, set()))
        return any("unevaluatedProperties" in schema or "unevaluatedItems" in schema for schema in schemas)

    def below(self, location: Location) -> Iterator[KeywordReport]:
        for schema, where, owner in self._document.schemas(location, self._seen):
            for keyword in schema:
                at = f"{where}/{escape(keyword)}"
                status, note = (RELAXED, "") if at in self._relaxed else self._status(owner, schema, keyword)
                if status == UNKNOWN and any(location.startswith(at + "/") for location in self._aside):
                    status, note = ANNOTATION, "read where a reference leads there"
                yield KeywordReport(at, keyword, status, note)

    def _status(self, resource: Resource, schema: dict[str, Any], keyword: str) -> tuple[str, str]:
        value = schema[keyword]
        if keyword == "$schema" and not self._is_draft(value):
            return UNREAD, "no draft that is known here: read as 2020-12"
        if keyword in ("$id", "id"):
            if keyword in resource.bits:
                return _annotation("an address", "$id", value)
            return ANNOTATION, ""
        note = annotation(keyword, value)
        if note is not None:
            return _annotation(note, keyword, value)
        if keyword == "format" and not self._document.formats:
            return _annotation("formats='annotation'", keyword, value)
        if keyword not in KEYWORDS:
            return UNKNOWN, about_keyword(keyword, value)
        if keyword not in resource.bits:
            return UNREAD, "the declared draft, or its vocabularies, do not have it"
        if resource.draft <= 7 and "$ref" in schema and keyword != "$ref":
            return UNREAD, "next to $ref, where drafts up to 7 read nothing: put both into allOf"
        missing = _missing({word: schema[word] for word in schema if word in resource.bits}, keyword, value)
        if keyword == "if" and missing and self._asks_what_is_evaluated:
            return ENFORCED, "without 'then' and 'else' it counts only for what is unevaluated"
        if missing:
            return UNREAD, missing
        return _of_format(value) if keyword == "format" else (ENFORCED, "")

    def _is_draft(self, address: Any) -> bool:
        return isinstance(address, str) and (address.rstrip("#") in DRAFTS or self._document.has(address))


def _annotation(note: str, keyword: str, value: Any) -> tuple[str, str]:
    wrong = wrong_value(keyword, value)
    return (UNREAD, wrong) if wrong else (ANNOTATION, note)


def _missing(schema: dict[str, Any], keyword: str, value: Any) -> str:
    """Why a keyword has no effect next to the others, or with this value; if it were read, the value would have been refused."""
    needed = _NEEDS.get(keyword)
    if needed is not None and needed not in schema:
        return f"has no effect without {needed!r}"
    if keyword == "if" and "then" not in schema and "else" not in schema:
        return "says nothing without 'then' or 'else'"
    if keyword == "additionalItems" and not isinstance(schema["items"], list):
        return "says nothing where 'items' is one schema for all"
    if keyword == "items" and isinstance(value, list) and "prefixItems" in schema:
        return "a list of schemas next to 'prefixItems', which is read instead"
    if keyword == "required" and isinstance(value, bool):
        return 'draft 3\'s: name the property in the list "required" of the object around it'
    if keyword == "type" and "any" in (value if isinstance(value, list) else [value]):
        return "draft 3's type 'any': every value has it; leave it out"
    if isinstance(value, bool) and keyword in _EXCLUSIVE and _EXCLUSIVE[keyword] not in schema:
        return f"says nothing without {_EXCLUSIVE[keyword]!r}"
    return wrong_value(keyword, value)


def _of_format(name: Any) -> tuple[str, str]:
    if name in CHECKED:
        return ENFORCED, CHECKED[name]
    if name in FORMATS:  # refused, unless no reachable string has it
        return ENFORCED, ""
    return (ANNOTATION, KNOWN[name]) if name in KNOWN else (UNKNOWN, about_format(name))


def _aside(document: Document) -> list[Location]:
    """Schemas outside the locations for schemas that a reference leads to: `#/components/schemas/...`."""
    seen: set[Any] = set()
    found: list[Location] = []
    references: list[tuple[str, Resource, str]] = []

    def look(location: Location) -> None:
        for schema, where, owner in document.schemas(location, seen):
            reference = schema.get("$ref")
            if isinstance(reference, str) and reference.startswith("#/"):
                references.append((reference, owner, f"{where}/$ref"))

    for contents in document.documents:
        resource = document.resource_of(contents)
        if resource is not None:
            look((contents, resource.pointer, resource))
    locations = document.locations()
    for reference, owner, pointer in references:  # grows during the loop
        try:
            locations.append(document.resolve(reference, owner, pointer))
        except GrammarError:  # never followed, or it would have been refused
            continue
        while locations:
            target, where, home = locations.pop(0)
            if isinstance(target, dict) and (id(target), "schema") not in seen:
                found.append((target, where, home))
                look((target, where, home))
    return found
