"""Regular languages by derivatives (Brzozowski): the transition function of a lazy automaton.

A term (terms.py) denotes a set of byte strings. The derivative of a term by a byte b is the term for what may follow b. So terms
are the states of a deterministic automaton, built only where it is walked. `edges(term)` lists disjoint byte sets (256-bit
integers), each with its target term, computed once per term.

Why not Thompson's construction: intersection and complement are two lines, `(a|b)*a(a|b){20}` costs nothing until it is walked, and
a bounded repeat needs no copies. The price is microseconds of Python, once per state.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from .look_around import LookAround
from .terms import ALT, AND, ANYTHING, CAT, CHARS, FOREVER, LAZY, NIL, NOT, NOTHING, REP, SCOPE, WORDS, Term

EVERY_BYTE = (1 << 256) - 1

EdgeList = tuple[tuple[int, Term], ...]
Pair = tuple[Term, Term]  # an unbuilt CAT of two terms: `Algebra.cat` builds it


class Algebra(LookAround):
    """Terms and their derivatives. One object belongs to one automaton."""

    def __init__(self, max_depth: int = 100, tick: Callable[[], None] | None = None, max_bytes: float = FOREVER):
        super().__init__(max_depth, tick, max_bytes)
        self._edges: dict[Term, EdgeList] = {}

    def forget(self) -> None:
        super().forget()
        self._edges.clear()

    def edges(self, term: Term) -> EdgeList:
        """Disjoint byte sets, each with its target term; bytes in none of them lead to the empty language."""
        known = self._edges.get(term)
        if known is None:
            known = self._edges[term] = self._derive(term)
        return known

    def open_edges(self, term: Term | Pair) -> Sequence[tuple[int, Term | Pair]]:
        """`edges`, but the rest of a character and what follows it stay a pair instead of a CAT term.

        In a counter over any character four states of five are within a character, and most are never entered: a pair costs a
        fraction of a term. Pairs are never the empty language and do not contain the empty string.
        """
        if isinstance(term, tuple):
            first, following = term
            return [(bits, following if t is NIL else (t, following)) for bits, t in self.edges(first)]
        known = self._edges.get(term)
        if known is not None or term.look or (term.kind != CAT and term.kind != REP):
            return self.edges(term)
        head, rest = term.parts if term.kind == CAT else (term, NIL)
        first, following = self._turn(head, rest) if head.kind == REP else (head, rest)
        if first.kind != CHARS or not following.sure or following is NIL:
            return self.edges(term)
        found: list[tuple[int, Term | Pair]] = [
            (bits, following if t is NIL else (t, following)) for bits, t in self.edges(first)
        ]
        if head.nullable and rest is not NIL:
            every = 0
            for bits, _ in found:
                every |= bits
            for edge in self.edges(rest):
                if edge[0] & every:  # the same byte can mean both
                    return self.edges(term)
                found.append(edge)
        return found

    def _turn(self, loop: Term, rest: Term) -> Pair:
        """One turn of a repeat; then the remaining turns and the rest."""
        (body,), (low, high) = loop.parts, loop.data
        return body, self.cat(self.repeat(body, low - 1 if low > 1 else 0, high - 1), rest)

    def _derive(self, term: Term) -> EdgeList:
        kind, parts = term.kind, term.parts
        if term.look:
            settled = self.settle(term, NIL)
            if settled is not term:
                return self.edges(settled)
        if kind == CHARS:
            return tuple([(bits, NIL if target is None else self.chars(target)) for bits, target in term.data])
        if kind == CAT:
            return self._derive_cat(term)
        if kind == ALT:
            return self._united([edge for p in parts for edge in self.edges(p)])
        if kind == AND:
            return self._derive_and(parts)
        if kind == NOT:
            return self._derive_not(parts[0])
        if kind == REP:
            low, high = term.data
            fewer = self.repeat(parts[0], max(low - 1, 0), high - 1)
            return self._grouped(
                [(bits, fewer if t is NIL else self.cat(t, fewer)) for bits, t in self.edges(parts[0])]
            )
        if kind == WORDS:
            return self._derive_words(term)
        if kind == SCOPE:
            return self._derive_scope(term)
        if kind == LAZY:
            source, key = term.data
            made: EdgeList = source.edges(self, key)
            return made
        return ()

    def _derive_cat(self, term: Term) -> EdgeList:
        head, rest = term.parts
        if head.kind == WORDS and not head.nullable and head.data[2] == head.data[1] + 1:  # a single string: its byte
            words, low, high, depth = head.data
            return ((1 << words.value[low][depth], self.cat(self._words(words, low, high, depth + 1), rest)),)
        found: list[tuple[int, Term]] = []
        joins = False
        while term.kind == CAT and not (term.look and term.parts[0].look):
            head, rest = term.parts
            first, following = head, rest
            if head.kind == REP and not head.look:  # avoids intermediate terms
                first, following = self._turn(head, rest)
            found += [(bits, following if t is NIL else self.cat(t, following)) for bits, t in self.edges(first)]
            if not head.nullable:
                return self._united(found) if joins else self._grouped(found)
            joins = True
            term = rest
        return self._united([*found, *self.edges(term)])

    def _derive_and(self, parts: tuple[Term, ...]) -> EdgeList:
        product: list[tuple[int, tuple[Term, ...]]] = [(EVERY_BYTE, ())]
        for part in parts:
            product = [
                (bits & more, (*targets, t)) for bits, targets in product for more, t in self.edges(part) if bits & more
            ]
        return self._grouped([(bits, self.both(targets)) for bits, targets in product])

    def _derive_not(self, body: Term) -> EdgeList:
        edges = self.edges(body)
        rest = EVERY_BYTE
        for bits, _ in edges:
            rest ^= bits
        found = [(bits, self.without(t)) for bits, t in edges]
        return self._grouped([*found, (rest, ANYTHING)] if rest else found)

    def _derive_words(self, term: Term) -> EdgeList:
        (keeper, low, high, depth), found = term.data, []
        words = keeper.value
        if len(words[low]) == depth:
            low += 1
        while low < high:
            byte = words[low][depth]
            after = _first_beyond(words, low, high, depth, byte)
            found.append((1 << byte, self._words(keeper, low, after, depth + 1)))
            low = after
        return tuple(found)

    def _derive_scope(self, term: Term) -> EdgeList:
        (body,), (chars, root) = term.parts, term.data
        found = []
        for bits, t in self.edges(body):
            for more, target in chars:
                if not bits & more:
                    continue
                if isinstance(target, int):  # a character is complete
                    found.append((bits & more, self.scope(self.resolve(t, target), root, root)))
                else:
                    found.append((bits & more, self.scope(t, target, root)))
        return self._grouped(found)

    def _united(self, edges: Sequence[tuple[int, Term]]) -> EdgeList:
        """Makes overlapping edges disjoint and merges edges to the same term."""
        every = 0
        for bits, _ in edges:
            if bits & every:
                break
            every |= bits
        else:
            return self._grouped(edges)
        by_bits: dict[int, list[Term]] = {}
        for bits, target in edges:
            if target is not NOTHING:
                by_bits.setdefault(bits, []).append(target)
        by_bits = _disjoint(by_bits)
        return self._grouped([(bits, t[0] if len(t) == 1 else self.alt(t)) for bits, t in by_bits.items()])

    def _grouped(self, edges: Sequence[tuple[int, Term]]) -> EdgeList:
        """Merges edges to the same term; the edges are disjoint."""
        if len(edges) == 1 and edges[0][1] is not NOTHING:
            return (edges[0],)
        result: dict[Term, int] = {}
        for bits, target in edges:
            known = result.get(target)
            result[target] = bits if known is None else known | bits
        result.pop(NOTHING, None)
        return tuple([(bits, target) for target, bits in result.items()])


def _disjoint(by_bits: dict[int, list[Term]]) -> dict[int, list[Term]]:
    parts: list[tuple[int, list[Term]]] = []
    every = 0
    for bits, targets in by_bits.items():
        if not bits & every:
            every |= bits
            parts.append((bits, targets))
            continue
        every |= bits
        refined, rest = [], bits
        for known, others in parts:
            both = known & rest
            if not both:
                refined.append((known, others))
                continue
            if both != known:
                refined.append((known ^ both, others))
            refined.append((both, others + targets))
            rest ^= both
        if rest:
            refined.append((rest, targets))
        parts = refined
    return dict(parts)


def _first_beyond(words: Sequence[bytes], low: int, high: int, depth: int, byte: int) -> int:
    """The first index in low..high whose byte at `depth` is greater than `byte` (galloping, then binary search)."""
    step, start = 1, low
    while low + step < high and words[low + step][depth] == byte:
        low += step
        step *= 2
    end = min(low + step, high)
    while low < end:
        middle = (low + end) // 2
        if words[middle][depth] <= byte:
            low = middle + 1
        else:
            end = middle
    return max(low, start + 1)
