"""Loads a grammar as lark does: terminals in lark's order of preference, and rules without operators.

load/ does it without lark, whose loader would take most of the time that a new grammar needs, after an import of 0.1 s. What it
leaves (`Rare`), and what is refused, goes to lark's loader.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable
from dataclasses import dataclass, field
from types import FunctionType
from typing import Any

from grammarlm.errors import GrammarError, LimitExceeded, UnsupportedFeature
from grammarlm.grammars.cfg.indent import Indent
from grammarlm.grammars.regular.derivatives import Algebra

from .lexer import Lexer, Terminal
from .load.bnf import assemble
from .load.definitions import read_scope
from .load.result import Parts, Pattern, Rare, Rule, Symbol, TerminalDefinition
from .text import LarkText


@dataclass
class Loaded:
    """A grammar without operators."""

    terminals: list[TerminalDefinition]
    rules: list[Rule]
    ignored: list[str]
    start: str
    # Number of each terminal, in lark's order of preference; then the declared ones.
    index: dict[str, int] = field(default_factory=dict)
    indent: Indent | None = None
    renamed_only: frozenset[str] = frozenset()  # terminals that occur only as renamed lexemes of others, see `_apart`


def load(
    text: str,
    start: str,
    indent: Indent | None,
    found: LarkText | None = None,
    tick: Callable[[], None] = lambda: None,
) -> Loaded:
    """`found`: the statements of `text`; without them lark reads it. All that lark raises becomes a GrammarError."""
    parts = load_parts(text, start, {indent.newline} if indent else set(), found, tick)
    for terminal in parts.terminals:
        if terminal.pattern.widths[0] == 0:
            raise GrammarError(
                f"terminal {terminal.name} may match the empty text, which no lexeme is, in lark neither: "
                f"{terminal.pattern.regex[:200]!r}; "
                f"let it read a character, and write {terminal.name}? where it may be missing"
            )
    ordered = sorted(parts.terminals, key=lambda t: (-t.priority, -t.pattern.widths[1], -len(t.pattern.value), t.name))
    ordered, ignored, renamed_only = _apart(ordered, parts.ignored, parts.rules)
    index = {t.name: i for i, t in enumerate(ordered)}
    for rule in parts.rules:
        for symbol in rule.expansion:
            if symbol.is_terminal and symbol.name not in index:
                if indent is None or symbol.name not in (indent.indent, indent.dedent):
                    raise UnsupportedFeature(
                        f"terminal {symbol.name} is declared, not defined: no lexer makes it. Where it opens or closes blocks of "
                        "indented lines, say Lark(text, indent=gl.Indent(...))"
                    )
                index[symbol.name] = len(index)
    if indent is not None and indent.newline not in index:
        raise GrammarError(f"Indent(newline={indent.newline!r}): the grammar has no such terminal")
    return Loaded(ordered, parts.rules, ignored, start, index, indent, renamed_only)


def load_parts(text: str, start: str, kept: set[str], found: LarkText | None, tick: Callable[[], None]) -> Parts:
    if found is not None:
        with contextlib.suppress(Rare, RecursionError, UnicodeError):
            text.encode()  # a lone surrogate is refused
            parts = assemble(read_scope(found), start, kept, tick)
            for terminal in parts.terminals:
                _ = terminal.pattern.widths  # Rare, where lark is to say what is wrong
            return parts
    return load_with_lark(text, start, kept)


def load_with_lark(text: str, start: str, kept: set[str]) -> Parts:
    from lark.load_grammar import load_grammar

    _ready_loader()
    try:
        grammar, _ = load_grammar(text, "<grammar>", [], False)
        terminals, rules, ignored = grammar.compile([start], kept)
        widths = [(t.pattern.min_width, t.pattern.max_width) for t in terminals]
    except RecursionError:
        raise LimitExceeded("the grammar is nested too deeply for lark's loader; flatten it") from None
    except Exception as error:  # lark's own errors, those of `re` and `regex`, and any bug in its code
        raise GrammarError(f"lark refuses the grammar: {_lark_message(error)}") from None
    return Parts(
        [
            TerminalDefinition(t.name, _pattern(t.pattern, *width), t.priority)
            for t, width in zip(terminals, widths, strict=True)
        ],
        [
            Rule(
                str(rule.origin.name),
                tuple([Symbol(str(symbol.name), symbol.is_term) for symbol in rule.expansion]),
                rule.options.priority or 0,
            )
            for rule in rules
        ],
        ignored,
    )


def _pattern(pattern: Any, least: int, most: int) -> Pattern:
    made = Pattern(pattern.type, pattern.value, frozenset(pattern.flags))
    vars(made)["widths"] = least, most  # where they are cached
    return made


def _lark_message(error: Exception) -> str:
    """lark's message without its wrapping, and the line if lark knows it."""
    cause = getattr(error, "orig_exc", error)
    tokens = getattr(getattr(error, "obj", None), "children", [])
    line = next((token.line for token in tokens if getattr(token, "line", None)), None)
    what = str(cause) if type(cause).__name__ == "GrammarError" else f"{type(cause).__name__}: {cause}"
    if isinstance(cause, UnicodeError):
        what = "it holds a lone surrogate, which no text in UTF-8 has"
    elif isinstance(cause, AssertionError) and getattr(error, "rule", "") == "range":
        what = 'a range takes two single characters, as in "a".."z"'
    elif pattern := getattr(cause, "pattern", ""):  # of `re`, or of `regex`, which lark prefers
        what = f"/{pattern!s:.60}/ is no regular expression: {cause}"
    elif len(cause.args) == 2 and isinstance(cause.args[1], SyntaxError):
        what = f"{cause.args[0]!r:.60} is no literal: {cause.args[1].msg}"
    return what if line is None else f"{what} (line {line})"


