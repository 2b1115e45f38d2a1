"""The random numbers of the CPU sampler are the reference's, bit for bit."""

import numpy as np
import pytest

from grammarlm.kernels.entries import fill_uniform
from grammarlm.kernels.reference.sampling import philox


@pytest.mark.parametrize("seed", [0, 1, 2**31, 2**63 - 1])
@pytest.mark.parametrize("position", [0, 7, 2**32 - 1, 2**33 + 5])
@pytest.mark.parametrize("blocks", [1, 3, 1000])
def test_uniform_numbers(seed: int, position: int, blocks: int) -> None:
    surroundings = np.full(4 * blocks + 16, np.nan, np.float32)
    fill_uniform(surroundings[8:].ctypes.data, blocks, seed, position)
    words = philox(seed, np.arange(blocks), position).reshape(-1)
    want = np.minimum(words.astype(np.float32) * np.float32(2**-32) + np.float32(2**-33), np.float32(1 - 2**-24))
    assert surroundings[8:-8].tobytes() == want.tobytes()
    assert np.isnan(surroundings[:8]).all()
    assert np.isnan(surroundings[-8:]).all()
