"""Which parts of a grammar leave it without a text: asked only where a grammar is refused, for the message."""

from __future__ import annotations

from collections.abc import Callable

from grammarlm.errors import GrammarError, UnsatisfiableGrammar, brief
from grammarlm.grammars.choices import Choices
from grammarlm.grammars.compose import Choice, Grammar, Sequence
from grammarlm.masks.runtime.limits import Clock, Limits

MOST_SIDES = 3  # sides of `|` that are named
LONGEST = 100  # characters of a part


def named(
    grammar: Grammar, error: UnsatisfiableGrammar, make: Callable[[Grammar], object], limits: Limits
) -> GrammarError:
    """The error, naming the parts of + and | that have no text; unchanged where none of them is empty by itself.

    `make` compiles a grammar, and raises UnsatisfiableGrammar where it has no text.
    """
    if isinstance(grammar, Choices) and not grammar.strings:
        return UnsatisfiableGrammar("Choices([]) has nothing to choose from; give at least one string")
    clock = Clock(limits)

    def is_empty(part: Grammar) -> bool:
        clock.check()
        try:
            make(part)
        except UnsatisfiableGrammar:
            return True
        return False

    try:
        if isinstance(grammar, Choice):
            return _all_sides(grammar, is_empty)
        part = _empty_part(grammar, is_empty)
    except GrammarError:  # it takes too long
        return error
    return (
        error
        if part is grammar or part is None
        else UnsatisfiableGrammar(f"the part {brief(part, LONGEST)} matches no text: {error}")
    )


def _all_sides(grammar: Choice, is_empty: Callable[[Grammar], bool]) -> UnsatisfiableGrammar:
    parts = [_empty_part(side, is_empty) for side in grammar.parts[:MOST_SIDES]]
    names = ", ".join(
        brief(side if part is None else part, LONGEST) for side, part in zip(grammar.parts, parts, strict=False)
    )
    more = len(grammar.parts) - len(parts)
    return UnsatisfiableGrammar(
        f"no side of | matches a text, for these parts match none: {names}{f' and {more} more' if more else ''}"
    )


def _empty_part(grammar: Grammar, is_empty: Callable[[Grammar], bool]) -> Grammar | None:
    """The first part of a sequence without a text, found by bisection; a grammar of another kind itself. None where no
    part is empty alone: a lexeme can consume what the next part needs."""
    while isinstance(grammar, Sequence):
        parts = grammar.parts
        while len(parts) > 1:
            half = len(parts) // 2
            first = parts[:half]
            parts = first if is_empty(first[0] if half == 1 else Sequence(first)) else parts[half:]
        grammar = parts[0]
        if not is_empty(grammar):
            return None
    return grammar
