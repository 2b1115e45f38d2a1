"""Loads a grammar as lark does: terminals in lark's order of preference, and rules without operators over numbers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from grammarlm.errors import GrammarError, UnsupportedFeature
from grammarlm.grammars.cfg.indent import Indent
from grammarlm.grammars.regular.derivatives import Algebra

from .lexer import Lexer, Terminal
from .load.budget import Budget
from .load.definitions import read_scope
from .load.result import Parts, Rule, TerminalDefinition
from .load.rules import assemble
from .text import read_lark

BIGGEST = 200_000  # symbols of all rules
DEEPEST = 64  # brackets


@dataclass
class Loaded:
    """A grammar without operators. In rules a terminal is its number, nonterminal n is ~n; origins are n."""

    terminals: list[TerminalDefinition]
    rules: list[Rule]
    nonterminals: list[str]  # in the order of their names
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
    tick: Callable[[], None] = lambda: None,
    *,
    max_depth: int = DEEPEST,
    max_size: int = BIGGEST,
) -> Loaded:
    """Raises where the grammar is invalid (GrammarError), needs other files (UnsupportedFeature) or is too much (LimitExceeded).

    `max_depth` bounds the nesting of brackets, `max_size` the symbols of all rules. `tick` is called regularly and raises where the
    caller's time is over.
    """
    parts = read_parts(text, start, {indent.newline} if indent else set(), tick, max_depth, max_size)
    for terminal in parts.terminals:
        if terminal.pattern.widths[0] == 0:
            raise GrammarError(
                f"terminal {terminal.name} may match the empty text, which no lexeme is, in lark neither: "
                f"{terminal.pattern.regex[:200]!r}; "
                f"let it read a character, and write {terminal.name}? where it may be missing"
            )
    ordered = sorted(parts.terminals, key=lambda t: (-t.priority, -t.pattern.widths[1], -len(t.pattern.value), t.name))
    names, is_terminal = parts.symbols.names, parts.symbols.is_terminal
    used = {symbol for rule in parts.rules for symbol in rule.expansion}
    ordered, ignored, renamed_only = _apart(ordered, parts.ignored, {names[s] for s in used if is_terminal[s]})
    index = {t.name: i for i, t in enumerate(ordered)}
    for symbol in dict.fromkeys(symbol for rule in parts.rules for symbol in rule.expansion if is_terminal[symbol]):
        name = names[symbol]
        if name not in index:
            if indent is None or name not in (indent.indent, indent.dedent):
                raise UnsupportedFeature(
                    f"terminal {name} is declared, not defined: no lexer makes it. Where it opens or closes blocks of "
                    "indented lines, say Lark(text, indent=gl.Indent(...))"
                )
            index[name] = len(index)
    if indent is not None and indent.newline not in index:
        raise GrammarError(f"Indent(newline={indent.newline!r}): the grammar has no such terminal")
    origins = sorted({rule.origin for rule in parts.rules}, key=names.__getitem__)
    number = {origin: ~i for i, origin in enumerate(origins)}
    for symbol in used:
        if is_terminal[symbol]:
            number[symbol] = index[names[symbol]]
        elif symbol not in number:
            raise GrammarError(
                f"the rule {names[symbol]!r} is not defined; a template is used with its arguments in braces"
            )
    rules = [
        Rule(~number[o], tuple([number[symbol] for symbol in body]), priority) for o, body, priority in parts.rules
    ]
    return Loaded(ordered, rules, [names[o] for o in origins], ignored, start, index, indent, renamed_only)


def read_parts(
    text: str, start: str, kept: set[str], tick: Callable[[], None], max_depth: int = DEEPEST, max_size: int = BIGGEST
) -> Parts:
    """The rules and terminals that the start rule needs, and the terminals in `kept`."""
    budget = Budget(text, min(max_depth, DEEPEST), max_size, tick)
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise budget.error("the grammar holds a lone surrogate, which no text in UTF-8 has", error.start) from None
    found = read_lark(text, max_depth=budget.max_depth, max_pieces=max_size, tick=tick)
    parts = assemble(read_scope(found, start, budget), start, kept)
    for terminal in parts.terminals:
        try:
            _ = terminal.pattern.widths
        except ValueError as cause:
            raise budget.error(str(cause), terminal.at) from None
    return parts


def _apart(
    ordered: list[TerminalDefinition], ignored: list[str], named: set[str]
) -> tuple[list[TerminalDefinition], list[str], frozenset[str]]:
    """Splits terminals that are ignored although rules name them in two: one that is ignored, and one that occurs only as the
    renamed lexeme of another terminal, whose text is its own. lark drops an ignored lexeme before it checks for keywords.
    """
    both = frozenset(name for name in ignored if name in named)
    twins: list[TerminalDefinition] = []
    for terminal in ordered:
        if terminal.name in both:
            twins.append(TerminalDefinition(f"{terminal.name} (ignored)", terminal.pattern, terminal.priority))
        twins.append(terminal)
    return twins, [f"{name} (ignored)" if name in both else name for name in ignored], both


def make_lexer(loaded: Loaded, algebra: Algebra, tick: Callable[[], None], shifts: bool) -> Lexer:
    """The lexer with every pattern parsed, so that invalid patterns are reported here."""
    first, ignored = _only_first(loaded), set(loaded.ignored)
    terminals = [
        Terminal(t.name, t.pattern.regex, t.name in ignored, t.name in first, algebra, tick) for t in loaded.terminals
    ]
    for terminal in terminals:
        assert terminal.text is not None or terminal.pattern is not None
    lexer = Lexer(terminals, algebra, tick, shifts)
    if loaded.indent is not None:
        lexer.newline, lexer.tab = loaded.index[loaded.indent.newline], loaded.indent.tab
    return lexer


def _only_first(loaded: Loaded) -> frozenset[str]:
    """Terminals that can only begin the text: nothing is ignored before them, and no rule has them, or a nonterminal that begins
    with them, after another symbol. lark's lexer tries them in the parser's first state alone."""
    if loaded.ignored:
        return frozenset()
    later = {symbol for rule in loaded.rules for symbol in rule.expansion[1:]}
    begins: dict[int, set[int]] = {}
    for rule in loaded.rules:
        begins.setdefault(~rule.origin, set()).update(rule.expansion[:1])
    waiting = [*later]
    for symbol in waiting:  # grows during the loop
        more = begins.get(symbol, set()) - later
        later |= more
        waiting += more
    return frozenset(t.name for number, t in enumerate(loaded.terminals) if number not in later)
