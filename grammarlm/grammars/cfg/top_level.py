"""`&` and `-` at the top of a grammar with one context-free side: that side, and a border for the regular sides.

    Lark(...) & Regex(...) - "null"        Lark(...), under the border  Regex(...) & not "null"

The context-free side is read as usual. In parallel runs a border, a term that reads the same bytes and must accept at the end. It
runs over the whole text. Below `+` and `|` it is a part of its own (part_graph.py), which no further border can run over:
(a + (b & c)) & d is refused by name.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from grammarlm.errors import UnsupportedFeature
from grammarlm.grammars.compose import Combination, Difference, Grammar, Intersection
from grammarlm.grammars.regular.derivatives import Algebra
from grammarlm.grammars.regular.terms import ANYTHING, Term


@dataclass(frozen=True)
class Bordered:
    """A grammar that is no intersection, and the border on its whole texts."""

    grammar: Grammar
    border: Term


def split(grammar: Grammar, needs_stack: Callable[[Grammar], bool], algebra: Algebra) -> Bordered:
    """Strips the regular sides off a grammar that needs a stack."""
    conditions: list[Term] = []
    while isinstance(grammar, (Intersection, Difference)):
        stacked = [part for part in grammar.parts if needs_stack(part)]
        others = grammar.parts[1:] if isinstance(grammar, Difference) else grammar.parts
        if isinstance(grammar, Difference) and stacked != [grammar.parts[0]]:
            raise UnsupportedFeature(
                f"'-' with a context-free grammar after it: {grammar!r:.200}; what is not in such a grammar cannot be determined "
                "exactly, so take away a regular one"
            )
        if len(stacked) > 1:
            raise UnsupportedFeature(
                f"'&' with a context-free grammar on both sides: {grammar!r:.200}; whether they have a text in common cannot be "
                "decided, so make one side regular"
            )
        for part in others:
            if part is not stacked[0]:
                term = part.language(algebra)
                conditions.append(algebra.without(term) if isinstance(grammar, Difference) else term)
        grammar = stacked[0]
    return Bordered(grammar, algebra.both(conditions) if conditions else ANYTHING)


def refuse_nested(part: Combination) -> UnsupportedFeature:
    return UnsupportedFeature(
        f"{part.sign!r} with a context-free grammar on one side stands inside another grammar under '&' or '-': {part!r:.200}; "
        "put it outermost, (a + b) & c instead of a + (b & c), or make both sides regular"
    )
