"""The patterns of terminals: a terminal's body becomes one regular expression, or stays one string."""

from __future__ import annotations

import re
from ast import literal_eval

from grammarlm.grammars.lark.text import Alternatives, Literal, Maybe, Name, Repeat, Sequence

from .definitions import Named
from .result import Pattern, Rare

STRING = re.compile(r'"(?:[^"\\]|\\.)*"i?', re.DOTALL)
RANGE = re.compile(r'("(?:[^"\\]|\\.)*")\.\.("(?:[^"\\]|\\.)*")', re.DOTALL)
ESCAPED = re.compile(r"\\(.)", re.DOTALL)
UNUSUAL = re.compile(r"[\\\r\0]")
EVALUATED = "Uuxnftr"  # the escapes that Python's literals and lark's have in common


def literal_pattern(text: str) -> Pattern:
    """Of a string, a regular expression or a range, as written."""
    if ".." in text and (ends := RANGE.fullmatch(text)):
        first, last = (end[1:-1] for end in ends.groups())
        if len(evaluated(first)) != 1 or len(evaluated(last)) != 1:
            raise Rare
        return Pattern("re", f"[{first}-{last}]")
    end = max(text.rfind('"'), text.rfind("/"))
    body, flags, is_string = text[1:end], frozenset(text[end + 1 :]), text[0] == '"'
    if not (STRING.fullmatch(text) if is_string else text[end] == "/" and ("\n" not in text or "x" in flags)):
        raise Rare
    value = evaluated(body)
    if not value:
        raise Rare
    return Pattern("str", value.replace("\\\\", "\\"), flags) if is_string else Pattern("re", value, flags)


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
    except (SyntaxError, ValueError):
        raise Rare from None


class Patterns:
    """The pattern of each terminal, made once."""

    def __init__(self) -> None:
        self.known: dict[Named, Pattern] = {}

    def of(self, terminal: Named) -> Pattern:
        """guard.py has seen to it that terminals do not use themselves; those in lark's files do not."""
        found = self.known.get(terminal)
        if found is None:
            found = self.known[terminal] = self.make(terminal)
        return found

    def make(self, terminal: Named) -> Pattern:
        if not terminal.code or len(terminal.code) == 2:  # declared, or empty
            raise Rare
        stack: list[Pattern] = []
        for op in terminal.code:
            match op:
                case Name(name):
                    used = terminal.scope.named.get(terminal.scope.mangle(name))
                    if used is None or not used.is_terminal:
                        raise Rare
                    stack.append(self.of(used))
                case Literal(text):
                    stack.append(literal_pattern(text))
                case Sequence(length, _, alias):
                    if alias:
                        raise Rare
                    stack[len(stack) - length :] = [in_sequence(stack[len(stack) - length :])]
                case Alternatives(length):
                    stack[len(stack) - length :] = [one_of(stack[len(stack) - length :])]
                case Maybe():
                    stack.append(repeated(stack.pop(), "?"))
                case Repeat():
                    stack.append(repeated(stack.pop(), op.braces or op.operator))
                case _:
                    raise Rare
        (made,) = stack
        return made


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
