"""An LR parser on a stack of which only the upper end is known: reductions and shifts, for each symbol that may be revealed."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from .needs import DROP, FAIL, REDUCE, SHIFT, Local, Move
from .nodes import members

if TYPE_CHECKING:
    from grammarlm.grammars.lark.tables import LrTables

FIRST = 1  # the symbol of LR state 0; they are numbered before all others
Plan = tuple[tuple[Move | None, Local, int], ...]


class Parser:
    """LR states are symbols here."""

    def __init__(self, lr: LrTables):
        self.states, self.end = len(lr.action), len(lr.ignored)
        self._action, self._goto, self._rule = lr.action.tolist(), lr.goto.tolist(), lr.rule.tolist()
        self._ignored = lr.ignored.tolist()
        self._shifted: dict[tuple[Local, int], tuple[Move | None, Local]] = {}
        self._plans: dict[Move, Plan] = {}
        self._goes: dict[int, list[int]] = {}

    def is_ignored(self, terminal: int) -> bool:
        return bool(self._ignored[terminal])

    def shifted(self, local: Local, terminal: int) -> tuple[Move | None, Local]:
        """After reductions and the shift of a terminal on symbols that are known, at least one: (None, the symbols then), or what
        needs more symbols than these; the end of the text is the terminal after all others."""
        key = local, terminal
        known = self._shifted.get(key)
        if known is None:
            known = self._shifted[key] = self._shift(local, terminal)
        return known

    def _shift(self, local: Local, terminal: int) -> tuple[Move | None, Local]:
        while True:
            what = self._action[local[-1] - FIRST][terminal]
            if what == 0:
                return (FAIL,), ()
            if what > 0:
                if terminal == self.end:
                    return (DROP, max(0, 2 - len(local))), local[:-2]
                return None, (*local, what - 1 + FIRST)
            length, nonterminal = self._rule[-what - 1]
            if len(local) <= length:
                return (REDUCE, length - len(local), nonterminal, terminal), ()
            local = local[: len(local) - length]
            local = (*local, self._goto[local[-1] - FIRST][nonterminal] + FIRST)

    def plan(self, move: Move) -> Plan:
        """What SHIFT, or REDUCE of no more symbols, does by the symbol revealed, as sets of symbols (bit n = symbol n):

        (None, pushed, symbols)    these stay, and these are pushed on them
        (move, (), symbols)        these are popped, and then the move
        """
        known = self._plans.get(move)
        if known is None:
            found: dict[tuple[Move | None, Local], int] = {}
            for symbol in self._candidates(move):
                result = self._on(symbol, move)
                if result[0] is None or result[0][0] != FAIL:
                    found[result] = found.get(result, 0) | 1 << symbol
            known = self._plans[move] = tuple((*result, symbols) for result, symbols in found.items())
        return known

    def _candidates(self, move: Move) -> list[int]:
        if move[0] == SHIFT:
            return [s + FIRST for s in range(self.states) if self._action[s][move[1]]]
        nonterminal = move[2]
        known = self._goes.get(nonterminal)
        if known is None:
            known = self._goes[nonterminal] = [s + FIRST for s in range(self.states) if self._goto[s][nonterminal] >= 0]
        return known

    def _on(self, symbol: int, move: Move) -> tuple[Move | None, Local]:
        """The move on a symbol that is revealed."""
        if move[0] == SHIFT:
            after, local = self.shifted((symbol,), move[1])
        else:
            after, local = self.shifted((symbol, self._goto[symbol - FIRST][move[2]] + FIRST), move[3])
        if after is None:
            assert local[0] == symbol
            return None, local[1:]
        if after[0] == REDUCE and after[1] == 0:
            # As many symbols have been popped as are known, this one as the last.
            return after, ()
        return after, local

    def below(self, symbols: int) -> int:
        """The symbols that may stand below some symbols, both as sets: those whose shifts or gotos lead to them."""
        found = 0
        for symbol in members(symbols):
            found |= self._below.get(symbol, 0)
        return found

    @cached_property
    def _below(self) -> dict[int, int]:
        found: dict[int, int] = {}
        for state, (action, goto) in enumerate(zip(self._action, self._goto, strict=True)):
            afters = [what - 1 for what in action[: self.end] if what > 0] + [after for after in goto if after >= 0]
            for after in afters:
                found[after + FIRST] = found.get(after + FIRST, 0) | 1 << state + FIRST
        return found

    def shifted_to(self, terminal: int) -> list[int]:
        """The symbols of the LR states that a terminal's shift leads to."""
        return sorted({row[terminal] - 1 + FIRST for row in self._action if row[terminal] > 0})
