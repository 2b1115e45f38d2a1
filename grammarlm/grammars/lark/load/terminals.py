"""The patterns of terminals: a terminal's body becomes one regular expression, or stays one string."""

from __future__ import annotations

import re
from ast import literal_eval
from functools import lru_cache

from grammarlm.errors import LimitExceeded
from grammarlm.grammars.lark.text import Alternatives, Literal, Maybe, Name, Repeat, Sequence

from .budget import Budget
from .definitions import Named
from .result import Pattern

STRING = re.compile(r'"(?:[^"\\]|\\.)*"i?', re.DOTALL)
RANGE = re.compile(r'("(?:[^"\\]|\\.)*")\.\.("(?:[^"\\]|\\.)*")', re.DOTALL)
ESCAPED = re.compile(r"\\(.)", re.DOTALL)
UNUSUAL = re.compile(r"[\\\r\0]")
REGEXP_PARTS = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]?|\(|\)|\{[0-9]*,?[0-9]*\}", re.DOTALL)
MOST_REPEATS = 2**32 - 2  # what Python's `re` takes in {n,m}
LONGEST_REMEMBERED = (
    256  # characters of a literal: longer ones are read each time, so that strangers' texts are not kept
)
EVALUATED = "Uuxnftr"  # the escapes that Python's literals and lark's have in common


def literal_pattern(text: str) -> Pattern:
    """Of a string, a regular expression or a range, as written. Raises ValueError."""
    return _known_pattern(text) if len(text) <= LONGEST_REMEMBERED else _pattern(text)


def _pattern(text: str) -> Pattern:
    if ".." in text and (ends := RANGE.fullmatch(text)):
        first, last = (end[1:-1] for end in ends.groups())
        if len(evaluated(first)) != 1 or len(evaluated(last)) != 1:
            raise ValueError('a range takes two single characters, as in "a".."z"')
        return Pattern("re", f"[{first}-{last}]")
    end = max(text.rfind('"'), text.rfind("/"))
    body, flags, is_string = text[1:end], frozenset(text[end + 1 :]), text[0] == '"'
    if is_string and not STRING.fullmatch(text):
        raise ValueError('a range takes two strings without flags, as in "a".."z"')
    if not is_string and "\n" in text and "x" not in flags:
        raise ValueError("a regular expression on several lines needs the flag x after it, which ignores white space")
    value = evaluated(body)
    if not value:
        raise ValueError("Empty terminals are not allowed: a literal reads at least a character")
    return Pattern("str", value.replace("\\\\", "\\"), flags) if is_string else Pattern("re", value, flags)


_known_pattern = lru_cache(maxsize=4096)(_pattern)


def evaluated(body: str) -> str:
    """A literal's text with \\n, \\x41 and the like replaced by their characters; other escapes stay. Python reads it, for which a
    carriage return ends a line, and which takes no NUL."""
    if not UNUSUAL.search(body):
        return body

    def escape(match: re.Match[str]) -> str:
        character = match[1]
        if character == "\\":
            return "\\" * 4
        return f"\\{character}" if character in EVALUATED else f"\\\\{character}"

    source = ESCAPED.sub(escape, body).replace('\\"', '"').replace("'", "\\'")
    try:
        return str(literal_eval(f"'''{source}'''"))
    except (SyntaxError, ValueError) as cause:
        raise ValueError(f"{body!r:.60} is no literal: {getattr(cause, 'msg', cause)}") from None


