"""A loaded Lark grammar: its lexer, and LR tables or rules over lexemes."""

from __future__ import annotations

from dataclasses import dataclass

from grammarlm.grammars.cfg.rules import Alternatives, Call, Node, Repeat, Rules, Sequence

from .lexer import Lexer
from .tables import LrTables


@dataclass(frozen=True)
class Productions:
    """The rules of a grammar that is not LALR(1), as lark's loader leaves them. Symbols: a terminal is its number, a rule its
    name."""

    start: str
    ignored: list[int]
    rules: list[tuple[str, list[str | int]]]


@dataclass(frozen=True)
class LarkParser:
    """A grammar with LALR tables, or with rules over lexemes."""

    lexer: Lexer
    tables: LrTables | None
    productions: Productions | None
    byte_sets: list[int]  # the byte sets that its lexemes distinguish


def lexeme(terminal: int) -> str:
    """The name of the call that reads a lexeme."""
    return f"$lexeme {terminal}"


def rules_over_lexemes(productions: Productions) -> Rules:
    """lark's rules; ignored terminals may come before each terminal and at the end, as in lark's dynamic lexer."""
    skipped: Node | None = None
    if productions.ignored:
        calls = tuple(Call(lexeme(terminal), 0) for terminal in productions.ignored)
        skipped = Repeat(calls[0] if len(calls) == 1 else Alternatives(calls), 0, None)
    bodies: dict[str, list[Node]] = {}
    for name, expansion in productions.rules:
        parts: list[Node] = []
        for symbol in expansion:
            if isinstance(symbol, int):
                if skipped is not None:
                    parts.append(skipped)
                parts.append(Call(lexeme(symbol), 0))
            else:
                parts.append(Call(symbol, 0))
        bodies.setdefault(name, []).append(parts[0] if len(parts) == 1 else Sequence(tuple(parts)))
    rules = {name: nodes[0] if len(nodes) == 1 else Alternatives(tuple(nodes)) for name, nodes in bodies.items()}
    whole: tuple[Node, ...] = (Call(productions.start, 0),)
    if skipped is not None:
        whole = (*whole, skipped)
    return Rules("$whole", {**rules, "$whole": Sequence(whole)})
