"""A regular expression as Python's own parser reads it: the parse tree's items, which characters they match, how long texts are."""

from __future__ import annotations

import re
import sys
import warnings
from typing import Any

from grammarlm.errors import GrammarError, LimitExceeded, UnsupportedFeature, caret

from . import charset
from .charset import CharSet

if sys.version_info >= (3, 11):
    from re import _parser as re_parser
else:
    import sre_parse as re_parser

MAXREPEAT: Any = re_parser.MAXREPEAT
# Plain integers: Python's own flags take a microsecond per access.
ASCII, DOTALL, IGNORECASE, MULTILINE = int(re.ASCII), int(re.DOTALL), int(re.IGNORECASE), int(re.MULTILINE)
FIRST_SURROGATE = 0xD800


class ParsedRegex:
    """The parse tree of a terminal's pattern."""

    def __init__(self, regex: str, flags: int, name: str):
        self._regex, self._name = regex, name
        self._classes: dict[tuple[int, int], CharSet] = {}  # by id and flags of a class
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                self.items: Any = re_parser.parse(regex, flags)
            except re.error as error:
                raise GrammarError(f"terminal {name}: {error}\n{caret(regex, error.pos or 0)}") from None
            except (RecursionError, OverflowError):
                raise LimitExceeded(f"terminal {name}: the regular expression is nested too deeply") from None
        self.flags: int = self.items.state.flags

    def refusal(self, what: str) -> UnsupportedFeature:
        return UnsupportedFeature(f"terminal {self._name}: {what} cannot be made an automaton: /{self._regex[:200]}/")

    def single(self, items: Any, flags: int) -> CharSet:
        items = list(items)
        if len(items) != 1:
            raise self.refusal("a look-behind of anything but one character")
        op, value = items[0]
        if str(op) == "SUBPATTERN":
            return self.single(value[3], (flags | value[1]) & ~value[2])
        if str(op) == "BRANCH":
            return charset.union(*(self.single(branch, flags) for branch in value[1]))
        chars = self.chars(op, value, flags)
        if chars is None:
            raise self.refusal("a look-behind of anything but one character")
        return chars

    def chars(self, op: Any, value: Any, flags: int) -> CharSet | None:
        """The character set of an item that matches one character, None for any other item."""
        name = str(op)
        if name == "LITERAL":
            if value < FIRST_SURROGATE and not flags & IGNORECASE:  # most items
                return ((value, value),)
            return _fold(((value, value),), flags)
        if name == "NOT_LITERAL":
            return charset.negate(_fold(((value, value),), flags))
        if name == "ANY":
            return charset.ALL if flags & DOTALL else charset.negate(charset.NEWLINE)
        if name != "IN":
            return None
        key = id(value), flags  # of a node of the tree, which is kept alive
        known = self._classes.get(key)
        if known is None:
            known = self._classes[key] = self._class(value, flags)
        return known

    def _class(self, items: Any, flags: int) -> CharSet:
        ranges: list[tuple[int, int]] = []
        others: list[CharSet] = []
        negated = False
        for kind, what in items:
            name = str(kind)
            if name == "NEGATE":
                negated = True
            elif name == "LITERAL":
                ranges.append((what, what))
            elif name == "RANGE":
                ranges.append(what)
            else:
                others.append(_category(str(what), flags))
        chars = charset.union(_fold(tuple(ranges), flags), *others)
        return charset.negate(chars) if negated else chars

    def length(self, most: int) -> int:
        """Characters with repeats expanded, counted up to `most`; an unbounded repeat counts as its minimum plus one."""
        total, waiting = 0, [(self.items, 1)]
        while waiting and total <= most:
            here, turns = waiting.pop()
            for op, value in here:
                name = str(op)
                if name == "SUBPATTERN":
                    waiting.append((value[3], turns))
                elif name == "BRANCH":
                    waiting += [(branch, turns) for branch in value[1]]
                elif name in ("MAX_REPEAT", "MIN_REPEAT"):
                    low, high, body = value
                    waiting.append((body, turns * (int(low) + 1 if high == MAXREPEAT else int(high))))
                else:
                    total += turns
        return total


def word_characters(flags: int) -> CharSet:
    return charset.WORD if flags & ASCII else charset.unicode_category("w")


def begins_lines(where: str, flags: int) -> bool:
    return where == "AT_BEGINNING" and bool(flags & MULTILINE)


def _fold(chars: CharSet, flags: int) -> CharSet:
    return charset.ignore_case(chars, not flags & ASCII) if flags & IGNORECASE else charset.union(chars)


def _category(name: str, flags: int) -> CharSet:
    letter = {"DIGIT": "d", "SPACE": "s", "WORD": "w"}[name.rsplit("_", 1)[1]]
    ascii_sets = {"d": charset.DIGITS, "s": charset.SPACES, "w": charset.WORD}
    chars = ascii_sets[letter] if flags & ASCII else charset.unicode_category(letter)
    return charset.negate(chars) if "_NOT_" in name else chars


def looks_around(items: Any) -> bool:
    """Does a part of Python's parse tree contain look-ahead, look-behind or an anchor?"""
    waiting = [items]
    while waiting:
        for op, value in waiting.pop():
            name = str(op)
            if name in ("ASSERT", "ASSERT_NOT", "AT"):
                return True
            if name == "SUBPATTERN":
                waiting.append(value[3])
            elif name == "BRANCH":
                waiting += value[1]
            elif name in ("MAX_REPEAT", "MIN_REPEAT"):
                waiting.append(value[2])
    return False
