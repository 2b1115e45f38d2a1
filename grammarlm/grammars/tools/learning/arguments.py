"""Arguments that a template writes one after the other, key by key: what stands around them, and how values are written."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ..layout import Entries, Nested, filled, json_text, json_type
from .renderings import NAMES, NotRegular, Renderings, Shape, attempt, pieces, shape_of, shares

NUMBERS = {"ratio": 7731, "rkn": 8842}  # in the order in which a template that sorts keys writes them
WORDS = {"qks": "valone", "rkn": 8842}
HARD = "a \"b\" 'c'\n<d> & \\ é"
SPECIAL = "<>&\"'\\\n\t]"
PROBED = SPECIAL + "\r/`${}"  # what may be written as something else
LARGE: dict[str, Any] = {"nest": NUMBERS, "rows": [*NUMBERS.values()]}
TYPES: dict[str, Any] = {
    "flag": True,
    "nil": None,
    "nest": {"a": [1, True, {"b": "c"}], "d": "e"},
    "rows": ["p", 2, False, {"q": "r"}],
}


def entries_shape(renderings: Renderings, several: bool) -> Shape:
    """The shape of calls whose arguments are entries."""
    before, opening, other, gap, _, rest = _cut(renderings, NUMBERS)
    _, _, mid, gap_of_words, _, _ = _cut(renderings, WORDS)
    marks = None
    if gap_of_words != gap:  # marks around strings: one before, one after
        marks = mid.removeprefix(other), gap_of_words.removesuffix(gap)
        if marks[0] == mid or marks[1] == gap_of_words:
            raise NotRegular("strings are written in a way that is not understood")
        mid = other
    elif mid.replace("string", "{type}") == other.replace("number", "{type}"):
        mid = other = mid.replace("string", "{type}")
    empty = attempt(lambda: pieces(renderings.turn([(NAMES[0], {})]), [NAMES[0]]))
    begin, end = shares(opening, other, gap, rest, empty[1] if empty else None)
    entry = gap[len(gap) - begin :], mid, gap[:end]
    found = Entries(entry, gap[end : len(gap) - begin], None if other == mid else other, marks or "raw")
    opening, rest = opening[: len(opening) - begin], rest[end:]
    three = None
    if several:
        marked = [mark for each in NAMES for mark in (each, "rkn", "8842")]
        cut = pieces(renderings.turn([(each, {"rkn": 8842}) for each in NAMES]), marked)
        closings = [text.replace("rkn", "{key}") for text in cut[3::3]]
        if not all(text.startswith(entry[2]) for text in closings):
            raise NotRegular("the last argument of a call ends otherwise than others")
        closings = [text[len(entry[2]) :] for text in closings]
        openings = [text[: len(text) - begin] for text in cut[1::3]]
        three = [cut[0], *(text for pair in zip(openings, closings, strict=True) for text in pair)]
    shape = shape_of([before, opening, rest], three)
    return replace(shape, arguments=_Values(renderings, found, rest).learned())


def _cut(renderings: Renderings, arguments: dict[str, Any]) -> list[str]:
    """Before the name, before the first key, between it and its value, between entries, the same of the second, and the rest."""
    marks = [str(mark) for entry in arguments.items() for mark in entry]
    found = pieces(renderings.turn([(NAMES[0], arguments)]), [NAMES[0], *marks])
    for at, key in zip((3, 5), arguments, strict=True):
        found[at] = found[at].replace(key, "{key}")
    return found


class _Values:
    """How values are written, learned value by value."""

    def __init__(self, renderings: Renderings, found: Entries, rest: str):
        self.renderings, self.found, self.rest = renderings, found, rest

    def text(self, key: str, value: Any) -> str:
        """What a template writes for a value that is the only argument."""
        text = pieces(self.renderings.turn([(NAMES[0], {key: value})]), [NAMES[0], key])[2]
        other = self.found.other
        mid = filled(
            self.found.entry[1] if other is None or isinstance(value, str) else other, {"{type}": json_type(value)}
        )
        end = filled(self.found.entry[2], {"{key}": key}) + self.rest
        if not text.startswith(mid) or not text.endswith(end):
            raise NotRegular(f"a value of type {json_type(value)} is written in a way that is not understood")
        return text[len(mid) : len(text) - len(end)]

    def learned(self) -> Entries:
        first, second = NUMBERS
        swapped = self.renderings.turn([(NAMES[0], {second: 8842, first: 7731})])
        alone = self.renderings.turn([(NAMES[0], WORDS)])
        self.found = replace(
            self.found,
            keys="sorted" if swapped.rfind(first) < swapped.rfind(second) else "declared",
            nulls=self.renderings.turn([(NAMES[0], WORDS | {"nil": None})]) != alone,
        )
        self._learn_strings()
        values = {key: value for key, value in TYPES.items() if self.found.nulls or value is not None}
        texts = {key: self.text(key, value) for key, value in values.items()}
        python = [key for key in values if texts[key] == str(values[key]) and texts[key] != json_text(values[key])]
        large = [key for key in LARGE if key not in python]
        kind = next(
            (
                kind
                for kind in ("spaced", "compact")
                if all(texts[key] == json_text(values[key], kind) for key in large)
            ),
            None,
        )
        nested = self._nested() if kind is None else "json" if kind == "spaced" else kind
        self.found = replace(self.found, values=nested, python=tuple(json_type(values[key]) for key in python))
        for key, value in values.items():
            if texts[key] != self.found.write_value(value):
                raise NotRegular(f"a value of type {json_type(value)} is written in a way that is not understood")
        return self.found

    def _learn_strings(self) -> None:
        """Marks around strings may be those of JSON, or may stand only around strings with certain characters."""
        hard, marks = self.text("qks", HARD), self.found.strings
        marked = None
        if marks == ('"', '"') and hard == json_text(HARD):
            marks = "json"
        elif marks == "raw" and hard != HARD and HARD in hard:
            before, _, after = hard.partition(HARD)
            marks = before, after
            marked = "".join(each for each in SPECIAL if self.text("qks", f"a{each}b") != f"a{each}b")
        self.found = replace(self.found, strings=marks, marked=marked)
        if marks != "json" and marked is None and self.found.write_value(HARD) != hard:
            self.found = replace(self.found, escapes=self._escapes())
        if self.found.write_value(HARD) != hard:
            raise NotRegular("strings are written in a way that is not understood")

    def _escapes(self) -> tuple[tuple[str, str], ...]:
        """Characters that are written otherwise, and how."""
        around = self.found.write_value("a{}b").split("{}")
        found = []
        for letter in PROBED:
            before, written, after = pieces(self.text("qks", f"a{letter}b"), around)
            if written != letter:
                found.append((letter, written))
            if before + after or any(written.startswith(other) for _, other in found[:-1]) or not written:
                raise NotRegular(f"strings with {letter!r} are written in a way that is not understood")
        return tuple(found)

    def _nested(self) -> Nested:
        """Objects and arrays in the notation of the entries."""
        (nest, members), (rows, items) = LARGE.items()
        around = self.text(nest, members).split(self.found.write(members))
        text = self.text(rows, items)
        array = text.split(self.found.gap.join(map(str, items)))
        item = None
        if len(array) != 2:
            entry = self.found.entry
            array = ["", ""]
            item = text[len(entry[0]) : text.find(str(items[0])) - len(self.found.other or entry[1])]
        if len(around) != 2:
            raise NotRegular("objects in values are written in a way that is not understood")
        return Nested((around[0], around[1]), (array[0], array[1]), item)
