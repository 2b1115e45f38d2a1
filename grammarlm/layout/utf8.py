"""Kinds of bytes, and UTF-8 as an automaton over bytes (kernels/cpu/tokens/byte_kinds.py)."""

import numpy as np

# Kinds: invalid UTF-8, if a text begins with the token; and all other bytes from 0x80 on.
BROKEN, BEYOND_ASCII = 0, 1
BAD = 8  # the state after invalid UTF-8
LEADS = (0xC2, 0xE0, 0xE1, 0xED, 0xF0, 0xF1, 0xF4)  # bytes that lead to states 1, 2, ... 7 of utf8_after


def _kinds() -> np.ndarray:
    """uint8 [256]: the kind of each byte. Letters and digits share kinds, except that hexadecimal digits are separate."""
    found = np.full(256, BEYOND_ASCII, np.uint8)
    runs = [(0x30, 0x3A), (0x41, 0x47), (0x47, 0x5B), (0x61, 0x67), (0x67, 0x7B), (0, 9), (0x0B, 0x0D), (0x0E, 0x20)]
    runs += [(byte, byte + 1) for byte in range(0x80) if not any(first <= byte < end for first, end in runs)]
    for kind, (first, end) in enumerate(runs, BEYOND_ASCII + 1):
        found[first:end] = kind
    return found


KINDS = _kinds()


def utf8_after(state, byte):
    """UTF-8 as an automaton. 0: between characters; 1, 3 and 6: one to three bytes of 0x80 to 0xBF follow; 2, 4, 5 and 7:
    after E0, ED, F0 and F4, which allow only some of them; BAD.
    """
    after = BAD
    if state == 0:
        if byte < 0x80:
            after = 0
        elif 0xC2 <= byte <= 0xDF:
            after = 1
        elif byte == 0xE0:
            after = 2
        elif byte == 0xED:
            after = 4
        elif 0xE1 <= byte <= 0xEF:
            after = 3
        elif byte == 0xF0:
            after = 5
        elif 0xF1 <= byte <= 0xF3:
            after = 6
        elif byte == 0xF4:
            after = 7
    elif state < BAD:
        low = 0xA0 if state == 2 else 0x90 if state == 5 else 0x80
        high = 0x9F if state == 4 else 0x8F if state == 7 else 0xBF
        if low <= byte <= high:
            after = 0 if state == 1 else 1 if state <= 4 else 3
    return after
