"""LALR(1) states and lookaheads of rules over integers: what goes into the kernel that makes them, and what comes out.

They are those that lark computes, conflicts included: its analysis is the definition (tests/grammars/lark/test_lalr_states.py), but
it works on objects, and takes hundreds of times as long. Only where empty nonterminals follow each other in a circle of states,
which makes a grammar ambiguous, lark's lookaheads have more than the definition gives: they are left to lark.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np

from grammarlm.errors import LimitExceeded
from grammarlm.layout import lalr as layout
from grammarlm.layout.lalr import Field
from grammarlm.layout.stack import STATES

from .loading import Loaded
from .reductions import derived

Construct = Callable[
    [int], int
]  # the kernel: takes the address of an arena (layout/lalr.py), returns what became of it

END = "$END"
MOST_ITEMS = 1_000_000  # of all states together, with their closures; grammars of languages have some 10,000
MOST_WORK = 1 << 29  # a second
FIRST_ROOM, MOST_ROOM = 1 << 17, 1 << 25  # numbers
MOST_OF_LARK = 300  # states, for which lark's analysis takes up to half a second


@dataclass(frozen=True)
class Rules:
    """Rules over symbols 0, 1, ..., in whose order states are numbered. The last rule is the whole text's."""

    column: (
        np.ndarray
    )  # of each symbol its number in `Loaded`: a terminal, the last one the end of the text; ~n for nonterminal n
    origins: np.ndarray
    bodies: np.ndarray  # the symbols of all rules
    begins: np.ndarray  # where each rule's begin, and their number
    is_empty: np.ndarray  # of each symbol: may it derive the empty text?

    @property
    def lengths(self) -> np.ndarray:
        return np.diff(self.begins)


@dataclass(frozen=True)
class States:
    """The states in breadth-first order from the start, 0. Arrays of equal length belong together."""

    kernel_begins: np.ndarray  # where the items of each state's kernel begin, and their number
    kernels: np.ndarray  # items: those of a rule are adjacent, from none of its symbols read to all
    states: np.ndarray  # of each transition: from where, by which symbol, to where
    symbols: np.ndarray
    targets: np.ndarray
    complete_in: (
        np.ndarray
    )  # of each rule that is complete in a state: the state, the rule, and the terminals that may follow
    complete: np.ndarray
    lookaheads: np.ndarray  # bool [rules complete in states, terminals]


def numbered(loaded: Loaded, tick: Callable[[], None]) -> Rules:
    """The rules over symbols in the order of their names. (lark's own numbers depend on the hashes of strings.)"""
    ends, count = len(loaded.index), len(loaded.nonterminals)
    column = np.concatenate([np.arange(ends + 1), ~np.arange(count + 1)])
    names = [*loaded.index, END, *loaded.nonterminals, f"$root_{loaded.start}"]
    order = np.array(sorted(range(len(names)), key=names.__getitem__))
    number = np.empty(len(names), np.int64)  # of terminals, from the first on; of nonterminals ~n, from the last on
    number[np.where(column < 0, ends + 1 + ~column, column)[order]] = np.arange(len(names))
    bodies = [rule.expansion for rule in loaded.rules]
    lengths = np.fromiter(map(len, bodies), np.int64, len(bodies))
    codes = np.fromiter(chain.from_iterable(bodies), np.int64, int(lengths.sum()))
    origins = np.fromiter((rule.origin for rule in loaded.rules), np.int64, len(bodies))
    is_empty = np.zeros(len(names), np.int64)
    plain = [(rule.origin, rule.expansion) for rule in loaded.rules if max(rule.expansion, default=-1) < 0]
    for nonterminal in derived(plain, lambda _: False, tick):
        is_empty[number[ends + 1 + nonterminal]] = 1
    start = number[ends + 1 + loaded.nonterminals.index(loaded.start)]
    return Rules(
        column[order],
        np.append(number[ends + 1 + origins], number[ends + 1 + count]),
        np.append(number[np.where(codes < 0, ends + 1 + ~codes, codes)], start),
        np.concatenate([[0], np.cumsum(np.append(lengths, 1))]),
        is_empty,
    )


