"""Turns at the arrays that surveys lie in: one thread at a time, without Python's lock.

A seat (masks/stack/seat.py) that has drafted a survey writes it down itself, into the epoch's arrays, and goes on: to ask Python
for each of a thousand surveys would cost more than the surveys do. For so long the epoch's arena names the seat's scratch.
Who holds the program's lock takes turns as well, while a kernel of its own is at surveys, scratch is lent, or arrays are replaced.
Nobody waits long: a seat whose turn does not come hands its survey over. So it is with signatures.
"""

from numba import int64

from .jit import inlined, part, try_lock, unlock
from .places import Place, arena_of

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
