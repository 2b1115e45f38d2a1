"""Stacks and configs of the stack machine, made by its kernels, against stacks as tuples and configs as sets."""

import random
from typing import Any

import numpy as np
import pytest

import grammarlm as gl
from grammarlm.layout.stack import LR_BASE, WIDE, Field
from grammarlm.layout.stack_calls import ADVANCE, ADVANCE_COLUMN, FILL_TARGETS, NEXT_LINE, PUSH, SHIFT
from grammarlm.masks.machines.stack.epoch import StackEpoch
from tests.kernels.guarded import Guarded
from tests.kernels.stack.stack_arrays import StackArrays, epoch_of
from tests.kernels.stack.stack_grammars import GBNF, LARK
from tests.kernels.token_lists import ids_in
from tests.oracles.lr_stacks import LrStacks, Stack, state_of
from tests.oracles.stack_threads import Config

BYTES = [bytes([byte]) for byte in range(256)]
VOCAB = gl.Vocabulary([*BYTES, b"</s>"], stop_ids=[256])
UNTOUCHED = -7


class Numbers:
    """Stacks by the numbers that a kernel gave them: equal stacks have one number, and the arrays say what it stands for."""

    def __init__(self, epoch: StackEpoch):
        self.arrays = StackArrays(epoch)
        self._of: dict[Stack, int] = {(): 0}
        self._stacks: dict[int, Stack] = {0: ()}

    def check(self, number: int, stack: Stack | None) -> None:
        if stack is None:
            assert number == 0
            return
        assert self._of.setdefault(stack, number) == number, "a stack has two numbers"
        assert self._stacks.setdefault(number, stack) == stack, "two stacks have one number"
        assert self.arrays.stack(number) == stack

    def check_all(self) -> None:
        """No later stack has changed an earlier one."""
        for number, stack in self._stacks.items():
            assert self.arrays.stack(number) == stack

    @property
    def seen(self) -> list[Stack]:
        return list(self._of)

    def __getitem__(self, stack: Stack) -> int:
        return self._of[stack]


@pytest.mark.parametrize("seed", range(3))
def test_pushing_numbers_each_stack_once(seed: int) -> None:
    """Far more of them than the arrays have room for at first."""
    rng, epoch = random.Random(seed), epoch_of(GBNF["json"][0], VOCAB)
    numbers, stacks = Numbers(epoch), [()]
    for _ in range(3000):
        stack, symbol = rng.choice(stacks[-60:]), rng.choice([3, 4, 5, LR_BASE + 3, -1 - 4])
        number = epoch.maker.made(PUSH, numbers[stack], symbol)
        numbers.check(number, (*stack, symbol))
        stacks.append((*stack, symbol))
    numbers.check_all()
    assert epoch.arena.words[Field.S_COUNT] == len(set(stacks))


def random_terminal(lr: LrStacks, stack: Stack, rng: random.Random) -> int:
    """Mostly one that the parser takes."""
    takes = sorted(t for t in lr.takes(stack) if t < lr.end and not lr.ignored[t])
    return rng.choice(takes) if takes and rng.random() < 0.9 else rng.randrange(lr.end + 1)


@pytest.mark.parametrize("name", LARK)
@pytest.mark.parametrize("seed", range(4))
def test_shifts_are_those_of_an_lr_parser(name: str, seed: int) -> None:
    rng, epoch = random.Random(f"{name} {seed}"), epoch_of(LARK[name][0], VOCAB)
    numbers = Numbers(epoch)
    lr, below = numbers.arrays.lr, (5,) if seed % 2 else ()
    assert lr
    under = epoch.maker.made(PUSH, 0, 5) if below else 0
    numbers.check(under, below)
    first = (*below, LR_BASE + epoch.program.lr.start)
    numbers.check(epoch.maker.made(PUSH, under, first[-1]), first)
    stack, opens = first, lr.blocks[1] if lr.blocks else -1
    for _ in range(400):
        terminal = random_terminal(lr, stack, rng)
        if lr.blocks and terminal == lr.blocks[0] and rng.random() < 0.8:
            column = rng.choice([0, 1, 2, 4, *lr.blocks_of(stack)])
            found, expected = (
                epoch.maker.made(NEXT_LINE, numbers[stack], column),
                lr.next_line(stack, column),
            )
        elif terminal == opens:
            continue
        else:
            found = epoch.maker.made(SHIFT, numbers[stack], terminal)
            expected = lr.shift(stack, terminal)
        numbers.check(found, expected)
        assert epoch.maker.made(SHIFT, numbers[stack], lr.end) == (
            0 if lr.shift(stack, lr.end) is None else numbers[below]
        )
        if expected and expected != below:
            stack = expected if len(expected) < 60 else first
    numbers.check_all()
    if lr.blocks:
        indents, brackets = epoch.arena.array(Field.S_INDENT), epoch.arena.array(Field.S_BRACKETS)
        for stack in (stack for stack in numbers.seen if len(stack) > len(below)):
            assert indents[numbers[stack]] == [0, *lr.blocks_of(stack)][-1]
            assert bool(brackets[numbers[stack]] > 0) is lr.is_in_brackets(stack)