def _apart(
    ordered: list[TerminalDefinition], ignored: list[str], rules: list[Rule]
) -> tuple[list[TerminalDefinition], list[str], frozenset[str]]:
    """Splits terminals that are ignored although rules name them in two: one that is ignored, and one that occurs only as the
    renamed lexeme of another terminal, whose text is its own. lark drops an ignored lexeme before it checks for keywords.
    """
    named = {symbol.name for rule in rules for symbol in rule.expansion if symbol.is_terminal}
    both = frozenset(name for name in ignored if name in named)
    twins: list[TerminalDefinition] = []
    for terminal in ordered:
        if terminal.name in both:
            twins.append(TerminalDefinition(f"{terminal.name} (ignored)", terminal.pattern, terminal.priority))
        twins.append(terminal)
    return twins, [f"{name} (ignored)" if name in both else name for name in ignored], both


def _ready_loader() -> None:
    """Builds lark's grammar parser as lark does at its first grammar, but skips the check for collisions of its own terminals.

    That check takes 70 ms per process and never finds any. A lark with a different structure is left alone.
    """
    from lark import load_grammar

    make: Any = getattr(load_grammar, "_get_parser", None)
    if hasattr(make, "cache") or not hasattr(load_grammar, "LexerConf"):
        return
    unchecked = functools.partial(load_grammar.LexerConf, skip_validation=True)
    with contextlib.suppress(Exception):
        FunctionType(make.__code__, vars(load_grammar) | {"LexerConf": unchecked})()


def make_lexer(loaded: Loaded, algebra: Algebra, tick: Callable[[], None], shifts: bool) -> Lexer:
    """The lexer with every pattern parsed, so that invalid patterns are reported here."""
    first, ignored = _only_first(loaded), set(loaded.ignored)
    terminals = [
        Terminal(t.name, t.pattern.regex, t.name in ignored, t.name in first, algebra, tick) for t in loaded.terminals
    ]
    for terminal in terminals:
        assert terminal.pattern is not None
    lexer = Lexer(terminals, algebra, tick, shifts)
    if loaded.indent is not None:
        lexer.newline, lexer.tab = loaded.index[loaded.indent.newline], loaded.indent.tab
    return lexer


def _only_first(loaded: Loaded) -> frozenset[str]:
    """Terminals that can only begin the text: nothing is ignored before them, and no rule has them, or a nonterminal that begins
    with them, after another symbol. lark's lexer tries them in the parser's first state alone."""
    if loaded.ignored:
        return frozenset()
    later = {symbol.name for rule in loaded.rules for symbol in rule.expansion[1:]}
    begins: dict[str, set[str]] = {}
    for rule in loaded.rules:
        begins.setdefault(rule.origin, set()).update(symbol.name for symbol in rule.expansion[:1])
    waiting = [*later]
    for name in waiting:  # grows during the loop
        more = begins.get(name, set()) - later
        later |= more
        waiting += sorted(more)
    return frozenset(t.name for t in loaded.terminals if t.name not in later)
