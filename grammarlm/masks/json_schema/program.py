"""From shapes to the rows that the JSON machine runs (layout/json.py has their layout).

The walk over nodes is a worklist, so schemas may be nested to any depth. A node's row is reserved at the first
reference to it and filled when its turn comes, so nodes may contain themselves.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from itertools import product
from typing import Any, NamedTuple

from ...errors import LimitExceeded, UnsupportedFeature
from ...grammars.json_schema import numbers, strings
from ...grammars.json_schema.keys import language_of
from ...grammars.json_schema.languages import Languages, only_format
from ...grammars.json_schema.number_rows import in_halves, pack, values
from ...grammars.json_schema.parts import TYPE_NODES, TYPE_NODES_4
from ...grammars.json_schema.shapes import (
    EVERY_STRING,
    ArrayShape,
    Item,
    Language,
    Literal,
    Node,
    NumberShape,
    ObjectShape,
    StringShape,
)
from ...grammars.json_schema.shapes import Shape as Shape_
from ...grammars.json_schema.strings import is_text
from ...grammars.json_schema.text_algebra import TextAlgebra
from ...grammars.terms import accepts_empty
from ...layout.json import INLINE, MOST_REQUIRED, Object, Shape
from ...layout.numbers import FLAGS, TOLD
from .languages import LanguageStates, bytes_of
from .string_shapes import UnitedStrings, counted, spellable
from .tables import NUMBERS, TEMPLATE_AT, TEMPLATE_ROWS, JsonTables

LITERALS = {"true": 1, "false": 2, "null": 3}
LARGEST = (1 << 24) - 1  # a row's offset has 24 bits
UNIQUE = ("uniqueItems",)
DEPENDENCIES = ("dependencies", "dependentRequired", "dependentSchemas")
MOST_CHARACTERS = (1 << 38) - 1
MOST_ITEMS = 4096
FEW_NUMBERS = 64  # values of a number shape that become separate shapes, where items must differ
MOST_LENGTHS = 1 << 16  # of strings that have both a language and lengths
MOST_TOLD_APART = 3  # patterns of keys of which all combinations are checked
EVERYTHING = Node(is_anything=True)
ANY_TEXT: Language = frozenset(
    [("pattern", "", True)]
)  # changes nothing, but the language is then no longer one of the shared automata
TYPES_AT = {id(node): TEMPLATE_AT["type " + name] for name, node in TYPE_NODES.items()}
TYPES_AT[id(TYPE_NODES_4["integer"])] = TEMPLATE_AT["type plain integer"]
SHAPES_AT = {StringShape(): TEMPLATE_AT["string"]}
NUMBERS_AT = {shape: TEMPLATE_AT[name] for name, shape in NUMBERS.items()}


class Texts:
    """A schema's languages of strings, made where some string needs them."""

    def __init__(self, make_algebra: Callable[[], TextAlgebra], max_states: int):
        self._make_algebra, self._max_states = make_algebra, max_states

    @cached_property
    def languages(self) -> Languages:
        return Languages(self._make_algebra())

    @cached_property
    def states(self) -> LanguageStates:
        languages = self.languages
        return LanguageStates(
            languages.algebra, languages.every, lambda term: not languages.is_dead(term), self._max_states,
            is_endless=languages.is_endless, count_of=languages.count_behind,
        )  # fmt: skip

    @property
    def made_states(self) -> LanguageStates:
        """The states, if there are any; otherwise an empty automaton, which must not be changed."""
        return self.states if "states" in self.__dict__ else NO_STATES


_NO_LANGUAGES = Languages()
NO_STATES = LanguageStates(_NO_LANGUAGES.algebra, _NO_LANGUAGES.every, lambda term: True, 1, capacity=1)


class JsonProgram(NamedTuple):
    rows: array[int]  # int64; after them the bytes of keys and words
    blob_at: int  # where those begin, in bytes
    start: int  # the root's row

    @property
    def address(self) -> int:
        return self.rows.buffer_info()[0]

    @property
    def nbytes(self) -> int:
        return 8 * len(self.rows)


