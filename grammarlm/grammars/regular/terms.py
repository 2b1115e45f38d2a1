"""Terms for regular languages, interned and in a simple form; derivatives.py says how they are used.

    CHARS   one character, or what remains of one, from a set (a node of utf8.py)
    CAT     head, then rest; nested to the right
    ALT     any of several                       AND   all of several             NOT   any bytes but these
    REP     body from `low` to `high` times: a counter in the term, so {0,1000000} is one term, not a million
    WORDS   any of a sorted range of strings, from a depth on: 100,000 choices are one term
    LOOK    nothing, where the rest of the text is in a language: (?=p), (?!p), $
    PREV    nothing, where the character before is in a set: ^, (?<=c), half of \\b
    SCOPE   a language whose look-around sees its own text only
    LAZY    a state of a Source, whose edges are made when they are asked for

Equal terms are one object, so terms are compared by identity. Each constructor applies the laws in its docstring to keep the number
of different terms on a walk small: that is the number of states.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from itertools import count
from operator import attrgetter
from typing import Any

from grammarlm.errors import LimitExceeded

from . import utf8

EMPTY, EPS, CHARS, CAT, ALT, AND, NOT, REP, WORDS, LOOK, PREV, SCOPE, LAZY = range(13)
FOREVER = float("inf")  # the `high` of an unbounded repeat
ROOM = 16 << 20  # bytes that reading grammars may take beyond twice max_bytes

_serials = count()


class Term:
    """One language. `parts` are its subterms, `data` the rest of its meaning, as in the table of the module docstring."""

    __slots__ = ("data", "denies", "depth", "kind", "look", "nullable", "parts", "prev", "serial", "sure")

    def __init__(self, kind: int, parts: tuple[Term, ...], data, nullable: bool, sure: bool):
        self.kind, self.parts, self.data = kind, parts, data
        self.nullable = nullable  # contains the empty string, if every leading LOOK and PREV counts as the empty set
        self.sure = sure  # certainly not the empty language
        depth, look, prev, denies = 0, kind == LOOK, kind == PREV, False
        for part in parts:
            if part.depth > depth:  # noqa: PLR1730  max() takes five times as long
                depth = part.depth
            if part.look:
                look = True
            if part.prev:
                prev = True
                denies = denies or part.denies or kind == NOT
        # CAT's right spine is walked in a loop, the rest by recursion.
        self.depth: int = depth if kind == CAT else depth + 1
        self.look: bool = look and kind != SCOPE
        self.prev: bool = prev and kind != SCOPE
        self.denies: bool = denies and kind != SCOPE  # has a PREV below a NOT: not safe to treat as the empty set
        self.serial = next(_serials)

    def __lt__(self, other: Term) -> bool:
        return self.serial < other.serial


_serial = attrgetter("serial")

NOTHING = Term(EMPTY, (), None, False, False)  # the empty language
NIL = Term(EPS, (), None, True, True)  # the empty string
ANYTHING = Term(NOT, (NOTHING,), None, True, True)  # every byte string


class Terms:
    """Makes and interns terms, in the simplest form that the laws of each constructor give."""

    def __init__(self, max_depth: int = 100, tick: Callable[[], None] | None = None, max_bytes: float = FOREVER):
        """`tick` is called for each new term and raises where the caller's time is over."""
        self.max_depth, self.max_bytes = max_depth, max_bytes
        self.tick = tick or (lambda: None)
        self._read = 0  # estimate of the bytes that reading took
        self._terms: dict = {}
        self._pairs: dict[tuple[Term, Term], Term] = {}  # CAT
        self._lists: dict[tuple[bytes, ...], ById] = {}
        self._singles: dict[bytes, Term] = {}

    @property
    def size(self) -> int:
        """Approximate number of interned terms."""
        return len(self._terms) + len(self._pairs) + len(self._singles)

    def forget(self) -> None:
        """Clears the hash tables of interned terms; existing terms stay valid."""
        self._terms.clear()
        self._pairs.clear()
        self._lists.clear()
        self._singles.clear()
        self._read = 0

    def weigh(self, size: int, what: str) -> None:
        """Called before something is read that becomes terms; LimitExceeded where all that was read so far takes too much
        memory."""
        self._read += size
        if self._read > 2 * self.max_bytes + ROOM:
            raise LimitExceeded(
                f"{what}: reading it takes about {self._read:,} bytes, limits.max_bytes is {self.max_bytes:,}; make it smaller, "
                "or raise the limit"
            )

    def _make(self, kind: int, parts: tuple[Term, ...], data, nullable: bool, sure: bool) -> Term:
        key = (kind, parts, data)
        term = self._terms.get(key)
        if term is None:
            term = self._terms[key] = self._new(kind, parts, data, nullable, sure)
        return term

    def _new(self, kind: int, parts: tuple[Term, ...], data, nullable: bool, sure: bool) -> Term:
        self.tick()
        term = Term(kind, parts, data, nullable, sure)
        if term.depth > self.max_depth:
            raise LimitExceeded(
                f"repeats, alternatives and look-arounds are nested deeper than {self.max_depth} levels; "
                f"flatten the expression or raise limits.max_depth"
            )
        return term

    def chars(self, edges: utf8.Edges) -> Term:
        return self._make(CHARS, (), edges, False, True) if edges else NOTHING

    def words(self, words: Iterable[bytes]) -> Term:
        """Any of these strings."""
        ordered = tuple(sorted(set(words)))
        if len(ordered) == 1:
            return self.word(ordered[0])
        known = self._lists.get(ordered)
        if known is None:
            known = self._lists[ordered] = ById(ordered)
        return self._words(known, 0, len(ordered), 0)

    def word(self, word: bytes) -> Term:
        """This string. Its term is shared by no other list at this depth, so the string alone is the key."""
        known = self._singles.get(word)
        if known is None:
            known = self._new(WORDS, (), (ById((word,)), 0, 1, 0), False, True) if word else NIL
            self._singles[word] = known
        return known

    def _words(self, words: ById, low: int, high: int, depth: int) -> Term:
        """The strings low..high, which agree on their first `depth` bytes, without those bytes."""
        if low >= high:
            return NOTHING
        ends_here = len(words.value[low]) == depth
        if ends_here and high == low + 1:
            return NIL
        return self._make(WORDS, (), (words, low, high, depth), ends_here, True)

    def lazy(self, source: Source, key: Hashable) -> Term:
        """The texts that a source reads from one of its states on; there is one at least."""
        return self._make(LAZY, (), (source, key), source.accepts(key), True)

    def cat(self, head: Term, rest: Term) -> Term:
        """0 r = r 0 = 0, 1 r = r 1 = r, (a b) c = a (b c); r .* = .* where r may be empty; x* x stays as it is."""
        kind = head.kind
        if kind == CHARS or (kind == WORDS and not head.nullable):  # most heads; the laws below do not apply to these
            if rest is NIL or rest is NOTHING:
                return head if rest is NIL else NOTHING
            return self._pair(head, rest)
        if head is NOTHING or rest is NOTHING:
            return NOTHING
        if head is NIL:
            return rest
        if rest is NIL:
            return head
        if rest is ANYTHING and head.nullable and not head.look:
            return ANYTHING
        if kind == CAT:
            spine = []
            while head.kind == CAT:
                spine.append(head.parts[0])
                head = head.parts[1]
            rest = self.cat(head, rest)
            for part in reversed(spine):
                rest = self.cat(part, rest)
            return rest
        if kind == REP and rest.kind in (REP, CAT):  # r{a,b} r{c,d} = r{a+c,b+d}: keeps counters from piling up
            follower = rest.parts[0] if rest.kind == CAT else rest
            if follower.kind == REP and follower.parts == head.parts and not head.look and not head.prev:
                (low, high), (more_low, more_high) = head.data, follower.data
                merged = self.repeat(head.parts[0], low + more_low, high + more_high)
                return self.cat(merged, rest.parts[1]) if rest.kind == CAT else merged
        return self._pair(head, rest)

    def _pair(self, head: Term, rest: Term) -> Term:
        """`cat` where no law applies."""
        parts = head, rest
        term = self._pairs.get(parts)
        if term is None:
            term = self._pairs[parts] = self._new(
                CAT, parts, None, head.nullable and rest.nullable, head.sure and rest.sure
            )
        return term

    def sequence(self, terms: Iterable[Term]) -> Term:
        result = NIL
        for term in reversed(list(terms)):
            result = term if result is NIL else self.cat(term, result)
        return result

    def alt(self, terms: Iterable[Term]) -> Term:
        """Associative, commutative, idempotent; counters over the same body whose ranges touch are merged."""
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
        parts = tuple(sorted(members, key=_serial))
        return self._make(ALT, parts, None, any(t.nullable for t in parts), any(t.sure for t in parts))

    def _merge_counters(self, members: set[Term]) -> set[Term]:
        """r{a,b} k | r{c,d} k = r{a,d} k where the ranges overlap or touch."""
        groups: dict[tuple[Term, Term], list[tuple[int, int]]] = {}
        for term in members:
            head, rest = term.parts if term.kind == CAT else (term, NIL)
            if head.kind == REP:
                groups.setdefault((head.parts[0], rest), []).append(head.data)
        if not groups:
            return members
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
        """Associative, commutative, idempotent; 0 & r = 0.

        (a | b) & c = a & c | b & c where a or b looks ahead: each turn of a loop adds a conjunct, and nested conjuncts, unlike flat
        ones, would make new terms without end.
        """
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
        parts = tuple(sorted(members, key=_serial))
        for loop in parts:
            if loop.kind == ALT and loop.look:
                others = [t for t in parts if t is not loop]
                return self.alt(self.both((p, *others)) for p in loop.parts)
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
        """r{m,n} = r{0,n} where r may be empty; (r{a,b}){c,d} = r{a c,b d} where no count is left out."""
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
            # k repeats give the counts k inner_low .. k inner_high: no gap iff the range of k + 1 begins where that of k ends.
            if low == high or inner_low * (low + 1) <= inner_high * low + 1:
                return self.repeat(body.parts[0], inner_low * low, inner_high * high)
        return self._make(REP, (body,), (low, high), low == 0 or body.nullable, low == 0 or body.sure)

    def look(self, rest: Term) -> Term:
        """Reads nothing; holds where the rest of the text is in the language `rest`."""
        return NIL if rest is ANYTHING else self._make(LOOK, (rest,), None, False, False)

    def prev(self, index: int) -> Term:
        """Reads nothing; holds where the character before is in set number `index` of the enclosing scope."""
        return self._make(PREV, (), index, False, False)

    def scope(self, body: Term, chars: utf8.Edges, root: utf8.Edges) -> Term:
        """`body` run in parallel with `chars`, which says which sets each character is in; `root` is `chars` between characters."""
        if not body.look and not body.prev:
            return body
        return self._make(SCOPE, (body,), (chars, root), accepts_empty(body), False)


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


