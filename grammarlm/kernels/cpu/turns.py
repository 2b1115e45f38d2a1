"""Turns at the arrays that surveys lie in: one thread at a time, without Python's lock.

A seat (masks/stack/seat.py) that has drafted a survey writes it down itself, into the epoch's arrays, and goes on: to ask Python
for each of a thousand surveys would cost more than the surveys do. For so long the epoch's arena names the seat's scratch.
Who holds the program's lock takes turns as well, while a kernel of its own is at surveys, scratch is lent, or arrays are replaced.
Nobody waits long: a seat whose turn does not come hands its survey over. So it is with signatures.

A survey of the whole vocabulary takes a millisecond. Who begins one says so, and others make other rows in the meantime. Claims are
advice: one that is forgotten, or that somebody left behind, costs time and nothing else.
"""

import numpy as np
from numba import carray, int64

from ...layout.stack import CLAIMS, FOR_ANOTHER, NEED_LOCK, Place
from .jit import inlined, part, pointer, try_lock, unlock
from .places import arena_of, lacks

ATTEMPTS = 20_000  # some two hundred microseconds: an array may be replaced meanwhile
# What surveys and signatures are written down from: scratch that whoever writes lends for so long.
LENT = (
    (int(Place.LEAVES), int(Place.DRAFT_TOKEN_CAPACITY)),
    (int(Place.DRAFT), int(Place.DRAFTS_COUNT)),
    (int(Place.SIGNATURE), int(Place.SIGNATURE)),
    (int(Place.SUSPENDED), int(Place.SUSPENDED)),
)
COUNTS = (
    *(int(Place.SURVEY_COUNT), int(Place.EXIT_COUNT), int(Place.TRIE_COUNT), int(Place.X_NODES), int(Place.X_TOKENS)),
    *(int(Place.SPARSE_COUNT), int(Place.DENSE_COUNT), int(Place.SIGNATURE_COUNT), int(Place.KNOWN_COUNT)),
    int(Place.LEAF_LIST_COUNT),
)


@inlined
def take_turn(address):
    """Is it our turn at this arena?"""
    attempts = 0
    while attempts < ATTEMPTS and not try_lock(address + 8 * int64(Place.TURN)):
        attempts += 1
    return attempts < ATTEMPTS


@inlined
def end_turn(address):
    unlock(address + 8 * int64(Place.TURN))


@part
def swap_scratch(one, other):
    """Two arenas exchange what surveys and signatures are written down from."""
    for first, last in LENT:
        for place in range(first, last + 1):
            one[place], other[place] = other[place], one[place]


@part
def begin_beside(address):
    """Is it a seat's turn at its epoch, whose arrays are those that it knows? Then the epoch's arena names the seat's scratch."""
    arena = arena_of(address)
    epoch = arena[Place.EPOCH]
    if not take_turn(epoch):
        return False
    theirs = arena_of(epoch)
    if theirs[Place.REPLACED] != arena[Place.REPLACED_SEEN]:
        end_turn(epoch)
        return False
    swap_scratch(arena, theirs)
    return True


@part
def end_beside(address):
    """The seat has its scratch again, and knows how much there is now."""
    arena = arena_of(address)
    epoch = arena[Place.EPOCH]
    theirs = arena_of(epoch)
    swap_scratch(arena, theirs)
    for place in COUNTS:
        arena[place] = theirs[place]
    end_turn(epoch)


@part
def claim(address, one, two):
    """0 where the seat is to draft the survey of this key, or that another is at it. What has come meanwhile is seen then."""
    if not begin_beside(address):
        return int64(0)
    claims = carray(pointer(arena_of(address)[Place.CLAIMS]), (CLAIMS + 1, 3), np.int64)
    is_ours = is_others = False
    for i in range(CLAIMS):
        if claims[i, 0] == one and claims[i, 1] == two:
            is_ours |= claims[i, 2] == address
            is_others |= claims[i, 2] != address and claims[i, 2] != 0
    if not is_ours and not is_others:
        at = claims[CLAIMS, 0]
        claims[at, 0], claims[at, 1], claims[at, 2] = one, two, address
        claims[CLAIMS, 0] = (at + 1) % CLAIMS
    end_beside(address)
    return lacks(NEED_LOCK, FOR_ANOTHER) if is_others and not is_ours else int64(0)


@part
def end_claims(address):
    """The seat drafts nothing."""
    arena = arena_of(address)
    if arena[Place.CLAIMS]:
        claims = carray(pointer(arena[Place.CLAIMS]), (CLAIMS + 1, 3), np.int64)
        for i in range(CLAIMS):
            if claims[i, 2] == address:
                claims[i, 2] = 0
