"""A stack machine's arrays (layout/stack.py) in the words of the oracles: rows as numbers, stacks as tuples, configs as sets."""

import functools
from typing import Any

import grammarlm as gl
from grammarlm.layout.stack import (
    ACCEPTS,
    ANY,
    EXIT,
    EXPANDED,
    LIVE_KNOWN,
    LOOPS,
    READS,
    UNION,
    Field,
)
from grammarlm.layout.stack import LR_BASE as LR
from grammarlm.masks.machines.stack.epoch import StackEpoch
from tests.internals import current_epoch
from tests.oracles.lr_stacks import LrStacks, Stack
from tests.oracles.stack_threads import Config, StackThreads, Thread


def epoch_of(grammar: Any, vocab: gl.Vocabulary, **limits: int) -> StackEpoch:
    """A new epoch: nothing that other tests have made is in it, and nothing is read from or written to disk."""
    constraint = gl.compile(grammar, vocab, limits=gl.Limits(**limits))
    epoch = current_epoch(constraint)
    assert isinstance(epoch, StackEpoch)
    return epoch


def lr_stacks(epoch: StackEpoch) -> LrStacks | None:
    lr = epoch.program.lr
    if lr is None:
        return None
    ignored = [bool(flag) for flag in lr.ignored.tolist()]
    rules = [(length, nonterminal) for length, nonterminal in lr.rule.tolist()]
    return LrStacks(lr.action.tolist(), lr.goto.tolist(), rules, ignored, lr.access.tolist(), lr.blocks)


class StackArrays:
    """The rows that the epoch has made so far: an `Automaton`. What is not made is nobody's business but a mistake."""

    def __init__(self, epoch: StackEpoch):
        self.epoch, self.lr = epoch, lr_stacks(epoch)
        self.ends_alone = bool(epoch.arena.words[Field.LR_ALONE])
        self.threads = StackThreads(self)

    def array(self, place: Field) -> Any:
        return self.epoch.arena.array(place)

    def _status(self, q: int) -> int:
        status = int(self.array(Field.Q_STATUS)[q])
        assert status & EXPANDED, f"the kernel has not met state {q}"
        return status

    def after(self, q: int, column: int) -> int:
        self._status(q)
        return int(self.array(Field.Q_NEXT)[q, column])

    def reads(self, q: int) -> bool:
        return bool(self._status(q) & READS)

    def loops(self, q: int) -> bool:
        return bool(self.array(Field.Q_STATUS)[q] & LOOPS)

    def moves(self, q: int) -> list[tuple[int, int, int]]:
        self._status(q)
        first, many = self.array(Field.Q_MOVES)[q].tolist()
        return [tuple(move) for move in self.array(Field.MOVES)[first : first + many].tolist()]

    def may_become(self, q: int) -> set[int]:
        assert self.array(Field.Q_STATUS)[q] & LIVE_KNOWN
        return bits_of(self.array(Field.Q_LIVE)[q])

    def lexer(self, state: int) -> int:
        return int(self.array(Field.LR_LEXER)[state])

    def border_after(self, b: int, column: int) -> int:
        if b == ANY:
            return ANY
        assert self.array(Field.B_STATUS)[b] & EXPANDED, f"the kernel has not met border {b}"
        return int(self.array(Field.B_NEXT)[b, column])

    def border_accepts(self, b: int) -> bool:
        return bool(self.array(Field.B_STATUS)[b] & ACCEPTS)

    def both(self, b: int, c: int) -> int:
        if ANY in (b, c) or b == c:
            return b if c == ANY else c
        terms = self.epoch.numbers.border_terms
        both = self.epoch.program.algebra.both((terms[b], terms[c]))
        return terms.index(both) if both in terms else 0

    @functools.cache  # noqa: B019  one epoch a test
    def class_takes(self, k: int) -> set[int]:
        return bits_of(self.array(Field.K_LIVE)[k])

    def class_lexer(self, k: int) -> int:
        return int(self.array(Field.K_LEXER)[k])

    def column(self, byte: int) -> int:
        return int(self.array(Field.CLASS_OF)[byte])

    # ------------------------------------------------------------------ numbers to tuples

    def stacks(self, number: int) -> set[Stack]:
        """The stacks that a number stands for: more than one where it is a union."""
        parents, symbols = self.array(Field.S_PARENT), self.array(Field.S_SYMBOL)
        found, waiting = set(), [(number, ())]
        while waiting:
            here, above = waiting.pop()
            symbol = int(symbols[here])
            if here == 0:
                found.add(above)
            elif UNION <= symbol < LR:
                waiting += [(int(parents[here]), above), (symbol - UNION, above)]
            else:
                waiting.append((int(parents[here]), (symbol, *above)))
        return found

    def stack(self, number: int) -> Stack:
        (found,) = self.stacks(number)
        return found

    def config(self, number: int) -> Config:
        """Threads of pseudo-states hold a label, or nothing, in place of a stack."""
        found: set[Thread] = set()
        for q, s, b in self.epoch.arena.threads_of(number) if number else []:
            if q <= EXIT:
                found.add((q, (s,) if q == EXIT else (), b))
            else:
                found |= {(q, stack, b) for stack in self.stacks(s)}
        return frozenset(found)


def bits_of(words: Any) -> set[int]:
    """The members of a bit set."""
    value = sum(int(word) << 64 * i for i, word in enumerate(words))
    return {i for i in range(64 * len(words)) if value >> i & 1}
