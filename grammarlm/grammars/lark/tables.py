"""Parses a grammar with lark: terminals in its order, LALR(1) tables, or rules where the grammar is not LALR.

lark's own loader expands templates, repeats and imports, and its own analysis makes the tables, so a grammar means the same here as
in lark. Only lark's lexer is not used: grammars/lark/lexer.py replaces it by an equivalent automaton.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import FunctionType
from typing import Any

import numpy as np

from grammarlm.errors import GrammarError, LimitExceeded, UnsupportedFeature
from grammarlm.grammars.cfg.indent import Indent
from grammarlm.grammars.regular.derivatives import Algebra
from grammarlm.grammars.regular.ordered import SOMETHING, TEXT_START, UNKNOWN
from grammarlm.layout.stack import CLOSES_BLOCK, CLOSES_BRACKET, OPENS_BLOCK, OPENS_BRACKET, STATES

from .analysis import check_analysis
from .lexer import Lexer, LexerStart, Terminal
from .reductions import check_reductions, derived

WHOLE = -1  # in place of a nonterminal: the rule of the whole text


@dataclass(frozen=True)
class Item:
    """An LR item: a rule whose first symbols have been read. A terminal is its number, nonterminal n is ~n."""

    origin: int  # nonterminal; WHOLE: the text
    read: int  # number of symbols
    rest: tuple[int, ...]

    def moved(self, terminals: int, nonterminals: int) -> Item:
        """The same item with its terminals and nonterminals renumbered by these offsets."""
        origin = self.origin if self.origin == WHOLE else self.origin + nonterminals
        return Item(origin, self.read, _moved(self.rest, terminals, nonterminals))


def _moved(symbols: tuple[int, ...], terminals: int, nonterminals: int) -> tuple[int, ...]:
    return tuple(s + terminals if s >= 0 else s - nonterminals for s in symbols)


@dataclass(frozen=True)
class LrTables:
    """An LR parser's tables as kernels read them, and the lexer state of each LR state."""

    # int32 [states, terminals + 1]: 0 error, s + 1 shift, -(r + 1) reduce; the last column is the end
    action: np.ndarray
    goto: np.ndarray  # int32 [states, nonterminals]; -1 where there is none
    rule: np.ndarray  # int32 [rules, 2]: length, nonterminal
    ignored: np.ndarray  # uint8 [terminals]
    lexers: list[LexerStart]  # lexer state of each LR state
    start: int
    shift_won: bool  # a conflict was resolved in favour of shifting, as lark does
    # (state, rule) -> terminals, as bits, on which a conflict was resolved against that reduction
    lost: dict[tuple[int, int], int]
    productive: bool  # each nonterminal derives some terminals, and each terminal can occur where the parser accepts it
    access: np.ndarray  # uint8 [states]: how the symbol that leads to a state affects blocks and brackets
    blocks: tuple[int, int, int] | None  # the terminals of line ends, block openings and block closings
    items: Sequence[tuple[Item, ...]] = ()  # the kernel items of each state
    expansions: list[tuple[int, tuple[int, ...]]] = field(default_factory=list)  # all rules: nonterminal, symbols
    names: list[str] = field(default_factory=list)  # names of nonterminals


@dataclass
class Loaded:
    """A grammar as lark's loader leaves it."""

    terminals: list[Any]
    rules: list[Any]
    ignored: list[str]
    start: str
    # Number of each terminal, in lark's order of preference; then the declared ones.
    index: dict[str, int] = field(default_factory=dict)
    indent: Indent | None = None
    renamed_only: frozenset[str] = frozenset()  # terminals that occur only as renamed lexemes of others, see `_apart`