class ProgramWriter:
    """Writes one program."""

    def __init__(self, texts: Texts, tables: JsonTables, first_names: tuple[str, ...] = ()):
        """`first_names`: keys that come first, in this order, whatever the schema's is."""
        self.is_tidy = tables.spelling == "plain"
        self.rows = list(TEMPLATE_ROWS[tables.spelling])
        self.blob = bytearray()
        self.texts, self.tables = texts, tables
        self.turns = {name: turn for turn, name in enumerate(first_names)}
        self.all_lengths = False  # does some string of a language have a least length?
        self._nodes: dict[int, int] = dict(TYPES_AT)
        self._queue: list[Node] = []
        self._numbers = NUMBERS_AT.copy()
        self._strings = SHAPES_AT.copy()
        self._kept: list[Node] = []
        self._told_apart: dict[int, Node] = {}
        self._told_numbers: set[NumberShape] = set()
        self._told_rows: dict[NumberShape, int] = {}

    @property
    def languages(self) -> Languages:
        return self.texts.languages

    @property
    def states(self) -> LanguageStates:
        return self.texts.states

    def write(self, root: Node) -> JsonProgram:
        return self.finish(self.node(root))

    def finish(self, start: int) -> JsonProgram:
        """Writes the nodes that were referred to; `start` is the root's row."""
        while self._queue:
            node = self._queue.pop()
            at = self._nodes[id(node)]
            for i, shape in enumerate(self.spellable(node)):
                kind, row = self.shape(shape, node)
                self.rows[at + 2 + 2 * i], self.rows[at + 3 + 2 * i] = kind, row
        if len(self.rows) > LARGEST:
            raise LimitExceeded(
                f"the schema comes down to {len(self.rows):,} words of tables, at most {LARGEST:,} are allowed"
            )
        rows = array("q", self.rows)
        blob_at = 8 * len(rows)
        rows.frombytes(self.blob + bytes(8 - len(self.blob) % 8))
        return JsonProgram(rows, blob_at, start)

    def node(self, node: Node) -> int:
        """The offset of a node's row; -1 where it has no values."""
        if node.is_anything:
            return TEMPLATE_AT["anything"]
        known = self._nodes.get(id(node))
        if known is None:
            count = len(self.spellable(node))
            if not count:
                return -1
            known = self._nodes[id(node)] = len(self.rows)
            self._kept.append(node)
            self.rows += [count, 0] + [0] * (2 * count)
            self._queue.append(node)
        return known

    def spellable(self, node: Node) -> list[Any]:
        """The node's alternatives as rows represent them."""
        found: list[Any] = spellable(node)
        if not self.is_tidy or not any(isinstance(shape, NumberShape) for shape in found):
            return found
        halves = [in_halves(shape) if isinstance(shape, NumberShape) else [shape] for shape in found]
        return [half for few in halves for half in few if len(few) == 1 or _is_written(half)]

    def shape(self, shape, node: Node) -> tuple[int, int]:  # type: ignore[no-untyped-def]
        if isinstance(shape, Literal):
            return Shape.LITERAL, LITERALS[shape.text]
        if isinstance(shape, StringShape):
            return self.string(shape, node)
        if isinstance(shape, UnitedStrings):
            return Shape.STRING, self.united(shape)
        if isinstance(shape, NumberShape):
            return Shape.NUMBER, self.number(shape, node)
        if isinstance(shape, ObjectShape):
            return Shape.OBJECT, self.object(shape, node)
        return Shape.ARRAY, self.array(shape, node)

    # ------------------------------------------------------------------ strings and numbers

    def number(self, shape: NumberShape, node: Node) -> int:
        if shape in self._told_numbers:
            return self.told_number(shape, node)
        known = self._numbers.get(shape)
        if known is None:
            if numbers.is_empty(shape):  # a row without numbers would be a dead end
                raise UnsupportedFeature(numbers.beyond_caps(shape), pointer=node.pointer)
            row = pack(shape, self.rows, tidy=self.is_tidy, pointer=node.pointer)
            known = self._numbers[shape] = len(self.rows)
            self.rows += row
        return known

    def told_number(self, shape: NumberShape, node: Node) -> int:
        """The row of one value, with the text by which items that must differ are compared."""
        known = self._told_rows.get(shape)
        if known is None:
            assert shape.low is not None
            row, text = pack(shape, self.rows, tidy=self.is_tidy, pointer=node.pointer), _canonical(shape.low)
            known = self._told_rows[shape] = len(self.rows) + 2
            row[FLAGS] |= TOLD
            self.rows += [len(self.blob), len(text), *row]
            self.blob += text
        return known

    def string(self, shape: StringShape, node: Node) -> tuple[int, int]:
        known = self.format_string(shape)
        if known is None and shape.values is None and shape.language:
            shape = strings.settled(shape, self.languages)
            known = self._strings.get(shape)
        if shape.values is not None:
            return Shape.WORDS, self.words(shape.values)
        if known is None:
            known = self._strings[shape] = self.any_string(shape, node)
        return Shape.STRING, known

    def format_string(self, shape: StringShape) -> int | None:
        """The row of a string that is written already, or has nothing but a format whose automaton all schemas share;
        None for others."""
        known = self._strings.get(shape)
        if known is None and shape.language and not shape.minimum and shape.maximum is None:
            start = self.tables.format_state(only_format(shape.language))
            if start is not None:
                known = self._strings[shape] = len(self.rows)
                self.rows += (0, -1, start, 0)
        return known

    def any_string(self, shape: StringShape, node: Node) -> int:
        shape = counted(shape)
        most = -1 if shape.maximum is None else min(shape.maximum, MOST_CHARACTERS)
        least = min(shape.minimum, MOST_CHARACTERS)
        start = lengths = 0
        if shape.language != EVERY_STRING:
            start = self.states.number((self.languages.term(shape.language),))
            if least > 0 or most >= 0:
                lengths = 1
                self.tell_lengths(max(least, most), least > 0, node)
        self.rows += [least, most, start, lengths]
        return len(self.rows) - 4

    def united(self, strings: UnitedStrings) -> int:
        languages = self.languages
        term = languages.algebra.alt([languages.term(shape.language) for shape in strings.shapes])
        self.rows += [0, -1, self.states.number((term,)), 0]
        return len(self.rows) - 4

    def tell_lengths(self, longest: int, is_least: bool, node: Node) -> None:
        if longest > MOST_LENGTHS:
            raise UnsupportedFeature(
                f"a pattern or format together with a length of {longest:,} characters (at most {MOST_LENGTHS:,})",
                pointer=node.pointer,
                keywords=("minLength", "maxLength"),
            )
        # With a greatest length alone, the shortest rest of each state is enough; it is found much sooner than all
        # lengths.
        self.all_lengths = self.all_lengths or is_least
        bits_of = self.languages.lengths_from if self.all_lengths else self.languages.shortest_from
        self.states.tell_lengths(longest, bits_of)

    def words(self, values: tuple[str, ...]) -> int:
        spelled = sorted({value.encode() for value in values if is_text(value)})
        rows, at = self.rows, len(self.blob)
        table = len(rows)
        for word in spelled:
            rows += (at, len(word), 0, 0)
            at += len(word)
        self.blob += b"".join(spelled)
        rows += (table, 0, len(spelled))
        return len(rows) - 3

    # ------------------------------------------------------------------ objects

    def object(self, shape: ObjectShape, node: Node) -> int:
        names = [name for name in shape.properties if is_text(name)]
        if self.turns:
            names.sort(key=lambda name: self.turns.get(name, len(self.turns)))  # stable: the others keep their order
        if not names and _is_any_object(shape):
            return TEMPLATE_AT["object"]
        declared = len(names)
        few, languages = self.few_names(shape, declared)
        names += few
        languages = without_words(languages, names)
        children = [self.node(shape.properties[name] if name in shape.properties else few[name]) for name in names]
        others = self.others(languages)
        available = self.others_in_all(shape, languages if others[0] != -1 else [])
        bounds = bound(shape.minimum), bound(shape.maximum)
        return self.object_row(
            names, children, declared, shape.required, shape.implied, others, bounds, available, node.pointer
        )

    def object_row(
        self,
        names: list[str],
        children: list[int],
        declared: int,
        required: Iterable[str],
        implications: Mapping[str, Iterable[str]],
        others: tuple[int, int, int, int, int],
        bounds: tuple[int, int],
        available: int,
        pointer: str,
    ) -> int:
        """The row of an object whose keys are `names`, of which the first `declared` have a rank of their own."""
        rows, count = self.rows, len(names)
        order = sorted(range(count), key=names.__getitem__)  # by code points, which is also the order of bytes
        place = {names[i]: at for at, i in enumerate(order)}
        keys = self.keys(names, children, order, declared)
        needed = {place[name] for name in required}
        implied = {place[a]: {place[b] for b in bs} for a, bs in implications.items() if a in place}
        if implied:
            _close(needed, implied)
        if implied and available >= 0 and bounds[1] >= 0 and bounds[0] > len(needed):
            raise UnsupportedFeature(
                "dependencies beside minProperties and maxProperties in an object without other keys",
                pointer=pointer,
                keywords=DEPENDENCIES,
            )
        ranks = needed_at = implied_at = bits = usable = 0
        if count <= INLINE:
            ranks = len(rows)
            rows += _ranks(order, declared)
            bits = sum([1 << at for at in needed])
            implied_at = self.implied(implied)
            usable = sum([1 << at for at, i in enumerate(order) if children[i] >= 0])
        else:
            if implied:
                raise UnsupportedFeature(
                    f"dependencies in an object of more than {INLINE} properties",
                    pointer=pointer,
                    keywords=DEPENDENCIES,
                )
            if len(needed) > MOST_REQUIRED:
                raise UnsupportedFeature(
                    f"{len(needed):,} required properties in one object (at most {MOST_REQUIRED:,})",
                    pointer=pointer,
                    keywords=("required",),
                )
            needed_at = len(rows)
            rows += [len(needed), *sorted(needed, key=order.__getitem__)]
            bits = len(needed)
        rows += (
            count, keys, *others[:3], *bounds, bits, usable, implied_at, needed_at, available, ranks, *others[3:],
        )  # fmt: skip
        return len(rows) - Object.LENGTH

    def others_in_all(self, shape: ObjectShape, others: list[tuple[Language, Node]]) -> int:
        """How many keys without a place of their own there are; -1 where they alone are enough for the least number of keys."""
        left = shape.minimum
        for language, child in others:
            if self.node(child) >= 0:
                beyond = language | {("words", tuple(shape.properties), False)} if shape.properties else language
                left -= self.languages.count(beyond, 0, None, left) if left > 0 else 0
        return shape.minimum - left if left > 0 else -1

    def keys(self, names: list[str], children: list[int], order: list[int], declared: int) -> int:
        """The table of an object's own keys, sorted by bytes; a key's rank is its place in the schema's order.

        The keys after the declared ones share one rank, which stays open after each of them.
        """
        rows, blob = self.rows, self.blob
        table, at = len(rows), len(blob)
        for i in order:
            word = names[i].encode()
            blob += word
            rows += (at, len(word), children[i], i if i < declared else declared - 1)
            at += len(word)
        return table

    def few_names(self, shape: ObjectShape, declared: int) -> tuple[dict[str, Node], list[tuple[Language, Node]]]:
        """Other keys of languages with few words get places of their own, since they can be used up. Also returns the
        languages left."""
        few: dict[str, Node] = {}
        left: list[tuple[Language, Node]] = []
        for language, child in shape.others:
            room = INLINE - declared - len(few)
            listed = next(iter(language))[1] if len(language) == 1 else ""
            if listed.__class__ is tuple and 0 < len(listed) <= room and next(iter(language))[2]:
                few.update({name: child for name in listed if name not in shape.properties and is_text(name)})
                continue
            if not any(holds for _, _, holds in language):
                left.append((language, child))  # all but some: there is always another
            elif self.languages.count(language, 0, None, room + 1) <= room:
                few.update({name: child for name in self.spelled(language) if name not in shape.properties})
            else:
                left.append((language, child))
        return few, left

    def spelled(self, language: Language) -> Iterator[str]:
        """The words of a language that has few."""
        languages = self.languages
        stack = [(languages.term(language), b"")]
        while stack:
            term, read = stack.pop()
            if accepts_empty(term):
                yield read.decode()
            for bits, after in languages.algebra.edges(term):
                if not languages.is_dead(after):
                    stack += [(after, read + bytes([byte])) for byte in bytes_of(bits).tolist()]

    def others(self, languages: list[tuple[Language, Node]]) -> tuple[int, int, int, int, int]:
        """(node of other keys' values: -1 none, -2 by case; start of their language; cases; the case of most keys, from
        1; number of cases)."""
        cases = [(language, self.node(child)) for language, child in languages]
        cases = [(language, child) for language, child in cases if child >= 0]
        if not cases:
            return -1, 0, 0, 0, 0
        if len(cases) == 1 and cases[0][0] == EVERY_STRING:
            return cases[0][1], 0, 0, 0, 0
        start = self.states.number(tuple([self.languages.term(language) for language, _ in cases]), counted=True)
        if start == 0:
            return -1, 0, 0, 0, 0
        default = 0
        for i, (language, _) in enumerate(cases):
            if not any(holds for _, _, holds in language):
                default = i + 1
        are_all = default != 0 and self.are_all([language for language, _ in cases])
        self.rows += [int(are_all), *(child for _, child in cases)]
        at = len(self.rows) - len(cases)
        return -2, start, at, default, len(cases)

    def are_all(self, cases: list[Language]) -> bool:
        """Does every key belong to one of these languages, or is it a word that each of them excludes? Decided only for
        few patterns."""
        told = {frozenset([p for p in language if p[0] != "words" or p[2]]) for language in cases}
        said = sorted({(kind, text) for language in told for kind, text, _ in language}, key=str)
        if len(said) > MOST_TOLD_APART or any(len(language) != len(said) for language in told):
            return False
        ways = [
            frozenset([(*one, sign) for one, sign in zip(said, signs, strict=True)])
            for signs in product((True, False), repeat=len(said))
        ]
        return all(way in told or self.languages.is_empty(way) for way in ways)

    def implied(self, implied: dict[int, set[int]]) -> int:
        """Writes which keys each key implies, transitively; 0: none does."""
        if not implied:
            return 0
        at = len(self.rows)
        self.rows.append(len(implied))
        for key, direct in implied.items():
            needs = set(direct)
            _close(needs, implied)
            self.rows += [key, sum(1 << n for n in needs)]
        return at

    # ------------------------------------------------------------------ arrays

    def distinct(self, shape: ArrayShape, node: Node) -> int:
        """How many different items there can be, where that is finite and exact; -1: unlimited."""
        places = [list(_kinds_of(ways)) for ways in (*shape.prefix, shape.rest)]
        if all(any(map(_is_large, kinds)) for kinds in places if kinds):
            return -1
        if shape.prefix:
            raise UnsupportedFeature(
                "uniqueItems of positions that have few values each", pointer=node.pointer, keywords=UNIQUE
            )
        found: set[object] = set()
        for kind in places[0]:
            if isinstance(kind, Literal):
                found.add((kind.text,))  # a tuple, so that null is not "null"
            elif isinstance(kind, StringShape):
                found.update([value for value in kind.values or () if is_text(value)])
            elif isinstance(kind, NumberShape):
                found.update(values(kind, MOST_ITEMS) or ())
        return len(found)

    def told_apart(self, node: Node) -> Node:
        """The node for items that must differ: its strings listed where they are few, and lengths made part of the
        language where there is one, so that the kernel can count the strings accepted from a state."""
        known = self._told_apart.get(id(node))
        if known is None:
            shapes: list[Shape_] = []
            for shape in node.alternatives:
                if isinstance(shape, NumberShape):
                    shapes += self.numbers_told_apart(shape, node)
                else:
                    shapes.append(self.string_told_apart(shape) if isinstance(shape, StringShape) else shape)
            known = node
            if shapes != list(node.alternatives):
                known = Node(tuple(shapes), False, node.pointer)
            self._told_apart[id(node)] = known
            self._kept.append(node)
        return known

    def numbers_told_apart(self, shape: NumberShape, node: Node) -> list[NumberShape]:
        """Few numbers become separate shapes. Others must be many of each sign: otherwise `0.00` may be the prefix of
        no new number, and only a search through all spellings could decide that."""
        few = values(shape, FEW_NUMBERS)
        if few is not None:
            points = [NumberShape(v, False, v, False, integer=shape.integer, plain=shape.plain) for v in few]
            self._told_numbers.update(points)
            return points
        for side in (NumberShape(low=Fraction(0), low_open=True), NumberShape(high=Fraction(0), high_open=True)):
            if 0 < numbers.count(numbers.both(shape, side), MOST_ITEMS) < MOST_ITEMS:
                raise UnsupportedFeature(
                    f"uniqueItems where items are numbers, between {FEW_NUMBERS} and {MOST_ITEMS:,} of a sign",
                    pointer=node.pointer,
                    keywords=UNIQUE,
                )
        return [shape]

    def string_told_apart(self, shape: StringShape) -> StringShape:
        if shape.values is not None or (not shape.language and shape.maximum is None):
            return shape
        if not shape.language and shape.maximum != 0:
            return shape  # more than a million characters
        if self.languages.count(shape.language, shape.minimum, shape.maximum, MOST_ITEMS) < MOST_ITEMS:
            language = language_of(shape)
            return StringShape(values=tuple(self.spelled(language)))
        return StringShape(language=language_of(shape) | ANY_TEXT)

    def check_unique(self, shape: ArrayShape, node: Node) -> None:
        """Refuses items that the kernel cannot compare: see kernels/cpu/json_unique.py."""
        most = shape.maximum
        for kind in _kinds(shape):
            if kind is EVERYTHING or isinstance(kind, (ObjectShape, ArrayShape)):
                if most is not None and most <= 1:
                    continue
                raise UnsupportedFeature(
                    "uniqueItems where items may be objects or arrays", pointer=node.pointer, keywords=UNIQUE
                )

    def array(self, shape: ArrayShape, node: Node) -> int:
        unique = shape.unique and (shape.maximum is None or shape.maximum > 1)  # a single item differs from all others
        if unique:
            self.check_unique(shape, node)
            places = [
                tuple([Item(self.told_apart(way.node), way.counts) for way in ways])
                for ways in (*shape.prefix, shape.rest)
            ]
            shape = replace(shape, prefix=tuple(places[:-1]), rest=places[-1])
        if len(shape.contains) > 1:
            free = shape.maximum is None and all(most is None for _, most in shape.contains)
            counts = [way.counts for way in shape.rest if way.node.alternatives or way.node.is_anything]
            reachable = all(any(c >> k & 1 for c in counts) for k in range(len(shape.contains)))
            if not (free and reachable) or len(shape.contains) > 3:
                raise UnsupportedFeature(
                    "several `contains` that limit each other", pointer=node.pointer, keywords=("contains",)
                )
        positions = []
        for ways in (*shape.prefix, shape.rest):
            rows = [(self.node(way.node), way.counts) for way in ways]
            rows = [row for row in rows if row[0] >= 0]
            positions.append(len(self.rows))
            self.rows += [len(rows), *(word for pair in rows for word in pair)]
        items = len(self.rows)
        self.rows += positions
        bounds = len(self.rows)
        for least, most in shape.contains:
            if max(least, most or 0) >= 1 << 15:
                raise UnsupportedFeature(
                    "contains with bounds of 32,768 items or more",
                    pointer=node.pointer,
                    keywords=("minContains", "maxContains"),
                )
            self.rows += [least, -1 if most is None else most]
        at = len(self.rows)
        most_items = bound(shape.maximum)
        if unique:
            most_items = _least(most_items, self.distinct(shape, node))
        self.rows += [
            len(shape.prefix),
            items,
            bound(shape.minimum),
            most_items,
            len(shape.contains),
            bounds,
            int(unique),
        ]
        return at


