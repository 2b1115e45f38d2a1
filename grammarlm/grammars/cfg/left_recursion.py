"""Removes left recursion, because a rule that begins with itself would be called for ever.

A = A x | b becomes A = b x*; in mutual left recursion the rules are first substituted into each other, in order. A call of a rule
that may be empty is already "nothing, or the rule without its empty text".
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from grammarlm.errors import LimitExceeded
from grammarlm.grammars.regular.derivatives import EVERY_BYTE, Algebra
from grammarlm.grammars.regular.terms import ALT, CAT, CHARS, FOREVER, REP, Term

from .components import components

FIRST_CALL = 256  # the bit of call 0
CALLS = ~EVERY_BYTE


class LeftRecursion:
    """The rules of a grammar as terms with calls."""

    def __init__(self, algebra: Algebra, tick: Callable[[], None]):
        self.algebra, self.tick = algebra, tick

    def starts(self, terms: dict[int, Term]) -> dict[int, Term]:
        """Of each rule, given by the number of its call: its nonempty texts, beginning with no call of itself."""
        bodies = {index: self._nonempty(term) for index, term in terms.items()}
        known: dict[Term, int] = {}
        first = {
            index: [c for c in call_bits(self._begins(term, known)) if c in bodies] for index, term in bodies.items()
        }
        for knot in components(first, self.tick):
            if len(knot) == 1 and knot[0] not in first[knot[0]]:
                continue
            # Components again, with the calls in edge order: a rule is solved after those that it begins with.
            inside = set(knot)
            ordered = {index: [c for c in self._first_calls(bodies[index]) if c in inside] for index in sorted(knot)}
            for component in components(ordered, self.tick):
                if len(component) > 1 or component[0] in ordered[component[0]]:
                    self._solve_component(component, bodies)
        return bodies

    def _solve_component(self, component: list[int], bodies: dict[int, Term]) -> None:
        """Replaces each rule's leading calls of rules already solved by their bodies; then A = A x | b becomes b x*."""
        algebra = self.algebra
        for place, index in enumerate(component):
            earlier = set(component[:place])
            term = bodies[index]
            while True:
                self.tick()
                begins = self._first_calls(term)
                replaced = [c for c in begins if c in earlier]
                if not replaced:
                    break
                if term.depth > algebra.max_depth - 2:
                    raise LimitExceeded("rules that begin with each other are too many; write them as repeats")
                parts = [self._first_kept(term, set(replaced))]
                parts += [algebra.cat(bodies[c], begins[c]) for c in replaced]
                term = algebra.alt(parts)
            if index in begins:
                again = self._without_powers(begins[index])
                term = algebra.cat(self._first_kept(term, {index}), algebra.repeat(again, 0, FOREVER))
            bodies[index] = term

    def _without_powers(self, body: Term) -> Term:
        """Simplifies the body of a repeat: (a | a a)* is a*, which is less ambiguous."""
        if body.kind != ALT:
            return body
        parts = set(body.parts)
        for part in body.parts:
            pieces, rest = [], part
            while rest.kind == CAT:
                pieces.append(rest.parts[0])
                rest = rest.parts[1]
            if pieces and {*pieces, rest} <= parts - {part}:
                parts.discard(part)
        return self.algebra.alt(parts)

    def _begins(self, term: Term, known: dict[Term, int]) -> int:
        """The rules that a text of the term may begin with, as call bits; computed without the term's edges, which may be many."""
        bits = known.get(term)
        if bits is None:
            self.tick()
            bits, rest = 0, term
            while rest.kind == CAT:
                head, rest = rest.parts
                bits |= self._begins(head, known)
                if not head.nullable:
                    break
            else:
                if rest.kind == CHARS:
                    for each, _ in rest.data:
                        bits |= each & CALLS
                elif rest.kind in (ALT, REP):  # terms of other kinds contain no call
                    for part in rest.parts:
                        bits |= self._begins(part, known)
            known[term] = bits
        return bits

    def _first_calls(self, term: Term) -> dict[int, Term]:
        """The leading calls, each with the term that follows it."""
        found: dict[int, list[Term]] = {}
        for bits, target in self.algebra.edges(term):
            for index in call_bits(bits):
                found.setdefault(index, []).append(target)
        return {index: self.algebra.alt(targets) for index, targets in found.items()}

    def _first_kept(self, term: Term, without: set[int]) -> Term:
        """The term's nonempty texts that do not begin with these calls."""
        mask = ~sum(1 << (FIRST_CALL + index) for index in without)
        algebra = self.algebra
        return algebra.alt(
            algebra.cat(algebra.chars(((bits & mask, None),)), target)
            for bits, target in algebra.edges(term)
            if bits & mask
        )

    def _nonempty(self, term: Term) -> Term:
        return self._first_kept(term, set()) if term.nullable else term


def call_bits(bits: int) -> Iterator[int]:
    """The calls in an edge's set."""
    bits >>= FIRST_CALL
    while bits:
        low = bits & -bits
        yield low.bit_length() - 1
        bits ^= low
