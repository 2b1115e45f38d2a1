"""The base class of grammars, and the operators that combine them.

A grammar is a plain description: cheap to make, compared and hashed by content, independent of a vocabulary. Nothing is parsed
before `compile`, where every error is raised. Operators combine descriptions:

    a + b    a text of a, then one of b             a & b    texts that are in both
    a | b    a text of either                       a - b    texts of a that are not in b

A string operand stands for itself. Look-around inside a part (`$`, `\\b`, `(?=...)`) sees that part's text only. A Lark part is
different: its lexemes are cut as lark would cut the whole text, so the last one extends into the text after the part as far as it
matches, and that text cannot begin with anything that would continue it. For the regular side of `&` and `-` special tokens are no
text.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

from grammarlm.errors import GrammarError, brief
from grammarlm.grammars.regular.derivatives import Algebra
from grammarlm.grammars.regular.terms import Term


class Grammar:
    """A description of a language."""

    @property
    def operands(self) -> tuple[Grammar, ...]:
        """The grammars that this one is made of."""
        return ()

    def with_operands(self, operands: tuple[Grammar, ...]) -> Grammar:
        """The same grammar, made of others."""
        return self

    def changed(self, change: Callable[[Grammar], Grammar]) -> Grammar:
        """The same grammar with its operands changed; itself where none is."""
        operands = tuple(map(change, self.operands))
        is_same = all(operand is before for operand, before in zip(operands, self.operands, strict=True))
        return self if is_same else self.with_operands(operands)

    def language(self, algebra: Algebra) -> Term:
        """The byte strings of the language as a term; raises GrammarError where the description is invalid."""
        raise NotImplementedError(f"{type(self).__name__} has no language(algebra)")

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


def check_grammar(grammar: object, taker: str) -> None:
    """TypeError where it is none; it says what makes one."""
    if isinstance(grammar, Grammar):
        return
    way = {
        dict: "gl.JsonSchema(schema)",
        bool: "gl.JsonSchema(schema)",
        list: "gl.Choices(texts)",
        str: "gl.Regex(text), gl.Lark(text), gl.Gbnf(text)",
    }
    made = f"; see {way[type(grammar)]}" if type(grammar) in way else ""
    if isinstance(grammar, type):
        is_ours = issubclass(grammar, Grammar)
        made = f", a class; write gl.{grammar.__name__}(...)" if is_ours else ", a class; see gl.JsonSchema(type)"
    elif isinstance(grammar, os.PathLike):
        made = "; see gl.Lark(path.read_text()), gl.JsonSchema(path.read_text())"
    raise TypeError(f"{taker} takes a grammar such as gl.Regex or gl.JsonSchema, not {type(grammar).__name__}{made}")


@dataclass(frozen=True, repr=False)
class Literal(Grammar):
    """One text."""

    text: str

    def __repr__(self) -> str:
        return brief(self.text, 80)

    def language(self, algebra: Algebra) -> Term:
        return algebra.words([encode(self.text)])


class Combination(Grammar):
    """Several grammars and the operator that combines them. a + b + c has three parts, so that long chains are not deep.

    An operator stores only its two sides, and `parts` is computed on demand: a chain of n operators costs n, not n * n.
    """

    sign: ClassVar[str]
    SAVED: ClassVar[dict[str, Any]] = {"parts": tuple[Grammar, ...]}

    def __init__(self, parts: tuple[Grammar, ...]):
        self._sides, self._is_listed = parts, True

    @classmethod
    def of_sides(cls, left: Grammar, right: Grammar) -> Combination:
        made = cls((left, right))
        made._is_listed = False
        return made

    @cached_property
    def parts(self) -> tuple[Grammar, ...]:
        """The operands, with nested ones of the same operator flattened."""
        if self._is_listed:
            return self._sides
        kind = type(self)
        found: list[Grammar] = []
        waiting: list[tuple[Grammar, bool]] = [(self, True)]
        while waiting:
            side, dissolves = waiting.pop()
            if not dissolves or not isinstance(side, Combination) or type(side) is not kind:
                found.append(side)
            elif side._is_listed:
                found += side.parts
            else:
                left, right = side._sides
                waiting += [(right, kind is not Difference), (left, True)]
        self._sides, self._is_listed = tuple(found), True
        return self._sides

    @property
    def operands(self) -> tuple[Grammar, ...]:
        return self.parts

    def with_operands(self, operands: tuple[Grammar, ...]) -> Grammar:
        return type(self)(operands)

    def saved(self) -> list[Any]:
        return [self.parts]

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self.parts == other.parts  # type: ignore[attr-defined]

    def __hash__(self) -> int:
        return hash((type(self), self.parts))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.parts,)

    def language(self, algebra: Algebra) -> Term:
        terms = []
        for part in self.parts:
            algebra.tick()
            terms.append(part.language(algebra))
        return self.join(terms, algebra)

    def join(self, terms: list[Term], algebra: Algebra) -> Term:
        raise NotImplementedError

    def __repr__(self) -> str:
        return self._shown(3)

    def _shown(self, levels: int) -> str:
        if not levels:
            return f"(... {self.sign} ...)"
        parts = [p._shown(levels - 1) if isinstance(p, Combination) else brief(p, 100) for p in self.parts[:4]]
        more = f" {self.sign} ... {len(self.parts):,} parts" if len(self.parts) > 4 else ""
        return f"({f' {self.sign} '.join(parts)}{more})"


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


def leaves(grammar: Grammar) -> Iterator[Grammar]:
    """The grammars in it that are made of no others."""
    waiting, seen = [grammar], set[int]()
    while waiting:
        part = waiting.pop()
        if not part.operands:
            yield part
        elif id(part) not in seen:
            seen.add(id(part))
            waiting += part.operands


def as_grammar(part: Grammar | str, taker: str) -> Grammar:
    """A part of another grammar: a string stands for itself; TypeError for anything else."""
    if isinstance(part, str):
        return Literal(part)
    if not isinstance(part, Grammar):
        check_grammar(part, taker)
    return part


def encode(text: str) -> bytes:
    """The text in UTF-8; GrammarError where it cannot be encoded."""
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
    return kind.of_sides(*sides)  # type: ignore[arg-type]
