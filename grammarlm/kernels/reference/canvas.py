"""What kernels/cpu/canvas/rows.py and kernels/gpu/canvas_rows.py, class_scores.py compute, in numpy."""

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


def expand_rows(class_bits: np.ndarray, class_of: np.ndarray) -> np.ndarray:
    """int32 [B, W]: the mask words of class bits, int32 [B, at least ceil(K / 32)], least significant bit first."""
    bits = np.unpackbits(np.ascontiguousarray(class_bits).view(np.uint8), axis=1, bitorder="little").astype(bool)
    rows = [class_row(allowed, class_of) for allowed in bits]
    return np.array(rows, np.int32).reshape(len(bits), -(-len(class_of) // 32))


def class_best(logits: np.ndarray, class_of: np.ndarray, classes: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Of each class, float32: the highest logit; int64: the first token that has it; float64: the log of the sum of exp(logit).

    A class without tokens has -inf, -1, -inf; one with NaN or +inf among its logits NaN, -1, NaN."""
    logits = logits[: len(class_of)].astype(np.float32)
    with np.errstate(invalid="ignore"):
        highest, sums = class_maxima(logits, class_of, classes), class_sums(logits, class_of, classes)
    tokens = np.full(classes, len(class_of))
    holders = np.flatnonzero(logits == highest[class_of])
    np.minimum.at(tokens, class_of[holders], holders)
    tokens[tokens == len(class_of)] = -1
    is_wrong = ~(highest < np.inf)
    highest[is_wrong], tokens[is_wrong], sums[is_wrong] = np.nan, -1, np.nan
    return highest, tokens, sums


def drawn_token(logits: np.ndarray, members: np.ndarray, share: float) -> tuple[int, float]:
    """The first of some tokens up to which exp(logit) sums to more than a share of all, and how much makes it another token."""
    sums = np.cumsum(np.exp(logits[members].astype(np.float64) - float(logits[members].max())))
    sums /= sums[-1]
    place = min(int(np.searchsorted(sums, share, "right")), int(np.flatnonzero(np.diff(sums, prepend=0.0))[-1]))
    return int(members[place]), float(np.abs(sums[:-1] - share).min(initial=1.0))
