"""Kinds of bytes, and the kinds in the subtree of each node of the vocabulary's trie: lets a walk skip subtrees.

Inside a string or a comment nearly every character loops to the same config, and nearly every token consists of such
characters. A survey that begins there, or where most tokens get there (a string that may still be a keyword), starts with the
row of all text tokens and determines which kinds of bytes lead out (`find_inside`). It skips each subtree inside that has none
of them, and removes the tokens that do not belong (kernels/cpu/surveys/walk.py). Llama 3.1's vocabulary has 274,520 nodes, of
which 6,910 are visited inside a JSON string.
"""

import numpy as np
from numba import carray, int64

from grammarlm.kernels.cpu.jit import inlined, kernel, part, pointer
from grammarlm.kernels.cpu.stack.arena import arena_of, octets
from grammarlm.kernels.cpu.stack.walk import after_byte, note_missing
from grammarlm.layout import utf8
from grammarlm.layout.stack import HAS_EXITS, Field
from grammarlm.layout.utf8 import BAD, BEYOND_ASCII, BROKEN, LEADS

PROBES = (0x20, 0x65)  # a blank and `e`: where one of them leads elsewhere, most tokens do
utf8_after = inlined(utf8.utf8_after)


@kernel("void(int64, int64, int64, int64, int64)")
def find_kinds(byte_address, depth_address, nodes, kinds_address, found_address):
    """Computes the kinds in each node's subtree, including its own byte; BROKEN if the bytes up to some node are not UTF-8."""
    byte, kinds = carray(pointer(byte_address), nodes, np.uint8), carray(pointer(kinds_address), 256, np.uint8)
    depth = carray(pointer(depth_address), nodes, np.uint16)
    found = carray(pointer(found_address), nodes, np.int64)
    states, below = np.zeros(1 << 16, np.uint8), np.zeros((1 << 16) + 1, np.int64)
    for node in range(nodes):
        here = int64(depth[node])
        states[here] = utf8_after(states[here - 1], byte[node])
        found[node] = int64(1) << int64(kinds[byte[node]])
        if states[here] == BAD:
            found[node] |= int64(1) << BROKEN
    for node in range(nodes - 1, -1, -1):
        here = int64(depth[node])
        found[node] |= below[here + 1]
        below[here + 1] = 0
        below[here] |= found[node]


@part
def behind_probes(address, config):
    """The config after a blank, if all PROBES are accepted; 0 if not, or a missing code."""
    arena = arena_of(address)
    behind = code = int64(0)
    for i in range(len(PROBES)):
        after = after_byte(address, config, PROBES[i])
        if after == 0:
            return int64(0)
        if after < 0:
            code = after
            if not note_missing(arena, after):
                return after
        if i == 0:
            behind = after
    return code if code < 0 else behind


@part
def may_stay(address, config):
    """1 if most tokens may stay in this config, 0 if not, or a missing code."""
    arena = arena_of(address)
    if octets(arena, Field.C_KIND, config + 1)[config] & HAS_EXITS:
        return int64(0)
    code = int64(0)
    for i in range(len(PROBES)):
        after = after_byte(address, config, PROBES[i])
        if after < 0:
            code = after
            if not note_missing(arena, after):
                return after
        elif after != config:
            return int64(0)
    return code if code < 0 else int64(1)


@part
def takes_characters(address, config):
    """1 if each character beyond ASCII, and nothing else from 0x80 on, loops back to the config, without a frame ending on
    the way. 0 if not, or a missing code.
    """
    arena = arena_of(address)
    behind = np.empty(BAD, np.int64)
    behind[0] = config
    code = int64(0)
    for i in range(len(LEADS)):
        after = behind[i + 1] = after_byte(address, config, LEADS[i])
        if after == 0 or (after > 0 and octets(arena, Field.C_KIND, after + 1)[after] & HAS_EXITS):
            return int64(0)
        if after < 0:
            code = after
            if not note_missing(arena, after):
                return after
    if code < 0:
        return code
    for state in range(BAD):
        for byte in range(0x80 if state == 0 else 0, 256):
            after = after_byte(address, behind[state], byte)
            if after < 0:
                code = after
                if not note_missing(arena, after):
                    return after
                continue
            expected = utf8_after(state, byte)
            if after != (0 if expected == BAD else behind[expected]):
                return int64(0)
    return code if code < 0 else int64(1)


@part
def find_inside(address, first, inside):
    """Stores in inside[0] the config that most tokens reach from config `first` and stay in, 0 if none; in inside[1] the
    kinds of bytes that lead out of it, always with BROKEN. Returns 0, or a missing code.
    """
    arena = arena_of(address)
    inside[0] = 0
    config = behind_probes(address, first)
    if config <= 0:
        return config
    stays = may_stay(address, config)
    if stays <= 0:
        return stays
    kinds = octets(arena, Field.KINDS, 256)
    found, code = int64(1) << BROKEN, int64(0)
    for byte in range(0x80):
        after = after_byte(address, config, byte)
        if after < 0:
            code = after
            if not note_missing(arena, after):
                return after
        elif after != config:
            found |= int64(1) << int64(kinds[byte])
    characters = takes_characters(address, config)
    if characters < 0:
        return characters
    if code < 0:
        return code
    if characters == 0:
        found |= int64(1) << BEYOND_ASCII
    inside[0], inside[1] = config, found
    return int64(0)
