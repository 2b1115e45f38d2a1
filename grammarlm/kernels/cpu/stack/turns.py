"""Turns: a spin lock on the survey arrays that needs no GIL.

A **seat** is a worker's own arena (stack/seat.py). A seat that has drafted a survey stores it in the epoch's shared arrays
itself: asking Python for each of a thousand surveys would cost more than the surveys. While it holds the lock, the epoch's arena
points to the seat's scratch. The holder of the program's lock takes turns as well, while its own kernel works on surveys, scratch
is lent, or arrays are reallocated. Nobody waits long: a seat that does not get the lock hands its survey over to Python. The same
goes for signatures.

A survey of the full vocabulary takes a millisecond. A worker claims it; others skip to other rows meanwhile. Claims are advisory:
one that is overwritten or left behind costs only time.
"""

import numpy as np
from numba import carray, int64

from grammarlm.kernels.cpu.jit import inlined, part, pointer, try_lock, unlock
from grammarlm.layout.stack import CLAIMS, FOR_ANOTHER, NEED_LOCK, Place

from .places import arena_of, lacks

ATTEMPTS = 20_000  # about 200 microseconds: an array may be reallocated meanwhile
# Scratch that holds drafted surveys and signatures; a writer lends it to the epoch while it holds the lock.
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
    """Tries to acquire the lock of this arena."""
    attempts = 0
    while attempts < ATTEMPTS and not try_lock(address + 8 * int64(Place.TURN)):
        attempts += 1
    return attempts < ATTEMPTS


@inlined
def end_turn(address):
    unlock(address + 8 * int64(Place.TURN))


@part
def swap_scratch(one, other):
    """Swaps the LENT scratch addresses of two arenas."""
    for first, last in LENT:
        for place in range(first, last + 1):
            one[place], other[place] = other[place], one[place]


@part
def begin_beside(address):
    """Tries to lock a seat's epoch. True if it is locked and its arrays are those that the seat knows; the epoch's arena then
    points to the seat's scratch.
    """
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
    """Takes the scratch back, updates the seat's COUNTS, and unlocks the epoch."""
    arena = arena_of(address)
    epoch = arena[Place.EPOCH]
    theirs = arena_of(epoch)
    swap_scratch(arena, theirs)
    for place in COUNTS:
        arena[place] = theirs[place]
    end_turn(epoch)


@part
def claim(address, one, two):
    """Claims the survey with this key for the seat: 0, or the code that another seat drafts it. The seat then sees what was
    added meanwhile.
    """
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
    """Releases the seat's claims."""
    arena = arena_of(address)
    if arena[Place.CLAIMS]:
        claims = carray(pointer(arena[Place.CLAIMS]), (CLAIMS + 1, 3), np.int64)
        for i in range(CLAIMS):
            if claims[i, 2] == address:
                claims[i, 2] = 0
