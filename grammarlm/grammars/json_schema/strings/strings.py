"""Strings: minLength, maxLength, pattern and format as one shape.

Lengths stay numbers, counted in parallel with the automaton of the language: a maxLength of a million adds no state. A hostname's
greatest length is such a number, too.
"""

from __future__ import annotations

from typing import Any

from grammarlm.errors import GrammarError, brief
from grammarlm.grammars.json_schema.numbers import numbers
from grammarlm.grammars.json_schema.shapes.shapes import EVERY_STRING, Part, StringShape

from .formats import FORMATS, LABELS
from .internet import LONGEST_HOSTNAME
from .languages import Languages

ANY_STRING = StringShape()


def read(schema: dict[str, Any], formats: str = "assert") -> StringShape:
    """The shape of the string keywords of one schema object. `formats`: "assert" or "annotation"."""
    if "minLength" in schema or "maxLength" in schema:
        minimum, maximum = _length(schema, "minLength") or 0, _length(schema, "maxLength")
    else:
        minimum, maximum = 0, None
    parts: list[Part] = []
    if "pattern" in schema:
        parts.append(("pattern", _text(schema, "pattern"), True))
    if "format" in schema and formats == "assert":
        name = _text(schema, "format")
        if name == "hostname":
            parts.append(("format", LABELS, True))
            maximum = LONGEST_HOSTNAME if maximum is None else min(maximum, LONGEST_HOSTNAME)
        elif name in FORMATS:
            parts.append(("format", name, True))
    if not parts and not minimum and maximum is None:
        return ANY_STRING
    return StringShape(minimum, maximum, frozenset(parts))


def _length(schema: dict[str, Any], keyword: str) -> int | None:
    value = schema.get(keyword)
    if value is None and keyword not in schema:
        return None
    count = numbers.whole(value)
    if count is None or count < 0:
        raise GrammarError(f"{keyword} is {brief(value)}, and should be an integer that is not negative")
    return count


def _text(schema: dict[str, Any], keyword: str) -> str:
    value = schema[keyword]
    if not isinstance(value, str):
        raise GrammarError(f"{keyword} is {brief(value)}, and should be a string")
    return value


def both(a: StringShape, b: StringShape, languages: Languages) -> StringShape:
    """The intersection."""
    if a is ANY_STRING:
        return b
    if b is ANY_STRING:
        return a
    if a.values is None and b.values is not None:
        a, b = b, a
    if a.values is not None:
        also = None if b.values is None else set(b.values)
        return StringShape(values=tuple(v for v in a.values if (has(b, v, languages) if also is None else v in also)))
    if a.maximum is None or b.maximum is None:
        maximum = b.maximum if a.maximum is None else a.maximum
    else:
        maximum = min(a.maximum, b.maximum)
    return StringShape(max(a.minimum, b.minimum), maximum, a.language | b.language)


def settled(shape: StringShape, languages: Languages) -> StringShape:
    """The same strings with fewer constraints: a list where the language lists them, no bound that the language implies."""
    if shape.values is not None or not shape.language:
        return shape
    words = [text for kind, text, holds in shape.language if kind == "words" and holds]
    if words:
        return StringShape(values=tuple(v for v in dict.fromkeys(min(words, key=len)) if has(shape, v, languages)))
    if not shape.minimum and shape.maximum is None:
        return shape
    least, greatest = languages.bounds(shape.language)
    minimum = 0 if least >= shape.minimum else shape.minimum
    maximum = None if shape.maximum is None or greatest <= shape.maximum else shape.maximum
    return StringShape(minimum, maximum, shape.language)


def opposites(shape: StringShape) -> list[StringShape]:
    """Shapes whose union is the complement of this one."""
    if shape.values is not None:
        return [StringShape(language=frozenset({("words", shape.values, False)}))]
    found = []
    if shape.minimum > 0:
        found.append(StringShape(maximum=shape.minimum - 1))
    if shape.maximum is not None:
        found.append(StringShape(minimum=shape.maximum + 1))
    for kind, text, holds in shape.language:
        found.append(StringShape(language=frozenset({(kind, text, not holds)})))
    return found


def is_empty(shape: StringShape, languages: Languages) -> bool:
    """Is the shape empty?"""
    if shape.values is not None:
        return not shape.values
    if shape.maximum is not None and shape.minimum > shape.maximum:
        return True
    if shape.language == EVERY_STRING:
        return False
    return not languages.fits(shape.language, shape.minimum, shape.maximum)


def has(shape: StringShape, value: str, languages: Languages) -> bool:
    """Does the string have this shape?"""
    if shape.values is not None:
        return value in shape.values
    if len(value) < shape.minimum or (shape.maximum is not None and len(value) > shape.maximum):
        return False
    return languages.has(shape.language, value)


def is_text(text: str) -> bool:
    """False for half a surrogate pair: no text equals it."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
