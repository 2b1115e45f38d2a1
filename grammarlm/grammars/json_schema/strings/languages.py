"""Languages of strings: patterns, formats and words, each required or excluded, as one lazy automaton.

A string here is a sequence of code points in UTF-8; complements are relative to those. Queries are answered exactly: is a language
empty, is a string in it, how long are its strings, how many are there. Most need no automaton: a term without intersection and
complement is not empty, and the lengths of `[a-z]{2,9}` follow from the term. Otherwise the states are explored, up to MOST_STATES,
beyond which the schema is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from heapq import heappop, heappush
from itertools import count

from grammarlm.errors import UnsupportedFeature
from grammarlm.grammars.json_schema.shapes.shapes import EVERY_STRING, Language
from grammarlm.grammars.regular.derivatives import Algebra
from grammarlm.grammars.regular.terms import AND, FOREVER, NOT, NOTHING, SCOPE, WORDS, Term, accepts_empty

from .automaton import Explorations, over_the_limit
from .ecma import parse_ecma
from .formats import INCOMPLETE, SHARED, SOUND, format_term
from .lengths import CONTINUATION, LengthSets, count_words
from .text_algebra import TextAlgebra, every_string, within

MOST_STATES = 10_000
FEW_STATES = 500  # usually enough to find a string, if there is one
EXPLORED = (AND, NOT, SCOPE)  # kinds of terms whose form alone does not answer queries
MOST_LENGTH = 4_096  # up to here each length is distinguished; beyond, only whether there are longer ones


def only_format(language: Language) -> str:
    """The name of the format that a language consists of; "" where it is none, or has other parts, too."""
    if len(language) != 1:
        return ""
    ((kind, name, holds),) = language
    return str(name) if kind == "format" and holds else ""


class Languages:
    """The languages of one schema. Answers are memoised; most schemas ask for none, so the algebra is made when one does."""

    def __init__(self, make_algebra: Callable[[], Algebra] = lambda: TextAlgebra(shared=SHARED)):
        """With a TextAlgebra (the default) automata have fewer states than with any other."""
        self._make_algebra = make_algebra
        self._parts: dict[tuple[str, str], Term] = {}
        self._empty: dict[Term, bool] = {}
        self._steps: dict[Term, dict[int, Term]] = {}

    @cached_property
    def algebra(self) -> Algebra:
        return self._make_algebra()

    @cached_property
    def every(self) -> Term:
        return every_string(self.algebra)

    @cached_property
    def _terms(self) -> dict[Language, Term]:
        return {EVERY_STRING: self.every}

    @cached_property
    def _explorations(self) -> Explorations:
        return Explorations(self.algebra, MOST_STATES)

    @cached_property
    def _lengths(self) -> LengthSets:
        return LengthSets(self._explorations.of, self.algebra.tick)

    # ------------------------------------------------------------------ terms

    def term(self, language: Language) -> Term:
        """The complete strings of the language, in UTF-8."""
        known = self._terms.get(language)
        if known is None:
            known = self._terms[language] = self._term(language)
        return known

    def _term(self, language: Language) -> Term:
        if any((kind, text, not holds) in language for kind, text, holds in language):
            return NOTHING  # what is required is excluded: no search, whose states may be too many
        wanted: list[Term] = []
        unwanted: list[Term] = []
        words: list[set[str]] = []
        for kind, text, holds in language:
            if kind == "format" and not holds and text in INCOMPLETE:
                raise UnsupportedFeature(
                    f"the opposite of format {text!r} cannot be enforced: not all of its strings are known; leave it out",
                    keywords=("format",),
                )
            if kind != "words":
                (wanted if holds else unwanted).append(self._part(kind, text))  # type: ignore[arg-type]
            elif holds:
                words.append(set(text))
            else:
                unwanted.append(self._words(text))
        if words:
            rest = language.__class__(part for part in language if part[0] != "words" or not part[2])
            return self._words(w for w in set.intersection(*words) if not rest or self.has(rest, w))
        if not unwanted and len(wanted) == 1:
            return wanted[0]
        if unwanted:
            wanted.append(self.algebra.without(self.algebra.alt(unwanted)))
        if len(wanted) == len(unwanted) == 1 or not any(t.kind != NOT for t in wanted):
            wanted.append(self.every)
        return self.algebra.both(wanted)

    def _part(self, kind: str, text: str) -> Term:
        known = self._parts.get((kind, text))
        if known is None:
            make = parse_ecma if kind == "pattern" else format_term
            known = self._parts[kind, text] = make(text, self.algebra)
        return known

    def _words(self, words: Iterable[str]) -> Term:
        """A WORDS term; strings with half a surrogate pair are dropped, since no text contains them."""
        encoded = []
        for word in words:
            try:
                encoded.append(word.encode())
            except UnicodeEncodeError:
                continue
        return self.algebra.words(encoded)

    # ------------------------------------------------------------------ queries

    def has(self, language: Language, text: str) -> bool:
        try:
            data = text.encode()
        except UnicodeEncodeError:
            return False
        if not language:
            return True
        here = self.term(language)
        for byte in data:
            here = self.step(here, byte)
            if here is NOTHING:
                return False
        return here.nullable

    def words(self, language: Language, longest: int | None = None) -> Iterator[str]:
        """The strings of a language that has few; with `longest`, none that are more than one character longer."""
        stack = [(self.term(language), b"")]
        while stack:
            term, read = stack.pop()
            if accepts_empty(term):
                yield read.decode()
            if longest is not None and sum(byte & 0xC0 != 0x80 for byte in read) > longest:
                continue
            for bits, after in self.algebra.edges(term):
                if not self.is_dead(after):
                    stack += [(after, read + bytes([byte])) for byte in range(256) if bits >> byte & 1]

    def step(self, term: Term, byte: int) -> Term:
        """The derivative by the byte."""
        steps = self._steps.get(term)
        if steps is None:
            steps = self._steps[term] = {}
        target = steps.get(byte)
        if target is None:
            target = NOTHING
            for bits, after in self.algebra.edges(term):
                if bits >> byte & 1:
                    target = after
                    break
            steps[byte] = target
        return target

    def is_empty(self, language: Language) -> bool:
        return self.is_dead(self.term(language))

    def is_dead(self, term: Term) -> bool:
        """Is the language empty?"""
        if term.sure or term.nullable:
            return False
        known = self._empty.get(term)
        if known is None:
            split = within(term)  # all remainders of a character have the same term after them, which is checked once
            known = self._search(term, MOST_STATES) if split is None else self.is_dead(split[1])
            if known is None:
                raise over_the_limit(MOST_STATES)
            self._empty[term] = known
        return known

    def _search(self, root: Term, most: int) -> bool | None:
        """Is it empty? Best-first search by estimated shortest completion: most languages that look empty are not.
        None where that takes more than `most` states."""
        before: dict[Term, Term | None] = {root: None}
        order = count()
        waiting = [(0, next(order), root)]
        while waiting:
            term = heappop(waiting)[2]
            for _, target in self.algebra.edges(term):
                if target in before:
                    continue
                if target.sure or target.nullable or self._empty.get(target) is False:
                    leads: Term | None = term
                    while leads is not None:  # no state on the path is empty either
                        self._empty[leads] = False
                        leads = before[leads]
                    return False
                before[target] = term
                parts = target.parts if target.kind == AND else (target,)
                left = sum([self._lengths.form(part).low for part in parts])
                heappush(waiting, (left, -next(order), target))
            if len(before) > most:
                return None
        return True

    def _finds(self, term: Term, low: int, high: int | None) -> bool:
        """Was a string of low..high characters found with few states?"""
        bounded = self.algebra.repeat(self.every.parts[0], low, FOREVER if high is None else high)
        target = self.algebra.both((term, bounded))
        return target.nullable or (target is not NOTHING and self._search(target, FEW_STATES) is False)

    # ------------------------------------------------------------------ lengths

    def lengths_from(self, term: Term, most: int = MOST_LENGTH) -> int:
        """Bit k: a continuation of k characters from a state of the automaton exists; bit most + 1: a longer one. A character that
        has begun does not count."""
        return self._lengths.of(term, most)

    def shortest_from(self, term: Term, most: int = MOST_LENGTH) -> int:
        """Only the lowest bit of `lengths_from`."""
        for enough in (31, 255, most):
            found = self._lengths.of(term, min(enough, most)) & ((2 << min(enough, most)) - 1)
            if found:
                return found & -found
        return self._lengths.of(term, most)

    def bounds(self, language: Language) -> tuple[int, float]:
        """Bounds on the string lengths, from the form of the term; they need not be tight."""
        term = self.term(language)
        low, high, _ = self._lengths.form(term)
        return low, high

    def fits(self, language: Language, low: int, high: int | None) -> bool:
        """Is there a string of low..high characters?"""
        if high is not None and high < low:
            return False
        if low <= 0 and high is None and only_format(language) in SOUND:
            return True
        return self.fits_from(self.term(language), low, high)

    def fits_from(self, term: Term, low: int, high: int | None) -> bool:
        """The same for the continuations of a state of the automaton."""
        if low <= 0 and high is None:
            return not self.is_dead(term)
        if term.kind in EXPLORED and self._finds(term, low, high):
            return True
        bounds = self._lengths.bounds(term)
        if bounds is None or bounds[1] < low or (high is not None and bounds[0] > high):
            return False
        if high is None or low <= bounds[0] or bounds[1] <= high or self._lengths.form(term).is_solid:
            return True
        most = min(high, MOST_LENGTH)
        if (self._lengths.of(term, most) & ((2 << most) - 1)) >> low:
            return True
        if high > most:
            raise UnsupportedFeature(
                f"lengths beyond {MOST_LENGTH} cannot be decided for this pattern; use a smaller maxLength, "
                f"or a pattern with strings of each length"
            )
        return False

    def count(self, language: Language, low: int, high: int | None, most: int) -> int:
        """The number of strings of low..high characters, at most `most`."""
        return self.count_from(self.term(language), low, high, most)

    def is_endless(self, term: Term) -> bool:
        """Is the number of strings certainly infinite? Decided by the form of the term."""
        return term.sure and term.kind not in EXPLORED and self._lengths.form(term).high == FOREVER

    def count_after(self, term: Term, most: int) -> int:
        """The number of continuations of a state, at most `most`; it may be within a character. `most` where counting takes too
        many states."""
        try:
            if not any(bits & CONTINUATION for bits, _ in self.algebra.edges(term)):
                return self.count_from(term, 0, None, most)
            found = 0
            for bits, target in self.algebra.edges(term):
                if not self.is_dead(target):
                    found += (bits & CONTINUATION).bit_count() * self.count_after(target, most)
            return min(found, most)
        except UnsupportedFeature:
            return most

    def count_from(self, term: Term, low: int, high: int | None, most: int) -> int:
        """The same for the continuations of a state of the automaton."""
        if high is not None and high < low:
            return 0
        if high is not None and self._lengths.form(term).low > high:
            return 0
        if high is None and self.is_endless(term):
            return most
        if term.kind == WORDS:
            return min(count_words(term, low, high), most)
        counted = self._counted(term, low, high, most, FEW_STATES, FEW_STATES)
        if counted is None:
            bounds = self._lengths.bounds(term)
            if bounds is None:
                return 0
            if high is None and bounds[1] == FOREVER:
                return most
            last = int(bounds[1] if high is None else min(high, bounds[1]))
            counted = self._counted(term, low, last, most, last + 1, MOST_STATES)
        if counted is None:
            raise over_the_limit(MOST_STATES)
        return counted

    def _counted(
        self, root: Term, low: int, high: int | None, most: int, most_levels: int, most_states: int
    ) -> int | None:
        """Counts level by level (the automaton is deterministic: a path is a string), without the states that no path reaches;
        None where that takes too many levels or states."""
        total, reached, seen = 0, {root: 1}, {root}
        for length in range(most_levels):
            if length >= low:
                total += sum(ways for term, ways in reached.items() if term.nullable)
            if total >= most or not reached or length == high:
                return min(total, most)
            after: dict[Term, int] = {}
            waiting = [(term, ways, ~CONTINUATION) for term, ways in reached.items()]
            while waiting:
                term, ways, allowed = waiting.pop()
                for bits, target in self.algebra.edges(term):
                    ways_there = ways * (bits & allowed).bit_count()
                    if not ways_there or self.is_dead(target):
                        continue
                    if any(more & CONTINUATION for more, _ in self.algebra.edges(target)):
                        waiting.append((target, ways_there, CONTINUATION))
                    else:
                        after[target] = min(after.get(target, 0) + ways_there, most)
                    seen.add(target)
            if len(seen) > most_states:
                return None
            reached = after
        return None
