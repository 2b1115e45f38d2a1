"""A combination with JSON schemas in it, as parts that are read one after another.

    Text(until="</think>") + (JsonSchema(a) | JsonSchema(b)) + "\\n"

    parts    Text(until="</think>")   JsonSchema(a)   JsonSchema(b)   "\\n"
    firsts   0
    follow   0 -> 1, 2        1 -> 3        2 -> 3
    lasts    3

A JSON schema is read by a machine of its own, so it cannot be dissolved into terms or rules as other grammars are. It can be a
part: what has no schema in it and stands side by side is one part, a schema is one, and a text is read by a path through the graph.
A part that accepts the empty text can be passed over; that is left to whoever follows the graph.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ..errors import UnsupportedFeature
from .compose import Choice, Combination, Grammar, Sequence
from .json_schema import JsonSchema


@dataclass
class PartGraph:
    parts: list[Grammar] = field(default_factory=list)
    firsts: tuple[int, ...] = ()
    lasts: tuple[int, ...] = ()
    follow: list[tuple[int, ...]] = field(default_factory=list)


def has_schema(grammar: Grammar) -> bool:
    """Is there a JSON schema anywhere in it?"""
    waiting = [grammar]
    while waiting:
        part = waiting.pop()
        if isinstance(part, Combination):
            waiting += part.parts
        elif isinstance(part, JsonSchema):
            return True
    return False


def part_graph(grammar: Grammar) -> PartGraph:
    """UnsupportedFeature where a schema stands below & or -."""
    graph = PartGraph()
    graph.firsts, graph.lasts = _add(graph, grammar)
    return graph


def _add(graph: PartGraph, grammar: Grammar) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Adds a grammar's parts; returns those that a text of it may begin with, and those that it may end with."""
    if isinstance(grammar, JsonSchema) or not has_schema(grammar):
        graph.parts.append(grammar)
        graph.follow.append(())
        number = len(graph.parts) - 1
        return (number,), (number,)
    if isinstance(grammar, Sequence):
        firsts, lasts = _add(graph, (run := _runs(grammar))[0])
        for part in run[1:]:
            begins, ends = _add(graph, part)
            for number in lasts:
                graph.follow[number] += begins
            lasts = ends
        return firsts, lasts
    if isinstance(grammar, Choice):
        sides = [_add(graph, part) for part in _runs(grammar)]
        return tuple(n for first, _ in sides for n in first), tuple(n for _, last in sides for n in last)
    assert isinstance(grammar, Combination)
    raise UnsupportedFeature(
        f"{grammar.sign!r} with a JsonSchema: {grammar!r:.200}; it can be a part of + and | only. What both must satisfy can be "
        "said in the schema itself: allOf, not, pattern"
    )


def _runs(grammar: Combination) -> list[Grammar]:
    """The parts, those without schemas that stand side by side (or are alternatives of each other) put together."""
    found: list[list[Grammar]] = []
    kind = type(grammar)
    for part in grammar.parts:
        is_plain = not has_schema(part)
        if is_plain and found and not has_schema(found[-1][0]):
            found[-1].append(part)
        elif is_plain and kind is Choice and (plain := [run for run in found if not has_schema(run[0])]):
            plain[0].append(part)
        else:
            found.append([part])
    return [run[0] if len(run) == 1 else kind(tuple(run)) for run in found]
