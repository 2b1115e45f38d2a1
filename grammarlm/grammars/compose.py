"""What every grammar is, and how grammars combine.

A grammar is a plain description: cheap to make, compared and hashed by content, no vocabulary needed. Nothing is parsed before
`compile`, where every error rises. Operators combine descriptions:

    a + b    a text of a, then one of b             a & b    texts that are in both
    a | b    a text of either                       a - b    texts of a that are not in b

A string on either side stands for itself. Look-around inside a part (`$`, `\\b`, `(?=...)`) sees that part's text only. Not so with
a Lark part: its lexemes are cut as lark would cut the whole text, so the last one takes what it can of the text behind the part,
and nothing can begin there that it could go on with. Special tokens are no text to the regular side of `&` and `-`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ..errors import GrammarError, brief
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

    def __rand__(self, other: Grammar | str) -> Grammar:
        return _combine(Intersection, other, self)

    def __sub__(self, other: Grammar | str) -> Grammar:
        return _combine(Difference, self, other)

    def __rsub__(self, other: Grammar | str) -> Grammar:
        return _combine(Difference, other, self)


@dataclass(frozen=True, repr=False)
class Literal(Grammar):
    """One text."""

    text: str

    def __repr__(self) -> str:
        return brief(self.text, 80)

    def language(self, algebra: Algebra) -> Term:
        return algebra.words([encode(self.text)])


@dataclass(frozen=True, repr=False)
class Combination(Grammar):
    """Grammars and how they combine. a + b + c is one of three parts, so that long chains are not deep."""

    parts: tuple[Grammar, ...]
    sign: ClassVar[str]

    def language(self, algebra: Algebra) -> Term:
        return self.join([part.language(algebra) for part in self.parts], algebra)

    def join(self, terms: list[Term], algebra: Algebra) -> Term:
        raise NotImplementedError

    def __repr__(self) -> str:
        shown = f" {self.sign} ".join(brief(part, 100) for part in self.parts[:4])
        return f"({shown}{f' {self.sign} ... {len(self.parts):,} parts' if len(self.parts) > 4 else ''})"


class Sequence(Combination):
    sign = "+"

    def join(self, terms: list[Term], algebra: Algebra) -> Term:
        return algebra.sequence(terms)


class Choice(Combination):
    sign = "|"

    def join(self, terms: list[Term], algebra: Algebra) -> Term:
        return algebra.alt(terms)


class Intersection(Combination):
    sign = "&"

    def join(self, terms: list[Term], algebra: Algebra) -> Term:
        return algebra.both(terms)


class Difference(Combination):
    sign = "-"

    def join(self, terms: list[Term], algebra: Algebra) -> Term:
        return algebra.both([terms[0], *(algebra.without(t) for t in terms[1:])])


def encode(text: str) -> bytes:
    """The text in UTF-8; GrammarError where it has none."""
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise GrammarError(
            f"{text[:40]!r} holds half of a surrogate pair at position {error.start}, which no UTF-8 text contains",
            position=error.start,
        ) from None


def _combine(kind: type[Combination], left: Grammar | str, right: Grammar | str) -> Grammar:
    sides = [Literal(side) if isinstance(side, str) else side for side in (left, right)]
    if not all(isinstance(side, Grammar) for side in sides):
        return NotImplemented
    first, last = sides
    left_parts = first.parts if type(first) is kind else (first,)  # type: ignore[attr-defined]
    right_parts = last.parts if type(last) is kind and kind is not Difference else (last,)  # type: ignore[attr-defined]
    return kind((*left_parts, *right_parts))  # type: ignore[arg-type]
