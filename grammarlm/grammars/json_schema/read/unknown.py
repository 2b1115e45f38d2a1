"""Keywords that assert nothing: annotations of the drafts and of OpenAPI, words of older drafts, and unknown words.

For the last a correction is suggested: an unknown keyword is mostly a misspelt one.
"""

from __future__ import annotations

from difflib import get_close_matches
from functools import cache, lru_cache
from typing import Any

from grammarlm.grammars.json_schema.strings.formats import FORMATS, KNOWN

from .keywords import bits_of

# Keywords that any draft has for readers and editors; their values do not constrain the data.
ANNOTATIONS = {
    **dict.fromkeys(("title", "description", "default", "examples", "$comment", "readOnly", "writeOnly", "deprecated"), ""),
    **dict.fromkeys(("contentEncoding", "contentMediaType", "contentSchema"), "the text inside the string is not checked"),
    **dict.fromkeys(("$schema", "$vocabulary", "$anchor", "$dynamicAnchor", "$recursiveAnchor"), "read, of no value"),
    **dict.fromkeys(("$defs", "definitions"), "read where a reference leads there"),
    **dict.fromkeys(("example", "xml", "externalDocs"), "OpenAPI's"),
    "discriminator": "OpenAPI's: the alternatives are distinguished by their own keywords",
}  # fmt: skip

# Words that mean something elsewhere, and what to use instead: no draft that is read here has them.
ELSEWHERE = {
    "divisibleBy": 'draft 3\'s: say "multipleOf"',
    "disallow": 'draft 3\'s: say "not": {"type": ...}',
    "extends": 'draft 3\'s: say "allOf"',
    "nullable": 'OpenAPI 3.0\'s, null is not allowed by it: say "type": [..., "null"]',
}


def annotation(keyword: str, value: Any) -> str | None:
    """A description of an annotation, possibly empty; None where the keyword is not known to be one."""
    if keyword.startswith("x-"):
        return "an extension"
    if keyword == "nullable" and value is False:
        return "OpenAPI's: false says nothing"
    return ANNOTATIONS.get(keyword)


def about_keyword(keyword: str, value: Any) -> str:
    """Advice about an unknown keyword."""
    if keyword in ELSEWHERE:
        return ELSEWHERE[keyword]
    meant = _close(keyword, tuple(bits_of(4, True, True)) + tuple(bits_of(2020, True, True)) + tuple(ANNOTATIONS))
    if meant:
        return f"unknown keyword; did you mean {meant!r}?"
    if isinstance(value, dict) and ("type" in value or "$ref" in value or "enum" in value):
        return 'unknown keyword; the schema of a property stands in "properties"'
    return "unknown keyword: no draft has it"


def about_format(name: str) -> str:
    """Advice about an unknown format."""
    meant = _close(name, (*FORMATS, *KNOWN))
    return f"unknown format {name[:40]!r}" + (f"; did you mean {meant!r}?" if meant else ": every string has it")


def _close(word: str, known: tuple[str, ...]) -> str | None:
    """The closest known word, ignoring case and separators: max_length, MaxLength, maxLenght, tpye."""
    return _closest(word[:40], known)  # cut before it is remembered: a schema from outside may have words of megabytes


@lru_cache(maxsize=1024)
def _closest(word: str, known: tuple[str, ...]) -> str | None:
    by_letters, letters = _by_letters(known), _letters(word)
    found = get_close_matches(letters, by_letters, 1, 0.8)
    found += [other for other in by_letters if sorted(other) == sorted(letters)]
    return by_letters[found[0]] if found else None


@cache
def _by_letters(known: tuple[str, ...]) -> dict[str, str]:
    return {_letters(word): word for word in known}


def _letters(word: str) -> str:
    return "".join(c for c in word.lower() if c not in "-_ $")
