"""The pushdown machine as sets of threads (state, stack, border), stacks as tuples: the meaning of `step` in pushdown.py.

What states and borders do is asked of an `Automaton`. Nothing is numbered, united or remembered, and a thread is kept however it
may end: the grammars of these tests have no dead ends but those that their terminals show.
"""

from collections.abc import Iterable
from typing import Protocol

from grammarlm.layout.stack import ACCEPT, CALL, END, ENTER, EXIT, LEX, LINE, LR_BASE, POP
from tests.oracles.lr_stacks import LrStacks, Stack, state_of

Thread = tuple[int, Stack, int]
Config = frozenset[Thread]


class Automaton(Protocol):
    """Rows of states and borders, and classes of unknown stacks; a column is a byte class."""

    lr: LrStacks | None
    ends_alone: bool  # no text ever follows that of the LR parser

    def after(self, q: int, column: int) -> int: ...  # 0: none
    def reads(self, q: int) -> bool: ...
    def loops(self, q: int) -> bool: ...  # is it a return state that need not be put on itself?
    def moves(self, q: int) -> list[tuple[int, int, int]]: ...
    def may_become(self, q: int) -> set[int]: ...  # terminals
    def lexer(self, state: int) -> int: ...  # the start of the lexer in an LR state
    def border_after(self, b: int, column: int) -> int: ...  # 0: violated
    def border_accepts(self, b: int) -> bool: ...
    def both(self, b: int, c: int) -> int: ...
    def class_takes(self, k: int) -> set[int]: ...  # as LrStacks.takes, of any stack of class k
    def class_lexer(self, k: int) -> int: ...


class StackThreads:
    def __init__(self, automaton: Automaton):
        self.of = automaton
        self._steps: dict[tuple[Config, int], Config] = {}

    def closure(self, threads: Iterable[Thread]) -> Config:
        """All that the threads can become without reading a byte: those that read one, accept, or leave an unknown stack."""
        waiting, seen, kept = list(threads), set(), set()
        while waiting:
            thread = waiting.pop()
            if thread in seen:
                continue
            seen.add(thread)
            if thread[0] in (ACCEPT, EXIT) or self.of.reads(thread[0]):
                kept.add(thread)
            if thread[0] not in (ACCEPT, EXIT):
                for move in self.of.moves(thread[0]):
                    waiting += self._moved(thread, *move)
        return frozenset(kept)

    def step(self, config: Config, column: int) -> Config:
        """The config after a byte; empty where it cannot be read."""
        if (config, column) not in self._steps:
            moved = (self._read(thread, column) for thread in config if thread[0] not in (ACCEPT, EXIT))
            self._steps[config, column] = self.closure([thread for thread in moved if thread])
        return self._steps[config, column]

    def _read(self, thread: Thread, column: int) -> Thread | None:
        q, stack, b = thread
        after = self.of.after(q, column)
        rest = self.of.border_after(b, column) if after else 0
        if not after or not rest:
            return None
        top = stack[-1] if stack else 0
        if self.of.lr and (top >= LR_BASE or top < 0):  # in a lexeme: of a terminal that may come here
            takes = self.of.class_takes(-top - 1) if top < 0 else self.of.lr.takes(stack)
            if not self.of.may_become(after) & takes:
                return None
        return after, stack, rest

    def _moved(self, thread: Thread, kind: int, a: int, c: int) -> list[Thread]:
        _, stack, b = thread
        if kind == CALL:
            again = bool(stack) and stack[-1] == c and self.of.loops(c)
            return [(a, stack if c == 0 or again else (*stack, c), b)]
        if kind == ENTER:
            return [(self.of.lexer(a), (*stack, LR_BASE + a), b)]
        if kind == END:
            return self._ended(stack, b)
        rest = self.of.both(b, c)
        if rest == 0:
            return []
        if kind == POP:
            return self._left(stack, rest)
        assert kind in (LEX, LINE)
        return self._shifted(stack, kind, a, rest)

    def _left(self, stack: Stack, b: int) -> list[Thread]:
        """A frame has ended on this stack."""
        if not stack:
            return [(ACCEPT, (), 0)] if self.of.border_accepts(b) else []
        return [(EXIT, (0,), b)] if stack[-1] < 0 else [(stack[-1], stack[:-1], b)]

    def _ended(self, stack: Stack, b: int) -> list[Thread]:
        """The LR parser meets the end of its text."""
        assert self.of.lr
        if stack[-1] >= 0:
            below = self.of.lr.at_end(stack)
            return [] if below is None else self._left(below, b)
        if self.of.lr.end not in self.of.class_takes(-stack[-1] - 1):
            return []
        return self._left((), b) if self.of.ends_alone else [(EXIT, (1 + self.of.lr.end,), b)]

    def _shifted(self, stack: Stack, kind: int, a: int, rest: int) -> list[Thread]:
        """A lexeme of terminal `a`, or a line before one that begins in column `a`, has ended."""
        lr = self.of.lr
        assert lr
        terminal = a if kind == LEX else lr.blocks[0] if lr.blocks else -1
        top, after = stack[-1], stack
        if top < 0:
            k = -top - 1
            takes = self.of.class_takes(k)
            if lr.ignored[terminal] if kind == LEX else lr.end + 1 in takes:
                return [(self.of.class_lexer(k), stack, rest)]
            return [(EXIT, (1 + a if kind == LEX else 2 + lr.end + a,), rest)] if terminal in takes else []
        if not lr.ignored[terminal] and not (kind == LINE and lr.is_in_brackets(stack)):
            shifted = lr.shift(stack, a) if kind == LEX else lr.next_line(stack, a)
            if shifted is None:
                return []
            after = shifted
        return [(self.of.lexer(state_of(after[-1])), after, rest)]
