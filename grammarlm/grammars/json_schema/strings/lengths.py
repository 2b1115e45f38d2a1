"""How long the strings of a language are, in code points.

A set of lengths is a bit set: bit k for length k, and the last bit, `most + 1`, for all that are longer than `most`. Sums of two
lengths beyond `most` stay beyond it, so no information is lost. The set of a term built of characters, words, concatenation, union
and repeats is computed from the sets of its parts: mostly an interval, as for `[a-z]{2,9}`. The lengths of intersections and
complements do not follow from their parts, so their states are explored (automaton.py); that gives an answer for all states at
once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from grammarlm.grammars.regular.terms import (
    ALT,
    AND,
    CAT,
    CHARS,
    EMPTY,
    EPS,
    FOREVER,
    LOOK,
    NOT,
    PREV,
    REP,
    SCOPE,
    WORDS,
    Term,
)

CONTINUATION = sum(1 << byte for byte in range(0x80, 0xC0))

Span = tuple[int, float]  # every length from .. to


class States(Protocol):
    """The states of a term, explored."""

    def bounds(self, term: Term) -> Span | None: ...

    def lengths(self, term: Term, most: int) -> int: ...


def interval(low: int, high: float, most: int) -> int:
    """The lengths low..high as a set."""
    top = most + 1
    if high < low:
        return 0
    last = top if high >= top else int(high)
    return (1 << (last + 1)) - (1 << min(low, top))


def word_length(word: bytes, start: int = 0) -> int:
    """The number of characters that begin in word[start:]."""
    return sum((byte & 0xC0) != 0x80 for byte in word[start:])


def count_words(term: Term, low: int, high: int | None) -> int:
    """The number of strings of a WORDS term with low..high characters."""
    keeper, first, last, depth = term.data
    if low <= 0 and high is None:
        return last - first
    lengths = [word_length(word, depth) for word in keeper.value[first:last]]
    return sum(low <= length and (high is None or length <= high) for length in lengths)


class LengthSets:
    """Length sets of terms. `explore(term)` gives the states of a term whose set cannot be computed from its parts."""

    def __init__(self, explore: Callable[[Term], States], tick: Callable[[], None] = lambda: None):
        self._explore, self._tick = explore, tick
        self._least: dict[Term, int] = {}
        self._most: dict[Term, float] = {}
        self._bounds: dict[Term, Span | None] = {}
        self._spans: dict[Term, Span | None] = {}
        self._sets: dict[tuple[Term, int], int] = {}

    # ------------------------------------------------------------------ intervals

    def span(self, term: Term) -> Span | None:
        """The lengths as an interval, where they certainly form one."""
        if term in self._spans:
            return self._spans[term]
        found = self._spans[term] = self._span(term)
        return found

    def _span(self, term: Term) -> Span | None:
        kind, parts = term.kind, term.parts
        if term.look or term.prev:
            return None
        if kind == CHARS:
            return _one(term)
        if kind == EPS:
            return 0, 0
        if kind == WORDS:
            return self._words_span(term)
        if kind == CAT:
            low: int = 0
            high: float = 0
            for factor in _factors(term):
                part = self.span(factor)
                if part is None:
                    return None
                low, high = low + part[0], high + part[1]
            return low, high
        if kind == ALT:
            return _joined([self.span(part) for part in parts])
        if kind == REP:
            return _repeated(self.span(parts[0]), *term.data)
        return None

    def _words_span(self, term: Term) -> Span | None:
        keeper, low, high, depth = term.data
        if high == low + 1:
            length = word_length(keeper.value[low], depth)
            return length, length
        lengths = {word_length(word, depth) for word in keeper.value[low:high]}
        first, last = min(lengths), max(lengths)
        return (first, last) if len(lengths) == last - first + 1 else None

    # ------------------------------------------------------------------ bounds

    def at_least(self, term: Term) -> int:
        """Lower bound of the string lengths, from the form of the term: complements and look-around may exclude more."""
        known = self._least.get(term)
        if known is not None:
            return known
        kind, parts = term.kind, term.parts
        if kind == CHARS:
            least = _one(term)[0]
        elif kind == WORDS:
            least = _words_bounds(term)[0]
        elif kind == CAT:
            least = sum(self.at_least(factor) for factor in _factors(term))
        elif kind == REP:
            least = term.data[0] * self.at_least(parts[0]) if term.data[0] else 0
        elif kind == ALT:
            least = min(self.at_least(part) for part in parts)
        elif kind in (AND, SCOPE):
            least = max(self.at_least(part) for part in parts)
        else:
            least = 0
        self._least[term] = least
        return least

    def at_most(self, term: Term) -> float:
        """Upper bound of the string lengths; infinite where the form does not give one."""
        known = self._most.get(term)
        if known is None:
            known = self._most[term] = self._at_most(term)
        return known

    def _at_most(self, term: Term) -> float:
        kind = term.kind
        if kind in (EPS, EMPTY, LOOK, PREV):
            return 0
        if kind == CHARS:
            return _one(term)[1]
        if kind == WORDS:
            return _words_bounds(term)[1]
        if kind == NOT:
            return FOREVER
        longest = [self.at_most(part) for part in _factors(term)]
        if kind == CAT:
            return sum(longest)
        if kind == REP:
            return longest[0] * term.data[1] if longest[0] else 0
        return min(longest) if kind == AND else max(longest)

    def bounds(self, term: Term) -> Span | None:
        """The least and the greatest length; None for the empty language."""
        if term not in self._bounds:
            self._bounds[term] = self._find_bounds(term)
        return self._bounds[term]

    def _find_bounds(self, term: Term) -> Span | None:
        span = self.span(term)
        if span is not None or term.kind == EMPTY:
            return span
        if term.kind not in (CAT, ALT, REP, WORDS) or term.look or term.prev:
            return self._explore(term).bounds(term)
        if term.kind == WORDS:
            return _words_bounds(term)
        found = [self.bounds(part) for part in _factors(term)]
        known = [part for part in found if part is not None]
        if term.kind == ALT:
            return (min(k[0] for k in known), max(k[1] for k in known)) if known else None
        if len(known) < len(found):
            return (0, 0) if term.kind == REP and term.data[0] == 0 else None
        if term.kind == CAT:
            return sum(k[0] for k in known), sum(k[1] for k in known)
        (low, high), (first, last) = term.data, known[0]
        return low * first, high * last if last else 0

    # ------------------------------------------------------------------ any set

    def of(self, term: Term, most: int) -> int:
        """The set of string lengths (of the remaining lengths, for a term within a character)."""
        span = self.span(term)
        if span is not None:
            return interval(span[0], span[1], most)
        key = term, most
        known = self._sets.get(key)
        if known is None:
            known = self._sets[key] = self._of(term, most)
        return known

    def _of(self, term: Term, most: int) -> int:
        self._tick()
        kind, parts = term.kind, term.parts
        if kind == EMPTY:
            return 0
        if term.look or term.prev:
            return self._explore(term).lengths(term, most)
        if kind == WORDS:
            keeper, low, high, depth = term.data
            found = 0
            for word in keeper.value[low:high]:
                found |= 1 << min(word_length(word, depth), most + 1)
            return found
        if kind == CAT:
            return self._of_row(term, most)
        if kind == ALT:
            found = 0
            for part in parts:
                found |= self.of(part, most)
            return found
        if kind == REP:
            low, high = term.data
            return _power(self.of(parts[0], most), low, high, most)
        return self._explore(term).lengths(term, most)

    def _of_row(self, term: Term, most: int) -> int:
        """The set of a concatenation: computed from its end, since states share suffixes."""
        row = []
        while term.kind == CAT and (term, most) not in self._sets:
            row.append(term)
            term = term.parts[1]
        total = self.of(term, most)
        for term in reversed(row):
            self._tick()
            total = self._sets[term, most] = added(self.of(term.parts[0], most), total, most)
        return total


def _factors(term: Term) -> Sequence[Term]:
    """The parts; for a concatenation all its factors."""
    if term.kind != CAT:
        return term.parts
    factors = []
    while term.kind == CAT:
        factors.append(term.parts[0])
        term = term.parts[1]
    factors.append(term)
    return factors


def _words_bounds(term: Term) -> Span:
    keeper, low, high, depth = term.data
    lengths = [word_length(word, depth) for word in keeper.value[low:high]]
    return min(lengths), max(lengths)


def _one(term: Term) -> Span:
    """A character is counted at its first byte, so the rest of one has length 0."""
    return (0, 0) if term.data[0][0] & CONTINUATION else (1, 1)


def _joined(spans: list[Span | None]) -> Span | None:
    known = sorted(span for span in spans if span is not None)
    if len(known) < len(spans):
        return None
    low, high = known[0]
    for first, last in known:
        if first > high + 1:
            return None
        high = max(high, last)
    return low, high


def _repeated(span: Span | None, low: int, high: float) -> Span | None:
    """k turns have k first .. k last characters: no gap if the range of each k begins where that of k - 1 ends, or before."""
    if span is None:
        return None
    first, last = span
    if last == 0 or high == 0:
        return 0, 0
    longest = low * last if low else 0  # 0 * inf is no number
    if low != high and longest + 1 < (low + 1) * first:
        return None
    return low * first, high * last


def added(a: int, b: int, most: int) -> int:
    """All sums of a length of `a` and a length of `b` (sumset), one run of lengths l, l + 1, ... of `a` at a time."""
    total = 0
    base = 0
    while a and b:
        gap = (a & -a).bit_length() - 1
        a >>= gap
        base += gap
        run = (~a & (a + 1)).bit_length() - 1
        total |= _smeared(b, run) << base
        a >>= run
        base += run
    return capped(total, most)


def _smeared(lengths: int, width: int) -> int:
    """The sums of the lengths and 0 .. width - 1."""
    done = 1
    while 2 * done <= width:
        lengths |= lengths << done
        done *= 2
    return lengths | lengths << (width - done)


def capped(lengths: int, most: int) -> int:
    """Merges everything beyond `most` into one bit."""
    top = 1 << (most + 1)
    return lengths if lengths < top else lengths & (top - 1) | top


def _power(lengths: int, low: int, high: float, most: int) -> int:
    """The lengths of low..high repeats."""
    exact = _times(lengths, min(low, most + 2), most)  # so many turns are beyond `most`, or all have length 0
    further = most + 1 if high == FOREVER else min(int(high) - low, most + 1)
    return added(exact, _times(lengths | 1, further, most), most)


def _times(lengths: int, count: int, most: int) -> int:
    """Sums of exactly `count` members, by repeated squaring."""
    result, base = 1, lengths
    while count:
        if count & 1:
            result = added(result, base, most)
        count >>= 1
        if count:
            base = added(base, base, most)
    return result