class Patterns:
    """The pattern of each terminal, made once. `depths`: how deep its brackets are."""

    def __init__(self, budget: Budget) -> None:
        self.budget = budget
        self.known: dict[Named, Pattern] = {}
        self.depths: dict[Pattern, int] = {}

    def of(self, terminal: Named) -> Pattern:
        """Those that it uses come first."""
        waiting, begun = [terminal], set[Named]()
        while waiting:
            one = waiting[-1]
            missing = [] if one in self.known else [used for used in one.uses.values() if used not in self.known]
            if not begun.isdisjoint(missing):
                message = f"terminal {one.name} uses itself, or a terminal that does; only rules may recur"
                raise self.budget.error(message, one.at)
            if missing:
                begun.add(one)
                waiting += missing
                continue
            if one not in self.known:
                self.known[one] = self.make(one)
            begun.discard(one)
            waiting.pop()
        return self.known[terminal]

    def make(self, terminal: Named) -> Pattern:
        error = self.budget.error
        if terminal.code is None:
            raise error(f"terminal {terminal.name} is declared, not defined: no other can use it", terminal.at)
        if len(terminal.code) == 2:
            raise error(f"terminal {terminal.name} is empty; let it read a character", terminal.at)
        stack: list[Pattern] = []
        for op in terminal.code:
            self.budget.tick()
            depth = 1
            match op:
                case Name(name):
                    used = terminal.uses.get(name)
                    if used is None or not used.is_terminal:
                        raise error(f"terminal {terminal.name} uses {name}, which is no terminal", op.at)
                    stack.append(self.known[used])
                    continue
                case Literal():
                    stack.append(self.literal(op))
                    continue
                case Sequence(length, at, alias):
                    if alias:
                        raise error(f"an alias (-> {alias}) in terminal {terminal.name}; only rules have aliases", at)
                    parts = stack[len(stack) - length :]
                    made = in_sequence(self.checked(parts, terminal, at))
                    depth = 0
                case Alternatives(length, at):
                    parts = stack[len(stack) - length :]
                    self.checked(parts, terminal, at)
                    try:
                        made = one_of(parts)
                    except ValueError as cause:
                        raise error(str(cause), terminal.at) from None
                    depth = int(length > 1)
                case Repeat() if op.high > MOST_REPEATS:
                    raise error(f"a terminal repeats a part at most {MOST_REPEATS} times", op.at, LimitExceeded)
                case Maybe(at) | Repeat(at=at):
                    parts = stack[-1:]
                    operator = "?" if isinstance(op, Maybe) else op.braces or op.operator
                    made = repeated(self.checked(parts, terminal, at)[0], operator)
                case _:
                    raise error("a terminal cannot use a template", op.at)
            depth += max((self.depths.get(part, 1) for part in parts), default=0)
            if depth > self.budget.max_depth:
                message = (
                    f"terminal {terminal.name} becomes a pattern with brackets more than {self.budget.max_depth} deep"
                )
                raise error(message, op.at, LimitExceeded)
            self.depths[made] = depth
            stack[len(stack) - len(parts) :] = [made]
        (made,) = stack
        return made

    def checked(self, parts: list[Pattern], terminal: Named, at: int) -> list[Pattern]:
        message = f"terminal {terminal.name} becomes a regular expression of more than {self.budget.max_size} parts"
        self.budget.write(sum(len(part.value) for part in parts), message, at)
        return parts

    def literal(self, literal: Literal) -> Pattern:
        """Of a string, a regular expression or a range, in a terminal or a rule."""
        try:
            made = literal_pattern(literal.text)
        except ValueError as cause:
            raise self.budget.error(str(cause), literal.at) from None
        if made not in self.depths:
            self.depths[made] = 1 if made.kind == "str" else 1 + self.regexp_depth(literal, made.value)
        return made

    def regexp_depth(self, literal: Literal, regexp: str) -> int:
        """The nesting depth of parentheses in a regular expression."""
        depth = deepest = 0
        for match in REGEXP_PARTS.finditer(regexp):
            part = match.group()
            depth += (part == "(") - (part == ")")
            deepest = max(deepest, depth)
            if deepest > self.budget.max_depth:
                message = f"the parentheses of a regular expression are nested more than {self.budget.max_depth} deep"
                raise self.budget.error(message, literal.at, LimitExceeded)
            if part[0] == "{" and any(len(n) > 10 or int(n) > MOST_REPEATS for n in part[1:-1].split(",") if n):
                message = f"a regular expression repeats a part at most {MOST_REPEATS} times"
                raise self.budget.error(message, literal.at, LimitExceeded)
        return deepest


def in_sequence(parts: list[Pattern]) -> Pattern:
    if len(parts) == 1:
        return parts[0]
    return Pattern("re", "".join(part.regex for part in parts)) if parts else Pattern("str", "")


def one_of(parts: list[Pattern]) -> Pattern:
    """The longest first, as `re` takes the first that matches."""
    if len(parts) == 1:
        return parts[0]
    parts = sorted(parts, key=lambda part: (-part.widths[1], -part.widths[0], -len(part.value)))
    return Pattern("re", f"(?:{'|'.join(part.regex for part in parts)})")


def repeated(part: Pattern, operator: str) -> Pattern:
    return Pattern("re", f"(?:{part.regex}){operator}", part.flags)
