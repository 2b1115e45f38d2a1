"""Interned vectors of effects: equal ones are one, and their memory ends in a named error, whatever its bound."""

import numpy as np
import pytest

import grammarlm as gl
from grammarlm.errors import LimitExceeded
from grammarlm.layout.json_canvas import NONE
from grammarlm.masks.canvas.json.tables.automaton import ByteAutomaton
from grammarlm.masks.canvas.json.tables.tokens import NOWHERE, TokenEffects
from grammarlm.masks.canvas.json.tables.vectors import Vectors


@pytest.mark.parametrize("most", [5, 61, 1000])
def test_vectors_are_found_again_up_to_the_bound(most: int) -> None:
    """A bound that is no power of two made a table of slots of which probes reached a part, and went round in it for ever."""
    moved = np.zeros((2, most + 1), np.int32)
    vectors, rng = Vectors(3, 2, 28 * most, lambda: None, lambda: moved, lambda *_: None), np.random.default_rng(most)
    numbers: dict[tuple[int, ...], int] = {}

    def ask() -> None:
        for _ in range(20 * most):
            vector = rng.integers(0, most, 3, np.int32)
            found = vectors.number(vector)
            assert numbers.setdefault(tuple(vector.tolist()), found) == found

    with pytest.raises(LimitExceeded, match="max_bytes"):
        ask()
    assert len(numbers) >= most
    assert len(set(numbers.values())) == len(numbers)


@pytest.mark.parametrize("seed", range(6))
def test_tokens_are_alike_where_they_do_alike(seed: int) -> None:
    """Vectors of a walk against each token's bytes, read one by one from each state of a random automaton."""
    rng = np.random.default_rng(seed)
    states, alphabet = int(rng.integers(1, 40)), b"abc"
    columns = rng.integers(-1, states, (states, 4)).astype(np.int32)
    columns[:, 3] = NONE
    class_of = np.full(256, 3, np.uint8)
    class_of[list(alphabet)] = range(3)
    every = np.arange(states, dtype=np.int32)
    machine = ByteAutomaton(columns, class_of, [], every == 0, every, every[:0])
    tokens = [bytes(rng.choice(list(alphabet + b"d"), int(rng.integers(1, 6)))) for _ in range(200)]
    vocab = gl.Vocabulary([*tokens, b"</s>"], [200], [200])
    effects = TokenEffects(machine, 1 << 20, lambda: None)
    kinds = effects.of_tokens(vocab)
    for token, spelled in enumerate(tokens):
        want = every.copy()
        for byte in spelled:
            want = np.where(want == NONE, NONE, columns[want, class_of[byte]])
        assert (effects.vector(kinds[token]) == want).all(), spelled
        assert (want == NONE).all() == (kinds[token] == NOWHERE), spelled
