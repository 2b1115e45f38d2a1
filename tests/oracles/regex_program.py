"""A pattern as a graph of nodes: Python's own parser for its structure, Thompson's construction for its meaning.

What a single character class matches is asked of `re` itself (`code_points.class_ranges`).
"""

import re
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

from tests.oracles.code_points import ANY_BYTE, ANYTHING, Range, Ranges, class_ranges, complement, utf8_sequences

try:
    from re import _constants as sre  # type: ignore[attr-defined]
    from re import _parser as sre_parser  # type: ignore[attr-defined]
except ImportError:  # Python 3.10 keeps them as modules of their own
    import sre_constants as sre
    import sre_parse as sre_parser

START = "start"
ACCEPT = 0
_ONE_CHARACTER = (sre.LITERAL, sre.NOT_LITERAL, sre.IN, sre.ANY)
_NEWLINE: Ranges = ((10, 10),)
_CATEGORIES = {
    sre.CATEGORY_DIGIT: r"\d",
    sre.CATEGORY_NOT_DIGIT: r"\D",
    sre.CATEGORY_SPACE: r"\s",
    sre.CATEGORY_NOT_SPACE: r"\S",
    sre.CATEGORY_WORD: r"\w",
    sre.CATEGORY_NOT_WORD: r"\W",
}
# `\B` matches the empty text from Python 3.14 on.
_NON_BOUNDARY_IN_NOTHING = re.fullmatch(r"\B", "") is not None
_CLASS_FLAGS = re.ASCII | re.IGNORECASE | re.DOTALL


class UnreadablePattern(Exception):
    """A construct that this oracle leaves to `re`."""


class Char(NamedTuple):
    ranges: Ranges
    then: int


class Split(NamedTuple):
    targets: list[int]


class Behind(NamedTuple):
    """Passable where `test` holds for the look-behind classes of the last character."""

    test: Callable[[frozenset[Any]], bool]
    then: int


class Ahead(NamedTuple):
    """Passable with the duty that the sub-pattern at `body` accepts all that follows, or does not (`wanted`)."""

    body: int
    wanted: bool
    then: int


class Accept(NamedTuple):
    pass


Node = Char | Split | Behind | Ahead | Accept