def load(text: str, start: str, indent: Indent | None) -> Loaded:
    """Reads the text with lark; everything that lark raises becomes a GrammarError."""
    from lark.load_grammar import load_grammar

    _ready_loader()
    try:
        grammar, _ = load_grammar(text, "<grammar>", [], False)
        terminals, rules, ignored = grammar.compile([start], {indent.newline} if indent else set())
        widths = [(t.pattern.min_width, t.pattern.max_width) for t in terminals]
    except RecursionError:
        raise LimitExceeded("the grammar is nested too deeply for lark's loader; flatten it") from None
    except Exception as error:  # lark's own errors, those of `re` and `regex`, and any bug in its code
        raise GrammarError(f"lark refuses the grammar: {_told(error)}") from None
    for terminal, (least, _) in zip(terminals, widths, strict=True):
        if least == 0:
            raise GrammarError(
                f"terminal {terminal.name} may match the empty text, which no lexeme is, in lark neither: "
                f"{str(terminal.pattern)[:200]}; "
                f"let it read a character, and write {terminal.name}? where it may be missing"
            )
    ordered = sorted(terminals, key=lambda t: (-t.priority, -t.pattern.max_width, -len(t.pattern.value), t.name))
    ordered, ignored, renamed_only = _apart(ordered, ignored, rules)
    index = {t.name: i for i, t in enumerate(ordered)}
    for rule in rules:
        for symbol in rule.expansion:
            if symbol.is_term and symbol.name not in index:
                if indent is None or symbol.name not in (indent.indent, indent.dedent):
                    raise UnsupportedFeature(
                        f"terminal {symbol.name} is declared, not defined: no lexer makes it. Where it opens or closes blocks of "
                        "indented lines, say Lark(text, indent=gl.Indent(...))"
                    )
                index[symbol.name] = len(index)
    if indent is not None and indent.newline not in index:
        raise GrammarError(f"Indent(newline={indent.newline!r}): the grammar has no such terminal")
    return Loaded(ordered, rules, ignored, start, index, indent, renamed_only)


def _told(error: Exception) -> str:
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