def construct(loaded: Loaded, rules: Rules, kernel: Construct, most_states: int = STATES) -> States:
    """The states, with lark's lookaheads where only lark's are right."""
    arena, room = np.zeros(Field.LENGTH, np.int64), np.empty(0, np.int64)
    given = {
        Field.COLUMN: rules.column,
        Field.ORIGIN: rules.origins,
        Field.BODY: rules.bodies,
        Field.BEGINS: rules.begins,
        Field.IS_EMPTY: rules.is_empty,
        Field.KERNEL_BEGINS: np.empty(most_states + 2, np.int64),
        Field.LINK_BEGINS: np.empty(most_states + 2, np.int64),
    }
    terminals = len(loaded.index) + 1
    arena[[*given]] = [array.ctypes.data for array in given.values()]
    arena[Field.SYMBOLS], arena[Field.RULES], arena[Field.TERMINALS] = len(rules.column), len(rules.origins), terminals
    arena[Field.MOST_STATES], arena[Field.MOST_ITEMS], arena[Field.MOST_WORK] = most_states, MOST_ITEMS, MOST_WORK
    answer, size = layout.FULL, FIRST_ROOM + 8 * len(rules.bodies)
    while answer == layout.FULL and size <= MOST_ROOM:
        room = np.empty(size, np.int64)  # memory is taken only as it is written
        arena[Field.ROOM], arena[Field.ROOM_LENGTH] = room.ctypes.data, size
        answer, size = kernel(arena.ctypes.data), 4 * size
    if answer == layout.TOO_MANY_STATES:
        raise LimitExceeded(
            f"the grammar's parser needs more than {most_states:,} states, which are too many; make it smaller"
        )
    if answer not in (layout.DONE, layout.IN_A_CIRCLE):
        raise LimitExceeded(
            "making the parser's states (LR(0) item sets): the rules are too many, too long or too ambiguous"
        )
    count = int(arena[Field.STATES])
    link_begins, kernel_begins = given[Field.LINK_BEGINS][: count + 1], given[Field.KERNEL_BEGINS][: count + 1]
    links = room[arena[Field.LINKS] :][: 2 * link_begins[-1]].reshape(-1, 2)
    of_state, is_complete = np.repeat(np.arange(count), np.diff(link_begins)), links[:, 0] >= len(rules.column)
    sets = room[arena[Field.LOOKAHEADS] :][: int(arena[Field.COMPLETE]) * (terminals + 63 >> 6)]
    packed = sets.view(np.uint8).reshape(int(arena[Field.COMPLETE]), -1)
    made = States(
        kernel_begins,
        room[::-1][: kernel_begins[-1]].copy(),
        of_state[~is_complete],
        links[~is_complete, 0],
        links[~is_complete, 1],
        of_state[is_complete],
        links[is_complete, 0] - len(rules.column),
        np.unpackbits(packed, axis=1, bitorder="little", count=terminals).view(bool),
    )
    if answer == layout.IN_A_CIRCLE:
        made.lookaheads[:] = lookaheads_of_lark(loaded, rules, made)
    return made


def lookaheads_of_lark(loaded: Loaded, rules: Rules, states: States) -> np.ndarray:
    """The lookaheads that lark computes, which is slow: only for ambiguous grammars of a few states."""
    from lark.common import ParserConf
    from lark.parsers.lalr_analysis import LALR_Analyzer

    count = len(states.kernel_begins) - 1
    if count > MOST_OF_LARK:
        raise LimitExceeded(
            f"rules that may be empty follow each other in a circle, in a parser of {count:,} states; at most "
            f"{MOST_OF_LARK} are supported: write one of these rules so that it reads something"
        )
    of_lark = rules_of_lark(loaded)
    analysis = LALR_Analyzer(ParserConf(of_lark, {}, [loaded.start]))
    for compute in ("lr0_states", "reads_relations", "includes_lookback", "lookaheads"):
        getattr(analysis, f"compute_{compute}")()
    number = {rule: i for i, rule in enumerate(of_lark)}
    index = loaded.index | {END: len(loaded.index)} | {name: ~n for n, name in enumerate(loaded.nonterminals)}
    steps = zip(states.states.tolist(), rules.column[states.symbols].tolist(), strict=True)
    after = dict(zip(steps, states.targets.tolist(), strict=True))
    place = {pair: i for i, pair in enumerate(zip(states.complete_in.tolist(), states.complete.tolist(), strict=True))}
    found = np.zeros_like(states.lookaheads)
    (root,) = analysis.lr0_start_states.values()
    places = {root: 0}
    waiting = [root]
    for itemset in waiting:  # grows while iterating
        here = places[itemset]
        for symbol, target in itemset.transitions.items():
            if target not in places:
                places[target] = after[here, index[str(symbol.name)]]
                waiting.append(target)
        for lookahead, complete in itemset.lookaheads.items():
            for rule in complete:
                found[place[here, number[rule]], index[str(lookahead.name)]] = True
    return found


def rules_of_lark(loaded: Loaded) -> list[Any]:
    from lark import grammar

    terminals = [grammar.Terminal(name) for name in loaded.index]
    nonterminals = [grammar.NonTerminal(name) for name in loaded.nonterminals]
    return [
        grammar.Rule(
            nonterminals[rule.origin],
            [terminals[symbol] if symbol >= 0 else nonterminals[~symbol] for symbol in rule.expansion],
            options=grammar.RuleOptions(priority=rule.priority),
        )
        for rule in loaded.rules
    ]


def bits(number: int) -> list[int]:
    """The places of the ones, in order."""
    found = []
    while number:
        lowest = number & -number
        found.append(lowest.bit_length() - 1)
        number ^= lowest
    return found
