"""The best values of a row: the kernel against its reference."""

import numpy as np
import pytest

from grammarlm.kernels.entries import best_values
from grammarlm.kernels.reference import apply_mask as reference


@pytest.mark.parametrize("width", [1, 63, 64, 65, 1000, 4099])
@pytest.mark.parametrize("kind", ["drawn", "few", "equal", "rising", "masked", "nothing"])
def test_the_kernel_equals_its_reference(width: int, kind: str) -> None:
    rng = np.random.default_rng(width)
    row = {
        "drawn": lambda: rng.normal(size=width),
        "few": lambda: rng.integers(0, 3, width),
        "equal": lambda: np.zeros(width),
        "rising": lambda: np.arange(width),
        "masked": lambda: np.where(rng.random(width) < 0.1, rng.normal(size=width), -np.inf),
        "nothing": lambda: np.full(width, -np.inf),
    }[kind]().astype(np.float32)
    for count in {0, 1, 2, 5, 64, width // 2, width}:
        out = np.full(count + 2, -7)
        found = best_values(row.ctypes.data, width, count, out.ctypes.data)
        assert out[:found].tolist() == reference.best_values(row, count).tolist()
        assert (out[count:] == -7).all()
