"""A part of a text with a name, read back from the answer.

    Capture("city", Regex(r"[A-Z]\\w+")) + ", " + Capture("facts", JsonSchema(Facts))       out["city"], out["facts"]

A name changes nothing about which texts are allowed. Where it may come several times, in a Repeat or in two parts of a sequence,
it stands for a list.
"""

from __future__ import annotations

from dataclasses import dataclass

from grammarlm.errors import brief, suggesting
from grammarlm.grammars.regular.derivatives import Algebra
from grammarlm.grammars.regular.terms import Term

from .compose import Grammar, as_grammar


@dataclass(frozen=True, init=False, repr=False)
class Capture(Grammar):
    """The texts of `part`, known as `name`."""

    name: str
    part: Grammar

    @suggesting("Capture")
    def __init__(self, name: str, part: Grammar | str):
        if not isinstance(name, str):
            raise TypeError(f"Capture(name, part) takes a string as its name, not {type(name).__name__}")
        if not name:
            raise ValueError("Capture('', ...): a name is not empty")
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "part", as_grammar(part, "Capture"))

    def __repr__(self) -> str:
        return f"Capture({self.name!r}, {brief(self.part, 100)})"

    @property
    def operands(self) -> tuple[Grammar, ...]:
        return (self.part,)

    def with_operands(self, operands: tuple[Grammar, ...]) -> Grammar:
        return Capture(self.name, operands[0])

    def language(self, algebra: Algebra) -> Term:
        return self.part.language(algebra)