def without_words(others: list[tuple[Language, Node]], names: list[str]) -> list[tuple[Language, Node]]:
    """Languages of other keys, without the exclusion of words that have places of their own."""
    placed = set(names)
    return [
        (frozenset(part for part in language if part[0] != "words" or part[2] or not placed.issuperset(part[1])), child)
        for language, child in others
    ]


def _is_any_object(shape: ObjectShape) -> bool:
    is_counted = shape.minimum > 0 or shape.maximum is not None
    return not is_counted and [key for key, _ in shape.others] == [EVERY_STRING] and shape.others[0][1].is_anything


def _kinds(shape: ArrayShape) -> Iterator[object]:
    """What the items of an array can be."""
    for ways in (*shape.prefix, shape.rest):
        yield from _kinds_of(ways)


def _kinds_of(ways: tuple[Item, ...]) -> Iterator[object]:
    for way in ways:
        if way.node.is_anything:
            yield EVERYTHING
        yield from way.node.alternatives


def _canonical(value: Fraction) -> bytes:
    """The text that json_unique.number_ended makes of a number."""
    if not value:
        return b"n"
    power, digits = 0, abs(value)
    while digits.denominator != 1:
        digits, power = digits * 10, power - 1
    whole = int(digits)
    while whole % 10 == 0:
        whole, power = whole // 10, power + 1
    return b"n" + (b"-" if value < 0 else b"") + str(whole).encode() + (power + 65536).to_bytes(3, "little")


