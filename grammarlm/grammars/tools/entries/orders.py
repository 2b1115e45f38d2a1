"""Entries one after the other, with a gap between two of them: in one order, or in every order."""

from __future__ import annotations

from grammarlm.grammars.compose import Grammar, Literal
from grammarlm.grammars.repeat import Repeat
from grammarlm.grammars.tools.texts import joined, one_of

Items = list[tuple[Grammar, bool]]  # entries, and whether each must come
MOST_IN_ANY_ORDER = 5  # keys: n of them are written in n! orders


def in_order(items: Items, others: Grammar | None, gap: Grammar) -> Grammar:
    """The entries in this order, with the gap between two of them."""
    is_bare = gap == Literal("")
    further: Grammar = Literal("") if others is None else Repeat(joined(gap, others))  # after an entry
    firsts: list[Grammar] = [Literal("") if others is None else Repeat(others, separator=None if is_bare else gap)]
    for entry, must in reversed(items):
        here = joined(entry, further)
        firsts = [here] if must else [here, *firsts]
        next_one = joined(gap, entry)
        further = joined(next_one if must else one_of([next_one, Literal("")]), further)
    return further if is_bare else one_of(firsts)


def any_order(items: Items, others: Grammar | None, gap: Grammar) -> Grammar:
    """The entries in every order."""

    def rest(left: frozenset[int], is_first: bool) -> Grammar:
        if all(not items[i][1] for i in left):
            ways = [in_order([], others, gap) if is_first or others is None else Repeat(joined(gap, others))]
        else:
            ways = []
        for i in sorted(left):
            entry = items[i][0] if is_first else joined(gap, items[i][0])
            ways.append(joined(entry, rest(left - {i}, False)))
        return one_of(ways)

    return rest(frozenset(range(len(items))), True)
