"""An LR parser on a stack of which only the upper end is known: reductions and shifts, for each symbol that may be revealed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from grammarlm.masks.canvas.stack.bits import members

from .needs import DROP, FAIL, REDUCE, SHIFT, Local, Move

if TYPE_CHECKING:
    from grammarlm.grammars.lark.lexer import LexerStart
    from grammarlm.grammars.lark.tables import LrTables

    from .lexers import Lexemes

FIRST = 1  # the symbol of LR state 0; they are numbered before all others
Result = tuple[Move | None, Local]
Plan = tuple[tuple[Move | None, Local, int, bool], ...]


class Parser:
    """LR states are symbols here."""

    def __init__(self, lr: LrTables, lexemes: Lexemes):
        self.lexers: dict[int, LexerStart] = lexemes.of
        self._lr = lr
        self.states, self.end = len(lr.action), len(lr.ignored)
        self._action, self._goto, self._rule = lr.action.tolist(), lr.goto.tolist(), lr.rule.tolist()
        self._ignored = lr.ignored.tolist()
        self._shifted: dict[tuple[Local, int], Result] = {}
        self._plans: dict[Move, Plan] = {}
        self._goes: dict[int, list[int]] = {}

    def is_ignored(self, terminal: int) -> bool:
        return bool(self._ignored[terminal])

    def entrance(self, lr_state: int) -> int:
        """The state on top where a text begins."""
        return lr_state

    def stacks(self, below: Local, lr_states: Sequence[int]) -> Iterator[Local]:
        """What a stack of LR states is here, on other symbols."""
        yield (*below, *(state + FIRST for state in lr_states))

    def shifted(self, local: Local, terminal: int) -> tuple[Result, ...]:
        """After reductions and the shift of a terminal on symbols that are known, at least one: (None, the symbols then), or what
        needs more symbols than these, (DROP, 0) with those that are left then; nothing where it cannot be shifted. The end of the
        text is the terminal after all others."""
        key = local, terminal
        known = self._shifted.get(key)
        if known is None:
            known = self._shifted[key] = self._shift(local, terminal)
        return (known,) if known[0] is None or known[0][0] != FAIL else ()

    def _shift(self, local: Local, terminal: int) -> Result:
        seen, most = set[Local](), len(local) + self.states
        while local not in seen and len(local) <= most:
            seen.add(local)
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
        # Rules that read nothing reduce for ever: the same symbols again, or a state above itself again and again.
        return (FAIL,), ()

    def plan(self, move: Move) -> Plan:
        """What SHIFT, or REDUCE of no more symbols, does by the symbol revealed, as sets of symbols (bit n = symbol n):

        (None, pushed, symbols, pops)    these stay, or are popped, and these are pushed
        (move, (), symbols, True)        these are popped, and then the move
        """
        known = self._plans.get(move)
        if known is None:
            found: dict[tuple[Move | None, Local], int] = {}
            for symbol in self._candidates(move):
                result = self._on(symbol, move)
                if result[0] is None or result[0][0] != FAIL:
                    found[result] = found.get(result, 0) | 1 << symbol
            known = self._plans[move] = tuple((*result, s, result[0] is not None) for result, s in found.items())
        return known

    def _candidates(self, move: Move) -> list[int]:
        if move[0] == SHIFT:
            return [s + FIRST for s in range(self.states) if self._action[s][move[1]]]
        nonterminal = move[2]
        known = self._goes.get(nonterminal)
        if known is None:
            known = self._goes[nonterminal] = [s + FIRST for s in range(self.states) if self._goto[s][nonterminal] >= 0]
        return known

    def _on(self, symbol: int, move: Move) -> Result:
        """The move on a symbol that is revealed."""
        if move[0] == SHIFT:
            after, local = self._shift((symbol,), move[1])
        else:
            after, local = self._shift((symbol, self._goto[symbol - FIRST][move[2]] + FIRST), move[3])
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

    @cached_property
    def may_follow(self) -> list[set[int]]:
        """By terminal those that some text may have after it, and others perhaps."""
        return may_follow(self._lr)


def may_follow(lr: LrTables) -> list[set[int]]:
    found: list[set[int]] = []
    for terminal in range(len(lr.ignored)):
        column = lr.action[:, terminal]
        after = lr.action[sorted(set((column[column > 0] - 1).tolist()))]
        found.append(set((after != 0).any(0).nonzero()[0].tolist()))
    return found
