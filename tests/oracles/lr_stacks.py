"""An LR parser as in a textbook: its stack is a tuple of symbols, the top last, and each call begins anew.

Terminals are numbers; the one after the last is the end of the text. An LR state s is the symbol LR_BASE + s, plus the column of
its line where it opened a block. A parser begins with its start state on whatever is below it; where it ends, all of it is removed.
"""

from dataclasses import dataclass

from grammarlm.layout.stack import CLOSES_BLOCK, CLOSES_BRACKET, LR_BASE, OPENS_BLOCK, OPENS_BRACKET, STATES, WIDTH

Stack = tuple[int, ...]


def state_of(symbol: int) -> int:
    """The LR state of a symbol."""
    return (symbol - LR_BASE) % STATES


@dataclass
class LrStacks:
    action: list[list[int]]  # [state][terminal, the end last]: 0 error, s + 1 shift to s, -(r + 1) reduce by rule r
    goto: list[list[int]]  # [state][nonterminal]
    rules: list[tuple[int, int]]  # length, nonterminal
    ignored: list[bool]  # [terminal]
    access: list[int]  # [state]: what the symbol that leads to it does to blocks and brackets
    blocks: tuple[int, int, int] | None = None  # terminals: the end of a line, the opening and the closing of a block

    @property
    def end(self) -> int:
        return len(self.ignored)

    def reduced(self, stack: Stack, rule: int) -> Stack:
        length, nonterminal = self.rules[rule]
        below = stack[: len(stack) - length]
        return (*below, LR_BASE + self.goto[state_of(below[-1])][nonterminal])

    def shift(self, stack: Stack, terminal: int, width: int = 0) -> Stack | None:
        """The stack after a terminal, or after the end of the text; None where the parser refuses it."""
        while (what := self.action[state_of(stack[-1])][terminal]) < 0:
            stack = self.reduced(stack, -what - 1)
        if what == 0:
            return None
        if terminal == self.end:
            return stack[:-2]  # the start state and the whole text's nonterminal
        return (*stack, LR_BASE + what - 1 + (width << WIDTH))

    def blocks_of(self, stack: Stack) -> list[int]:
        """The columns of the open blocks, the innermost last."""
        columns: list[int] = []
        for symbol in stack:
            if symbol >= LR_BASE and self.access[state_of(symbol)] == OPENS_BLOCK:
                columns.append((symbol - LR_BASE) >> WIDTH)
            elif symbol >= LR_BASE and self.access[state_of(symbol)] == CLOSES_BLOCK:
                columns.pop()
        return columns

    def is_in_brackets(self, stack: Stack) -> bool:
        does = [self.access[state_of(symbol)] for symbol in stack if symbol >= LR_BASE]
        return does.count(OPENS_BRACKET) > does.count(CLOSES_BRACKET)

    def next_line(self, stack: Stack, column: int) -> Stack | None:
        """The stack after the end of a line, the next one beginning in this column."""
        assert self.blocks
        newline, opening, closing = self.blocks
        after = self.shift(stack, newline)
        if after is None:
            return None
        open_blocks = [0, *self.blocks_of(after)]
        if column > open_blocks[-1]:
            return self.shift(after, opening, column)
        if column not in open_blocks:
            # It is refused, also where a block cannot be closed.
            return None
        while after is not None and [0, *self.blocks_of(after)][-1] > column:
            after = self.shift(after, closing)
        return after

    def at_end(self, stack: Stack) -> Stack | None:
        """The stack below the parser if the text may end here; blocks are closed first."""
        here: Stack | None = stack
        while here is not None and self.blocks and self.blocks_of(here):
            here = self.shift(here, self.blocks[2])
        return None if here is None else self.shift(here, self.end)

    def takes(self, stack: Stack) -> set[int]:
        """The terminals that can come next; the end; and the number after it where ends of lines are ignored."""
        found = {t for t in range(self.end) if self.ignored[t] or self.shift(stack, t) is not None}
        if self.at_end(stack) is not None:
            found.add(self.end)
        if self.blocks and self.is_in_brackets(stack):
            found |= {self.blocks[0], self.end + 1}
        return found
