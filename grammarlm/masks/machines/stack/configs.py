"""Configs in and out of an epoch: their numbers, and the same without numbers, as a matcher carries them to the next epoch."""

from __future__ import annotations

import functools

from grammarlm.grammars.regular.terms import Term
from grammarlm.layout import stack as layout
from grammarlm.layout.stack import LR_BASE, UNION, Field
from grammarlm.layout.stack_calls import MAKE_CONFIG, PUSH, UNITE

from .arena import StackArena
from .language import Fork, Thread
from .numbers import ACCEPTED, StackNumbers
from .states import StateMaker


class StackConfigs:
    """By number, the threads of each config of an epoch."""

    def __init__(self, arena: StackArena, numbers: StackNumbers, maker: StateMaker):
        self._arena, self._numbers, self._maker = arena, numbers, maker

    # ------------------------------------------------------------------ in

    def number_of(self, threads: tuple[Thread, ...]) -> int:
        """The number of a config in this epoch."""
        rows = []
        forks: dict[Fork, int] = {}
        for thread in threads:
            stack = self._stack_of(thread.stack, forks)
            state = self._numbers.number(thread.state)
            rows.append([state, stack, self._numbers.border(thread.border)])
        return self.closed(rows)

    def closed(self, threads: list[list[int]]) -> int:
        """The number of the config of these threads, after their closure."""
        while True:
            self._arena.set_pending(threads)
            found = self._maker.ask(MAKE_CONFIG, len(threads))
            if found >= 0:
                return found
            self._maker.supply(found)

    def _stack_of(self, symbols: tuple, forks: dict[Fork, int]) -> int:
        """The number of a stack in this epoch. `forks`: numbers of the lower ends found so far."""
        made = self._maker.made
        waiting = [symbols[-1]] if symbols and isinstance(symbols[-1], Fork) else []
        while waiting:
            fork = waiting[-1]
            lower = [way[-1] for way in fork.ways if way and isinstance(way[-1], Fork) and way[-1] not in forks]
            waiting += lower
            if not lower:
                stacks = [self._pushed(way, forks) for way in fork.ways]
                forks[fork] = functools.reduce(lambda one, other: made(UNITE, one, other), stacks)
                waiting.pop()
        return self._pushed(symbols, forks)

    def _pushed(self, symbols: tuple, forks: dict[Fork, int]) -> int:
        stack = 0
        for symbol in reversed(symbols):
            if isinstance(symbol, Fork):
                stack = forks[symbol]
                continue
            number = LR_BASE + symbol if isinstance(symbol, int) else self._numbers.number(symbol)
            stack = self._maker.made(PUSH, stack, number)
        return stack

    # ------------------------------------------------------------------ out

    def __getitem__(self, config: int) -> tuple[Thread, ...]:
        """The config without numbers."""
        arena, threads = self._arena, self._arena.threads_of(config)
        forks: dict[int, Fork] = {}
        waiting, unions = [stack for _, stack, _ in threads], set()
        while waiting:
            _, end = self._down(waiting.pop())
            if end and end not in unions:
                unions.add(end)
                waiting += arena.members_of(end)
        for union in sorted(unions):  # what lies below was interned before, so its number is less
            forks[union] = Fork(tuple(self._symbols(member, forks) for member in arena.members_of(union)))
        return tuple(
            Thread(self._state(q), self._symbols(stack, forks), self._border(border)) for q, stack, border in threads
        )

    def _state(self, q: int) -> object:
        return ACCEPTED if q == layout.ACCEPT else self._numbers.objects[q]

    def _border(self, number: int) -> Term:
        return self._numbers.border_terms[number]

    def _down(self, stack: int) -> tuple[list[int], int]:
        """The symbols from the top of a stack down to the first union, and that union; 0 at the bottom."""
        parents, symbols = self._arena.array(Field.S_PARENT), self._arena.array(Field.S_SYMBOL)
        found = []
        while stack and not UNION <= (symbol := int(symbols[stack])) < LR_BASE:
            found.append(symbol)
            stack = int(parents[stack])
        return found, stack

    def _symbols(self, stack: int, forks: dict[int, Fork]) -> tuple:
        symbols, end = self._down(stack)
        found = [symbol - LR_BASE if symbol >= LR_BASE else self._numbers.objects[symbol] for symbol in symbols]
        return (*found, forks[end]) if end else tuple(found)
