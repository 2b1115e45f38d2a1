"""LR tables as lark's own analysis makes them, in the form of ours: what lr_tables must agree with."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from lark.common import ParserConf
from lark.exceptions import LarkError
from lark.parsers.lalr_analysis import LALR_Analyzer, Shift

from grammarlm.grammars.lark.lalr_states import rules_of_lark
from grammarlm.grammars.lark.loading import Loaded
from grammarlm.grammars.lark.tables import WHOLE, Item


@dataclass
class LarkTables:
    action: np.ndarray
    goto: np.ndarray
    rule: list[tuple[int, int]]
    shift_won: bool
    lost: dict[tuple[int, int], int]
    items: list[tuple[Item, ...]]


def lark_tables(loaded: Loaded) -> LarkTables | None:
    """None where lark finds a conflict of rules."""
    analysis = LALR_Analyzer(ParserConf(rules_of_lark(loaded), {}, [loaded.start]))
    try:
        analysis.compute_lalr()
    except LarkError:
        return None
    table: Any = analysis.parse_table
    order = _in_order(table, loaded.start)
    number = {state: i for i, state in enumerate(order)}
    nonterminals = {name: i for i, name in enumerate(loaded.nonterminals)}
    ends = len(loaded.index)
    action, goto = np.zeros((len(order), ends + 1), np.int32), np.full((len(order), len(nonterminals)), -1, np.int32)
    rules: dict[Any, int] = {}
    for state in order:
        for name, (kind, argument) in sorted(table.states[state].items()):
            if kind is not Shift:
                column = ends if name == "$END" else loaded.index[name]
                action[number[state], column] = -rules.setdefault(argument, len(rules)) - 1
            elif name in loaded.index:
                action[number[state], loaded.index[name]] = number[argument] + 1
            else:
                goto[number[state], nonterminals[name]] = number[argument]
    action[number[table.end_states[loaded.start]], ends] = 1
    lost: dict[tuple[int, int], int] = {}
    for place, itemset in enumerate(analysis.lr0_itemsets):  # in the order of lark's numbers
        for lookahead, complete in itemset.lookaheads.items():
            column = ends if lookahead.name == "$END" else loaded.index[lookahead.name]
            for rule in complete:
                if rule in rules and action[number[place], column] != -rules[rule] - 1:
                    key = number[place], rules[rule]
                    lost[key] = lost.get(key, 0) | 1 << column
    return LarkTables(
        action,
        goto,
        [(len(rule.expansion), nonterminals[rule.origin.name]) for rule in rules],
        any(la in itemset.transitions for itemset in analysis.lr0_itemsets for la in itemset.lookaheads),
        dict(sorted(lost.items())),
        _items(analysis, loaded, nonterminals, order),
    )


def _in_order(table: Any, start: str) -> list[int]:
    """lark's numbers in breadth-first order from the start, symbols sorted by name."""
    order = {table.start_states[start]: None}
    waiting = [*order]
    for state in waiting:
        shifts = sorted((name, cell[1]) for name, cell in table.states[state].items() if isinstance(cell[1], int))
        for _, after in shifts:
            if after not in order:
                order[after] = None
                waiting.append(after)
    return waiting


def _items(analysis: Any, loaded: Loaded, nonterminals: dict[str, int], order: list[int]) -> list[tuple[Item, ...]]:
    def numbers(symbols: Any) -> tuple[int, ...]:
        return tuple(loaded.index[s.name] if s.is_term else ~nonterminals[s.name] for s in symbols if s.name != "$END")

    def origin(rule: Any) -> int:
        return WHOLE if rule.origin.name == f"$root_{loaded.start}" else nonterminals[rule.origin.name]

    closures = list({itemset.closure: None for itemset in analysis.lr0_itemsets})
    kernels = []
    for state in order:
        read = [item for item in closures[state] if item.index or origin(item.rule) == WHOLE]
        found = {Item(origin(i.rule), i.index, numbers(i.rule.expansion[i.index :])) for i in read}
        kernels.append(tuple(sorted(found, key=lambda i: (i.origin, i.read, i.rest))))
    return kernels
