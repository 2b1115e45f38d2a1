"""Formulas of linear temporal logic: what they are, and how they are read.

    true  false  last                     always, never, at the last action
    name  "any text"                      a proposition: does it hold of the action here?
    !f   f & g   f | g   f -> g   f <-> g
    X f   N f                             at the next action, which there is (X); at the next action, if there is one (N)
    F f   G f                             here or later; here and at all later ones
    f U g   f W g   f R g                 f until g, which comes (U); f until g, or for good (W); g, up to where f and g hold (R)

The letters bind first, of what stands between two the temporal ones, then `&`, `|`, `->`, `<->`; U, W, R, `->` and `<->` group to
the right. A formula is kept in negation normal form: `!` stands before propositions alone, F, G, W and `last` are written with U, R
and N. Equal formulas are one object.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NoReturn

from grammarlm.errors import GrammarError, LimitExceeded

TRUE, FALSE, IS, ISNT, AND, OR, NEXT, WEAK_NEXT, UNTIL, RELEASE = range(10)
OPPOSITE = {
    TRUE: FALSE, FALSE: TRUE, IS: ISNT, ISNT: IS, AND: OR, OR: AND, NEXT: WEAK_NEXT, WEAK_NEXT: NEXT, UNTIL: RELEASE, RELEASE: UNTIL
}  # fmt: skip
LONGEST = 1 << 16  # characters
DEEPEST = 60  # brackets, and operators, within each other
TOKEN = re.compile(r'\s*(?:(<->|->|[!&|()])|"((?:[^"\\]|\\.)*)"|([^\W\d]\w*)|(\S))')
WORDS = frozenset({"X", "N", "F", "G", "U", "R", "W", "last", "true", "false"})
BINARY = [("<->",), ("->",), ("|",), ("&",), ("U", "R", "W")]  # the loosest first
SAME_AGAIN = ("&", "|")  # chains of these are one formula of many parts


@dataclass(frozen=True, eq=False, slots=True)
class Formula:
    """Compared by identity: `Formulas` makes each once."""

    kind: int
    parts: tuple[Formula, ...]
    name: str  # of a proposition
    serial: int
    depth: int

    def __lt__(self, other: Formula) -> bool:
        return self.serial < other.serial


class Formulas:
    """Makes formulas, each once."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, tuple[Formula, ...], str], Formula] = {}
        self._negated: dict[Formula, Formula] = {}
        self.true, self.false = self._of(TRUE), self._of(FALSE)

    def _of(self, kind: int, parts: tuple[Formula, ...] = (), name: str = "") -> Formula:
        key = kind, parts, name
        found = self._known.get(key)
        if found is None:
            depth = 1 + max([part.depth for part in parts], default=0)
            if depth > DEEPEST:
                raise _too_deep()
            found = self._known[key] = Formula(kind, parts, name, len(self._known), depth)
        return found

    @property
    def propositions(self) -> list[str]:
        """Of all formulas made so far."""
        return sorted({name for kind, _, name in self._known if kind in (IS, ISNT)})

    def proposition(self, name: str) -> Formula:
        return self._of(IS, (), name)

    def all(self, parts: Iterable[Formula]) -> Formula:
        return self._joined(AND, parts, self.true, self.false)

    def any(self, parts: Iterable[Formula]) -> Formula:
        return self._joined(OR, parts, self.false, self.true)

    def _joined(self, kind: int, parts: Iterable[Formula], nothing: Formula, everything: Formula) -> Formula:
        found: set[Formula] = set()
        for part in parts:
            found.update(part.parts if part.kind == kind else (part,))
        found.discard(nothing)
        if everything in found or any(part.kind == IS and self.negated(part) in found for part in found):
            return everything
        if not found:
            return nothing
        return found.pop() if len(found) == 1 else self._of(kind, tuple(sorted(found)))

    def next(self, part: Formula) -> Formula:
        return self._of(NEXT, (part,)) if part is not self.false else part

    def weak_next(self, part: Formula) -> Formula:
        return self._of(WEAK_NEXT, (part,)) if part is not self.true else part

    def until(self, left: Formula, right: Formula) -> Formula:
        return (
            right if right in (self.true, self.false) or left in (self.false, right) else self._of(UNTIL, (left, right))
        )

    def release(self, left: Formula, right: Formula) -> Formula:
        return (
            right
            if right in (self.true, self.false) or left in (self.true, right)
            else self._of(RELEASE, (left, right))
        )

    def negated(self, formula: Formula) -> Formula:
        found = self._negated.get(formula)
        if found is None:
            parts = [self.negated(part) for part in formula.parts]
            kind = OPPOSITE[formula.kind]
            if kind in (AND, OR):
                found = self.all(parts) if kind == AND else self.any(parts)
            else:
                found = self._of(kind, tuple(parts), formula.name)
            self._negated[formula], self._negated[found] = found, formula
        return found

    # ------------------------------------------------------------------ reading

    def read(self, text: str) -> Formula:
        """The formula of a text; GrammarError with a position where it is none."""
        if len(text) > LONGEST:
            raise LimitExceeded(f"the formula has {len(text):,} characters; it takes at most {LONGEST:,}")
        return _Reader(self, text).whole()


