"""A grammar as lark's own loader reads it, in the form of ours: what loading must agree with."""

from typing import Any, NamedTuple

from lark.load_grammar import load_grammar

from grammarlm.errors import GrammarError, LimitExceeded
from grammarlm.grammars.lark.load.result import Parts, Pattern, TerminalDefinition


class NamedRule(NamedTuple):
    """Symbols by name, and whether they are terminals."""

    origin: str
    expansion: tuple[tuple[str, bool], ...]
    priority: int


class NamedParts(NamedTuple):
    terminals: list[TerminalDefinition]
    rules: list[NamedRule]
    ignored: list[str]


def by_name(parts: Parts) -> NamedParts:
    names, is_terminal = parts.symbols.names, parts.symbols.is_terminal
    rules = [
        NamedRule(names[origin], tuple([(names[s], is_terminal[s]) for s in expansion]), priority)
        for origin, expansion, priority in parts.rules
    ]
    return NamedParts(parts.terminals, rules, parts.ignored)


def load_with_lark(text: str, start: str, kept: set[str]) -> NamedParts:
    """Whatever it raises becomes a GrammarError."""
    try:
        grammar, _ = load_grammar(text, "<grammar>", [], False)
        terminals, rules, ignored = grammar.compile([start], kept)
        widths = [(t.pattern.min_width, t.pattern.max_width) for t in terminals]
    except RecursionError:
        raise LimitExceeded("lark's loader needs too deep a recursion") from None
    except Exception as error:
        raise GrammarError(f"lark refuses the grammar: {getattr(error, 'orig_exc', error)}") from None
    return NamedParts(
        [
            TerminalDefinition(t.name, _pattern(t.pattern, *width), t.priority)
            for t, width in zip(terminals, widths, strict=True)
        ],
        [
            NamedRule(
                str(rule.origin.name),
                tuple([(str(symbol.name), bool(symbol.is_term)) for symbol in rule.expansion]),
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
