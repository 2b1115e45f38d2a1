"""Interned vectors of effects: equal ones are one, and their memory ends in a named error, whatever its bound."""

import numpy as np
import pytest

from grammarlm.errors import LimitExceeded
from grammarlm.masks.canvas.tables.vectors import Vectors


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
