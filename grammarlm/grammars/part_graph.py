"""A combination that contains JSON schemas or item sets, as a graph of parts that are read one after another.

    Text(until="</think>") + (JsonSchema(a) | JsonSchema(b)) + "\\n"

    parts    Text(until="</think>")   JsonSchema(a)   JsonSchema(b)   "\\n"
    firsts   0
    follow   0 -> 1, 2        1 -> 3        2 -> 3
    lasts    3

A JSON schema is read by a machine of its own, so unlike other grammars it cannot become terms or rules; nor can a set of items,
which are tokens and not bytes. So each of these is a part, and a run of adjacent grammars without them is one part. A text is read
along a path through the graph.
A part that accepts the empty text can be skipped; code that walks the graph handles that.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from grammarlm.errors import UnsupportedFeature
from grammarlm.grammars.items.token_list import TokenList
from grammarlm.grammars.items.tokens import Tokens
from grammarlm.grammars.json_schema.schema import JsonSchema

from .compose import Choice, Combination, Grammar, Sequence

ITEMS = (Tokens, TokenList)  # read as whole tokens, never as bytes
APART = (JsonSchema, *ITEMS)


@dataclass
class PartGraph:
    parts: list[Grammar] = field(default_factory=list)
    firsts: tuple[int, ...] = ()
    lasts: tuple[int, ...] = ()
    follow: list[tuple[int, ...]] = field(default_factory=list)


def first_apart(grammar: Grammar) -> Grammar | None:
    """A JSON schema or an item set anywhere in the grammar."""
    waiting = [grammar]
    while waiting:
        part = waiting.pop()
        if isinstance(part, Combination):
            waiting += part.parts
        elif isinstance(part, APART):
            return part
    return None


def has_parts(grammar: Grammar) -> bool:
    return first_apart(grammar) is not None


def part_graph(grammar: Grammar) -> PartGraph:
    """The graph of the grammar; UnsupportedFeature where a schema or an item set is an operand of & or -."""
    graph = PartGraph()
    graph.firsts, graph.lasts = _add(graph, grammar)
    return graph


def without(graph: PartGraph, empty: set[int]) -> PartGraph:
    """Removes the parts that have no text, and then those on no path from a first to a last part."""
    before: list[list[int]] = [[] for _ in graph.parts]
    for part, following in enumerate(graph.follow):
        for next_part in following:
            before[next_part].append(part)
    begins = _reached(set(graph.firsts) - empty, graph.follow, empty)
    kept = sorted(begins & _reached(set(graph.lasts) - empty, before, empty))
    number = {part: place for place, part in enumerate(kept)}

    def left(parts: Iterable[int]) -> tuple[int, ...]:
        return tuple(number[part] for part in parts if part in number)

    parts, follow = [graph.parts[part] for part in kept], [left(graph.follow[part]) for part in kept]
    return PartGraph(parts, left(graph.firsts), left(graph.lasts), follow)


def _reached(starts: set[int], edges: list[tuple[int, ...]] | list[list[int]], empty: set[int]) -> set[int]:
    found, waiting = set(starts), list(starts)
    while waiting:
        new = set(edges[waiting.pop()]) - found - empty
        found |= new
        waiting += new
    return found


def _add(graph: PartGraph, grammar: Grammar) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Adds a grammar's parts; returns those that its texts may begin with, and those that they may end with."""
    if isinstance(grammar, APART) or not has_parts(grammar):
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
    kind = type(first_apart(grammar)).__name__
    instead = "What both must satisfy can be said in the schema itself: allOf, not, pattern"
    if kind != JsonSchema.__name__:
        instead = "Leave out the items that are not wanted"
    raise UnsupportedFeature(
        f"{grammar.sign!r} with a {kind}: {grammar!r:.200}; it can be a part of + and | only. {instead}"
    )


def _runs(grammar: Combination) -> list[Grammar]:
    """The parts, with runs of adjacent ones (or alternatives) without schemas and item sets merged."""
    found: list[list[Grammar]] = []
    kind = type(grammar)
    for part in grammar.parts:
        is_plain = not has_parts(part)
        if is_plain and found and not has_parts(found[-1][0]):
            found[-1].append(part)
        elif is_plain and kind is Choice and (plain := [run for run in found if not has_parts(run[0])]):
            plain[0].append(part)
        else:
            found.append([part])
    return [run[0] if len(run) == 1 else kind(tuple(run)) for run in found]
