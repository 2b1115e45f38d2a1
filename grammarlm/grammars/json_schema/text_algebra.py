"""Terms that are languages of strings, and those that all schemas of a process share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from .. import charset, utf8
from ..regular import Algebra, EdgeList, Pair
from ..terms import FOREVER, NOT, NOTHING, Term


def every_string(algebra: Algebra) -> Term:
    """Any sequence of code points."""
    return algebra.repeat(algebra.chars(utf8.encode(charset.ALL)), 0, FOREVER)


class TextAlgebra(Algebra):
    """An algebra whose languages are sets of strings: each term at the beginning of a character is one, or stands in an
    intersection with one. So any string swallows what it is united with, and vanishes from an intersection.

    Terms of `shared` are taken with the edges that they have there.
    """

    def __init__(
        self, max_depth: int = 100, tick: Callable[[], None] | None = None, shared: SharedAlgebra | None = None
    ):
        super().__init__(max_depth, tick)
        self.shared = shared
        self._begin()

    def _begin(self) -> None:
        self.every = every_string(self)
        self._no_string = self.without(self.every)

    def forget(self) -> None:
        super().forget()
        self._begin()

    def edges(self, term: Term) -> EdgeList:
        known = self._edges.get(term)
        if known is None:
            shared = self.shared
            known = shared.edges(term) if shared is not None and term in shared.owned else self._derive(term)
            self._edges[term] = known
        return known

    def open_edges(self, term: Term | Pair) -> Sequence[tuple[int, Term | Pair]]:
        if self.shared is not None and term in self.shared.owned:
            return self.edges(term)  # type: ignore[arg-type]
        return super().open_edges(term)

    def alt(self, terms: Iterable[Term]) -> Term:
        """... a | every = every."""
        terms = list(terms)
        return self.every if self.every in terms else super().alt(terms)

    def both(self, terms: Iterable[Term]) -> Term:
        """... a & every = a, a & not a = nothing, a & not every = nothing."""
        terms = list(terms)
        if len(terms) > 1:
            known = set(terms)
            for term in terms:
                if term.kind == NOT and (term.parts[0] in known or term is self._no_string):
                    return NOTHING
            if self.every in known and any(t is not self.every and t.kind != NOT for t in known):
                terms = [t for t in terms if t is not self.every]
        return super().both(terms)


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
