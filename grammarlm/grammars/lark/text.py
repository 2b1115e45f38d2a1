"""One-pass parser of Lark's notation, without recursion: definitions with bodies as postfix code.

    start: a | b c+        Name(a) Sequence(1) Name(b) Name(c) Repeat(+) Sequence(2) Alternatives(2)

Postfix code has no depth, so a stack machine reads nested brackets as easily as flat ones. Names are not resolved here;
load/definitions.py does that.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from grammarlm.errors import GrammarError, LimitExceeded

from .scanner import CLOSING, Piece, error, scan

LONGEST_NUMBER = 18
NAMED = {"rule", "terminal"}
LEAVES = {*NAMED, "string", "regexp"}
AFTER_LEAF = {"{", "..", "operator", "~"}  # what a leaf would be part of
CONTROL = {"(", "[", "|", "->"}
LONGEST_PIECE = 100_000  # characters of a string or regexp: lark's pattern takes 180 bytes for each


class Name(NamedTuple):
    """A rule, a terminal, or a template's parameter."""

    name: str
    at: int


class Literal(NamedTuple):
    """A string with its quotes and flag, a regexp with its slashes and flags, or a range "a".."z"."""

    text: str
    at: int


class Use(NamedTuple):
    """A template's name; its arguments, `length` of them, precede in the code."""

    name: str
    length: int
    at: int


class Sequence(NamedTuple):
    length: int
    at: int
    alias: str = ""


class Alternatives(NamedTuple):
    length: int
    at: int


class Maybe(NamedTuple):
    """[...]: the part before it, or nothing."""

    at: int


class Repeat(NamedTuple):
    """`operator` is ? + * or ~; with ~, `low` to `high` times, which a regular expression writes as `braces`."""

    operator: str
    low: int
    high: int
    at: int
    braces: str = ""


def is_terminal(name: str) -> bool:
    """As written: an imported name may have another case."""
    return name.lstrip("_")[:1].isupper()


Code = Name | Literal | Use | Sequence | Alternatives | Maybe | Repeat


@dataclass(slots=True)
class Definition:
    """A rule, a terminal, the unnamed terminal of %ignore, or a name of %declare, which has no code. `how` is the % word before it,
    or ""."""

    name: str
    at: int
    how: str
    keeps_all: bool = False
    priority: int = 0
    parameters: tuple[str, ...] = ()
    code: list[Code] = field(default_factory=list)


@dataclass(slots=True)
class Import:
    """%import path.name -> alias, or %import path (names); `names` are what the grammar calls the `originals`."""

    path: tuple[str, ...]
    originals: tuple[str, ...]
    names: tuple[str, ...]
    relative: bool
    at: int


@dataclass(slots=True)
class LarkText:
    """All statements of a grammar."""

    definitions: list[Definition] = field(default_factory=list)
    imports: list[Import] = field(default_factory=list)


@dataclass(slots=True)
class Frame:
    """An open bracket, or a whole body: its number of complete alternatives, and of items in the last one."""

    opening: str
    at: int
    template: str = ""
    alternatives: int = 0
    items: int = 0
    alias: str = ""

    @property
    def closing(self) -> str:
        return CLOSING.get(self.opening, "newline")


