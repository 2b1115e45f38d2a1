"""All readings of a text along the parts of a grammar, listed one by one, and the one that comes first by the rules of
`grammarlm/masks/readings/graph.py`. Nothing here is shared with the package but these rules.

A grammar is a tree of nodes; of a piece only the regular expression of its texts is known.
"""

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

END = float("inf")


class Node:
    """`pattern`: of its texts, as a regular expression of re; None where there is a part in it, or it is read apart."""

    pattern: str | None = None


@dataclass(frozen=True)
class Piece(Node):
    """Texts of this expression; `is_apart`: never joined with its neighbours; `label`: marked as a part, "" without a name."""

    expression: str
    is_apart: bool = False
    label: str | None = None

    @property
    def pattern(self) -> str | None:
        return None if self.is_apart else self.expression


@dataclass(frozen=True)
class Part(Node):
    name: str
    inner: Node


@dataclass(frozen=True)
class Joined(Node):
    """A sequence, or a choice."""

    nodes: tuple[Node, ...]
    is_choice: bool = False

    @cached_property
    def pattern(self) -> str | None:
        patterns = [node.pattern for node in self.nodes]
        return None if None in patterns else ("|" if self.is_choice else "").join(f"(?:{each})" for each in patterns)

    @cached_property
    def pieces(self) -> list[Node]:
        """The nodes, with runs of plain ones as one."""
        found: list[Node] = []
        for is_plain, run in itertools.groupby(self.nodes, lambda node: node.pattern is not None):
            nodes = tuple(run)
            found += [Joined(nodes, self.is_choice)] if is_plain and len(nodes) > 1 else nodes
        return found


@dataclass(frozen=True)
class Repeated(Node):
    inner: Node
    min: int
    max: int | None
    separator: Node | None

    @cached_property
    def pattern(self) -> str | None:
        if self.inner.pattern is None or (self.separator is not None and self.separator.pattern is None):
            return None
        between, most = "" if self.separator is None else f"(?:{self.separator.pattern})", self.max
        if most == 0:
            return ""
        rest = f"(?:{between}(?:{self.inner.pattern})){{{max(self.min - 1, 0)},{'' if most is None else most - 1}}}"
        some = f"(?:{self.inner.pattern}){rest}"
        return some if self.min else f"(?:{some})?"


class Reading(NamedTuple):
    """`pieces`: (end, choices) of each, where the choices are those made since the piece before it: the number of an alternative;
    of a repeat 0 for another turn, 1 for no more. The last one is the end of the text, beyond every place."""

    pieces: tuple = ((END, ()),)
    marks: tuple = ()  # (name, is it an end, place in the text)

    def then(self, other: "Reading") -> "Reading":
        *pieces, (_, choices) = self.pieces
        (end, further), *others = other.pieces
        return Reading((*pieces, (end, choices + further), *others), self.marks + other.marks)


def chosen(number: int) -> Reading:
    return Reading(((END, (number,)),))


def readings(node: Node, text: bytes, at: int) -> Iterator[tuple[int, Reading]]:
    """(end, reading) of each text of the node that begins here."""
    if node.pattern is not None or isinstance(node, Piece):
        expression = node.expression if isinstance(node, Piece) else node.pattern
        label = node.label if isinstance(node, Piece) else None
        for end in range(at, len(text) + 1):
            # What follows is seen: a look-ahead at the end of an expression is a condition on the text after the piece.
            if re.compile(f"(?s:(?:{expression})(?=.{{{len(text) - end}}}\\Z))".encode("latin-1")).match(text, at):
                yield (
                    end,
                    Reading(((end, ()), (END, ())), () if label is None else ((label, False, at), (label, True, end))),
                )
    elif isinstance(node, Part):
        for end, inner in readings(node.inner, text, at):
            yield end, inner._replace(marks=((node.name, False, at), *inner.marks, (node.name, True, end)))
    elif isinstance(node, Joined) and node.is_choice:
        for number, each in enumerate(node.pieces):
            for end, inner in readings(each, text, at):
                yield end, chosen(number).then(inner)
    elif isinstance(node, Joined):
        yield from _in_a_row(node.pieces, text, at)
    elif isinstance(node, Repeated):
        yield from _turns(node, text, at, 0)


def _in_a_row(nodes: list[Node], text: bytes, at: int) -> Iterator[tuple[int, Reading]]:
    if not nodes:
        yield at, Reading()
        return
    for middle, first in readings(nodes[0], text, at):
        for end, rest in _in_a_row(nodes[1:], text, middle):
            yield end, first.then(rest)


def _turns(node: Repeated, text: bytes, at: int, done: int) -> Iterator[tuple[int, Reading]]:
    if node.max is None or done < node.max:
        nodes = [node.inner] if node.separator is None or not done else [node.separator, node.inner]
        free = max(node.min, 0 if node.separator is None else 1)
        for middle, turn in _in_a_row(nodes, text, at):
            if middle > at or done < free:
                for end, rest in _turns(node, text, middle, done + 1):
                    yield end, chosen(0).then(turn).then(rest)
    if done >= node.min:
        yield at, chosen(1)


def first_reading(node: Node, text: bytes) -> Reading | None:
    """Of the whole text; None where there is none."""
    whole = [reading for end, reading in readings(node, text, 0) if end == len(text)]
    return min(whole, key=lambda reading: reading.pieces, default=None)
