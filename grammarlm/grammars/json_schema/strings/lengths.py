"""How long the strings of a language are, in code points.

A set of lengths is a bit set: bit k for length k, and the last bit, `most + 1`, for all that are longer than `most`. Sums of two
lengths beyond `most` stay beyond it, so no information is lost. The set of a term built of characters, words, concatenation, union
and repeats is computed from the sets of its parts: mostly an interval, as for `[a-z]{2,9}`. The lengths of intersections and
complements do not follow from their parts, so their states are explored (automaton.py); that gives an answer for all states at
once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

from grammarlm.grammars.regular.terms import (
    ALT,
    CAT,
    CHARS,
    EMPTY,
    EPS,
    FOREVER,
    LOOK,
    NOT,
    PREV,
    REP,
    WORDS,
    Term,
)

CONTINUATION = sum(1 << byte for byte in range(0x80, 0xC0))

Span = tuple[int, float]  # every length from .. to


class Form(NamedTuple):
    """Bounds on the lengths, from the form of a term: complements and look-around may exclude more."""

    low: int
    high: float
    is_solid: bool  # there are strings of each length between


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
        self._forms: dict[Term, Form] = {}
        self._bounds: dict[Term, Span | None] = {}
        self._sets: dict[tuple[Term, int], int] = {}

    def form(self, term: Term) -> Form:
        """What the form of the term says of the lengths. A concatenation is read from its end, since states share suffixes."""
        row = []
        while (found := self._forms.get(term)) is None and term.kind == CAT:
            row.append(term)
            term = term.parts[1]
        if found is None:
            found = self._forms[term] = self._form(term)
        for term in reversed(row):
            head = self.form(term.parts[0])
            found = Form(head.low + found.low, head.high + found.high, head.is_solid and found.is_solid)
            self._forms[term] = found
        return found

    def _form(self, term: Term) -> Form:
        kind = term.kind
        if kind == CHARS:
            length = (
                0 if term.data[0][0] & CONTINUATION else 1
            )  # counted at the first byte: the rest of a character has 0
            return Form(length, length, True)
        if kind in (EPS, EMPTY, LOOK, PREV):
            return Form(0, 0, kind == EPS)
        if kind == WORDS:
            lengths = _words_lengths(term)
            return Form(min(lengths), max(lengths), len(lengths) == max(lengths) - min(lengths) + 1)
        if kind == NOT:
            return Form(0, FOREVER, False)
        forms = [self.form(part) for part in term.parts]
        is_solid, first = all(form.is_solid for form in forms), forms[0]
        if kind == REP:
            low, high = term.data
            return Form(
                low * first.low, high * first.high if first.high else 0, is_solid and _has_no_gap(first, low, high)
            )
        least, most = [form.low for form in forms], [form.high for form in forms]
        if kind == ALT:
            return Form(min(least), max(most), is_solid and _do_touch(forms))
        return Form(max(least), min(most), False)

    def bounds(self, term: Term) -> Span | None:
        """The least and the greatest length; None for the empty language."""
        if term not in self._bounds:
            self._bounds[term] = self._find_bounds(term)
        return self._bounds[term]

    def _find_bounds(self, term: Term) -> Span | None:
        form = self.form(term)
        if form.is_solid or term.kind == WORDS:
            return form.low, form.high
        if term.kind == EMPTY:
            return None
        if term.kind not in (CAT, ALT, REP) or term.look or term.prev:
            return self._explore(term).bounds(term)
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

    def of(self, term: Term, most: int) -> int:
        """The set of string lengths (of the remaining lengths, for a term within a character)."""
        form = self.form(term)
        if form.is_solid:
            return interval(form.low, form.high, most)
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
            found = 0
            for length in _words_lengths(term):
                found |= 1 << min(length, most + 1)
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


def _words_lengths(term: Term) -> set[int]:
    keeper, low, high, depth = term.data
    return {word_length(word, depth) for word in keeper.value[low:high]}


def _do_touch(forms: list[Form]) -> bool:
    """Do the intervals leave no gap between them?"""
    ordered = sorted(forms)
    high = ordered[0].high
    for form in ordered:
        if form.low > high + 1:
            return False
        high = max(high, form.high)
    return True


def _has_no_gap(form: Form, low: int, high: float) -> bool:
    """k turns have k first .. k last characters: no gap if the range of each k begins where that of k - 1 ends, or before."""
    longest = low * form.high if low else 0  # 0 * inf is no number
    return form.high == 0 or low == high or longest + 1 >= (low + 1) * form.low


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
