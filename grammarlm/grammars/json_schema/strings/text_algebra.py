"""Algebras of terms that are languages of strings, and the one that all schemas of a process share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from grammarlm.errors import LimitExceeded
from grammarlm.grammars.regular import charset, utf8
from grammarlm.grammars.regular.derivatives import Algebra, EdgeList, Pair
from grammarlm.grammars.regular.terms import CAT, CHARS, FOREVER, NIL, NOT, NOTHING, Term

from .lengths import CONTINUATION

# Measured bytes, roughly: an object with its table entry, and per part, member or edge.
TERM, PART = 400, 24
MEMO, MEMBER, EDGE = 300, 40, 130


EVERY_CHARACTER = utf8.encode(charset.ALL)  # most schemas ask for no other set of characters


def every_string(algebra: Algebra) -> Term:
    """Any sequence of code points."""
    return algebra.repeat(algebra.chars(EVERY_CHARACTER), 0, FOREVER)


class TextAlgebra(Algebra):
    """An algebra whose languages are sets of strings: each term at a character boundary is one, or is intersected with one. So
    "every string" absorbs the other members of a union, and is dropped from an intersection.

    Terms of `shared` use the edges computed there.

    Terms may take half of `max_bytes`; memos may take a quarter and are cleared beyond that.
    """

    def __init__(
        self,
        max_depth: int = 100,
        tick: Callable[[], None] | None = None,
        shared: SharedAlgebra | None = None,
        max_bytes: float = FOREVER,
    ):
        super().__init__(max_depth, tick, max_bytes)
        self.shared = shared
        self._terms_take = 0
        self._begin()

    def _begin(self) -> None:
        self._memos_take = 0
        self._meets: dict[frozenset[Term], Term] = {}
        self._joins: dict[tuple[Term, ...], Term] = {}
        self.every = every_string(self)
        self._no_string = self.without(self.every)

    def forget(self) -> None:
        super().forget()
        self._terms_take = 0
        self._begin()

    @property
    def nbytes(self) -> int:
        """Estimated memory of terms and memos."""
        return self._terms_take + self._memos_take

    def _new(self, kind: int, parts: tuple[Term, ...], data: Any, nullable: bool, sure: bool) -> Term:
        self._terms_take += TERM + PART * len(parts)
        if 2 * self._terms_take > self.max_bytes:
            raise LimitExceeded(
                f"the languages of strings take more than limits.max_bytes = {self.max_bytes:,} has room for; "
                "simplify the patterns or raise the limit"
            )
        return super()._new(kind, parts, data, nullable, sure)

    def _remembered(self, size: int) -> None:
        self._memos_take += size
        if 4 * self._memos_take > self.max_bytes:
            self._edges.clear()
            self._meets.clear()
            self._joins.clear()
            self._memos_take = 0

    def edges(self, term: Term) -> EdgeList:
        known = self._edges.get(term)
        if known is None:
            shared = self.shared
            known = shared.edges(term) if shared is not None and term in shared.owned else self._derive(term)
            self._remembered(MEMO + EDGE * len(known))
            self._edges[term] = known
        return known

    def open_edges(self, term: Term | Pair) -> Sequence[tuple[int, Term | Pair]]:
        if self.shared is not None and term in self.shared.owned:
            return self.edges(term)  # type: ignore[arg-type]
        return super().open_edges(term)

    def alt(self, terms: Iterable[Term]) -> Term:
        """As in Terms, and: a | every = every; a common rest c of a character is factored out: c a | c b = c (a | b)."""
        terms = tuple(terms)
        known = self._joins.get(terms)  # after each first byte of a character the same terms are united
        if known is None:
            if self.every in terms:
                return self.every
            listed = list(terms)
            if len(listed) > 1 and within(listed[0]) is not None:
                listed = self._factored(listed)
            known = super().alt(listed)
            self._remembered(MEMO + MEMBER * len(terms))
            self._joins[terms] = known
        return known

    def _factored(self, terms: list[Term]) -> list[Term]:
        rests_of: dict[Term, list[Term]] = {}
        others = []
        for term in terms:
            split = within(term)
            if split is None:
                others.append(term)
            else:
                rests_of.setdefault(split[0], []).append(split[1])
        if len(rests_of) + len(others) == len(terms):
            return terms
        return others + [self.cat(head, self.alt(rests)) for head, rests in rests_of.items()]

    def both(self, terms: Iterable[Term]) -> Term:
        """As in Terms, and: a & every = a, a & not a = nothing, a & not every = nothing; c a & c b & not c d = c (a & b & not
        d)."""
        members = frozenset(terms)
        if len(members) < 2:
            return super().both(members)
        known = self._meets.get(members)
        if known is None:
            known = self._both(members)
            self._remembered(MEMO + MEMBER * len(members))
            self._meets[members] = known
        return known

    def _both(self, members: frozenset[Term]) -> Term:
        wanted = [term for term in members if term.kind != NOT]
        unwanted = [term for term in members if term.kind == NOT]
        if any(term.parts[0] in members or term is self._no_string for term in unwanted):
            return NOTHING
        if self.every in members and len(wanted) > 1:
            members -= {self.every}
        head = None
        rests = []
        for term in wanted:
            split = within(term)
            if split is None or (head is not None and split[0] is not head):
                return super().both(members)
            head = split[0]
            rests.append(split[1])
        for term in unwanted:
            split = within(term.parts[0])
            if split is None or split[0] is not head:
                return super().both(members)
            rests.append(self.without(split[1]))
        return self.cat(head, self.both(rests)) if head is not None else super().both(members)


def within(term: Term) -> tuple[Term, Term] | None:
    """The rest of a character that has begun, and the term after it."""
    head, rest = term.parts if term.kind == CAT else (term, NIL)
    return (head, rest) if head.kind == CHARS and head.data[0][0] & CONTINUATION else None


class SharedAlgebra(TextAlgebra):
    """An algebra that lives as long as the process, and knows its terms."""

    def __init__(self) -> None:
        self.owned: set[Term] = set()
        super().__init__()

    def own(self, term: Term) -> Term:
        self.owned.add(term)
        return term

    def edges(self, term: Term) -> EdgeList:
        known = self._edges.get(term)
        if known is None:
            known = self._edges[term] = self._derive(term)
            self.owned.update([target for _, target in known])
        return known