class _Reader:
    def __init__(self, formulas: Formulas, text: str):
        self._make, self._text = formulas, text
        self._tokens = list(_tokens(text))
        self._at, self._depth = 0, 0

    def whole(self) -> Formula:
        found = self._binary(0)
        if self._peek()[0]:
            self._refuse("the formula has ended before it: an operator is missing, or a bracket `(`")
        return found

    def _peek(self) -> tuple[str, str, int]:
        """The next token: its kind ("" at the end), its text, its position."""
        return self._tokens[self._at]

    def _takes(self, *words: str) -> str:
        kind, text, _ = self._peek()
        if kind == "word" and text in words:
            self._at += 1
            return text
        return ""

    def _refuse(self, why: str) -> NoReturn:
        kind, text, position = self._peek()
        found = f"{text!r:.60}" if kind else "its end"
        raise GrammarError(f"Ltl({self._text!r:.120}): at {found}, position {position}: {why}", position=position)

    def _binary(self, level: int) -> Formula:
        if level == len(BINARY):
            return self._unary()
        self._depth += level == 0
        if self._depth > DEEPEST:
            raise _too_deep()
        left = self._binary(level + 1)
        if BINARY[level][0] in SAME_AGAIN:
            parts = [left]
            while self._takes(*BINARY[level]):
                parts.append(self._binary(level + 1))
            left = self._make.any(parts) if BINARY[level] == ("|",) else self._make.all(parts)
        elif sign := self._takes(*BINARY[level]):
            self._depth += 1
            left = self._joined(sign, left, self._binary(level))
            self._depth -= 1
        self._depth -= level == 0
        return left

    def _joined(self, sign: str, left: Formula, right: Formula) -> Formula:
        make = self._make
        if sign == "U":
            return make.until(left, right)
        if sign == "R":
            return make.release(left, right)
        if sign == "W":
            return make.release(right, make.any([left, right]))
        if sign == "->":
            return make.any([make.negated(left), right])
        return make.any([make.all([left, right]), make.all([make.negated(left), make.negated(right)])])

    def _unary(self) -> Formula:
        make, signs = self._make, []
        while sign := self._takes("!", "X", "N", "F", "G"):
            signs.append(sign)
        found = self._atom()
        for sign in reversed(signs):
            if sign == "!":
                found = make.negated(found)
            elif sign in "XN":
                found = make.next(found) if sign == "X" else make.weak_next(found)
            else:
                found = make.until(make.true, found) if sign == "F" else make.release(make.false, found)
        return found

    def _atom(self) -> Formula:
        kind, text, _ = self._peek()
        make = self._make
        if self._takes("("):
            found = self._binary(0)
            if not self._takes(")"):
                self._refuse("the bracket `)` is missing, or an operator")
            return found
        if self._takes("last"):
            return make.weak_next(make.false)
        if constant := self._takes("true", "false"):
            return make.true if constant == "true" else make.false
        if kind == "name" or kind == "quoted":
            self._at += 1
            return make.proposition(text)
        self._refuse(
            "a formula is missing: a name, any text in double quotes, true, false, last, or one in brackets, after any of ! X N F G"
        )


def _too_deep() -> LimitExceeded:
    return LimitExceeded(f"the formula has more than {DEEPEST} brackets or operators within each other; flatten it")


def _tokens(text: str) -> Iterable[tuple[str, str, int]]:
    end = 0
    for match in TOKEN.finditer(text):
        sign, quoted, name, other = match.groups()
        end = match.end()
        if sign or name in WORDS:
            yield "word", sign or name, match.start(1 if sign else 3)
        elif quoted is not None:
            yield "quoted", re.sub(r"\\(.)", r"\1", quoted, flags=re.DOTALL), match.start(2) - 1
        elif name:
            yield "name", name, match.start(3)
        else:
            yield "other", other, match.start(4)
    yield "", "", max(end, len(text))
