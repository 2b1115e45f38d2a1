"""Masks and steps of an automaton on the CPU, for a whole batch per call; kernels/reference/csr.py defines them."""

import numpy as np

from grammarlm.kernels import entries
from grammarlm.kernels.entries import address_of
from grammarlm.layout.csr import Csr


def advance_(csr: Csr, states: np.ndarray, tokens: np.ndarray, asked: np.ndarray) -> None:
    """states [B] int32 in place; tokens [B] int64, asked [B, 2] int32: all contiguous."""
    table = _addresses(csr, len(states))  # kept alive: a kernel has the address alone
    entries.csr_advance(address_of(table), address_of(states), address_of(tokens), address_of(asked))


def fill_mask_(csr: Csr, states: np.ndarray, mask: np.ndarray) -> None:
    """mask [B, W] int32, contiguous words."""
    table = _addresses(csr, len(states))
    entries.csr_fill_mask(address_of(table), address_of(states), address_of(mask), mask.strides[0])


def gather_rows_(rows: np.ndarray, numbers: np.ndarray, mask: np.ndarray) -> None:
    """mask[b] = rows[numbers[b]], -1 leaves it unchanged; numbers int32."""
    size = 4 * rows.shape[1]
    places = np.array([address_of(rows), rows.strides[0], address_of(mask), mask.strides[0], size], np.int64)
    entries.csr_gather_rows(address_of(places), address_of(numbers), len(numbers))


def _addresses(csr: Csr, batch: int) -> np.ndarray:
    """The table of addresses that kernels/cpu/table/csr.py reads."""
    return np.array([*(address_of(a) for a in csr), csr.rows.shape[1], batch], np.int64)