def some_texts(arrays: StackArrays, pieces: list[str], rng: random.Random, steps: int) -> list[tuple[int, Config]]:
    """Configs along random texts, as the kernel numbers them and as the oracle has them; all bytes that are tried are compared."""
    epoch, found = arrays.epoch, []
    start = epoch.state_of(epoch.program.start)
    here, config = start, arrays.config(start)
    for _ in range(steps):
        number, after = here, config
        for byte in rng.choice(pieces).encode():
            column = arrays.column(byte)
            number = epoch.maker.made(ADVANCE_COLUMN, number, column)
            after = arrays.threads.step(after, column)
            assert arrays.config(number) == after
            if not after:
                break
        if after:
            here, config = number, after
            found.append((here, config))
        if rng.random() < 0.05 or sum(len(stack) for _, stack, _ in config) > 300:
            here, config = start, arrays.config(start)
    return found


@pytest.mark.parametrize("name", LARK)
@pytest.mark.parametrize("seed", range(2))
def test_configs_of_grammars_with_a_lexer(name: str, seed: int) -> None:
    grammar, pieces = LARK[name]
    arrays = StackArrays(epoch_of(grammar, VOCAB))
    seen = some_texts(arrays, pieces, random.Random(seed), 250)
    assert len({number for number, _ in seen}) > 30
    assert len(dict(seen)) == len({config for _, config in seen}), "equal configs have one number"
    accepting = arrays.array(Field.C_ACCEPTS)
    assert {bool(accepting[number]) for number, _ in seen} == {True, False}
    assert all(bool(accepting[number]) == any(q == 1 for q, _, _ in config) for number, config in seen)
    check_classes(arrays)
    if arrays.lr and arrays.lr.blocks:
        blocks = {tuple(arrays.lr.blocks_of(stack)) for _, config in seen for _, stack, _ in config}
        assert {len(columns) for columns in blocks} >= {0, 1, 2}


def check_classes(arrays: StackArrays) -> None:
    """The class of a stack: the lexer of its state, and what the parser takes."""
    lr, made = arrays.lr, int(arrays.epoch.arena.words[Field.S_COUNT])
    assert lr
    known = [stack for stack in range(1, made) if arrays.array(Field.S_CLASS)[stack] >= 0]
    assert len(known) > 10
    for number in known:
        stack, k = arrays.stack(number), int(arrays.array(Field.S_CLASS)[number])
        assert arrays.class_takes(k) == lr.takes(stack), stack
        assert arrays.class_lexer(k) == arrays.lexer(state_of(stack[-1]))
    kinds = {
        (arrays.class_lexer(k), frozenset(arrays.class_takes(k)))
        for k in range(arrays.epoch.arena.words[Field.K_COUNT])
    }
    assert len(kinds) == arrays.epoch.arena.words[Field.K_COUNT], "equal classes have one number"


@pytest.mark.parametrize("text", ["-" * 150 + "7", "7^" * 150 + "7", "{" + "." * 150 + "}", "(" * 150 + "7"])
def test_long_chains_of_reductions(text: str) -> None:
    """Longer than what is followed without a look at the classes below."""
    arrays = StackArrays(epoch_of(LARK["sums"][0], VOCAB))
    epoch, number = arrays.epoch, 0
    number = epoch.state_of(epoch.program.start)
    config = arrays.config(number)
    for byte in text.encode():
        number = epoch.maker.made(ADVANCE_COLUMN, number, arrays.column(byte))
        config = arrays.threads.step(config, arrays.column(byte))
    assert arrays.config(number) == config
    check_classes(arrays)
    assert bool(epoch.accepting[number]) is not text.startswith("(")


