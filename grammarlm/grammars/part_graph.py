"""A combination that contains JSON schemas, item sets or documents, as a graph of parts that are read one after another.

    Text(until="</think>") + (JsonSchema(a) | JsonSchema(b)) + "\\n"

    parts    Text(until="</think>")   JsonSchema(a)   JsonSchema(b)   "\\n"
    firsts   0
    follow   0 -> 1, 2        1 -> 3        2 -> 3
    lasts    3

A JSON schema is read by a machine of its own, so unlike other grammars it cannot become terms or rules; nor can a set of items,
which are tokens and not bytes, a text of so many tokens, or a & b where one side has a stack. So each of these is a part, and a run
of adjacent grammars without them is one part. The pieces of a document (Substring) are one where they can be: below & and -, and
beside a Lark grammar, whose last lexeme extends into them, they are read as the regular language that they are. A text is read
along a path through the graph. A part that accepts the empty text can be skipped; code that walks the graph handles that.

Edges (part_edges.py) have conditions where the path alone does not decide:

    Repeat(JsonSchema(a), max=9)      an edge from the schema back to itself, eight times at most
    "get(" + A | "put(" + B | ...     many alternatives that begin with words: one part of all words, and an edge after each
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from grammarlm.errors import UnsupportedFeature
from grammarlm.grammars.items.token_list import TokenList
from grammarlm.grammars.items.tokens import Tokens
from grammarlm.grammars.json_schema.schema import JsonSchema

from .cfg.assembly import needs_stack
from .choices import Choices
from .compose import Choice, Combination, Difference, Grammar, Intersection, Literal, Sequence, leaves
from .lark.grammar import Lark
from .part_edges import NO_WORD, Edge, Loop, between, loops_of
from .repeat import Repeat
from .substring import Substring
from .text import Text

ITEMS = (Tokens, TokenList)  # read as whole tokens, never as bytes
MANY = 16  # parts that end and parts that begin; of more each with each, an empty part stands between
FEWEST_WORDS = 4  # alternatives that begin with words; fewer are parts of their own


@dataclass
class PartGraph:
    parts: list[Grammar] = field(default_factory=list)
    edges: list[list[Edge]] = field(default_factory=list)  # out of each part
    loops: list[tuple[Loop, ...]] = field(default_factory=list)  # the counted ones around each part, outermost first
    begins: list[Edge] = field(default_factory=list)
    ends: set[int] = field(default_factory=set)  # the last parts
    words: dict[int, tuple[str, ...]] = field(default_factory=dict)  # parts that are words, each with edges of its own

    @property
    def firsts(self) -> tuple[int, ...]:
        return _parts_of(self.begins)

    @property
    def lasts(self) -> tuple[int, ...]:
        return tuple(sorted(self.ends))

    @property
    def follow(self) -> list[tuple[int, ...]]:
        """The parts that may follow each, whatever the conditions."""
        return [_parts_of(edges) for edges in self.edges]

    @property
    def has_conditions(self) -> bool:
        edges = [edge for out in (self.begins, *self.edges) for edge in out]
        return any(edge.is_conditional for edge in edges) or any(map(most_tokens, self.parts))


def _parts_of(edges: Iterable[Edge]) -> tuple[int, ...]:
    return tuple(dict.fromkeys(edge.part for edge in edges))


def most_tokens(part: Grammar) -> int | None:
    """The most tokens that may have bytes of the part."""
    return part.max_tokens if isinstance(part, Text) else None


def is_apart(grammar: Grammar) -> bool:
    is_leaf = isinstance(grammar, (JsonSchema, Substring, *ITEMS)) or most_tokens(grammar) is not None
    return is_leaf or is_bordered(grammar)


def is_bordered(grammar: Grammar) -> bool:
    """Is it & or - with a side that has a stack? Its border runs over the whole of its text, so it has an automaton of its own."""
    return isinstance(grammar, (Intersection, Difference)) and needs_stack(grammar)


def first_apart(grammar: Grammar) -> Grammar | None:
    """A JSON schema, an item set, a document, a text of so many tokens, or & and - with a stack, anywhere in the grammar, that is a
    part of its own."""
    found = [part for part in leaves(grammar) if is_apart(part)]
    other = next((part for part in found if not isinstance(part, Substring)), None)
    if other is None:
        other = next((part for part in _free(grammar) if part is not grammar and is_bordered(part)), None)
    if other is not None or not found or any(isinstance(part, Lark) for part in leaves(grammar)):
        return other
    return next((part for part in _free(grammar) if isinstance(part, Substring)), None)


def _free(grammar: Grammar) -> Iterator[Grammar]:
    """The grammar and those in it that are not below & or -."""
    waiting, seen = [grammar], set[int]()
    while waiting:
        part = waiting.pop()
        if id(part) not in seen:
            seen.add(id(part))
            yield part
            waiting += () if isinstance(part, (Intersection, Difference)) else part.operands


def has_parts(grammar: Grammar) -> bool:
    return first_apart(grammar) is not None


def part_graph(grammar: Grammar, may_be_empty: Callable[[Grammar], bool]) -> PartGraph:
    """The graph of the grammar; UnsupportedFeature where a schema or an item set is an operand of & or -.

    `may_be_empty`: does a part have the empty text?
    """
    graph = _Builder(may_be_empty)
    found = graph.add(grammar, ())
    graph.begins = [between((), end) for end in found.firsts]
    graph.ends = {end.part for end in found.lasts}
    return graph


def without(graph: PartGraph, empty: set[int]) -> PartGraph:
    """Removes the parts that have no text, and then those on no path from a first to a last part."""
    follow = graph.follow
    before: list[list[int]] = [[] for _ in graph.parts]
    for part, following in enumerate(follow):
        for next_part in following:
            before[next_part].append(part)
    begins = _reached(set(graph.firsts) - empty, follow, empty)
    kept = sorted(begins & _reached(set(graph.lasts) - empty, before, empty))
    number = {part: place for place, part in enumerate(kept)}

    def left(edges: list[Edge]) -> list[Edge]:
        return [edge._replace(part=number[edge.part]) for edge in edges if edge.part in number]

    words = {}
    for part in graph.words.keys() & number.keys():
        words[number[part]] = tuple(dict.fromkeys(e.word for e in graph.edges[part] if e.part in number))
    return PartGraph(
        [Choices(words[number[part]]) if part in graph.words else graph.parts[part] for part in kept],
        [left(graph.edges[part]) for part in kept],
        [graph.loops[part] for part in kept],
        left(graph.begins),
        {number[part] for part in graph.ends if part in number},
        words,
    )


def _reached(starts: set[int], edges: list[tuple[int, ...]] | list[list[int]], empty: set[int]) -> set[int]:
    found, waiting = set(starts), list(starts)
    while waiting:
        new = set(edges[waiting.pop()]) - found - empty
        found |= new
        waiting += new
    return found


class _End(NamedTuple):
    """A part that texts of a grammar begin or end with, in the loops around it, outermost first."""

    part: int
    loops: tuple[Loop, ...]
    word: str = NO_WORD


class _Ends(NamedTuple):
    firsts: list[_End]
    lasts: list[_End]


class _Builder(PartGraph):
    def __init__(self, may_be_empty: Callable[[Grammar], bool]):
        super().__init__()
        self._may_be_empty, self._loops = may_be_empty, 0

    def add(self, grammar: Grammar, loops: tuple[Loop, ...]) -> _Ends:
        """Adds a grammar's parts; returns those that its texts may begin with, and those that they may end with."""
        if not grammar.operands or not has_parts(grammar):
            return self._part(grammar, loops)
        if isinstance(grammar, Sequence):
            parts = _runs(grammar)
            found = self.add(parts[0], loops)
            for part in parts[1:]:
                found = _Ends(found.firsts, self._after(found.lasts, self.add(part, loops)))
            return found
        if isinstance(grammar, Choice):
            sides = [self._side(side, loops) for side in _alternatives(grammar)]
            return _Ends([end for side in sides for end in side.firsts], [end for side in sides for end in side.lasts])
        if isinstance(grammar, Repeat):
            return self._repeat(grammar, loops)
        raise _refused(grammar)

    def _part(self, grammar: Grammar, loops: tuple[Loop, ...]) -> _Ends:
        self.parts.append(grammar)
        self.edges.append([])
        self.loops.append(loops)
        end = _End(len(self.parts) - 1, loops)
        return _Ends([end], [end])

    def _after(self, lasts: list[_End], found: _Ends) -> list[_End]:
        """Puts one behind the other."""
        if len(lasts) > MANY and len(found.firsts) > MANY:
            lasts = self._after(lasts, self._part(Literal(""), loops_of(lasts[0].loops, found.firsts[0].loops)))
        for last in lasts:
            self.edges[last.part] += [
                between(last.loops, first, word=last.word, shared=len(loops_of(last.loops, first.loops)))
                for first in found.firsts
            ]
        return found.lasts

    def _side(self, side: Grammar | dict[str, list[Grammar]], loops: tuple[Loop, ...]) -> _Ends:
        """An alternative, or many that begin with words."""
        if isinstance(side, Grammar):
            return self.add(side, loops)
        found = self._part(Choices(side), loops)
        number = found.firsts[0].part
        self.words[number] = tuple(side)
        lasts: list[_End] = []
        for word, rests in side.items():
            for rest in rests:
                lasts += self._after([_End(number, loops, word)], self.add(rest, loops))
        return _Ends(found.firsts, lasts)

    def _repeat(self, grammar: Repeat, loops: tuple[Loop, ...]) -> _Ends:
        if grammar.max == 0:
            return self._part(Literal(""), loops)
        loop = Loop(self._loops, self._turns(grammar), grammar.max, grammar.separator is not None)
        self._loops += 1
        within = (*loops, loop) if loop.is_counted else loops
        found = self.add(grammar.part, within)
        lasts = found.lasts
        if grammar.separator is not None:
            separator = self.add(grammar.separator, within)
            self._turn(found.lasts, separator.firsts, loop, len(loops))
            self._after(separator.lasts, found)
        else:
            self._turn(found.lasts, found.firsts, loop, len(loops))
        if grammar.min == 0:
            empty = self._part(Literal(""), loops)
            return _Ends(found.firsts + empty.firsts, lasts + empty.lasts)
        return _Ends(found.firsts, lasts)

    def _turns(self, grammar: Repeat) -> int:
        """The least number of turns that must be counted: none where a turn may be empty."""
        if grammar.min <= 1:
            return 1
        empty = self._is_empty(grammar.part) and (grammar.separator is None or self._is_empty(grammar.separator))
        return 1 if empty else grammar.min

    def _turn(self, lasts: list[_End], firsts: list[_End], loop: Loop, depth: int) -> None:
        """Edges to the next turn of a loop with so many others around it."""
        if loop.max == 1:
            return
        if len(lasts) > MANY and len(firsts) > MANY:
            lasts = self._after(lasts, self._part(Literal(""), lasts[0].loops[: depth + loop.is_counted]))
        again = loop if loop.is_counted else None
        for last in lasts:
            self.edges[last.part] += [
                between(last.loops, first, word=last.word, shared=depth, again=again) for first in firsts
            ]

    def _is_empty(self, grammar: Grammar) -> bool:
        """May it be the empty text?"""
        if not grammar.operands or not has_parts(grammar):
            return self._may_be_empty(grammar)
        if isinstance(grammar, Repeat):
            is_parted = grammar.min > 1 and grammar.separator is not None and not self._is_empty(grammar.separator)
            return grammar.min == 0 or (self._is_empty(grammar.part) and not is_parted)
        inner = [self._is_empty(part) for part in grammar.operands]
        return any(inner) if isinstance(grammar, Choice) else all(inner)


