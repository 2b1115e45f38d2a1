"""A token automaton as arrays with default transitions (CSR); kernels/reference/csr.py defines their meaning."""

from typing import Any, NamedTuple

DEAD, FINISHED, MISS = 0, 1, 2
FIRST = 3  # the first live state


class Csr(NamedTuple):
    """S states, E entries, R base rows of W words; numpy arrays, or torch tensors of one device."""

    rows: Any  # int32 [R, W]; row 0 is empty
    base: Any  # int32 [S]
    default: Any  # int32 [S]
    first: Any  # int32 [S]: first exception of the state
    count: Any  # int32 [S]
    tokens: Any  # int32 [E], sorted within each state
    targets: Any  # int32 [E]