def python_flags(pattern: str | bytes) -> int:
    """ASCII classes are the rule; a pattern that says (?u) itself, which `re` calls incompatible, goes without."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            sre_parser.parse(pattern, re.ASCII)
    except ValueError as error:
        if "incompatible" in str(error):
            return 0
        raise
    return re.ASCII


class Program:
    """The nodes of a pattern. Each construct is given the node that follows it and returns the node that enters it."""

    def __init__(self, pattern: str | bytes):
        self._reads_bytes = isinstance(pattern, bytes)
        self.alphabet = ANY_BYTE if self._reads_bytes else ANYTHING
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = sre_parser.parse(pattern, python_flags(pattern))
        self.nodes: list[Node] = [Accept()]
        self.behind_classes: list[Ranges] = []
        self._anything = self._repeat_forever(lambda loop: self._add(Char(self.alphabet, loop)), ACCEPT)
        self.entry = self._build(tree, tree.state.flags, ACCEPT)

    def _add(self, node: Node) -> int:
        self.nodes.append(node)
        return len(self.nodes) - 1

    def _repeat_forever(self, body: Callable[[int], int], after: int) -> int:
        targets = [after]
        loop = self._add(Split(targets))
        targets.append(body(loop))
        return loop

    def _build(self, tree: Any, flags: int, after: int) -> int:
        for operator, argument in reversed(list(tree)):
            after = self._build_one(operator, argument, flags, after)
        return after

    def _build_one(self, operator: Any, argument: Any, flags: int, after: int) -> int:
        if operator in _ONE_CHARACTER:
            return self._add(Char(self._class(operator, argument, flags), after))
        if operator is sre.SUBPATTERN:
            _, added, removed, tree = argument
            kept = flags & ~sre_parser.TYPE_FLAGS if added & sre_parser.TYPE_FLAGS else flags
            return self._build(tree, (kept | added) & ~removed, after)
        if operator is sre.BRANCH:
            return self._add(Split([self._build(tree, flags, after) for tree in argument[1]]))
        if operator in (sre.MAX_REPEAT, sre.MIN_REPEAT):
            least, most, tree = argument
            return self._build_repeat(least, most, tree, flags, after)
        if operator is sre.AT:
            return self._build_anchor(argument, flags, after)
        if operator in (sre.ASSERT, sre.ASSERT_NOT):
            direction, tree = argument
            wanted = operator is sre.ASSERT
            if direction > 0:
                return self._add(Ahead(self._build(tree, flags, self._anything), wanted, after))
            index = self._behind_class(self._single_character(tree, flags))
            return self._add(Behind(lambda behind: (index in behind) is wanted, after))
        if operator is sre.FAILURE:
            return self._add(Split([]))
        raise UnreadablePattern(str(operator))

    def _build_repeat(self, least: int, most: Any, tree: Any, flags: int, after: int) -> int:
        if most is sre.MAXREPEAT:
            after = self._repeat_forever(lambda loop: self._build(tree, flags, loop), after)
        else:
            for _ in range(int(most) - least):
                after = self._add(Split([after, self._build(tree, flags, after)]))
        for _ in range(least):
            after = self._build(tree, flags, after)
        return after

    def _build_anchor(self, anchor: Any, flags: int, after: int) -> int:
        nothing_follows = (self._add(Char(self.alphabet, self._anything)), False)
        if anchor is sre.AT_BEGINNING and flags & re.MULTILINE:
            newline = self._behind_class(_NEWLINE)
            return self._add(Behind(lambda behind: START in behind or newline in behind, after))
        if anchor in (sre.AT_BEGINNING, sre.AT_BEGINNING_STRING):
            return self._add(Behind(lambda behind: START in behind, after))
        if anchor is sre.AT_END and flags & re.MULTILINE:
            return self._add(Ahead(self._add(Char(complement(_NEWLINE, self.alphabet), self._anything)), False, after))
        if anchor is sre.AT_END:
            body = self._add(Split([ACCEPT, self._add(Char(_NEWLINE, ACCEPT))]))
            return self._add(Ahead(body, True, after))
        if anchor is sre.AT_END_STRING:
            return self._add(Ahead(*nothing_follows, after))
        if anchor is sre.AT_BOUNDARY:
            return self._build_boundary(True, flags, after)
        if anchor is sre.AT_NON_BOUNDARY:
            if not _NON_BOUNDARY_IN_NOTHING:
                from_start = self._add(Ahead(nothing_follows[0], True, after))
                at_start = self._add(Behind(lambda behind: START in behind, from_start))
                later = self._add(Behind(lambda behind: START not in behind, after))
                after = self._add(Split([at_start, later]))
            return self._build_boundary(False, flags, after)
        raise UnreadablePattern(str(anchor))

    def _build_boundary(self, wanted: bool, flags: int, after: int) -> int:
        """A word character behind and none ahead, or the other way round; `wanted` False asks for the opposite."""
        word = self._class(sre.IN, [(sre.CATEGORY, sre.CATEGORY_WORD)], flags)
        index = self._behind_class(word)
        body = self._add(Char(word, self._anything))
        after_word = self._add(Behind(lambda behind: index in behind, self._add(Ahead(body, not wanted, after))))
        after_other = self._add(Behind(lambda behind: index not in behind, self._add(Ahead(body, wanted, after))))
        return self._add(Split([after_word, after_other]))

    def _behind_class(self, ranges: Ranges) -> int:
        if ranges not in self.behind_classes:
            self.behind_classes.append(ranges)
        return self.behind_classes.index(ranges)

    def _class(self, operator: Any, argument: Any, flags: int) -> Ranges:
        source = _render(operator, argument, r"\x{:02x}" if self._reads_bytes else r"\U{:08x}")
        return class_ranges(source.encode() if self._reads_bytes else source, flags & _CLASS_FLAGS)

    def _single_character(self, tree: Any, flags: int) -> Ranges:
        """The class that a look-behind asks for, where its body is one character."""
        items = list(tree)
        if len(items) == 1 and items[0][0] in _ONE_CHARACTER:
            operator, argument = items[0]
            return self._class(operator, argument, flags)
        raise UnreadablePattern("a look-behind of more than one class")

    def spell(self, low: int, high: int) -> tuple[tuple[Range, ...], ...]:
        """The byte sequences of the characters low..high."""
        return (((low, high),),) if self._reads_bytes else utf8_sequences(low, high)


def _render(operator: Any, argument: Any, escape: str) -> str:
    """A parsed class as source text again, every character escaped."""
    if operator is sre.ANY:
        return "."
    if operator is sre.LITERAL:
        return f"[{escape.format(argument)}]"
    if operator is sre.NOT_LITERAL:
        return f"[^{escape.format(argument)}]"
    inside = ""
    for kind, value in argument:
        if kind is sre.NEGATE:
            inside += "^"
        elif kind is sre.LITERAL:
            inside += escape.format(value)
        elif kind is sre.RANGE:
            inside += f"{escape.format(value[0])}-{escape.format(value[1])}"
        else:
            inside += _CATEGORIES[value]
    return f"[{inside}]"
