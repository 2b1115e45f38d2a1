"""What every grammar is, and how grammars combine.

A grammar is a plain description: cheap to make, compared and hashed by content, no vocabulary needed. Nothing is parsed before
`compile`, where every error rises. Operators combine descriptions:

    a + b    a text of a, then one of b             a & b    texts that are in both
    a | b    a text of either                       a - b    texts of a that are not in b

A string stands for itself on either side. Look-around inside a part (`$`, `\\b`, `(?=...)`) sees that part's text only.
"""

from __future__ import annotations

from dataclasses import dataclass

from .regular import Algebra
from .terms import Term


class Grammar:
    """A language, described."""

    def language(self, algebra: Algebra) -> Term:
        """The byte strings of the language as a term; raises GrammarError where the description is broken."""
        raise NotImplementedError

    def __add__(self, other: Grammar | str) -> Grammar:
        return _combine(Sequence, self, other)

    def __radd__(self, other: Grammar | str) -> Grammar:
        return _combine(Sequence, other, self)

    def __or__(self, other: Grammar | str) -> Grammar:
        return _combine(Choice, self, other)

    def __ror__(self, other: Grammar | str) -> Grammar:
        return _combine(Choice, other, self)

    def __and__(self, other: Grammar | str) -> Grammar:
        return _combine(Intersection, self, other)

    def __sub__(self, other: Grammar | str) -> Grammar:
        return _combine(Difference, self, other)


@dataclass(frozen=True)
class Literal(Grammar):
    """One text."""

    text: str

    def language(self, algebra: Algebra) -> Term:
        return algebra.words([self.text.encode()])


@dataclass(frozen=True)
class Pair(Grammar):
    """Two grammars and how they combine."""

    left: Grammar
    right: Grammar

    def language(self, algebra: Algebra) -> Term:
        """Long chains such as a + b + c + ... nest to the left, so they are walked down in a loop."""
        chain, grammar = [], self
        while type(grammar) is type(self):
            chain.append(grammar.right.language(algebra))
            grammar = grammar.left  # type: ignore[assignment]
        chain.append(grammar.language(algebra))
        return self.join(chain[::-1], algebra)

    def join(self, terms: list[Term], algebra: Algebra) -> Term:
        raise NotImplementedError


class Sequence(Pair):
    def join(self, terms: list[Term], algebra: Algebra) -> Term:
        return algebra.sequence(terms)


class Choice(Pair):
    def join(self, terms: list[Term], algebra: Algebra) -> Term:
        return algebra.alt(terms)


class Intersection(Pair):
    def join(self, terms: list[Term], algebra: Algebra) -> Term:
        return algebra.both(terms)


class Difference(Pair):
    def join(self, terms: list[Term], algebra: Algebra) -> Term:
        return algebra.both([terms[0], *(algebra.without(t) for t in terms[1:])])


def _combine(kind: type[Pair], left: Grammar | str, right: Grammar | str) -> Grammar:
    sides = [Literal(side) if isinstance(side, str) else side for side in (left, right)]
    if not all(isinstance(side, Grammar) for side in sides):
        return NotImplemented
    return kind(*sides)