class Reader:
    """Reads statements from the scanner, with one piece of lookahead."""

    def __init__(self, text: str, max_depth: int, max_pieces: int, tick: Callable[[], None]):
        self.text, self.max_depth = text, max_depth
        self.found = LarkText()
        self.kinds, self.texts, self.places = scan(text, max_pieces, tick)
        self.place = 0
        if len(text) > LONGEST_PIECE:
            for kind, piece, at in zip(self.kinds, self.texts, self.places, strict=True):
                if len(piece) > LONGEST_PIECE and kind in {"string", "regexp"}:
                    raise self.error(f"a literal of more than {LONGEST_PIECE} characters", at, LimitExceeded)

    @property
    def next(self) -> Piece:
        return Piece(self.kinds[self.place], self.texts[self.place], self.places[self.place])

    def error(self, message: str, at: int, kind: type[GrammarError] = GrammarError) -> GrammarError:
        return error(self.text, message, at, kind)

    def take(self) -> Piece:
        taken = self.next
        self.place = min(self.place + 1, len(self.kinds) - 1)
        return taken

    def expect(self, *kinds: str, what: str) -> Piece:
        if self.kinds[self.place] not in kinds:
            raise self.error(f"expected {what}, found {self.next.shown}", self.next.at)
        return self.take()

    def skip(self, kind: str) -> bool:
        if self.kinds[self.place] != kind:
            return False
        self.place = min(self.place + 1, len(self.kinds) - 1)
        return True

    def names(self, *kinds: str, what: str, closing: str) -> tuple[str, ...]:
        """Names between commas, up to the closing bracket; the opening one has been read."""
        names = [self.expect(*kinds, what=what).text]
        while self.skip(","):
            names.append(self.expect(*kinds, what=what).text)
        self.expect(closing, what=f"',' or '{closing}'")
        return tuple(names)

    # Statements

    def read(self) -> LarkText:
        while self.kinds[self.place] != "end":
            if not self.skip("newline"):
                self.statement(self.next)
        return self.found

    def statement(self, first: Piece) -> None:
        if first.kind.startswith("%"):
            self.take()
        if first.kind == "%import":
            self.read_import(first.at)
        elif first.kind == "%declare":
            more = True
            while more:
                name = self.expect("rule", "terminal", what="a name")
                self.found.definitions.append(Definition(name.text, name.at, first.kind))
                more = not self.skip("newline")
        elif first.kind == "%ignore":
            self.read_body(Definition(f"__IGNORE_{len(self.found.definitions)}", first.at, first.kind))
        else:
            self.read_definition(first.kind if first.kind in {"%override", "%extend"} else "")

    def read_import(self, at: int) -> None:
        name = ("rule", "terminal")
        relative = self.skip(".")
        path = [self.expect(*name, what="a name").text]
        while self.skip("."):
            path.append(self.expect(*name, what="a name").text)
        if self.skip("("):
            originals = names = self.names(*name, what="a name", closing=")")
        elif len(path) == 1:
            raise self.error(f"nothing is imported from {path[0]}: say what, e.g. %import {path[0]}.NAME", at)
        else:
            originals = names = (path.pop(),)
            if self.skip("->"):
                names = (self.expect(*name, what="a name").text,)
        self.expect("newline", what="the end of the line")
        self.found.imports.append(Import(tuple(path), originals, names, relative, at))

    def read_definition(self, how: str) -> None:
        modifiers = self.take().text if self.next.kind == "modifiers" else ""
        name = self.expect("rule", *([] if modifiers else ["terminal"]), what="a rule, a terminal or a % word")
        made = Definition(name.text, name.at, how, keeps_all="!" in modifiers)
        if "?" in modifiers and name.text.startswith("_"):
            raise self.error("a rule whose name begins with an underscore takes no modifier '?'", name.at)
        if name.kind == "rule" and self.skip("{"):
            made.parameters = self.names("rule", what="a parameter", closing="}")
        if self.skip("."):
            made.priority = self.number()
        self.expect(":", what="':' and what the name stands for")
        self.read_body(made)

    def number(self) -> int:
        number = self.expect("number", what="a number")
        if len(number.text) > LONGEST_NUMBER:
            message = f"a number of {len(number.text)} digits; at most {LONGEST_NUMBER} are read"
            raise self.error(message, number.at, LimitExceeded)
        return int(number.text)

    # Bodies

    def read_body(self, made: Definition) -> None:
        """Reads alternatives up to the end of the line into `made.code`; open brackets are on an explicit stack."""
        self.found.definitions.append(made)
        stack = [Frame("", self.next.at)]
        kinds, texts, places, code = self.kinds, self.texts, self.places, made.code
        while stack:
            frame, place = stack[-1], self.place
            kind = kinds[place]
            if kind in LEAVES and kinds[place + 1] not in AFTER_LEAF and frame.opening != "{":
                leaf = Name if kind in NAMED else Literal
                code.append(leaf(texts[place], places[place]))
                frame.items += 1
                self.place = place + 1
                continue
            piece = self.take()
            if frame.opening == "{" or (kind not in CONTROL and kind != frame.closing):
                if self.leaf(piece, stack, made):
                    self.complete_item(stack, code)
            elif kind in CLOSING:
                self.open(stack, Frame(kind, piece.at))
            elif kind == "->":
                self.alias(frame)
            else:
                code.append(Sequence(frame.items, piece.at, frame.alias))
                frame.alternatives, frame.items, frame.alias = frame.alternatives + 1, 0, ""
                if kind == frame.closing:
                    self.close(stack, code)

    def open(self, stack: list[Frame], frame: Frame) -> None:
        if len(stack) > self.max_depth:
            raise self.error(f"brackets are nested more than {self.max_depth} deep", frame.at, LimitExceeded)
        stack.append(frame)

    def close(self, stack: list[Frame], code: list[Code]) -> None:
        frame = stack.pop()
        code.append(Alternatives(frame.alternatives, frame.at))
        if frame.opening == "[":
            code.append(Maybe(frame.at))
        if stack:
            self.complete_item(stack, code)

    def complete_item(self, stack: list[Frame], code: list[Code]) -> None:
        """An item ends: its operator follows or, in braces, a comma or the brace that completes the template's use."""
        while True:
            frame = stack[-1]
            frame.items += 1
            if frame.opening != "{":
                return self.suffix(code)
            if self.skip(","):
                return None
            self.expect("}", what="',' or '}'")
            code.append(Use(frame.template, frame.items, frame.at))
            stack.pop()

    def suffix(self, code: list[Code]) -> None:
        at, kind = self.places[self.place], self.kinds[self.place]
        if kind == "operator":
            code.append(Repeat(self.take().text, 0, 0, at))
        elif kind == "~":
            self.take()
            low = high = self.number()
            braces = f"{{{low}}}"
            if self.skip(".."):
                high = self.number()
                braces = f"{{{low},{high}}}"
                if not 0 <= low <= high:
                    raise self.error(f"bad range {low}..{high}: two numbers are expected, the smaller first", at)
            code.append(Repeat("~", max(low, 0), max(high, 0), at, braces))

    def alias(self, frame: Frame) -> None:
        frame.alias = self.expect("rule", what="a name in small letters").text
        if self.next.kind not in {"|", frame.closing}:
            raise self.error(f"expected '|' or the end after an alias, found {self.next.shown}", self.next.at)

    def leaf(self, piece: Piece, stack: list[Frame], made: Definition) -> bool:
        """Reads a name or literal; False for a template's name, whose arguments come first."""
        if piece.kind == "rule" and self.skip("{"):
            self.open(stack, Frame("{", piece.at, piece.text))
            return False
        if piece.kind in {"rule", "terminal"}:
            made.code.append(Name(piece.text, piece.at))
        elif piece.kind == "string" and self.skip(".."):
            last = self.expect("string", what="the last character of the range as a string")
            made.code.append(Literal(f"{piece.text}..{last.text}", piece.at))
        elif piece.kind in {"string", "regexp"}:
            made.code.append(Literal(piece.text, piece.at))
        else:
            raise self.misplaced(piece, stack[-1])
        return True

    def misplaced(self, piece: Piece, frame: Frame) -> GrammarError:
        if frame.opening and piece.kind in {"newline", "end"}:
            message = f"{frame.opening!r} is not closed: {frame.closing!r} is missing (lines go on only before '|')"
            return self.error(message, frame.at)
        return self.error(f"expected a name, a literal or a bracket, found {piece.shown}", piece.at)


def read_lark(text: str, *, max_depth: int, max_pieces: int, tick: Callable[[], None]) -> LarkText:
    """The statements of a text in Lark's notation; brackets at most `max_depth` deep, at most `max_pieces` pieces."""
    return Reader(text, max_depth, max_pieces, tick).read()
