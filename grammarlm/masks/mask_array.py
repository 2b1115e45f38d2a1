"""The buffer that masks are written into: the caller's, int32 [rows, ceil(V / 32)]."""

from __future__ import annotations

import operator
from typing import Any, SupportsIndex

import numpy as np

from grammarlm.errors import MaskError

MOST_WORDS = 1 << 28  # of a mask: 1 GiB


def allocate_mask(batch: int, size: int) -> np.ndarray:
    """int32 [batch, ceil(size / 32)], every bit set: nothing is forbidden yet."""
    batch = as_integer(batch, "allocate_mask(batch, size) takes a number of rows")
    size = as_integer(size, "allocate_mask(batch, size) takes vocab.size")
    if batch < 0 or not 0 < size < 1 << 31:
        raise MaskError(f"allocate_mask({batch}, {size}): batch is 0 or more, size (vocab.size) is 1 to 2,147,483,647")
    words = -(-size // 32)
    if batch * words > MOST_WORDS:
        raise MaskError(
            f"allocate_mask(batch={batch}, {size}): {batch * words * 4:,} bytes; a mask has at most {4 * MOST_WORDS:,}, "
            f"which is {MOST_WORDS // words:,} rows of this size"
        )
    return np.full((batch, words), -1, np.int32)


def ids_of(row: np.ndarray) -> np.ndarray:
    """The ids that a row allows, in order."""
    words = np.flatnonzero(row)
    if 2 * len(words) > len(row):
        return np.flatnonzero(np.unpackbits(row.view(np.uint8), bitorder="little").view(bool))
    at = np.flatnonzero(np.unpackbits(row[words].view(np.uint8), bitorder="little").view(bool))
    found: np.ndarray = words[at >> 5] * 32 + (at & 31)
    return found


def allow(row: np.ndarray, token: int) -> None:
    row.view(np.uint8)[token >> 3] |= 1 << (token & 7)


def only_bit(row: np.ndarray) -> int | None:
    """The index of the set bit where exactly one is set."""
    word = int(row.view(np.uint32).argmax())  # the largest word: the only one that may have a bit set
    bits = int(row[word]) & 0xFFFFFFFF
    if not bits or bits & (bits - 1) or np.count_nonzero(row) > 1:
        return None
    return word * 32 + bits.bit_length() - 1


LARGEST_INTEGER = 2**63 - 1


def as_integer(value: SupportsIndex, what: str) -> int:
    """A plain int, as kernels take it. One beyond 64 bits is beyond every bound, so it is clamped."""
    try:
        if isinstance(value, bool):
            raise TypeError
        return max(-LARGEST_INTEGER, min(int(operator.index(value)), LARGEST_INTEGER))
    except TypeError:
        raise TypeError(f"{what}, an integer, not {type(value).__name__}") from None


def as_mask(mask: Any, words: int) -> np.ndarray:
    """The mask as a writable array of the right kind; a CPU tensor shares its memory."""
    wanted = f"this vocabulary takes int32 [batch, {words}], as gl.allocate_mask(batch, vocab.size) makes"
    array = mask
    if not isinstance(mask, np.ndarray):
        try:
            array = mask.numpy()  # a torch tensor; anything else would be copied, and the mask written to the copy
        except (AttributeError, TypeError, RuntimeError, ValueError) as error:
            cause = f" ({error})" if hasattr(mask, "numpy") else ""
            raise MaskError(
                f"the mask is a {type(mask).__name__}, no array in this memory{cause:.200}; {wanted}"
            ) from None
    shape = "x".join(map(str, array.shape))
    if array.dtype != np.int32 or array.ndim != 2 or array.shape[1] != words:
        raise MaskError(f"the mask is {array.dtype} [{shape}]; {wanted}")
    if not array.flags.writeable or (array.strides[0] == 0 and len(array) > 1):
        raise MaskError(f"the mask is read-only, or its rows share their memory; {wanted}")
    return array
