"""Regular expressions with the semantics of Python's `re`: ordered (backtracking) matching.

A lexeme is what `re.match` returns: of all matches the first in the order of the pattern's alternatives, where a greedy repeat
tries to continue first and a lazy one to stop first. It matters which match is found, not only which texts match. So a pattern is
not a term here but a **continuation**: what is still to be matched, in order. `heads(continuation)` lists its possible next steps:

    a character from a set, then another continuation       or       the match ends here

Each step has a condition on the rest of the text (from look-ahead), a term of terms.py. The list is cut after a match without a
condition: later alternatives would never be tried. `lexer.py` builds automata from such lists.

The pattern is parsed by Python's own regular expression parser, so it means what it means to `re`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from grammarlm.errors import LimitExceeded

from . import charset, utf8
from .charset import CharSet
from .derivatives import EVERY_BYTE, Algebra
from .parsed_regex import MAXREPEAT, MULTILINE, ParsedRegex, begins_lines, looks_around, word_characters
from .terms import ANYTHING, FOREVER, NIL, NOTHING, Term

CHAR, BRANCH, LOOP, AHEAD, BEHIND, MATCH, INSIDE = range(7)
# What is known of the character before a lexeme, if not a bit set: nothing; that there is one; that there is none (start of the
# text).
UNKNOWN = None
SOMETHING, TEXT_START = -1, -2
NO_CHARACTER: CharSet = ()  # pseudo-set "at the start of the text": holds no character
LARGE = 5_000  # characters of a pattern, repeats counted: proofs do not visit every position of a larger one
MOST_MADE = 1_000_000  # limit of continuations of one pattern; they are created lazily, while texts are read
# Mostly what re.escape makes of a string.
PLAIN = re.compile(r"(?:[A-Za-z0-9_ \"',;:=<>!%/`\n]|\\[^A-Za-z0-9\ud800-\udfff])+")
UNESCAPED = re.compile(r"\\(.)", re.DOTALL)
EACH_BYTE: utf8.Edges = ((EVERY_BYTE, 0),)  # look-ahead without any look-behind: every byte counts as one character


class Rest:
    """A continuation. `Pattern.make` interns them, so equal ones are one object."""

    __slots__ = ("data", "heads", "kind", "looks_back", "serial", "then")

    def __init__(self, kind: int, data: Any, then: Any, serial: int):
        self.kind, self.data, self.then, self.serial = kind, data, then, serial
        self.heads: dict[Any, tuple] = {}  # memoised, keyed by what is known of the character before
        self.looks_back = False


class Head:
    """One possible next step of a continuation, valid if the rest of the text is in `condition`; `edges` None: the match ends."""

    __slots__ = ("before", "condition", "edges", "moves", "then")

    def __init__(self, edges: utf8.Edges | None, then: Rest | None, before: int | None, condition: Term):
        self.edges, self.then, self.condition = edges, then, condition
        self.before = before  # the look-behind sets that the character is in, as bits
        self.moves: list[tuple[int, Rest]] | None = None  # computed on first use (Pattern.moves)


class Pattern:
    """A regular expression as Python reads it; `start` is its first continuation. `is_first`: all its lexemes begin the text."""

    def __init__(
        self, regex: str, flags: int, algebra: Algebra, tick: Callable[[], None], name: str, is_first: bool = False
    ):
        self.algebra, self.tick, self.regex, self.name, self.is_first = algebra, tick, regex, name, is_first
        self._made: dict = {}
        self._bodies: dict[int, _Body] = {}
        self._terms: dict[tuple, Term] = {}
        self._sets: dict[CharSet, None] = {}  # every set of characters in the pattern
        self.behind: list[CharSet] = []  # the sets that look-behind tests
        self.flags = flags
        self.end = self.make(MATCH, None, None)
        self._is_plain = not flags and PLAIN.fullmatch(regex) is not None
        if self._is_plain:
            self.start = self._spelled(UNESCAPED.sub(r"\1", regex))
            return
        tree = self._tree
        self.flags = tree.flags
        self._collect(tree.items, self.flags)
        self.start = self._sequence(list(tree.items), self.flags, self.end)

    @cached_property
    def _tree(self) -> ParsedRegex:
        """Kept alive: loop bodies are identified by id."""
        return ParsedRegex(self.regex, self.flags, self.name)

    def _spelled(self, text: str) -> Rest:
        """A plain string: most terminals are, and a parse takes longer than all the rest."""
        then = self.end
        for character in reversed(text):
            chars = ((ord(character), ord(character)),)
            self._sets[chars] = None
            then = self.make(CHAR, chars, then)
        return then

    def make(self, kind: int, data: Any, then: Rest | None) -> Rest:
        key = (kind, data, then)
        found = self._made.get(key)
        if found is None:
            self.tick()
            if len(self._made) > MOST_MADE:
                raise self.too_large(f"more than {MOST_MADE:,} positions were visited")
            found = self._made[key] = Rest(kind, data, then, len(self._made))
            below = data if kind == BRANCH else (then,) if then is not None else ()
            # Does it look behind before it reads a character?
            found.looks_back = kind == BEHIND or (kind != CHAR and any(r.looks_back for r in below))
            if kind == LOOP:
                found.looks_back = found.looks_back or bool(self.behind)
        return found

    def too_large(self, why: str) -> LimitExceeded:
        return LimitExceeded(
            f"terminal {self.name} is too large: {why}; let a rule repeat a smaller terminal, as in start: A~2..50000"
        )

    @cached_property
    def is_large(self) -> bool:
        """Can a text of the pattern have more than LARGE characters, unbounded repeats left aside?"""
        return len(self.regex) > LARGE if self._is_plain else self._tree.length(LARGE) > LARGE

    # ------------------------------------------------------------------ from Python's tree to continuations

    def _collect(self, items: Any, flags: int) -> None:
        """Collects all character sets, and those that look-behind tests; they must be known before continuations are made."""
        stack = [(items, flags)]
        while stack:
            here, flags = stack.pop()
            for op, value in here:
                self.tick()
                name = str(op)
                chars = self._tree.chars(op, value, flags)
                if chars is not None:
                    self._sets[chars] = None
                elif name in ("ASSERT", "ASSERT_NOT"):
                    if value[0] < 0:
                        self._behind_index(self._tree.single(value[1], flags))
                    else:
                        stack.append((value[1], flags))
                elif name == "AT":
                    self._sets[charset.NEWLINE] = None
                    if "BOUNDARY" in str(value):
                        self._behind_index(word_characters(flags))
                    elif "BEGINNING" in str(value):
                        self._behind_index(NO_CHARACTER)
                        if begins_lines(str(value), flags):
                            self._behind_index(charset.NEWLINE)
                elif name == "SUBPATTERN":
                    stack.append((value[3], (flags | value[1]) & ~value[2]))
                elif name == "BRANCH":
                    stack += [(branch, flags) for branch in value[1]]
                elif name in ("MAX_REPEAT", "MIN_REPEAT"):
                    stack.append((value[2], flags))

    def _behind_index(self, chars: CharSet) -> int:
        if chars not in self.behind:
            self.behind.append(chars)
        return self.behind.index(chars)

    def _sequence(self, items: list, flags: int, then: Rest) -> Rest:
        for op, value in reversed(items):
            then = self._item(str(op), op, value, flags, then)
        return then

    def _item(self, name: str, op: Any, value: Any, flags: int, then: Rest) -> Rest:
        chars = self._tree.chars(op, value, flags)
        if chars is not None:
            return self.make(CHAR, chars, then)
        if name == "SUBPATTERN":
            return self._sequence(list(value[3]), (flags | value[1]) & ~value[2], then)
        if name == "BRANCH":
            return self.make(BRANCH, tuple(self._sequence(list(branch), flags, then) for branch in value[1]), None)
        if name in ("MAX_REPEAT", "MIN_REPEAT"):
            low, high, body = value
            if low > 1 and body.getwidth()[0] == 0 and looks_around(body):
                raise self._tree.refusal(
                    "a repeat of at least 2 turns that may be empty and look around (such as \\b or $)"
                )
            most = FOREVER if high == MAXREPEAT else int(high)
            repeated = self._bodies.setdefault(id(body), _Body(body, flags))
            return self.loop((repeated, int(low), most, name == "MIN_REPEAT"), then)
        if name in ("ASSERT", "ASSERT_NOT"):
            direction, body = value
            if direction < 0:
                index = self._behind_index(self._tree.single(body, flags))
                return self.make(BEHIND, (index, name == "ASSERT_NOT"), then)
            ahead = self._ahead(body, flags)
            return self.make(AHEAD, self.algebra.without(ahead) if name == "ASSERT_NOT" else ahead, then)
        if name == "AT":
            return self._anchor(str(value), flags, then)
        if name == "GROUPREF":
            raise self._tree.refusal("a back-reference")
        raise self._tree.refusal(f"the construct {name.lower()}")

    def loop(self, data: tuple, then: Rest) -> Rest:
        if data[2] == 0:  # no turn left
            return then
        return self.make(LOOP, data, then)

    def _anchor(self, where: str, flags: int, then: Rest) -> Rest:
        algebra = self.algebra
        newline = algebra.words([b"\n"])
        if where == "AT_END_STRING":
            return self.make(AHEAD, NIL, then)
        if where == "AT_END":
            more = algebra.cat(newline, ANYTHING) if flags & MULTILINE else newline
            return self.make(AHEAD, algebra.alt((NIL, more)), then)
        if "BOUNDARY" in where:
            word = word_characters(flags)
            index = self._behind_index(word)
            inside = algebra.cat(algebra.chars(utf8.encode(word)), ANYTHING)
            outside = algebra.without(inside)
            if "NON" in where:
                inside, outside = outside, inside
            after_word = self.make(BEHIND, (index, False), self.make(AHEAD, outside, then))
            after_other = self.make(BEHIND, (index, True), self.make(AHEAD, inside, then))
            return self.make(BRANCH, (after_word, after_other), None)
        begins = self.make(BEHIND, (self._behind_index(NO_CHARACTER), False), then)
        if not begins_lines(where, flags):
            return begins
        return self.make(BRANCH, (begins, self.make(BEHIND, (self._behind_index(charset.NEWLINE), False), then)), None)

    def _ahead(self, body: Any, flags: int) -> Term:
        """The texts that begin with a match of the body."""
        start = self._sequence(list(body), flags, self.end)
        if start.looks_back:
            raise self._tree.refusal("a look-behind inside a look-ahead")
        return self.texts(start, UNKNOWN)

    def characters(self) -> list[utf8.Edges]:
        """The character automata of the pattern and of its look-around: everything that distinguishes bytes."""
        return [utf8.encode(chars) for chars in [*self._sets, *self.behind]]

    # ------------------------------------------------------------------ next steps of a continuation

    def heads(self, rest: Rest, before: int | None) -> tuple[Head, ...]:
        """The next steps, in order. `before`: the look-behind sets of the last character as bits, None if it is unknown."""
        before = self._placed(before)
        key = before if rest.looks_back else 0
        known = rest.heads.get(key)
        if known is None:
            known = rest.heads[key] = tuple(self._cut(self._find_heads(rest, before)))
        return known

    def _cut(self, heads: list[Head]) -> list[Head]:
        if len(heads) == 1 and heads[0].condition is not NOTHING:
            return heads
        seen: set = set()
        out = []
        for head in heads:
            key = (id(head.edges), head.then, head.before, head.condition)  # equal edges are nearly always one object
            if head.condition is NOTHING or key in seen:
                continue
            seen.add(key)
            out.append(head)
            if head.edges is None and head.condition is ANYTHING:
                break
        return out

    def _find_heads(self, rest: Rest, before: int | None) -> list[Head]:
        """Depth first in `re`'s order. A loop entered again without a character read in between stops there."""
        out: list[Head] = []
        stack: list[tuple[Rest, Term, frozenset]] = [(rest, ANYTHING, frozenset())]
        while stack:
            self.tick()
            here, condition, open_loops = stack.pop()
            kind = here.kind
            if kind == MATCH:
                out.append(Head(None, None, None, condition))
            elif kind == CHAR:
                out += self._characters(here, condition)
            elif kind == INSIDE:  # the look-behind sets of this character are already known
                out.append(Head(here.data, here.then, before, condition))
            elif kind == BRANCH:
                stack += [(branch, condition, open_loops) for branch in reversed(here.data)]
            elif kind == AHEAD:
                stack.append((here.then, self.algebra.both((condition, here.data)), open_loops))
            elif kind == BEHIND:
                index, negated = here.data
                if self._holds(index, before) != negated:
                    stack.append((here.then, condition, open_loops))
            else:
                body, low, high, lazy = here.data
                leave = [(here.then, condition, open_loops)] if low == 0 else []
                again: list = []
                mark = (here.data[0], here.then)
                if mark not in open_loops:
                    fewer = self.loop((body, max(low - 1, 0), high - 1, lazy), here.then)
                    turn = self._sequence(list(body.items), body.flags, fewer)
                    again = [(turn, condition, open_loops | {mark})]
                elif low > 0:  # empty turns count as turns
                    leave = [(here.then, condition, open_loops)]
                stack += again + leave if lazy else leave + again
        return out

    def _holds(self, index: int, before: int | None) -> bool:
        """Is the character before in a look-behind set?"""
        if before == SOMETHING and self.behind[index] == NO_CHARACTER:
            return False
        if before is UNKNOWN or before == SOMETHING:
            raise self._tree.refusal(
                "a look-behind (or \\b, or ^) before the first character of a terminal that other lexemes may stand before"
            )
        return bool(before >> index & 1)

    def _characters(self, here: Rest, condition: Term) -> list[Head]:
        """One head per class of characters: look-behind sets split the characters."""
        chars, then = here.data, here.then
        if not chars:
            return []
        if not then.looks_back:
            return [Head(utf8.encode(chars), then, None, condition)]
        return [Head(utf8.encode(atom), then, bits, condition) for atom, bits in charset.partition(chars, self.behind)]

    def moves(self, head: Head) -> list[tuple[int, Rest]]:
        """The transitions on each byte of the head's character: to what remains of the character, or to the head's continuation."""
        known = head.moves
        if known is None:
            then, known = head.then, []
            for bits, target in head.edges or ():
                assert then is not None
                known.append((bits, then if target is None else self.make(INSIDE, target, then)))
            head.moves = known
        return known

    # ------------------------------------------------------------------ as languages

    def texts(self, rest: Rest, before: int | None) -> Term:
        """All texts that begin with a match of the continuation; the order of alternatives does not matter."""
        before = self._placed(before)
        key = rest, before if rest.looks_back else None
        known = self._terms.get(key)
        if known is None:
            term = self.algebra.cat(self.whole(rest), ANYTHING)
            each = self._tracker() if self.behind else EACH_BYTE
            if term.prev:
                self.heads(rest, before)  # raises where look-behind tests an unknown character
                term = self.algebra.resolve(
                    term, self._answers(0 if before is UNKNOWN or before == SOMETHING else before)
                )
            known = self._terms[key] = self.algebra.scope(term, each, each)
        return known

    def _placed(self, before: int | None) -> int | None:
        """`before`, with the start of the text turned into bits."""
        if before != TEXT_START and (before is not UNKNOWN or not self.is_first):
            return before
        return 1 << self.behind.index(NO_CHARACTER) if NO_CHARACTER in self.behind else 0

    def _answers(self, bits: int) -> int:
        """Bit 2 i: the character is in look-behind set i; bit 2 i + 1: it is not."""
        return sum(1 << (2 * i + (not bits >> i & 1)) for i in range(len(self.behind)))

    def _tracker(self) -> utf8.Edges:
        """Edges that read one character and give its `_answers` bits."""
        atoms = charset.partition(charset.ALL, self.behind)
        return utf8.encode_map(tuple((atom, self._answers(bits)) for atom, bits in atoms))  # type: ignore[misc]

    def whole(self, rest: Rest) -> Term:
        """The texts that the continuation matches completely."""
        algebra = self.algebra
        parts: list[Term] = []
        result = NIL
        while rest.kind != MATCH:
            self.tick()
            if rest.kind == BRANCH:
                result = algebra.alt(self.whole(branch) for branch in rest.data)
                break
            if rest.kind == CHAR:
                parts.append(algebra.chars(utf8.encode(rest.data)))
            elif rest.kind == INSIDE:
                parts.append(algebra.chars(rest.data))
            elif rest.kind == AHEAD:
                parts.append(algebra.look(rest.data))
            elif rest.kind == BEHIND:
                index, negated = rest.data
                parts.append(algebra.prev(2 * index + negated))
            else:
                body, low, high, _ = rest.data
                turn = self.whole(self._sequence(list(body.items), body.flags, self.end))
                parts.append(algebra.repeat(turn, low, high))
            rest = rest.then
        for part in reversed(parts):
            result = algebra.cat(part, result)
        return result


@dataclass(eq=False, slots=True)
class _Body:
    """The body of a loop: items of Python's parse tree, compared by identity."""

    items: Any
    flags: int
