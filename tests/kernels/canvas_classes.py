"""Token classes for tests of canvas kernels."""

import numpy as np

from grammarlm.masks.canvas.classes import TokenClasses, classes_of


def some_classes(size: int, seed: int) -> TokenClasses:
    """Classes of one id and of thousands, and one without ids."""
    rng = np.random.default_rng(seed)
    kinds = rng.integers(0, 9, size) * (rng.random(size) < 0.9)
    kinds[rng.integers(size, size=5)] = 20 + np.arange(5)
    return classes_of(kinds, (size - 1,))[0]
