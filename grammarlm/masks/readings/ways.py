"""What a text may go on with at each of its places, along the parts of a grammar.

    Text(until=":") + Repeat(Capture("word", Regex("[a-z]+")), separator=" ")

A grammar is read in **pieces**: the largest ones in it without names, schemas, items, special tokens and texts of so many tokens,
each of which is a piece of its own. Between pieces the named parts begin and end: **marks**. Schemas and templates without a name
are marked as well, since their values are found. What is left to be read is a **way**: a list of grammars, pieces, marks, and turns
of repeats.

**Which reading, where a text has several.** A reading is the list of its pieces, each with the place in the text where it ends, and
with the choices made before it since the last one: alternatives, and whether a Repeat has another turn. Two readings are compared
piece by piece. Where they first differ,

1. the one whose piece ends first comes first;
2. of two that end at one place, the one that chose the first alternative, or another turn, where their choices first differ;
3. where one has no further piece, the other comes first. If both have none, their last choices decide.

The first of all is the reading. A turn of a Repeat reads something, unless it is one of the first `min`, or the first one where
there is a separator.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import NamedTuple

from grammarlm.errors import LimitExceeded
from grammarlm.grammars.capture import Capture
from grammarlm.grammars.compose import Choice, Grammar, Sequence
from grammarlm.grammars.items.special_token import Token
from grammarlm.grammars.items.tokens import Tokens
from grammarlm.grammars.json_schema.schema import JsonSchema
from grammarlm.grammars.names import Names
from grammarlm.grammars.part_graph import is_apart
from grammarlm.grammars.repeat import Repeat
from grammarlm.grammars.template import Template
from grammarlm.masks.runtime.limits import Limits
from grammarlm.vocab.vocabulary import Vocabulary

from .pieces import Borders, Piece, Stand, entrance

MOST_WAYS = 1 << 16  # kept from one text to the next
HAVE_VALUES = (JsonSchema, Tokens, Template)


@dataclass(frozen=True, eq=False)
class Label:
    """A named part, or a schema or template without a name (None)."""

    name: str | None
    value: Grammar | None  # the schema, the items or the template that it is, which say what its text means


class Mark(NamedTuple):
    """A part begins, or ends."""

    label: Label
    is_end: bool


@dataclass(frozen=True, eq=False)
class Turn:
    """After so many turns of a repeat; `is_empty`: the last one has read nothing so far."""

    repeat: Repeat
    turns: int
    is_empty: bool


Marks = tuple[Mark, ...]


class Way:
    """What is left to be read: an item, then the others. Equal ones are one object, while they are kept."""

    __slots__ = ("after", "has_empty", "item", "then")

    def __init__(self, item: Grammar | Piece | Mark | Turn, then: Way | None):
        self.item, self.then = item, then
        self.has_empty: bool = (isinstance(item, Turn) and item.is_empty) or (then is not None and then.has_empty)
        self.after: Next | None = None

    @property
    def piece(self) -> Piece:
        assert isinstance(self.item, Piece)
        return self.item


@dataclass
class Next:
    """What may come next: pieces, each after some marks. The pieces of a group come equally early until one of them ends."""

    groups: list[list[tuple[Marks, Way]]] = field(default_factory=list)
    end: Marks | None = None  # before the end of the text; None where it cannot end
    sure: Marks = ()  # those that come first in any case
    known: dict[int, list[list[tuple[Marks, Way, Stand]]]] = field(default_factory=dict)

    def begin(self, key: int, before: Borders) -> list[list[tuple[Marks, Way, Stand]]]:
        """Where the pieces stand after a byte, or the token ~key."""
        if before or key not in self.known:
            found = [list(self._begin(group, key, before)) for group in self.groups]
            if before:
                return found
            self.known[key] = found
        return self.known[key]

    def _begin(self, group: list[tuple[Marks, Way]], key: int, before: Borders) -> Iterator[tuple[Marks, Way, Stand]]:
        for marks, way in group:
            stand = entrance(way.piece, before)
            if stand is not None and (after := stand.after(key)) is not None:
                yield marks, way, after


class Ways:
    """The ways of one grammar's texts over a vocabulary; shared by all that read them."""

    watches_tokens = False  # does it matter which tokens a text has?

    def __init__(self, names: Names, vocab: Vocabulary, limits: Limits):
        self.names, self.vocab, self._limits = names, vocab, limits
        self._pieces: dict[Grammar, Piece] = {}
        self._labels: dict[tuple[str | None, Grammar | None], Label] = {}
        self._plain: dict[int, bool] = {}  # by the ids of grammars, which are kept
        self._runs: dict[int, list[Grammar]] = {}
        self._known: dict[Hashable, Way] = {}
        self._epochs = 0

    def start(self) -> Next:
        """Before a text."""
        epochs = sum(piece.epochs for piece in self._pieces.values())
        if epochs != self._epochs or len(self._known) > MOST_WAYS:
            self._epochs, self._known = epochs, {}
        way = self._way(self.names.grammar, None)
        if way.after is None:
            way.after = self._next(way)
        return way.after

    def after(self, way: Way) -> Next:
        """After the way's piece, which has read something."""
        if way.after is None:
            way.after = self._next(self._settled(way.then))
        return way.after

    # ------------------------------------------------------------------ what may come next

    def _next(self, way: Way | None) -> Next:
        found = Next()
        try:
            self._add(way, (), found, set(), set())
        except RecursionError:
            raise LimitExceeded("too many parts in a row may be empty, or they are nested too deeply") from None
        every = [marks for group in found.groups for marks, _ in group] + ([] if found.end is None else [found.end])
        count = 0
        while every and all(len(marks) > count and marks[count] == every[0][count] for marks in every):
            count += 1
        found.sure = every[0][:count] if every else ()
        return found

    def _add(self, way: Way | None, marks: Marks, found: Next, skipped: set[Way], taken: set[Way]) -> None:
        """Adds what may come here: first, what comes after pieces that read nothing (`skipped`); then what reads something."""
        reached, group = list(self._reached(way, marks, set())), []
        for before, read in reached:
            if read is not None and read not in skipped and read.piece.may_be_empty:
                skipped.add(read)
                self._add(read.then, before, found, skipped, taken)
        for before, read in reached:
            if read is None:
                found.end = before if found.end is None else found.end
                continue
            settled = self._way(read.item, self._settled(read.then))
            if settled not in taken:
                taken.add(settled)
                group.append((before, settled))
        if group:
            found.groups.append(group)

    def _reached(self, way: Way | None, marks: Marks, seen: set[Way | None]) -> Iterator[tuple[Marks, Way | None]]:
        """The pieces that may come before another one is read, in the order of the grammar; None: the end of the text."""
        while way not in seen:
            seen.add(way)
            if way is None or isinstance(way.item, Piece):
                yield marks, way
                return
            item, then = way.item, way.then
            if isinstance(item, Mark):
                marks, way = (*marks, item), then
            elif isinstance(item, Turn):
                repeat, turns = item.repeat, item.turns
                free = max(repeat.min, repeat.separator is not None)  # so many turns may read nothing
                if item.is_empty and turns > free:
                    return
                if repeat.max is None or turns < repeat.max:
                    most = free + 1 if repeat.max is None else repeat.max  # further ones need not be told apart
                    again = self._way(repeat.part, self._way(Turn(repeat, min(turns + 1, most), True), then))
                    between = repeat.separator if turns else None
                    yield from self._reached(again if between is None else self._way(between, again), marks, seen)
                if turns < repeat.min:
                    return
                way = then
            elif self._is_plain(item) or not isinstance(item, (Sequence, Choice, Repeat)):
                way = self._part(item, then)
            elif isinstance(item, Repeat):
                way = self._way(Turn(item, 0, False), then)
            elif isinstance(item, Choice):
                for part in self._parts_of(item):
                    yield from self._reached(self._way(part, then), marks, seen)
                return
            else:
                for part in reversed(self._parts_of(item)):
                    then = self._way(part, then)
                way = then

    # ------------------------------------------------------------------ grammars

    def _part(self, grammar: Grammar, then: Way | None) -> Way | None:
        """The way of a piece, or of a part with its marks."""
        if not isinstance(grammar, (Capture, JsonSchema, Template)):
            return self._way(self._piece(grammar), then)
        name, inner = (grammar.name, grammar.part) if isinstance(grammar, Capture) else (None, grammar)
        key = name, inner if isinstance(inner, HAVE_VALUES) else None
        label = self._labels.setdefault(key, Label(*key))
        item: Grammar | Piece = inner.part if isinstance(inner, Template) else inner
        item = self._piece(inner) if isinstance(inner, JsonSchema) else item
        return self._way(Mark(label, False), self._way(item, self._way(Mark(label, True), then)))

    def _piece(self, grammar: Grammar) -> Piece:
        if grammar not in self._pieces:
            self._pieces[grammar] = piece = Piece(grammar, self.vocab, self._limits)
            self.watches_tokens = self.watches_tokens or piece.watches_tokens
        return self._pieces[grammar]

    def _is_plain(self, grammar: Grammar) -> bool:
        """Is it one piece, or part of one?"""
        if id(grammar) not in self._plain:
            stands_alone = isinstance(grammar, (Capture, Template, Token)) or is_apart(grammar)
            self._plain[id(grammar)] = not stands_alone and all(map(self._is_plain, grammar.operands))
        return self._plain[id(grammar)]

    def _parts_of(self, grammar: Sequence | Choice) -> list[Grammar]:
        """Its operands, with runs of plain ones as one."""
        if id(grammar) not in self._runs:
            found: list[Grammar] = []
            for is_plain, run in groupby(grammar.parts, self._is_plain):
                parts = tuple(run)
                found += (type(grammar)(parts),) if is_plain and len(parts) > 1 else parts
            self._runs[id(grammar)] = found
        return self._runs[id(grammar)]

    # ------------------------------------------------------------------ ways

    def _way(self, item: Grammar | Piece | Mark | Turn, then: Way | None) -> Way:
        key: Hashable = id(item)
        if isinstance(item, Mark):
            key = item
        elif isinstance(item, Turn):
            key = id(item.repeat), item.turns, item.is_empty
        found = self._known.get((key, id(then)))
        if found is None:
            found = self._known[key, id(then)] = Way(item, then)
        return found

    def _settled(self, way: Way | None) -> Way | None:
        """The same, where all turns around have read something."""
        items = []
        while way is not None and way.has_empty:
            items.append(way.item)
            way = way.then
        for item in reversed(items):
            way = self._way(replace(item, is_empty=False) if isinstance(item, Turn) else item, way)
        return way