@pytest.mark.parametrize("name", GBNF)
@pytest.mark.parametrize("seed", range(2))
def test_configs_of_grammars_without_a_lexer(name: str, seed: int) -> None:
    grammar, pieces = GBNF[name]
    arrays = StackArrays(epoch_of(grammar, VOCAB))
    seen = some_texts(arrays, pieces, random.Random(seed), 250)
    assert len({number for number, _ in seen}) > 5
    assert all(bool(arrays.array(Field.C_ACCEPTS)[n]) == any(q == 1 for q, _, _ in config) for n, config in seen)


def test_a_wide_config_is_a_few_unions() -> None:
    """All threads are there, on fewer stacks, and stay there when a letter takes one away."""
    arrays = StackArrays(epoch_of(GBNF["pairs"][0], VOCAB))
    epoch, text = arrays.epoch, "a" * 13 + "bcbbc"
    number = epoch.state_of(epoch.program.start)
    config = arrays.config(number)
    widest = 0
    for byte in text.encode():
        number = epoch.maker.made(ADVANCE_COLUMN, number, arrays.column(byte))
        config = arrays.threads.step(config, arrays.column(byte))
        assert arrays.config(number) == config
        widest = max(widest, len(config))
        assert len(epoch.arena.threads_of(number)) <= WIDE
    assert widest > 10 * WIDE


def vocabulary_of_pieces(pieces: list[str], rng: random.Random) -> tuple[gl.Vocabulary, list[bytes]]:
    """All bytes, pieces and pieces of pieces one after the other, some twice."""
    tokens = BYTES + ["".join(rng.choices(pieces, k=rng.randint(1, 3))).encode() for _ in range(120)]
    return gl.Vocabulary([*tokens, b"</s>"], stop_ids=[len(tokens)]), tokens


@pytest.mark.parametrize("name", [*LARK, *GBNF])
def test_rows_and_targets_are_read_token_by_token(name: str) -> None:
    grammar, pieces = (LARK | GBNF)[name]
    rng = random.Random(name)
    vocab, tokens = vocabulary_of_pieces(pieces, rng)
    arrays = StackArrays(epoch_of(grammar, vocab))
    epoch, words = arrays.epoch, vocab.words
    deepest = int(epoch.arena.words[Field.PATH_LENGTH])
    seen = dict(some_texts(arrays, pieces, rng, 60))
    for number in rng.sample(sorted(seen), min(6, len(seen))):
        row, targets = Guarded(words, np.int32), Guarded(32 * words + 1, np.int32, UNTOUCHED)
        epoch.signatures.walk(number, row.address)
        row.assert_intact()
        scratch = np.full(deepest, UNTOUCHED, np.int32)
        scratch[0], scratch[-1] = number, 0
        epoch.maker.made(FILL_TARGETS, int(scratch.ctypes.data), deepest, targets.address)
        targets.assert_intact()
        expected = read_each(arrays, seen[number], tokens)
        assert ids_in(row.inner, words) == set(expected)
        assert set(np.flatnonzero(targets.inner[: 32 * words] != UNTOUCHED).tolist()) == set(expected)
        for token, after in expected.items():
            assert arrays.config(int(targets.inner[token])) == after
        for token in [*rng.sample(sorted(expected), min(9, len(expected))), *rng.sample(range(len(tokens)), 9)]:
            for _ in range(2):  # the second time it is remembered
                advanced = epoch.maker.made(ADVANCE, number, token)
                assert arrays.config(advanced) == expected.get(token, frozenset())


def read_each(arrays: StackArrays, config: Config, tokens: list[bytes]) -> dict[int, Any]:
    """The config after each token that can be read."""
    found = {}
    for token, data in enumerate(tokens):
        after = config
        for byte in data:
            after = arrays.threads.step(after, arrays.column(byte))
        if after:
            found[token] = after
    return found
