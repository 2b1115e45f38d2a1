"""String shapes as programs write them: which alternatives can be text, which share one automaton, which repetitions
become lengths."""

from __future__ import annotations

import re
from typing import NamedTuple

from grammarlm.grammars.json_schema.shapes.shapes import Node, StringShape
from grammarlm.grammars.json_schema.shapes.shapes import Shape as Shape_
from grammarlm.grammars.json_schema.strings.strings import is_text

# One character or class of characters; then a pattern in which one of them is repeated.
UNIT = r"(?:\[(?:[^\[\]\\]|\\.)+\]|\\[dDwWsS./-]|[^\\^$*+?()\[\]{}|])"
UNITS, REPEATED = re.compile(UNIT), re.compile(rf"\^({UNIT}*)({UNIT})\{{(\d{{1,5}}),(\d{{1,5}})\}}({UNIT}*)\$")
# A repetition becomes a length if the longest string has at least 12 characters and the shortest at most 8.
COUNTED_FROM, LITTLE = 12, 8


def spellable(node: Node) -> list[Shape_ | UnitedStrings]:
    """The alternatives of a node that some text matches: a string with half a surrogate pair matches none."""
    found: list[Shape_ | UnitedStrings] = []
    excluding: list[StringShape] = []
    for shape in node.alternatives:
        if isinstance(shape, StringShape):
            if _excludes(shape):
                excluding.append(shape)
                continue
            if shape.values is not None and not any(map(is_text, shape.values)):
                continue
        found.append(shape)
    return [*found, UnitedStrings(tuple(excluding)) if len(excluding) > 1 else excluding[0]] if excluding else found


def _excludes(shape: StringShape) -> bool:
    """Is the string only restricted to be in some languages and not in others?"""
    free = shape.values is None and not shape.minimum and shape.maximum is None
    return free and any(not holds for _, _, holds in shape.language)


class UnitedStrings(NamedTuple):
    """Strings of several alternatives that exclude each other, as in oneOf. The states of each language distinguish all
    of these languages anyway, so one automaton of as many states serves all."""

    shapes: tuple[StringShape, ...]


def counted(shape: StringShape) -> StringShape:
    """The same strings, with the repetition of `^[a-z][a-z0-9]{1,254}$` turned into a length: as states of a language,
    each count would have a row of its own."""
    if len(shape.language) != 1:
        return shape
    [(kind, text, holds)] = shape.language
    found = REPEATED.fullmatch(str(text)) if kind == "pattern" and holds else None
    if found is None:
        return shape
    before, repeated, least, most, after = found.groups()
    others = len(UNITS.findall(before + after))
    low, high = int(least) + others, int(most) + others
    if low > high or high < COUNTED_FROM or low > LITTLE:
        return shape
    low, high = max(low, shape.minimum), high if shape.maximum is None else min(high, shape.maximum)
    return StringShape(low, high, frozenset({("pattern", f"^{before}{repeated}*{after}$", True)}))
