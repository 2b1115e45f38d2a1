"""What kernels/cpu/canvas/rows.py computes, in numpy."""

import numpy as np


def class_row(allowed: np.ndarray, class_of: np.ndarray) -> np.ndarray:
    """Mask words of the classes allowed, bool [K]; `class_of` int32 [V]."""
    bits = np.zeros(-(-len(class_of) // 32) * 32, np.uint8)
    bits[: len(class_of)] = allowed[class_of]
    return np.packbits(bits, bitorder="little").view(np.int32)


def class_maxima(logits: np.ndarray, class_of: np.ndarray, classes: int) -> np.ndarray:
    """float32 [classes]: the highest logit of each class, -inf for a class without ids."""
    found = np.full(classes, -np.inf, np.float32)
    np.maximum.at(found, class_of, logits)
    return found


def class_sums(logits: np.ndarray, class_of: np.ndarray, classes: int) -> np.ndarray:
    """float64 [classes]: the log of the sum of exp(logit) over each class."""
    found = np.full(classes, -np.inf)
    np.logaddexp.at(found, class_of, logits.astype(np.float64))
    return found
