"""LALR(1) tables by lark's own analysis; where the grammar is not LALR(1) there are none, and its rules are read as they are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from grammarlm.errors import GrammarError, LimitExceeded
from grammarlm.grammars.regular.ordered import SOMETHING, TEXT_START, UNKNOWN
from grammarlm.layout.stack import CLOSES_BLOCK, CLOSES_BRACKET, OPENS_BLOCK, OPENS_BRACKET, STATES

from .analysis import check_analysis
from .lexer import Lexer, LexerStart
from .loading import Loaded
from .reductions import check_reductions, derived
from .tables import WHOLE, Item, LrTables


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
