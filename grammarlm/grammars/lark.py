"""`Lark`: a grammar in lark's own notation, with lark's meaning."""

from __future__ import annotations

import importlib.resources
from collections.abc import Callable
from dataclasses import dataclass, field

from ..errors import UnsupportedFeature
from . import library
from .compose import Grammar
from .indent import Indent
from .lark_guard import check_lark
from .lark_tables import Loaded, LrTables, load, lr_tables, make_lexer
from .lexer import Lexer
from .regular import Algebra
from .rules import Alternatives, Call, Node, Repeat, Rules, Sequence

BIGGEST = 200_000  # symbols of a grammar that lark is given


@dataclass(frozen=True)
class Lark(Grammar):
    """A grammar in the lark library's notation: LALR(1) ones with its contextual lexer, others as its Earley parser reads them."""

    text: str
    start: str = field(default="start", kw_only=True)
    indent: Indent | None = field(default=None, kw_only=True)

    @classmethod
    def library(cls, name: str) -> Lark:
        """A grammar that comes with this package ("json", "sqlite", "c", ...; see grammars/library), or "python"."""
        return cls.python() if name == "python" else cls(library.text(name))

    @classmethod
    def python(cls, *, start: str = "file_input") -> Lark:
        """Python 3 as lark's own grammar has it, read from the installed package."""
        text = importlib.resources.files("lark.grammars").joinpath("python.lark").read_text(encoding="utf-8")
        return cls(text, start=start, indent=Indent())

    def __post_init__(self) -> None:
        for name in ("text", "start"):
            if not isinstance(getattr(self, name), str):
                raise TypeError(f"Lark({name}=...) takes a str, not {type(getattr(self, name)).__name__}")
        if self.indent is not None and not isinstance(self.indent, Indent):
            raise TypeError(f"Lark(indent=...) takes a gl.Indent, not {type(self.indent).__name__}")

    def __repr__(self) -> str:
        shown = self.text if len(self.text) <= 60 else f"{self.text[:60]}..."
        return f"Lark({shown!r})" if self.start == "start" else f"Lark({shown!r}, start={self.start!r})"


@dataclass(frozen=True)
class LarkParser:
    """A Lark grammar made ready: tables, or rules over lexemes."""

    lexer: Lexer
    tables: LrTables | None
    rules: Rules | None


def read_lark(grammar: Lark, algebra: Algebra, max_depth: int, tick: Callable[[], None]) -> LarkParser:
    check_lark(grammar.text, grammar.start, max_depth=max_depth, max_size=BIGGEST, tick=tick)
    loaded = load(grammar.text, grammar.start, grammar.indent)
    lexer = make_lexer(loaded, algebra, tick, shifts=True)
    tables = lr_tables(loaded, lexer, tick)
    if tables is not None:
        return LarkParser(lexer, tables, None)
    if grammar.indent is not None:
        raise UnsupportedFeature("a grammar with indented blocks must be LALR(1): lark itself can read no other")
    return LarkParser(make_lexer(loaded, algebra, tick, shifts=False), None, rules_over_lexemes(loaded))


def lexeme(terminal: int) -> str:
    """The name of the call that reads a lexeme."""
    return f"$lexeme {terminal}"


def rules_over_lexemes(loaded: Loaded) -> Rules:
    """lark's rules; ignored terminals may stand before each terminal and at the end, as its dynamic lexer has it."""
    skipped: Node | None = None
    if loaded.ignored:
        calls = tuple(Call(lexeme(loaded.index[name]), 0) for name in loaded.ignored)
        skipped = Repeat(calls[0] if len(calls) == 1 else Alternatives(calls), 0, None)
    bodies: dict[str, list[Node]] = {}
    for rule in loaded.rules:
        parts: list[Node] = []
        for symbol in rule.expansion:
            if symbol.is_term:
                if skipped is not None:
                    parts.append(skipped)
                parts.append(Call(lexeme(loaded.index[symbol.name]), 0))
            else:
                parts.append(Call(str(symbol.name), 0))
        bodies.setdefault(str(rule.origin.name), []).append(parts[0] if len(parts) == 1 else Sequence(tuple(parts)))
    rules = {name: nodes[0] if len(nodes) == 1 else Alternatives(tuple(nodes)) for name, nodes in bodies.items()}
    whole: tuple[Node, ...] = (Call(loaded.start, 0),) if skipped is None else (Call(loaded.start, 0), skipped)
    return Rules("$whole", {**rules, "$whole": Sequence(whole)})