def _apart(ordered: list[Any], ignored: list[str], rules: list[Any]) -> tuple[list[Any], list[str], frozenset[str]]:
    """Splits terminals that are ignored although rules name them in two: one that is ignored, and one that occurs only as the
    renamed lexeme of another terminal, whose text is its own. lark drops an ignored lexeme before it checks for keywords.
    """
    from lark.lexer import TerminalDef

    named = {symbol.name for rule in rules for symbol in rule.expansion if symbol.is_term}
    both = frozenset(name for name in ignored if name in named)
    twins: list[Any] = []
    for terminal in ordered:
        if terminal.name in both:
            twins.append(TerminalDef(f"{terminal.name} (ignored)", terminal.pattern, terminal.priority))
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
    first = _only_first(loaded)
    terminals = [
        Terminal(t.name, t.pattern.to_regexp(), t.name in loaded.ignored, t.name in first, algebra, tick)
        for t in loaded.terminals
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
    later = {str(symbol.name) for rule in loaded.rules for symbol in rule.expansion[1:]}
    begins: dict[str, set[str]] = {}
    for rule in loaded.rules:
        begins.setdefault(str(rule.origin.name), set()).update(str(symbol.name) for symbol in rule.expansion[:1])
    waiting = [*later]
    for name in waiting:  # grows during the loop
        more = begins.get(name, set()) - later
        later |= more
        waiting += sorted(more)
    return frozenset(t.name for t in loaded.terminals if t.name not in later)


def lr_tables(loaded: Loaded, lexer: Lexer, tick: Callable[[], None]) -> LrTables | None:
    """The tables, None where lark finds that the grammar is not LALR(1)."""
    from lark.common import ParserConf
    from lark.exceptions import LarkError
    from lark.parsers.lalr_analysis import LALR_Analyzer, Shift

    check_analysis(loaded.rules, loaded.start, tick=tick)
    try:
        analysis = LALR_Analyzer(ParserConf(loaded.rules, {}, [loaded.start]), debug=False, strict=False)
    except LarkError as error:  # such as a rule missing from the file that should define it
        raise GrammarError(f"lark refuses the grammar: {error}") from None
    try:
        analysis.compute_lalr()
    except RecursionError:
        raise LimitExceeded("the grammar's rules follow each other too deeply for lark's LALR analysis") from None
    except LarkError:
        return None
    table: Any = analysis.parse_table
    order = _in_order(table, loaded.start)
    number = {state: i for i, state in enumerate(order)}
    rules: dict[Any, int] = {}
    nonterminals = {name: i for i, name in enumerate(sorted({str(rule.origin.name) for rule in loaded.rules}))}
    lengths: list[tuple[int, int]] = []
    terminals = len(loaded.index)
    if len(order) >= STATES:
        raise LimitExceeded(
            f"the grammar's parser needs {len(order):,} states, and {STATES:,} are too many; make it smaller"
        )
    cells: list[tuple[int, int, int]] = []
    gotos: list[tuple[int, int, int]] = []
    for state in order:
        tick()
        for name, (kind, argument) in sorted(table.states[state].items()):
            column = terminals if name == "$END" else loaded.index.get(name, -1)
            if kind is not Shift:
                if argument not in rules:
                    rules[argument] = len(rules)
                    lengths.append((len(argument.expansion), nonterminals[argument.origin.name]))
                cells.append((number[state], column, -rules[argument] - 1))
            elif column >= 0:
                cells.append((number[state], column, number[argument] + 1))
            else:
                gotos.append((number[state], nonterminals[name], number[argument]))
    items, expansions = _items(analysis, loaded, nonterminals, order)
    action = np.zeros((len(order), terminals + 1), np.int32)
    goto = np.full((len(order), max(1, len(nonterminals))), -1, np.int32)
    for at, column, value in cells:
        action[at, column] = value
    for at, column, value in gotos:
        goto[at, column] = value
    action[number[table.end_states[loaded.start]], terminals] = 1  # the text may end here: any positive number
    ignored = np.array([name in loaded.ignored for name in loaded.index], np.uint8)
    access = np.zeros(len(order), np.uint8)
    blocks = None
    if loaded.indent is not None:
        blocks = _blocks(loaded, action, access)
    rule = np.array(lengths or [(0, 0)], np.int32)
    lost = _lost(analysis, action, rules, loaded.index, number)
    renamed = _keywords(loaded, lexer)
    comes = {keyword for of, keyword, _ in renamed if not ignored[of]}
    for name in loaded.renamed_only:
        if loaded.index[name] not in comes:
            action[:, loaded.index[name]] = 0
    check_reductions(action, goto, rule, expansions, [*nonterminals], tick)
    start = number[table.start_states[loaded.start]]
    lexers = _contextual(loaded, lexer, action, ignored, renamed, start)
    # If so, a terminal may have no lexeme although the table accepts it.
    is_placed = any(known.before is not UNKNOWN for known in lexers)
    return LrTables(
        action,
        goto,
        rule,
        ignored,
        lexers,
        start,
        _shift_won(analysis),
        lost,
        len(derived(expansions, lambda _: True, tick)) == len(nonterminals)
        and not loaded.renamed_only
        and not is_placed,
        access,
        blocks,
        items,
        expansions,
        [*nonterminals],
    )


def _in_order(table: Any, start: str) -> list[int]:
    """lark's state numbers in breadth-first order from the start, symbols sorted by name.

    lark's own order depends on string hashes, which differ between processes, while data on disk (surveys, constraints as bytes)
    refers to states by number.
    """
    order = {table.start_states[start]: None}
    waiting = [*order]
    for state in waiting:
        for _, (_, after) in sorted(
            (name, cell) for name, cell in table.states[state].items() if isinstance(cell[1], int)
        ):
            if after not in order:
                order[after] = None
                waiting.append(after)
    return waiting


def _items(
    analysis: Any, loaded: Loaded, nonterminals: dict[str, int], order: list[int]
) -> tuple[list[tuple[Item, ...]], list[tuple[int, tuple[int, ...]]]]:
    """The kernel of each state, in the given order of lark's numbers; and all rules."""

    def numbers(symbols: Any) -> tuple[int, ...]:
        return tuple(loaded.index[s.name] if s.is_term else ~nonterminals[s.name] for s in symbols if s.name != "$END")

    def origin(rule: Any) -> int:
        name = rule.origin.name
        return WHOLE if name == f"$root_{loaded.start}" else nonterminals[name]

    kernels, closures = [], _closures(analysis)
    for state in order:
        closure = closures[state]
        read = [item for item in closure if item.index or origin(item.rule) == WHOLE]
        found = {Item(origin(i.rule), i.index, numbers(i.rule.expansion[i.index :])) for i in read}
        kernels.append(tuple(sorted(found, key=lambda i: (i.origin, i.read, i.rest))))
    rules = sorted({(origin(rule), numbers(rule.expansion)) for rule in loaded.rules})
    return kernels, rules


def _closures(analysis: Any) -> list[Any]:
    """The item set of each state, in lark's numbering."""
    return list({itemset.closure: None for itemset in analysis.lr0_itemsets})


def _blocks(loaded: Loaded, action: np.ndarray, access: np.ndarray) -> tuple[int, int, int]:
    """Fills in `access` of each state; returns the terminals of blocks."""
    indent = loaded.indent
    assert indent is not None
    for names, what in (
        ((indent.indent,), OPENS_BLOCK),
        ((indent.dedent,), CLOSES_BLOCK),
        (indent.opens, OPENS_BRACKET),
        (indent.closes, CLOSES_BRACKET),
    ):
        for name in names:
            if name in loaded.index:
                shifted = action[:, loaded.index[name]]
                access[shifted[shifted > 0] - 1] = what
    missing = [name for name in (indent.indent, indent.dedent) if name not in loaded.index]
    if missing:
        raise GrammarError(f"no rule of the grammar uses {missing[0]}, which Indent(...) names")
    return loaded.index[indent.newline], loaded.index[indent.indent], loaded.index[indent.dedent]


def join(tables: list[tuple[LrTables, Lexer]]) -> LrTables | None:
    """Several parsers as one: their states, terminals, rules and nonterminals concatenated; the end stays the last column.

    Sets the offset of each lexer's terminals.
    """
    if not tables:
        return None
    if len(tables) == 1:
        return tables[0][0]
    if sum(one.blocks is not None for one, _ in tables) > 1:
        raise UnsupportedFeature(
            "two grammars with indented blocks in one constraint are not supported; write them as one"
        )
    states, terminals = sum(len(one.action) for one, _ in tables), sum(len(one.ignored) for one, _ in tables)
    if states >= STATES:
        raise LimitExceeded(
            f"the grammars' parsers need {states:,} states, and {STATES:,} are too many; make them smaller"
        )
    action = np.zeros((states, terminals + 1), np.int32)
    goto = np.full((states, sum(one.goto.shape[1] for one, _ in tables)), -1, np.int32)
    rules: list[np.ndarray] = []
    lost: dict[tuple[int, int], int] = {}
    items: list[tuple[Item, ...]] = []
    expansions: list[tuple[int, tuple[int, ...]]] = []
    blocks = None
    at = terminal = nonterminal = rule = 0
    for one, lexer in tables:
        lexer.offset = terminal
        rows, columns = slice(at, at + len(one.action)), slice(terminal, terminal + len(one.ignored))
        moved = np.where(one.action > 0, one.action + at, np.where(one.action < 0, one.action - rule, 0))
        action[rows, columns], action[rows, -1] = moved[:, :-1], moved[:, -1]
        goto[rows, nonterminal : nonterminal + one.goto.shape[1]] = np.where(one.goto < 0, -1, one.goto + at)
        for (state, number), terminals_lost in one.lost.items():
            lost[state + at, number + rule] = _moved_bits(terminals_lost, len(one.ignored), terminal, terminals)
        rules.append(one.rule + np.array([0, nonterminal], np.int32))
        items += [tuple(item.moved(terminal, nonterminal) for item in kernel) for kernel in one.items]
        expansions += [(n + nonterminal, _moved(rest, terminal, nonterminal)) for n, rest in one.expansions]
        if one.blocks is not None:
            newline, opens, closes = one.blocks
            blocks = (newline + terminal, opens + terminal, closes + terminal)
        at, terminal = at + len(one.action), terminal + len(one.ignored)
        nonterminal, rule = nonterminal + one.goto.shape[1], rule + len(one.rule)
    return LrTables(
        action,
        goto,
        np.concatenate(rules),
        np.concatenate([one.ignored for one, _ in tables]),
        [lexer for one, _ in tables for lexer in one.lexers],
        tables[0][0].start,
        any(one.shift_won for one, _ in tables),
        lost,
        all(one.productive for one, _ in tables),
        np.concatenate([one.access for one, _ in tables]),
        blocks,
        items,
        expansions,
        [name for one, _ in tables for name in one.names],
    )


def _moved_bits(bits: int, count: int, offset: int, ends: int) -> int:
    """A bit set of `count` terminals and the end, renumbered: the terminals begin at `offset` and the end is at `ends`."""
    return (bits & (1 << count) - 1) << offset | (bits >> count & 1) << ends


def _shift_won(analysis: Any) -> bool:
    return any(la in itemset.transitions for itemset in analysis.lr0_itemsets for la in itemset.lookaheads)


def _lost(
    analysis: Any, action: np.ndarray, rules: dict[Any, int], index: dict[str, int], place: dict[int, int]
) -> dict[tuple[int, int], int]:
    """The lookaheads of each reduction on which the tables do something else."""
    lost: dict[tuple[int, int], int] = {}
    ends = action.shape[1] - 1
    for number_of_lark, itemset in enumerate(analysis.lr0_itemsets):  # lark numbers its states in this order
        state = place[number_of_lark]
        for lookahead, complete in itemset.lookaheads.items():
            column = ends if lookahead.name == "$END" else index[lookahead.name]
            for rule in complete:
                number = rules.get(rule)
                if number is not None and action[state, column] != -number - 1:
                    lost[state, number] = lost.get((state, number), 0) | 1 << column
    return dict(sorted(lost.items()))


def _contextual(
    loaded: Loaded,
    lexer: Lexer,
    action: np.ndarray,
    ignored: np.ndarray,
    renamed: list[tuple[int, int, bool]],
    start: int,
) -> list[LexerStart]:
    """The lexer's start state in each LR state; equal sets of terminals share one, if none tests for the start of the text."""
    apart = {loaded.index[name] for name in loaded.renamed_only}
    twins = {loaded.index[f"{name} (ignored)"] for name in loaded.renamed_only}
    known: dict[tuple[bytes, int | None], LexerStart] = {}
    out = []
    accepted = (action[:, : len(loaded.terminals)] != 0) | (ignored[: len(loaded.terminals)] != 0)[None, :]
    if lexer.newline is not None:  # line ends are read everywhere, and dropped within brackets
        accepted[:, lexer.newline] = True
    # The parser is in its first state once. Nothing has been read there, unless lexemes are dropped.
    first = UNKNOWN if loaded.ignored or lexer.newline is not None else TEXT_START
    asks = np.array([not t.is_first and t.pattern.start.looks_back for t in lexer.terminals], bool)
    for number, row in enumerate(accepted):
        before = UNKNOWN if not (row & asks).any() else first if number == start else SOMETHING
        key = row.tobytes(), before
        state = known.get(key)
        if state is None:
            here = set(np.flatnonzero(row).tolist())
            words = (here | apart) - twins
            pairs = [(of, keyword) for of, keyword, _ in renamed if of in here and keyword in words]
            hidden = apart.union(keyword for of, keyword, embedded in renamed if embedded and of in here)
            asked = [t for t in sorted(here) if t not in hidden]
            lexer.check_first_characters(asked, before)
            state = known[key] = lexer.start(asked, pairs, before)
        out.append(state)
    return out


def _keywords(loaded: Loaded, lexer: Lexer) -> list[tuple[int, int, bool]]:
    """(terminal, string terminal whose whole text it matches, is the latter left out of the lexer's pattern?)"""
    words = [(i, t) for i, t in enumerate(loaded.terminals) if t.pattern.type == "str"]
    out = []
    for of, terminal in enumerate(loaded.terminals):
        if terminal.pattern.type != "re":
            continue
        for keyword, word in words:
            if word.priority == terminal.priority and lexer.takes_whole(of, word.pattern.value):
                out.append((of, keyword, word.pattern.flags <= terminal.pattern.flags))
    return out
