"""LR tables as kernels read them, and several parsers joined to one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from grammarlm.errors import LimitExceeded, UnsupportedFeature
from grammarlm.layout.stack import STATES

from .lexer import Lexer, LexerStart

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
