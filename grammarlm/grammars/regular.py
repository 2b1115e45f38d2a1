"""Regular languages as terms, and their derivatives: the program that a lazy automaton runs.

A term denotes a set of byte strings. The derivative of a term by a byte b is the term for what may follow b, so terms are the
states of a deterministic automaton that exists only where somebody walks. Terms are interned: equal terms are one object, and
`edges(term)` lists the disjoint byte sets (256-bit integers) with the term behind each, computed once.

    CHARS   one character, or what remains of one, out of a set (a node of utf8.py)
    CAT     head, then rest; nested to the right
    ALT     any of several                       AND   all of several             NOT   any bytes but these
    REP     body from `low` to `high` times: a counter in the term, so {0,1000000} is one term, not a million
    WORDS   any of a sorted range of strings, from a depth on: 100,000 choices are one term
    LOOK    nothing, where the rest of the text is in a language: (?=p), (?!p), $
    PREV    nothing, where the character before is in a set: ^, (?<=c), half of \\b
    SCOPE   a language whose look-around sees its own text only

Why this and not Thompson's construction: intersection and complement are two lines, `(a|b)*a(a|b){20}` costs nothing until it is
walked, and a bounded repeat needs no copies. The price, microseconds of Python for each new state, is paid once per state.

**LOOK** acts on everything behind it, so it is resolved where it meets its rest: `settle(LOOK(p), rest)` is `rest AND p`.
**PREV** is resolved right behind each character: SCOPE reads characters beside its body, knows which of the PREV sets the last
one is in, and replaces the PREVs that now stand in front by nothing or by the empty set. Everywhere else a PREV in front counts
as the empty set, which is right because the resolved alternative is there beside it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import count

from ..errors import LimitExceeded
from . import utf8

EMPTY, EPS, CHARS, CAT, ALT, AND, NOT, REP, WORDS, LOOK, PREV, SCOPE = range(12)
EVERY_BYTE = (1 << 256) - 1
FOREVER = float("inf")  # the `high` of an unbounded repeat

EdgeList = tuple[tuple[int, "Term"], ...]
_serials = count()


class Term:
    """One language. `parts` are its subterms, `data` the rest of its meaning, as the table in the module says."""

    __slots__ = ("data", "depth", "kind", "look", "nullable", "parts", "prev", "serial", "sure")

    def __init__(self, kind: int, parts: tuple[Term, ...], data, nullable: bool, sure: bool):
        self.kind, self.parts, self.data = kind, parts, data
        self.nullable = nullable  # contains the empty string, every LOOK and PREV in front counted as the empty set
        self.sure = sure  # certainly not the empty language
        inner = max((p.depth for p in parts), default=0)
        self.depth = inner if kind == CAT else inner + 1  # CAT's right spine is walked in a loop, the rest by recursion
        self.look = kind == LOOK or (kind != SCOPE and any(p.look for p in parts))
        self.prev = kind == PREV or (kind != SCOPE and any(p.prev for p in parts))
        self.serial = next(_serials)

    def __lt__(self, other: Term) -> bool:
        return self.serial < other.serial


NOTHING = Term(EMPTY, (), None, False, False)  # the empty language
NIL = Term(EPS, (), None, True, True)  # the empty string
ANYTHING = Term(NOT, (NOTHING,), None, True, True)  # every byte string


class Algebra:
    """Makes terms, each once, in the simplest form that the laws beside each constructor give."""

    def __init__(self, max_depth: int = 100):
        self.max_depth = max_depth
        self._terms: dict = {}
        self._edges: dict[Term, EdgeList] = {}
        self._lists: dict[tuple[bytes, ...], _ById] = {}

    def forget(self) -> None:
        """Drops what was interned; terms at hand stay valid."""
        self._terms.clear()
        self._edges.clear()
        self._lists.clear()

    # ------------------------------------------------------------------ constructors

    def _make(self, kind: int, parts: tuple[Term, ...], data, nullable: bool, sure: bool) -> Term:
        key = (kind, parts, data)
        term = self._terms.get(key)
        if term is None:
            term = Term(kind, parts, data, nullable, sure)
            if term.depth > self.max_depth:
                raise LimitExceeded(
                    f"repeats, alternatives and look-arounds are nested deeper than {self.max_depth} levels; "
                    f"flatten the expression or raise limits.max_depth"
                )
            self._terms[key] = term
        return term

    def chars(self, edges: utf8.Edges) -> Term:
        return self._make(CHARS, (), edges, False, True) if edges else NOTHING

    def words(self, words: Iterable[bytes]) -> Term:
        """Any of these strings."""
        ordered = tuple(sorted(set(words)))
        return self._words(self._lists.setdefault(ordered, _ById(ordered)), 0, len(ordered), 0)

    def _words(self, words: _ById, low: int, high: int, depth: int) -> Term:
        """The strings low..high, which agree on their first `depth` bytes, without those bytes."""
        if low >= high:
            return NOTHING
        ends_here = len(words.value[low]) == depth
        if ends_here and high == low + 1:
            return NIL
        return self._make(WORDS, (), (words, low, high, depth), ends_here, True)

    def cat(self, head: Term, rest: Term) -> Term:
        """0 r = r 0 = 0, 1 r = r 1 = r, (a b) c = a (b c); x* with anything in x behind it is kept as it is."""
        if head is NOTHING or rest is NOTHING:
            return NOTHING
        if head is NIL:
            return rest
        if rest is NIL:
            return head
        if rest is ANYTHING and head.nullable and not head.look:
            return ANYTHING
        if head.kind == CAT:
            spine = []
            while head.kind == CAT:
                spine.append(head.parts[0])
                head = head.parts[1]
            rest = self.cat(head, rest)
            for part in reversed(spine):
                rest = self.cat(part, rest)
            return rest
        if head.kind == REP and rest.kind in (REP, CAT):  # r{a,b} r{c,d} = r{a+c,b+d}: keeps counters from piling up
            follower = rest.parts[0] if rest.kind == CAT else rest
            if follower.kind == REP and follower.parts == head.parts and not head.look and not head.prev:
                (low, high), (more_low, more_high) = head.data, follower.data
                merged = self.repeat(head.parts[0], low + more_low, high + more_high)
                return self.cat(merged, rest.parts[1]) if rest.kind == CAT else merged
        return self._make(CAT, (head, rest), None, head.nullable and rest.nullable, head.sure and rest.sure)

    def sequence(self, terms: Iterable[Term]) -> Term:
        result = NIL
        for term in reversed(list(terms)):
            result = self.cat(term, result)
        return result

    def alt(self, terms: Iterable[Term]) -> Term:
        """Associative, commutative, idempotent; counters over the same body whose ranges touch become one."""
        members: set[Term] = set()
        for term in terms:
            members.update(term.parts if term.kind == ALT else (term,))
        members.discard(NOTHING)
        if ANYTHING in members:
            return ANYTHING
        if len(members) > 1:
            members = self._merge_counters(members)
            if NIL in members and any(t.nullable for t in members if t is not NIL):
                members.discard(NIL)
        if not members:
            return NOTHING
        if len(members) == 1:
            return members.pop()
        parts = tuple(sorted(members))
        return self._make(ALT, parts, None, any(t.nullable for t in parts), any(t.sure for t in parts))

    def _merge_counters(self, members: set[Term]) -> set[Term]:
        """r{a,b} k | r{c,d} k = r{a,d} k where the ranges overlap or touch."""
        groups: dict[tuple[Term, Term], list[tuple[int, int]]] = {}
        for term in members:
            head, rest = term.parts if term.kind == CAT else (term, NIL)
            if head.kind == REP:
                groups.setdefault((head.parts[0], rest), []).append(head.data)
        for (body, rest), ranges in groups.items():
            if len(ranges) == 1:
                continue
            ranges.sort()
            joined = [list(ranges[0])]
            for low, high in ranges[1:]:
                if low <= joined[-1][1] + 1:
                    joined[-1][1] = max(joined[-1][1], high)
                else:
                    joined.append([low, high])
            members -= {self.cat(self.repeat(body, low, high), rest) for low, high in ranges}
            members |= {self.cat(self.repeat(body, low, high), rest) for low, high in joined}
        return members

    def both(self, terms: Iterable[Term]) -> Term:
        """Associative, commutative, idempotent; nothing meets anything in nothing."""
        members: set[Term] = set()
        for term in terms:
            members.update(term.parts if term.kind == AND else (term,))
        members.discard(ANYTHING)
        if NOTHING in members:
            return NOTHING
        if not members:
            return ANYTHING
        if len(members) == 1:
            return members.pop()
        if NIL in members and not any(t.look or t.prev for t in members):
            return NIL if all(t.nullable for t in members) else NOTHING
        parts = tuple(sorted(members))
        nullable = all(t.nullable for t in parts)
        return self._make(AND, parts, None, nullable, nullable)

    def without(self, term: Term) -> Term:
        """Every byte string but these."""
        if term is NOTHING:
            return ANYTHING
        if term.kind == NOT:
            return term.parts[0]
        return self._make(NOT, (term,), None, not term.nullable, not term.nullable)

    def repeat(self, body: Term, low: int, high: float) -> Term:
        """r{m,n} = r{0,n} where r may be empty; (r{0,b}){c,d} = r{0,b d}; (r{a,b}){c,d} = r{a c,b d} where no count is left out."""
        if high == 0 or body is NIL:
            return NIL
        if body is NOTHING:
            return NIL if low == 0 else NOTHING
        if low == high == 1:
            return body
        if body.nullable:
            low = 0
            if body.kind == ALT and NIL in body.parts:
                body = self.alt(p for p in body.parts if p is not NIL)
        if body.kind == REP and not body.look and not body.prev:
            inner_low, inner_high = body.data
            # The counts i..j of k repeats are k inner_low .. k inner_high: without a gap iff the next k's begin where these end.
            if low == high or inner_low * (low + 1) <= inner_high * low + 1:
                return self.repeat(body.parts[0], inner_low * low, inner_high * high)
        return self._make(REP, (body,), (low, high), low == 0 or body.nullable, low == 0 or body.sure)

    def look(self, rest: Term) -> Term:
        """Nothing, where the rest of the text is in the language `rest`."""
        return NIL if rest is ANYTHING else self._make(LOOK, (rest,), None, False, False)

    def prev(self, index: int) -> Term:
        """Nothing, where the character before is in set number `index` of the enclosing scope."""
        return self._make(PREV, (), index, False, False)

    def scope(self, body: Term, chars: utf8.Edges, root: utf8.Edges) -> Term:
        """`body`, read beside `chars`, which tells which sets each character is in; `root` is `chars` between characters."""
        if not body.look and not body.prev:
            return body
        return self._make(SCOPE, (body,), (chars, root), accepts_empty(body), False)

    # ------------------------------------------------------------------ look-around

    def trim(self, term: Term) -> Term:
        """The term at the end of a text: LOOKs with nothing behind them are decided, so that `$` at the end costs nothing."""
        if not term.look:
            return term
        if term.kind == LOOK and not term.parts[0].prev:
            return NIL if accepts_empty(term.parts[0]) else NOTHING
        if term.kind == CAT:
            spine = []
            while term.kind == CAT:
                spine.append(term.parts[0])
                term = term.parts[1]
            return self.sequence([*spine, self.trim(term)])
        if term.kind == ALT:
            return self.alt(self.trim(p) for p in term.parts)
        return term

    def settle(self, term: Term, rest: Term) -> Term:
        """term then rest, with no LOOK left where nothing has been read before it."""
        if not term.look:
            return self.cat(term, rest)
        if term.kind == LOOK:
            return self.both((self.settle(rest, NIL), self.settle(term.parts[0], NIL)))
        if term.kind == CAT:
            return self.settle(term.parts[0], self.cat(term.parts[1], rest))
        if term.kind == ALT:
            return self.alt(self.settle(p, rest) for p in term.parts)
        if term.kind == AND and rest is NIL:
            return self.both(self.settle(p, NIL) for p in term.parts)
        if term.kind == NOT and rest is NIL:
            return self.without(self.settle(term.parts[0], NIL))
        if term.kind == REP:
            (body,), (low, high) = term.parts, term.data
            fewer = self.repeat(body, max(low - 1, 0), high - 1)
            again = self.settle(body, self.cat(fewer, rest))
            return self.alt((again, self.settle(rest, NIL))) if low == 0 else again
        raise AssertionError(f"a look-ahead inside a term of kind {term.kind} with something behind it")

    def resolve(self, term: Term, holds: int) -> Term:
        """The same language at a position where exactly the PREV sets with a bit in `holds` contain the last character."""
        if not term.prev:
            return term
        kind, parts = term.kind, term.parts
        if kind == PREV:
            return NIL if holds >> term.data & 1 else NOTHING
        if kind == CAT:
            head = self.resolve(parts[0], holds)
            read = self.cat(head, parts[1])
            if parts[1].prev and self.may_be_empty(head):
                return self.alt((read, self.cat(self._empty_part(head), self.resolve(parts[1], holds))))
            return read
        if kind == ALT:
            return self.alt(self.resolve(p, holds) for p in parts)
        if kind == AND:
            return self.both(self.resolve(p, holds) for p in parts)
        if kind == NOT:
            return self.without(self.resolve(parts[0], holds))
        if kind == LOOK:
            return self.look(self.resolve(parts[0], holds))
        low, high = term.data  # REP
        first = self.resolve(parts[0], holds)
        # An iteration that is empty here may be followed by as many empty ones as are still owed.
        owed = 0 if first.nullable else max(low - 1, 0)
        again = self.cat(first, self.repeat(parts[0], owed, high - 1))
        return self.alt((again, NIL)) if low == 0 or first.nullable else again

    def may_be_empty(self, term: Term) -> bool:
        """Can the term be read without a byte, if every LOOK in it holds?"""
        kind, parts = term.kind, term.parts
        if not term.look or term.nullable:
            return term.nullable
        if kind in (CAT, AND):
            return all(self.may_be_empty(p) for p in parts)
        if kind == ALT:
            return any(self.may_be_empty(p) for p in parts)
        return kind == LOOK or (kind == REP and self.may_be_empty(parts[0]))

    def _empty_part(self, term: Term) -> Term:
        """What the term demands of the rest where it reads nothing itself: NIL, or its LOOKs."""
        kind, parts = term.kind, term.parts
        if term.nullable or not term.look:
            return NIL if term.nullable else NOTHING
        if kind == LOOK:
            return term
        if kind == CAT:
            return self.cat(self._empty_part(parts[0]), self._empty_part(parts[1]))
        if kind == ALT:
            return self.alt(self._empty_part(p) for p in parts)
        if kind == REP:
            return self._empty_part(parts[0])
        return NOTHING

    # ------------------------------------------------------------------ derivatives

    def edges(self, term: Term) -> EdgeList:
        """Disjoint byte sets and the term behind each; bytes in none of them lead to the empty language."""
        known = self._edges.get(term)
        if known is None:
            known = self._edges[term] = self._derive(term)
        return known

    def _derive(self, term: Term) -> EdgeList:
        kind, parts = term.kind, term.parts
        if term.look:
            settled = self.settle(term, NIL)
            if settled is not term:
                return self.edges(settled)
        if kind == CHARS:
            return tuple((bits, NIL if target is None else self.chars(target)) for bits, target in term.data)
        if kind == CAT:
            return self._derive_cat(term)
        if kind == ALT:
            return self._united(edge for p in parts for edge in self.edges(p))
        if kind == AND:
            return self._derive_and(parts)
        if kind == NOT:
            return self._derive_not(parts[0])
        if kind == REP:
            low, high = term.data
            fewer = self.repeat(parts[0], max(low - 1, 0), high - 1)
            return self._united((bits, self.cat(t, fewer)) for bits, t in self.edges(parts[0]))
        if kind == WORDS:
            return self._derive_words(term)
        if kind == SCOPE:
            return self._derive_scope(term)
        return ()

    def _derive_cat(self, term: Term) -> EdgeList:
        found = []
        while term.kind == CAT and not (term.look and term.parts[0].look):
            head, rest = term.parts
            found += [(bits, self.cat(t, rest)) for bits, t in self.edges(head)]
            if not head.nullable:
                return self._united(found)
            term = rest
        return self._united([*found, *self.edges(term)])

    def _derive_and(self, parts: tuple[Term, ...]) -> EdgeList:
        product: list[tuple[int, tuple[Term, ...]]] = [(EVERY_BYTE, ())]
        for part in parts:
            product = [
                (bits & more, (*targets, t)) for bits, targets in product for more, t in self.edges(part) if bits & more
            ]
        return self._united((bits, self.both(targets)) for bits, targets in product)

    def _derive_not(self, body: Term) -> EdgeList:
        edges = self.edges(body)
        rest = EVERY_BYTE
        for bits, _ in edges:
            rest ^= bits
        found = [(bits, self.without(t)) for bits, t in edges]
        return self._united([*found, (rest, ANYTHING)] if rest else found)

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
        return self._united(found)

    def _united(self, edges: Iterable[tuple[int, Term]]) -> EdgeList:
        """Overlapping edges made disjoint; edges to the same term made one."""
        by_bits: dict[int, list[Term]] = {}
        for bits, target in edges:
            if target is not NOTHING:
                by_bits.setdefault(bits, []).append(target)
        if len(by_bits) > 1:
            by_bits = _disjoint(by_bits)
        result: dict[Term, int] = {}
        for bits, targets in by_bits.items():
            target = targets[0] if len(targets) == 1 else self.alt(targets)
            result[target] = result.get(target, 0) | bits
        return tuple((bits, target) for target, bits in result.items() if target is not NOTHING)


def accepts_empty(term: Term) -> bool:
    """Is the empty text in the language? Everything then reads nothing, so a LOOK holds iff the empty text is in its language."""
    if not term.look:
        return term.nullable
    if term.kind in (CAT, AND):
        return all(accepts_empty(p) for p in term.parts)
    if term.kind == ALT:
        return any(accepts_empty(p) for p in term.parts)
    if term.kind == NOT:
        return not accepts_empty(term.parts[0])
    return accepts_empty(term.parts[0]) or (term.kind == REP and term.data[0] == 0)


def _disjoint(by_bits: dict[int, list[Term]]) -> dict[int, list[Term]]:
    parts: list[tuple[int, list[Term]]] = []
    for bits, targets in by_bits.items():
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


class _ById:
    """A long list as part of a key: compared by identity, kept alive by the key."""

    __slots__ = ("value",)

    def __init__(self, value: Sequence[bytes]):
        self.value = value

    def __hash__(self) -> int:
        return id(self.value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _ById) and other.value is self.value


def _first_beyond(words: Sequence[bytes], low: int, high: int, depth: int, byte: int) -> int:
    """The first index in low..high whose byte at `depth` is greater than `byte`: steps that double, then bisection."""
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
