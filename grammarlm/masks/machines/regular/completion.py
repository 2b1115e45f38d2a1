"""The shortest completion: the shortest text in a language, among equals the first in byte order.

    [a-z]{2}(x|yy)?     b"aa"             a{3}b|c{9}     b"aaab"

It depends on the language alone, not on the form of its terms, and without its first byte it is the shortest text of
the language that remains after that byte. So following it gets nearer to the end with every byte.

For most terms it is composed: the shortest text of a sequence is the concatenation of its parts' shortest texts, that
of a repeat is its body's, as often as required. Intersections, negations and look-around need an A* search over
derivatives, whose lower bound comes from the parts.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from itertools import count
from typing import Any

import numpy as np

from grammarlm.errors import LimitExceeded
from grammarlm.grammars.regular.derivatives import Algebra
from grammarlm.grammars.regular.terms import (
    ALT,
    AND,
    ANYTHING,
    CAT,
    CHARS,
    EMPTY,
    EPS,
    FOREVER,
    LAZY,
    NIL,
    NOT,
    REP,
    SCOPE,
    WORDS,
    ById,
    Term,
)
from grammarlm.grammars.regular.utf8 import Edges

LONGEST = 1 << 20  # bytes; a longer shortest text is not written down: the language then has no completion
MOST_EXPLORED = 512  # terms that are looked at for a ceiling
NEVER = float("inf")  # the distance to the end where there is none
Spelled = Any  # bytes; in a subclass whatever it spells letters as


class Completions:
    """The shortest texts of terms, memoised; the object lives as long as its epoch.

    A text is bytes. Where the letters of terms are more than bytes, a subclass defines their spelling
    (stack/ends/spelling.py).
    """

    empty: Spelled = b""

    def __init__(self, algebra: Algebra, max_states: int, tick: Callable[[], None]):
        self._algebra, self._max_states, self._tick = algebra, max_states, tick
        self._exact: dict[Term, float] = {}  # length of the shortest text in bytes
        self._least: dict[Term, float] = {}  # lower bound on it
        self._chosen: dict[Term, Term] = {}  # of several alternatives, the one whose text comes first
        self._ceilings: dict[Term, int | None] = {}
        self._lengths: dict[ById, np.ndarray] = {}
        self._serials = count()

    def of(self, term: Term) -> Spelled:
        """The shortest text, among equals the first in byte order; None where it is longer than LONGEST."""
        return self._text(term) if self._distance(term) <= LONGEST else None

    def ceiling(self, term: Term) -> int | None:
        """Upper bound on the shortest completion, in bytes, from every term that bytes lead to. None where only a
        search could decide."""
        if term not in self._ceilings:
            found = self._ceiling(term)
            self._ceilings[term] = self._explored(term) if found is None else found
        return self._ceilings[term]

    def _explored(self, term: Term) -> int | None:
        """The ceiling by a look at each term that bytes lead to, where they are few."""
        seen = {term: None}
        waiting = [term]
        while waiting:
            for _, target in self._algebra.edges(waiting.pop()):
                if target not in seen:
                    if len(seen) == MOST_EXPLORED:
                        return None
                    seen[target] = None
                    waiting.append(target)
        distances = [distance for each in seen if (distance := self._distance(each)) < NEVER]
        return int(max(distances, default=0))

    def _ceiling(self, term: Term) -> int | None:
        kind, parts = term.kind, term.parts
        if kind == CHARS:
            return _deepest_character(term.data)
        if kind == WORDS:
            words, low, high, depth = term.data
            return int(self._lengths_of(words)[low:high].max()) - depth
        if kind == REP and not self._is_searched(term):
            shortest = self._distance(parts[0])
            if shortest == NEVER:  # its body has no text
                return 0
            body = self.ceiling(parts[0])
            return None if body is None else body + int(max(term.data[0] - 1, 0) * shortest)
        if kind == CAT and not self._is_searched(term):
            highest, after = 0, 0
            if self._distance(term) == NEVER:  # a part has no text, so no byte leads to a term that has one
                return 0
            for part in reversed(_spine(term)):
                ceiling = self.ceiling(part)
                if ceiling is None:
                    return None
                highest, after = max(highest, ceiling + after), after + int(self._distance(part))
            return highest
        if kind == ALT and not self._is_searched(term):
            found = [self.ceiling(p) for p in parts]
            return None if None in found else max(f for f in found if f is not None)
        if kind == LAZY:
            source, key = term.data
            known: int | None = source.ceiling(key)
            return known
        if kind == AND:
            return _escape(parts)
        return 0 if term is NIL or term is ANYTHING else None

    # ------------------------------------------------------------------ distances to the end

    def _distance(self, term: Term) -> float:
        """The length of the shortest text in bytes, NEVER where there is no text."""
        if self._floor(term) == self._exact.get(term):
            return self._exact[term]
        kind, parts = term.kind, term.parts
        if self._is_searched(term):
            return self._search(term, NEVER)
        if kind == LAZY:
            found = _length(self._end(term))
        elif kind == CAT:
            found = sum(map(self._distance, _spine(term)))
        elif kind == ALT:
            found = min(map(self._distance, parts))
        else:  # REP; the other kinds have no part that needs a search
            found = term.data[0] * self._distance(parts[0])
        self._exact[term] = found
        return found

    def _is_within(self, term: Term, most: float) -> bool:
        if self._floor(term) > most:
            return False
        known = self._exact.get(term)
        if known is None:
            known = self._search(term, most) if self._is_searched(term) else self._distance(term)
        return known <= most

    def _floor(self, term: Term) -> float:
        """A lower bound of the distance; where the form of the term gives the distance itself, it is stored as exact."""
        known = self._exact.get(term, self._least.get(term))
        if known is not None:
            return known
        self._tick()
        kind, parts, is_exact = term.kind, term.parts, True
        found: float
        if term.nullable:
            found = 0
        elif kind == CHARS:
            found = _length(self._first_character(term.data))
        elif kind == WORDS:
            found = _length(self._word(term))
        elif kind == EMPTY:
            found = NEVER
        elif kind == LAZY:
            source, key = term.data
            found, is_exact = source.floor(key), False
        elif kind == CAT:
            spine = _spine(term)
            found = sum(map(self._floor, spine))
            is_exact = all(p in self._exact for p in spine)
        elif kind == ALT:
            found = min(map(self._floor, parts))
            is_exact = all(p in self._exact for p in parts)
        elif kind == REP:
            found = term.data[0] * self._floor(parts[0])
            is_exact = parts[0] in self._exact
        else:
            found = max(map(self._floor, parts)) if kind in (AND, SCOPE) else 0
            is_exact = False
        is_exact = term.nullable or (is_exact and not self._is_searched(term))
        (self._exact if is_exact else self._least)[term] = found
        return found

    def _search(self, term: Term, most: float) -> float:
        """A*: the distance if it is within `most`, else NEVER; caches the distances on the path found, and what was ruled out."""
        before: dict[Term, Term | None] = {term: None}
        reached = {term: 0}
        queue = [(self._floor(term), 0, 0, term)]
        while queue:
            total, negative, _, here = heapq.heappop(queue)
            if total > most:
                break
            if -negative > reached[here]:
                continue
            self._tick()
            if here in self._exact:
                back: Term | None = here
                while back is not None:
                    self._exact[back] = total - reached[back]
                    back = before[back]
                return total
            if len(reached) > self._max_states:
                raise LimitExceeded(
                    f"the shortest end of a text is not found after {self._max_states} states; "
                    "simplify intersections and look-aheads, or raise limits.max_states"
                )
            for bits, target in self._algebra.edges(here):
                letter = self._letter(bits)
                if letter is None:
                    continue
                read = reached[here] + len(letter)
                if read < reached.get(target, NEVER) and (floor := self._floor(target)) < NEVER:
                    reached[target], before[target] = read, here
                    heapq.heappush(queue, (read + floor, -read, next(self._serials), target))
        if most == NEVER:
            self._exact[term] = NEVER
        else:
            self._least[term] = most + 1
        return NEVER

    # ------------------------------------------------------------------ the text itself

    def _text(self, term: Term) -> Spelled:
        kind, parts = term.kind, term.parts
        if term.nullable:
            return self.empty
        if kind == CHARS:
            return self._first_character(term.data)
        if kind == WORDS:
            return self._word(term)
        if self._is_searched(term):
            return self._follow(term)
        if kind == LAZY:
            return self._end(term)
        if kind == CAT:
            return self.empty.join(map(self._text, _spine(term)))
        if kind == ALT:
            if term not in self._chosen:
                nearest = self._distance(term)
                self._chosen[term] = min((p for p in parts if self._is_within(p, nearest)), key=self._text)
            return self._text(self._chosen[term])
        return self._text(parts[0]) * term.data[0]

    def _follow(self, term: Term) -> Spelled:
        """Letter by letter, the smallest that gets nearer to the end, until the rest needs no search."""
        text = []
        while self._is_searched(term) and not term.nullable:
            distance = self._distance(term)
            spelled = [
                (letter, target)
                for bits, target in self._algebra.edges(term)
                if (letter := self._letter(bits)) is not None
            ]
            for letter, target in sorted(spelled, key=lambda edge: edge[0]):
                if self._is_within(target, distance - len(letter)):
                    text.append(letter)
                    term = target
                    break
        return self.empty.join(text) + self._text(term)

    def _letter(self, bits: int) -> Spelled:
        """The first of the letters in a set, spelled; None where none can be."""
        return bytes([_lowest(bits)])

    def _first_character(self, edges: Edges) -> Spelled:
        """The shortest character, the first in byte order; the rest of one may be at most three bytes."""
        shortest: list[Spelled] = []
        for bits, target in edges:
            letter = self._letter(bits)
            rest = self._first_character(target) if isinstance(target, tuple) else self.empty
            if letter is not None and rest is not None:
                shortest.append(letter + rest)
        return min(shortest, key=lambda c: (len(c), c), default=None)

    def _is_searched(self, term: Term) -> bool:
        """Does the shortest text not follow from those of the parts?"""
        return term.look or term.prev or term.kind not in (EMPTY, CHARS, CAT, ALT, REP, WORDS, LAZY)

    def _end(self, term: Term) -> Spelled:
        source, key = term.data
        return source.end(key)

    def _word(self, term: Term) -> Spelled:
        words, low, high, depth = term.data
        # argmin takes the first of the shortest; the words are sorted
        return words.value[low + int(self._lengths_of(words)[low:high].argmin())][depth:]

    def _lengths_of(self, words: ById) -> np.ndarray:
        known = self._lengths.get(words)
        if known is None:
            known = self._lengths[words] = np.fromiter(map(len, words.value), np.int64, len(words.value))
        return known


def _escape(parts: tuple[Term, ...]) -> int | None:
    """The ceiling of (characters of a set)* without some texts: one character of the set that occurs in none of them ends
    any text of the language. None for other intersections, and where there is no such character in ASCII.
    """
    loops = [part for part in parts if part.kind == REP and part.parts[0].kind == CHARS and part.data == (0, FOREVER)]
    refused = [part.parts[0] for part in parts if part.kind == NOT]
    if len(loops) != 1 or len(refused) != len(parts) - 1:
        return None
    edges = loops[0].parts[0].data
    free = _single_bytes(edges)
    seen: set[Term] = set()
    waiting = refused
    while waiting and free:
        term = waiting.pop()
        if term in seen:
            continue
        seen.add(term)
        if term.kind == CHARS:
            free &= ~_single_bytes(term.data)
        elif term.kind == WORDS:
            words, low, high, depth = term.data
            for word in words.value[low:high]:
                for byte in word[depth:]:
                    free &= ~(1 << byte)
        elif term.kind in (CAT, ALT, REP, EPS, EMPTY) and not term.look and not term.prev:
            waiting = [*waiting, *term.parts]
        else:
            return None
    return 1 + _deepest_character(edges) if free else None


def _single_bytes(edges: Edges) -> int:
    """The characters of one byte, as bits."""
    return sum(bits for bits, target in edges if not isinstance(target, tuple))


def _spine(term: Term) -> list[Term]:
    spine = []
    while term.kind == CAT:
        spine.append(term.parts[0])
        term = term.parts[1]
    return [*spine, term]


def _length(text: Spelled | None) -> float:
    return NEVER if text is None else len(text)


def _lowest(bits: int) -> int:
    return (bits & -bits).bit_length() - 1


def _deepest_character(edges: Edges) -> int:
    """Upper bound in bytes on the shortest end of a character, after any of its first bytes."""
    inner = [_deepest_character(target) for _, target in edges if isinstance(target, tuple)]
    return max(_nearest(edges), *inner, 0)


def _nearest(edges: Edges) -> int:
    return min(1 + (_nearest(target) if isinstance(target, tuple) else 0) for _, target in edges)