def _refused(grammar: Grammar) -> UnsupportedFeature:
    kind = type(first_apart(grammar)).__name__
    sign = grammar.sign if isinstance(grammar, Combination) else type(grammar).__name__
    instead = "What both must satisfy can be said in the schema itself: allOf, not, pattern"
    if kind == Text.__name__:
        kind, instead = "Text(max_tokens=...)", "Leave out max_tokens, or say it with max_chars"
    elif kind != JsonSchema.__name__:
        instead = "Leave out the items that are not wanted"
    return UnsupportedFeature(
        f"{sign!r} with a {kind}: {grammar!r:.200}; it can be a part of +, | and Repeat only. {instead}"
    )


def _alternatives(grammar: Choice) -> list[Grammar | dict[str, list[Grammar]]]:
    """The alternatives: what several begin with once, and those that begin with words in one, by their words."""
    found: list[Grammar | dict[str, list[Grammar]]] = []
    begun: dict[Grammar, list[Grammar]] = {}
    for side in _runs(grammar):
        if isinstance(side, Sequence) and has_parts(side):
            rest = side.operands[1:]
            begun.setdefault(side.operands[0], []).append(rest[0] if len(rest) == 1 else Sequence(rest))
        else:
            found.append(side)
    words = {first.text: rests for first, rests in begun.items() if isinstance(first, Literal) and first.text}
    if len(words) >= FEWEST_WORDS:
        found.append(words)
    for first, rests in begun.items():
        if len(words) < FEWEST_WORDS or not (isinstance(first, Literal) and first.text):
            found.append(Sequence((first, rests[0] if len(rests) == 1 else Choice(tuple(rests)))))
    return found


def _extends(part: Grammar, following: Grammar) -> bool:
    """Does the last lexeme of a Lark grammar extend into a document?"""
    return isinstance(following, Substring) and any(isinstance(leaf, Lark) for leaf in leaves(part))


def _runs(grammar: Combination) -> list[Grammar]:
    """The parts, with runs of adjacent ones (or alternatives) without schemas and item sets merged."""
    found: list[list[Grammar]] = []
    kind = type(grammar)
    plain: list[Grammar] | None = None  # where alternatives without schemas are merged
    for part in grammar.parts:
        is_plain = not is_apart(part) and not has_parts(part)
        is_plain = is_plain or (plain is not None and found[-1] is plain and _extends(plain[-1], part))
        if is_plain and plain is not None and (kind is Choice or found[-1] is plain):
            plain.append(part)
            continue
        found.append([part])
        if is_plain:
            plain = found[-1]
    return [run[0] if len(run) == 1 else kind(tuple(run)) for run in found]
