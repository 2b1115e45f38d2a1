"""Kinds of bytes, and the kinds in the subtree of each node of the vocabulary's trie: lets a walk skip subtrees.

Inside a string or a comment nearly every character loops to the same config, and nearly every token consists of such
characters. A walk that begins there, or where most tokens get there (a string that may still be a keyword), starts with the
row of all text tokens and determines which kinds of bytes lead out (`find_inside`). It skips each subtree inside that has none
of them, and removes the tokens that do not belong (kernels/cpu/surveys/walk.py). Llama 3.1's vocabulary has 274,520 nodes, of
which 6,910 are visited inside a JSON string.
"""

import numpy as np
from numba import carray, int64

from grammarlm.kernels.cpu.jit import inlined, kernel, part, pointer
from grammarlm.kernels.cpu.stack.arena import arena_of, octets
from grammarlm.kernels.cpu.stack.steps import read
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
def config_inside(address, first):
    """The config that most tokens reach from config `first` and stay in, 0 if there is none, or a missing code."""
    config = read(address, first, int64(PROBES[0]))
    if config <= 0:
        return config
    for byte in PROBES[1:]:
        after = read(address, first, int64(byte))
        if after <= 0:
            return after
    if octets(arena_of(address), Field.C_KIND, config + 1)[config] & HAS_EXITS:
        return int64(0)
    for byte in PROBES:
        after = read(address, config, int64(byte))
        if after != config:
            return min(after, int64(0))
    return config


@part
def takes_characters(address, config):
    """1 if each character beyond ASCII, and nothing else from 0x80 on, loops back to the config, without a frame ending on
    the way. 0 if not, or a missing code.
    """
    arena = arena_of(address)
    behind = np.empty(BAD, np.int64)
    behind[0] = config
    for i in range(len(LEADS)):
        after = behind[i + 1] = read(address, config, int64(LEADS[i]))
        if after <= 0:
            return after
        if octets(arena, Field.C_KIND, after + 1)[after] & HAS_EXITS:
            return int64(0)
    for state in range(BAD):
        for byte in range(0x80 if state == 0 else 0, 256):
            after = read(address, behind[state], byte)
            if after < 0:
                return after
            expected = utf8_after(state, byte)
            if after != (0 if expected == BAD else behind[expected]):
                return int64(0)
    return int64(1)


@part
def find_inside(address, first, inside):
    """Stores in inside[0] the config that most tokens reach from config `first` and stay in, 0 if none; in inside[1] the
    kinds of bytes that lead out of it, always with BROKEN. Returns 0, or a missing code.
    """
    inside[0] = 0
    config = config_inside(address, first)
    if config <= 0:
        return config
    kinds = octets(arena_of(address), Field.KINDS, 256)
    found = int64(1) << BROKEN
    for byte in range(0x80):
        after = read(address, config, byte)
        if after < 0:
            return after
        if after != config:
            found |= int64(1) << int64(kinds[byte])
    characters = takes_characters(address, config)
    if characters < 0:
        return characters
    if characters == 0:
        found |= int64(1) << BEYOND_ASCII
    inside[0], inside[1] = config, found
    return int64(0)
