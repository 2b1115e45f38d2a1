"""The walks of the regular automaton over tokens, on random tables, against tokens that are read one by one."""

import random
from dataclasses import replace

import numpy as np
import pytest

from grammarlm.kernels import entries
from grammarlm.layout.table import Arena
from tests.kernels.guarded import Guarded
from tests.kernels.table.table_arena import TableArena
from tests.kernels.token_lists import LONGEST, ids_in, texts_of, tokens_over, vocabulary_of
from tests.oracles.table_walks import DEAD, TableOracle

ALPHABET = b"ab\x00\xff "
UNTOUCHED = -7


def scratch_of(state: int) -> np.ndarray:
    """The walk's memory: the state after each number of bytes, then the node to begin at."""
    scratch = np.full(LONGEST + 2, UNTOUCHED, np.int32)
    scratch[0], scratch[-1] = state, 0
    return scratch


class Drawn:
    """A random table and a random vocabulary. About half of the transitions are dead."""

    def __init__(self, seed: int, asks_usable: bool):
        rng = self.rng = random.Random(f"walks {seed}")
        self.vocab = vocabulary_of(tokens_over(ALPHABET, rng, 120), rng)
        states, classes = rng.randint(2, 12), rng.randint(2, 6)
        class_of = [rng.randrange(classes) for _ in range(256)]
        rows = [[DEAD] * classes]
        rows += [[rng.choice([DEAD, rng.randrange(states)]) for _ in range(classes)] for _ in range(1, states)]
        usable = [rng.random() < 0.7 or not asks_usable for _ in range(states)]
        self.oracle = TableOracle(rows, class_of, usable, texts_of(self.vocab))
        self.arena = TableArena(self.vocab, self.oracle, asks_usable)
        self.start = rng.randrange(1, states)


def drawn(seed: int) -> Drawn:
    return Drawn(seed, asks_usable=seed % 2 == 0)


@pytest.mark.parametrize("seed", range(40))
def test_a_row_is_the_tokens_that_can_be_read(seed: int) -> None:
    one = drawn(seed)
    words, expected = one.vocab.words, one.oracle.allowed(one.start)
    row = Guarded(words + 1, np.int32)
    one.arena.walked(entries.fill_row, scratch_of(one.start), row.address)
    row.assert_intact()
    assert ids_in(row.inner, words) == expected
    assert {state for state in one.arena.asked if state > 0} == one.oracle.read_from(one.start)
    judged = {-state for state in one.arena.asked if state < 0}
    assert judged == (one.oracle.reached(one.start) if seed % 2 == 0 else set())
    again = Guarded(words + 1, np.int32)
    asked = len(one.arena.asked)
    one.arena.walked(entries.fill_row, scratch_of(one.start), again.address)
    assert len(one.arena.asked) == asked
    assert ids_in(again.inner, words) == expected


@pytest.mark.parametrize("seed", range(40, 60))
def test_a_row_keeps_the_bits_that_it_had(seed: int) -> None:
    """Epochs add the tokens of some subtrees to a row that they have copied."""
    one = drawn(seed)
    words = one.vocab.words
    before = np.array([one.rng.getrandbits(32) - (1 << 31) for _ in range(words)], np.int32)
    row = Guarded(words + 1, np.int32)
    row.inner[:words] = before
    one.arena.walked(entries.fill_row, scratch_of(one.start), row.address)
    twins = one.vocab.trie.twins.tolist()
    expected = ids_in(before, words) | one.oracle.allowed(one.start)
    expected |= {token for token, same in twins if same in expected}
    assert ids_in(row.inner, words) == expected


@pytest.mark.parametrize("seed", range(60, 80))
def test_a_piece_of_the_trie(seed: int) -> None:
    """A walk that begins within the trie and ends before its end sees the tokens between only."""
    one = drawn(seed)
    trie, words = one.vocab.trie, one.vocab.words
    top = one.rng.choice([node for node in range(len(trie.byte)) if trie.end[node] > node + 1])
    first, end = top + 1, int(trie.end[top])
    depth = int(trie.depth[top])
    scratch, row = scratch_of(UNTOUCHED), Guarded(words + 1, np.int32)
    scratch[depth], scratch[-1], one.arena.arena[Arena.NODES] = one.start, first, end
    one.arena.walked(entries.fill_row, scratch, row.address)
    carried = set(trie.token[first:end].tolist()) - {32 * words}
    below = {token: data[depth:] for token, data in one.oracle.texts.items() if token in carried}
    expected = replace(one.oracle, texts=below).allowed(one.start)
    expected |= {token for token, same in trie.twins.tolist() if same in expected}
    row.assert_intact()
    assert ids_in(row.inner, words) == expected


@pytest.mark.parametrize("seed", range(80, 110))
def test_targets_are_the_states_after_tokens(seed: int) -> None:
    one = drawn(seed)
    size = 32 * one.vocab.words
    targets = Guarded(size + 1, np.int32, UNTOUCHED)
    one.arena.walked(entries.fill_targets, scratch_of(one.start), targets.address)
    targets.assert_intact()
    expected = [one.oracle.after(one.start, token) or UNTOUCHED for token in range(size)]
    assert targets.inner[:size].tolist() == expected
    assert set(one.arena.asked) == one.oracle.read_from(one.start)


@pytest.mark.parametrize("seed", range(140, 160))
def test_a_token_is_read_to_its_end(seed: int) -> None:
    one = drawn(seed)
    count = len(one.vocab.offsets) - 1
    for token in [*range(count), -1, count, count + 1, 1 << 40]:
        asked = len(one.arena.asked)
        while (after := entries.advance(one.arena.address, one.start, token)) < 0:
            one.arena.supply(-after)
        assert after == one.oracle.after(one.start, token), token
        met = one.oracle.path(one.start, one.oracle.texts.get(token, b""))
        assert set(one.arena.asked[asked:]) <= set(met)
