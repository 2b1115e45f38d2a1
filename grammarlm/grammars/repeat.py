"""A grammar several times in a row.

    Repeat(JsonSchema(Line), min=1, max=1000, separator="\\n")      JSON Lines
    Repeat(Text(until="<call>") + call)                             text and calls, any number of times

`separator` stands between two texts of the part. There is no `Optional`:  part | "".
"""

from __future__ import annotations

from dataclasses import dataclass

from grammarlm.errors import brief, suggesting
from grammarlm.grammars.regular.derivatives import Algebra
from grammarlm.grammars.regular.terms import FOREVER, Term

from .compose import Grammar, as_grammar

MOST = 1 << 30  # times


@dataclass(frozen=True, init=False, repr=False)
class Repeat(Grammar):
    """Between `min` and `max` texts of `part` (None: any number), with a text of `separator` between two of them."""

    part: Grammar
    min: int
    max: int | None
    separator: Grammar | None

    @suggesting("Repeat")
    def __init__(
        self, part: Grammar | str, min: int = 0, max: int | None = None, separator: Grammar | str | None = None
    ):
        for name, value in (("min", min), ("max", max)):
            if value is None and name == "max":
                continue
            if isinstance(value, bool) or not isinstance(value, int):
                raise TypeError(f"Repeat({name}=...) takes a number, not {type(value).__name__}")
            if not 0 <= value <= MOST:
                raise ValueError(f"Repeat({name}={value}): it takes a number from 0 to {MOST:,}")
        if max is not None and min > max:
            raise ValueError(f"Repeat(min={min}, max={max}): min is above max")
        object.__setattr__(self, "part", as_grammar(part, "Repeat"))
        object.__setattr__(self, "min", min)
        object.__setattr__(self, "max", max)
        between = None if separator is None else as_grammar(separator, "Repeat(separator=...)")
        object.__setattr__(self, "separator", between)

    def __repr__(self) -> str:
        most = "" if self.max is None else f", max={self.max}"
        between = "" if self.separator is None else f", separator={brief(self.separator, 80)}"
        return f"Repeat({brief(self.part, 100)}{f', min={self.min}' if self.min else ''}{most}{between})"

    @property
    def operands(self) -> tuple[Grammar, ...]:
        return (self.part,) if self.separator is None else (self.part, self.separator)

    def with_operands(self, operands: tuple[Grammar, ...]) -> Grammar:
        return Repeat(operands[0], self.min, self.max, operands[1] if len(operands) > 1 else None)

    def language(self, algebra: Algebra) -> Term:
        most, part = FOREVER if self.max is None else self.max, self.part.language(algebra)
        if self.separator is None:
            return algebra.repeat(part, self.min, most)
        if most == 0:
            return algebra.words([b""])
        algebra.tick()
        further = algebra.cat(self.separator.language(algebra), part)
        some = algebra.cat(part, algebra.repeat(further, max(self.min - 1, 0), most - 1))
        return some if self.min else algebra.alt([algebra.words([b""]), some])
