"""Every text of a schema that has few: a byte may come iff it goes on towards one of them.

    valid_values(schema, scalars, keys, ...)   the values of a small universe that the schema admits
    texts(value, style)                        all ways to write a value: escapes, orders of keys, white space
    Prefixes(texts)                            what may come after what

The schema must admit no value outside of the universe. Nothing is known here of machines: a text's beginning is alive iff it
begins a text.
"""

import itertools
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from tests.oracles.json_schema_oracle import Judge

Gaps = Callable[[str, bool], Sequence[str]]
END = -1  # in a node of Prefixes: the text may end here
SHORT = {'"': '\\"', "\\": "\\\\", "/": "\\/", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


def no_gaps(place: str, is_empty: bool) -> Sequence[str]:
    return [""]


def optional_blanks(place: str, is_empty: bool) -> Sequence[str]:
    """As the white space pattern ` ?` has it: everywhere."""
    return ["", " "]


def natural_gaps(place: str, is_empty: bool) -> Sequence[str]:
    """What json.dumps and pretty-printers write, with indentations of at most two blanks or tabs."""
    line = ["\n", "\n ", "\n  ", "\n\t", "\n\t\t"]
    lines = {"[": line, "]": line, ",": [" ", *line], ":": [" "]}.get(place, [])
    return [""] if is_empty else ["", *lines]


def spaced_gaps(place: str, is_empty: bool) -> Sequence[str]:
    """As json.dumps without options."""
    return [" "] if place in (",", ":") else [""]


@dataclass(frozen=True)
class Style:
    """How values may be written. `declared`: names in the order in which they come, others after them; None: any order."""

    is_plain: bool = True  # only the escapes that JSON needs
    declared: tuple[str, ...] | None = None
    gaps: Gaps = no_gaps  # white space around the text (""), after [ { , : and before ] }


def values(scalars: Sequence[Any], keys: Sequence[str], most_items: int, most_keys: int, depth: int) -> Iterator[Any]:
    """Scalars, and arrays and objects of such values, nested so deeply."""
    yield from scalars
    if depth == 0:
        return
    inner = list(values(scalars, keys, most_items, most_keys, depth - 1))
    for count in range(most_items + 1):
        yield from map(list, itertools.product(inner, repeat=count))
    for count in range(most_keys + 1):
        for names in itertools.combinations(keys, count):
            for chosen in itertools.product(inner, repeat=count):
                yield dict(zip(names, chosen, strict=True))


def valid_values(schema: Any, universe: Iterable[Any]) -> list[Any]:
    judge = Judge(schema)
    return [value for value in universe if judge.valid_value(value)]


def character_spellings(character: str, is_plain: bool) -> list[str]:
    """All ways to write a character within a string."""
    if is_plain:
        return [json.dumps(character, ensure_ascii=False)[1:-1]]
    found = [SHORT[character]] if character in SHORT else []
    if character >= " " and character not in '"\\':
        found.append(character)
    units = character.encode("utf-16-be")
    codes = [f"{units[i] << 8 | units[i + 1]:04x}" for i in range(0, len(units), 2)]
    digits = [(digit,) if digit.isdigit() else (digit, digit.upper()) for code in codes for digit in code]
    spelled = map("".join, itertools.product(*digits))
    return found + ["".join("\\u" + chosen[i : i + 4] for i in range(0, len(chosen), 4)) for chosen in spelled]


def string_spellings(text: str, is_plain: bool) -> list[str]:
    pieces = itertools.product(*(character_spellings(character, is_plain) for character in text))
    return ['"' + "".join(piece) + '"' for piece in pieces]


def orders(names: Sequence[str], declared: tuple[str, ...] | None) -> Iterator[tuple[str, ...]]:
    if declared is None:
        yield from itertools.permutations(names)
        return
    first = tuple(name for name in declared if name in names)
    for others in itertools.permutations([name for name in names if name not in declared]):
        yield first + others


def texts(value: Any, style: Style) -> Iterator[str]:
    """All texts of a value, without white space around them."""
    if isinstance(value, str):
        yield from string_spellings(value, style.is_plain)
    elif isinstance(value, list):
        items = [list(texts(item, style)) for item in value]
        for chosen in itertools.product(*items):
            yield from _joined("[", chosen, "]", style.gaps)
    elif isinstance(value, dict):
        for names in orders(list(value), style.declared):
            yield from _objects([(name, value[name]) for name in names], style)
    else:
        yield json.dumps(value)


def _objects(members: list[tuple[str, Any]], style: Style) -> Iterator[str]:
    written = []
    for name, value in members:
        keys = string_spellings(name, style.is_plain)
        gaps = [before + ":" + after for before in style.gaps("", False) for after in style.gaps(":", False)]
        if style.gaps is natural_gaps:
            gaps = [":" + after for after in style.gaps(":", False)]
        written.append([key + gap + text for key in keys for gap in gaps for text in texts(value, style)])
    for chosen in itertools.product(*written):
        yield from _joined("{", chosen, "}", style.gaps)


def _joined(opening: str, parts: Sequence[str], closing: str, gaps: Gaps) -> Iterator[str]:
    """Parts within brackets, with commas and all white space that there may be. Before a comma there is what may be anywhere."""
    if not parts:
        yield from (opening + gap + closing for gap in gaps("[", True))
        return
    commas = [before + "," + after for before in gaps("", False) for after in gaps(",", False)]
    between = [gaps("[", False), *([commas] * (len(parts) - 1)), gaps("]", False)]
    for chosen in itertools.product(*between):
        yield opening + "".join(gap + part for gap, part in zip(chosen, parts, strict=False)) + chosen[-1] + closing


def whole_texts(value: Any, style: Style) -> Iterator[str]:
    around = style.gaps("", False)
    for text in texts(value, style):
        for before, after in itertools.product(around, around):
            yield before + text + after


class Prefixes:
    """The texts as a tree: a node is {byte: node}, with END where a text may end."""

    def __init__(self, all_texts: Iterable[str]):
        self.root: dict[int, Any] = {}
        self.nodes: list[tuple[bytes, dict[int, Any]]] = [(b"", self.root)]
        for text in all_texts:
            node, data = self.root, text.encode()
            for place, byte in enumerate(data):
                if byte not in node:
                    node[byte] = {}
                    self.nodes.append((data[: place + 1], node[byte]))
                node = node[byte]
            node[END] = None


def below(node: dict[int, Any], data: bytes) -> dict[int, Any] | None:
    """The node after some bytes; None where they begin no text."""
    for byte in data:
        if byte not in node:
            return None
        node = node[byte]
    return node
