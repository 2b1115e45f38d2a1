"""`Lark`: a grammar in lark's own notation, with lark's meaning."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from types import NoneType

from grammarlm.errors import UnsupportedFeature, brief, check_type
from grammarlm.grammars import library
from grammarlm.grammars.cfg.indent import Indent
from grammarlm.grammars.compose import Grammar
from grammarlm.grammars.regular.byte_classes import byte_sets
from grammarlm.grammars.regular.derivatives import Algebra

from .lalr import lr_tables
from .lalr_states import Construct
from .load.shipped import shipped
from .loading import load, make_lexer
from .parser import LarkParser, Productions


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
        """Python 3 in lark's own grammar, read from the installed package."""
        return cls(shipped("python.lark"), start=start, indent=Indent())

    def __post_init__(self) -> None:
        for name in ("text", "start"):
            check_type(getattr(self, name), str, f"Lark({name}=...) takes a str")
        check_type(self.indent, (Indent, NoneType), "Lark(indent=...) takes a gl.Indent")

    def __repr__(self) -> str:
        start = "" if self.start == "start" else f", start={brief(self.start)}"
        return f"Lark({brief(self.text, 80)}{start})"


def read_lark(
    grammar: Lark, algebra: Algebra, construct: Construct, max_depth: int, tick: Callable[[], None]
) -> LarkParser:
    """The parser. `construct` makes the states of LR tables: a kernel, of which grammars know nothing (lalr_states.py)."""
    loaded = load(grammar.text, grammar.start, grammar.indent, tick, max_depth=max_depth)
    lexer = make_lexer(loaded, algebra, tick, shifts=True)
    tables = lr_tables(loaded, lexer, construct, tick)
    sets = byte_sets((), lexer.characters())
    if tables is not None:
        return LarkParser(lexer, tables, None, sets)
    if grammar.indent is not None:
        raise UnsupportedFeature("a grammar with indented blocks must be LALR(1): lark itself can read no other")
    names = loaded.nonterminals
    productions = Productions(
        loaded.start,
        [loaded.index[name] for name in loaded.ignored],
        [(names[rule.origin], [s if s >= 0 else names[~s] for s in rule.expansion]) for rule in loaded.rules],
    )
    lexer = make_lexer(loaded, algebra, tick, shifts=False)
    used = {symbol for _, expansion in productions.rules for symbol in expansion if isinstance(symbol, int)}
    lexer.check_first_characters(sorted(used.union(productions.ignored)))
    return LarkParser(lexer, None, productions, sets)