class Source:
    """What makes the states of a language on demand, by keys of its own. Every state has a text: those without one are left out.

    Sources are compared by `==`, keys of equal sources too; what they tell of a state never changes.
    """

    def accepts(self, key: Any) -> bool:
        """Is the empty text one of the state's?"""
        raise NotImplementedError

    def edges(self, algebra: Any, key: Any) -> tuple[tuple[int, Term], ...]:
        """Disjoint byte sets, each with the term of what follows."""
        raise NotImplementedError

    def byte_sets(self, key: Any) -> Iterable[int]:
        """The byte sets of all edges of all states that are reached from here."""
        raise NotImplementedError

    def end(self, key: Any) -> Any:
        """The bytes of a short text of the state, such that `end` from the next state on is no longer than what is left of it."""
        raise NotImplementedError

    def distance(self, key: Any) -> int:
        """The length of `end`."""
        return len(self.end(key))

    def floor(self, key: Any) -> int:
        """No text of the state is shorter."""
        return 0

    def ceiling(self, key: Any) -> int | None:
        """Upper bound on the distance of every state that bytes lead to; None where it is not known."""
        return None


class ById:
    """A long list as part of a key: compared by identity, kept alive by the key; Terms.words interns the lists."""

    __slots__ = ("value",)

    def __init__(self, value: Sequence[bytes]):
        self.value = value