def _is_written(half: NumberShape) -> bool:
    """Does the half of a shape have a number, with not too many digits?"""
    try:
        return not numbers.is_empty(half)
    except UnsupportedFeature:
        return False


def _is_large(kind: object) -> bool:
    """More values than can be used up? Strings of a language that has few have been listed."""
    if isinstance(kind, NumberShape):
        return numbers.count(kind, MOST_ITEMS) >= MOST_ITEMS
    return not isinstance(kind, Literal) and (not isinstance(kind, StringShape) or kind.values is None)


def _least(one: int, other: int) -> int:
    """The smaller of two bounds; -1 is none."""
    return max(one, other) if min(one, other) < 0 else min(one, other)


def bound(count: int | None) -> int:
    """A count of keys or items; -1 where there is none. It is cut to MOST_CHARACTERS, more than can ever be written."""
    return -1 if count is None else min(count, MOST_CHARACTERS)


def _close(needed: set[int], implied: dict[int, set[int]]) -> None:
    """Adds what the needed keys imply (transitive closure)."""
    queue = list(needed)
    for key in queue:
        for more in implied.get(key, ()):
            if more not in needed:
                needed.add(more)
                queue.append(more)


def _ranks(order: list[int], declared: int) -> list[int]:
    """For each rank the bits of the keys of that rank or later, then zeros; keys after the declared ones share a rank."""
    at_rank = [0] * (declared + 1)
    for at, rank in enumerate(order):
        at_rank[min(rank, declared)] |= 1 << at
    found, later = [0] * (len(order) + 1 - declared), 0
    for bits in reversed(at_rank):
        later |= bits
        found.append(later)
    return found[::-1]
