"""Rule reader shared by GBNF and EBNF: everything but lines, macros and token terminals.

A master pattern cuts the text into tokens, each with the spaces after it, and a table maps a token's first character to the method
that reads it: about half a microsecond per token. Brackets are kept on an explicit stack, so nesting depth is not limited.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import ClassVar, NoReturn

from grammarlm.errors import brief, check_type
from grammarlm.grammars.cfg.rules import Alternatives, Call, Node, Repeat, Rules, Sequence, Text
from grammarlm.grammars.compose import Grammar

from .scanner import EMPTY, SPACE, Scanner, escape_patterns

BLANK = " \t\r\n"
MOST_AT_ONCE = 1 << 17  # characters of a text that is tokenised in one call
SIMPLE_REPEATS: dict[str, tuple[int, int | None]] = {"*": (0, None), "+": (1, None), "?": (0, 1)}
BRACES = rf"\{{{SPACE}[0-9]+{SPACE}(?:,{SPACE}(?:-?[0-9]+{SPACE})?)?\}}"
_BRACES = re.compile(rf"\{{{SPACE}([0-9]+){SPACE}(?:(,){SPACE}(?:(-?[0-9]+){SPACE})?)?\}}")

Handler = Callable[["RuleReader", str, int], None]
Table = dict[str, Handler]  # method that reads a token, by its first character


@dataclass(frozen=True, repr=False)
class RuleText(Grammar):
    """All texts of the rule `start`, in one of the notations."""

    text: str
    start: str = field(default="root", kw_only=True)

    def __post_init__(self) -> None:
        for value in (self.text, self.start):
            check_type(value, str, f"{type(self).__name__}() takes a grammar and the name of a rule as str")

    def __repr__(self) -> str:
        start = "" if self.start == "root" else f", start={brief(self.start)}"
        return f"{type(self).__name__}({brief(self.text, 80)}{start})"

    def rules(self, tick: Callable[[], None]) -> Rules:
        """The parsed rules; `tick` is called regularly, and may raise."""
        raise NotImplementedError


_INSIDE = {
    '"': "literal",
    "[": "character_class",
    "(": "open",
    ")": "close",
    "|": "alternative",
    "{": "counted",
    **dict.fromkeys(SIMPLE_REPEATS, "simple_repeat"),
}


class RuleReader(Scanner):
    """Reads one text once: `RuleReader(...).read(start)`."""

    TOKENS: re.Pattern  # always matches at least one character
    NAME: re.Pattern
    NAME_BEGINS: str  # the characters that a name may begin with
    # Only of this notation: first character of tokens inside a rule -> method name.
    INSIDE: ClassVar[dict[str, str]] = {}
    outside: ClassVar[Table]  # for tokens between rules
    inside: ClassVar[Table]

    def __init_subclass__(cls) -> None:
        """Builds tables of functions, not of bound methods, once per notation, so that a reader holds no reference to itself."""
        cls.escape, cls.span = escape_patterns(cls.HEX_DIGITS)
        blank = dict.fromkeys("#" + BLANK, "skip")
        inside = {**dict.fromkeys(cls.NAME_BEGINS, "name"), **blank, **_INSIDE, **cls.INSIDE}
        outside = {**blank, **dict.fromkeys(cls.NAME_BEGINS, "name_outside")}
        cls.inside = {letter: getattr(cls, name) for letter, name in inside.items()}
        cls.outside = {letter: getattr(cls, name) for letter, name in outside.items()}

    def __init__(self, text: str, tick: Callable[[], None]):
        super().__init__(text, tick)
        self.bodies: dict[str, Node] = {}
        self.calls: list[Call] = []
        self.rule: str | None = None  # the rule being read
        self.parts: list[Node] = []  # of the alternative being read
        self.options: list[Node] = []  # the alternatives before it
        self.brackets: list[tuple[list[Node], list[Node], int]] = []  # parts and options around each open bracket
        self.table = self.outside

    def read(self, start: str) -> Rules:
        self.tick()
        unexpected = type(self).unexpected
        at = 0
        for count, token in enumerate(self._tokens()):
            if not count & 255:
                self.tick()
            self.table.get(token[0], unexpected)(self, token, at)
            at += len(token)
        self.check_brackets()
        if self.rule is not None:
            self.end_rule(at)
        self.check_names(start)
        return Rules(start, self.bodies)

    def _tokens(self) -> Iterable[str]:
        """Tokens of the text: all at once for short texts, which is faster; one by one for long ones, so that time limits are
        checked."""
        if len(self.text) < MOST_AT_ONCE:
            return self.TOKENS.findall(self.text)
        return (found.group() for found in self.TOKENS.finditer(self.text))

    def check_names(self, start: str) -> None:
        for count, call in enumerate(self.calls):
            if not count & 255:
                self.tick()
            if call.name not in self.bodies:
                raise self.error(f"there is no rule {call.name[:60]!r}", call.position)
        if start not in self.bodies:
            found = ", ".join(list(self.bodies)[:5])[:100] or "none at all"
            raise self.error(f"there is no rule {start[:60]!r}, where texts start (rules: {found})", 0)

    def check_brackets(self) -> None:
        if self.brackets:
            raise self.error("'(' is not closed: ')' is missing", self.brackets[-1][2])

    def begin_rule(self, head: str, at: int) -> None:
        self.rule = self.name_of(head)
        self.table = self.inside

    def end_rule(self, at: int) -> None:
        assert self.rule is not None
        self.bodies[self.rule] = self.take_alternatives()
        self.rule = None
        self.table = self.outside

    def name(self, token: str, at: int) -> None:
        """A name inside a rule: a call, or the head of the next rule."""
        if ":" in token and self.is_head(token):
            self.head_inside(token, at)
            return
        call = Call(token.rstrip(BLANK), at)
        self.calls.append(call)
        self.parts.append(call)

    def name_outside(self, token: str, at: int) -> None:
        if not self.is_head(token):
            self.unexpected(token, at)
        self.begin_rule(token, at)

    def is_head(self, token: str) -> bool:
        """Whether this name and what follows it are the head of a rule, `name ::=`."""
        return "::=" in token

    def head_inside(self, token: str, at: int) -> None:
        """The head of a rule found inside another one."""
        raise NotImplementedError

    def name_of(self, token: str) -> str:
        if token[-5:] == " ::= " and token[:-5].isidentifier():  # the usual spelling
            return token[:-5]
        name = self.NAME.match(token)
        assert name is not None
        return name.group()

    def literal(self, token: str, at: int) -> None:
        self.parts.append(self.string_node(token, at))

    def character_class(self, token: str, at: int) -> None:
        self.parts.append(self.class_node(token, at))

    def open(self, token: str, at: int) -> None:
        self.brackets.append((self.parts, self.options, at))
        self.parts, self.options = [], []

    def close(self, token: str, at: int) -> None:
        if not self.brackets:
            raise self.error("')' without a '(' before it", at)
        node = self.take_alternatives()
        self.parts, self.options, _ = self.brackets.pop()
        self.parts.append(node)

    def alternative(self, token: str, at: int) -> None:
        self.options.append(sequence(self.parts))
        self.parts = []

    def take_alternatives(self) -> Node:
        """The node of all that was read since the last open bracket, or since the rule began."""
        node = sequence(self.parts)
        self.parts = []
        if self.options:
            node = Alternatives((*self.options, node))
            self.options = []
        return node

    def simple_repeat(self, token: str, at: int) -> None:
        self.repeat(*SIMPLE_REPEATS[token[0]], token, at)

    def counted(self, token: str, at: int) -> None:
        found = _BRACES.match(token)
        if found is None:
            raise self.error("'{' begins a repeat: {3}, {3,} or {3,5}", at)
        digits, comma, limit = found.groups()
        low = self.number(digits, "this count", at)
        if limit is not None and limit[0] == "-":
            limit = self.negative_limit(limit, at)
        high = low if comma is None else None if limit is None else self.number(limit, "this count", at)
        if high is not None and high < low:
            raise self.error(f"{{{low},{high}}} repeats at least {low} and at most {high} times", at)
        self.repeat(low, high, token, at)

    def negative_limit(self, limit: str, at: int) -> str | None:
        raise self.error(f"a repeat up to {limit[:20]} times", at)

    def repeat(self, low: int, high: int | None, token: str, at: int) -> None:
        if not self.parts:
            raise self.error(f"nothing to repeat before {token[0]!r}", at)
        body = self.parts[-1]
        if body is EMPTY or high == 0:
            self.parts[-1] = EMPTY
        elif (low, high) != (1, 1):
            self.parts[-1] = Repeat(body, low, high)

    def skip(self, token: str, at: int) -> None:
        """A comment or white space."""

    def unexpected(self, token: str, at: int) -> NoReturn:
        if self.table is self.outside:
            raise self.error("a rule is expected here: its name, then ::=", at)
        raise self.error(f"unexpected {token[:40].rstrip(BLANK)!r}", at)


def sequence(parts: list[Node]) -> Node:
    """The parts in sequence: empty ones dropped, adjacent texts joined."""
    if len(parts) == 1:
        return parts[0]
    out: list[Node] = []
    run: list[Text] = []
    for part in parts:
        if type(part) is Text:
            run.append(part)
        elif part is not EMPTY:
            if run:
                out.append(run[0] if len(run) == 1 else _joined(run))
                run = []
            out.append(part)
    if run:
        out.append(run[0] if len(run) == 1 else _joined(run))
    return out[0] if len(out) == 1 else Sequence(tuple(out)) if out else EMPTY


def _joined(run: list[Text]) -> Text:
    return Text(b"".join([text.data for text in run]))
