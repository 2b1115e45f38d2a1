"""A token automaton as arrays, with default transitions: definition of its kernels in plain numpy.

A state's edges are a short sorted list of exceptions, plus one default target for the other tokens of a base row:

    state   base row                        default   exceptions (token -> target)
    7       tokens that stay in a string    7         '"' -> 12, '",' -> 13, '\\' -> MISS, ...

So a state inside a JSON string has a few hundred entries instead of 123,000. Base rows are mask rows shared by many states. The
mask of a state follows from its edges: the base row, plus the exceptions, without those that lead to DEAD.

    DEAD       the token was rejected
    FINISHED   a stop id has been read
    MISS       the edge is not computed yet: `asked` identifies it, and the host computes it (masks/csr/automaton.py)

Decoding past all three is harmless: their masks are the stop ids, and after those the state does not change.

kernels/cpu/table/csr.py and kernels/gpu/csr.py have functions of the same names and arguments.
"""

import numpy as np

from grammarlm.layout.csr import DEAD, MISS, Csr


def advance_(csr: Csr, states: np.ndarray, tokens: np.ndarray, asked: np.ndarray) -> None:
    """states[b] (int32) becomes the state after tokens[b] (int64); if that is MISS, asked[b] (int32 [B, 2]) is the edge."""
    for b, (state, token) in enumerate(zip(states.tolist(), tokens.tolist(), strict=True)):
        if state == MISS:
            continue
        target = DEAD
        low, high = int(csr.first[state]), int(csr.first[state] + csr.count[state])
        place = low + int(np.searchsorted(csr.tokens[low:high], token))
        if place < high and csr.tokens[place] == token:
            target = int(csr.targets[place])
        elif 0 <= token < 32 * csr.rows.shape[1] and csr.rows[csr.base[state], token >> 5] >> (token & 31) & 1:
            target = int(csr.default[state])
        if target == MISS:
            asked[b] = state, token
        states[b] = target


def fill_mask_(csr: Csr, states: np.ndarray, mask: np.ndarray) -> None:
    """mask[b] (int32 [B, W]) becomes the row of states[b]."""
    for b, state in enumerate(states.tolist()):
        bits = np.unpackbits(csr.rows[csr.base[state]].view(np.uint8), bitorder="little")
        edges = slice(int(csr.first[state]), int(csr.first[state] + csr.count[state]))
        bits[csr.tokens[edges]] = csr.targets[edges] != DEAD
        mask[b] = np.packbits(bits, bitorder="little").view(np.int32)


def gather_rows_(rows: np.ndarray, numbers: np.ndarray, mask: np.ndarray) -> None:
    """mask[b] becomes rows[numbers[b]]; -1 leaves it unchanged."""
    for b, number in enumerate(numbers.tolist()):
        if number >= 0:
            mask[b] = rows[number]
