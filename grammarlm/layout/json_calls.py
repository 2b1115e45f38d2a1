"""The kernel of the JSON machine as Python calls it: its operations, and sizes that both sides know."""

from .constants import Constants
from .numbers import Number

FILL, ADVANCE, READ, ENDS, BASE, SURVEY, REHASH, MOVE, PLACE, FORGET, NODES, RESTS = range(
    12
)  # operations of `json_call`

FULL_STORE = 1  # what FILL returns where a store had no room for a row
KEY_WORDS = 7  # of the key of a cached row
WHOLE_MASKS = 64  # size of the cache of whole masks, of all texts: as many as there may be texts in a batch
MISSING_MOST, MISSING_ENOUGH = 255, 12  # capacity of MISSING, and how many are missed before a walk ends
BODY_REMAINDERS = 1  # the trie of remainders after a string's closing quote

CLASS_WORDS = 8  # of a class of a survey: c, x, y, f; x and y as compared; hash; one spare
QUOTED = 32  # bit of c in a class: a quote is still to come before the thread's position (kinds AFTER and COLON)


class Nodes(Constants):
    """Indices into the array that is the argument `nodes`: a draft tree, and where its masks go."""

    COUNT = 0
    MASK = 1  # the address of the row of the state now; those of the nodes follow
    ROW_BYTES = 2
    FIRST = 3  # from here on the tokens, then the parents (-1: the state now), then room for COUNT + 1 records
    LENGTH = 4


class Rests(Constants):
    """Indices into the array that is the argument `rests`: a number that has begun, and which texts that end it are looked for."""

    ROW = 0  # of the program
    X = 1
    Y = 2
    SHORTEST = 3  # bytes
    LONGEST = 4
    WITH_EXPONENT = 5  # 1: the texts must have one; 0: none may have one
    MOST = 6  # of the texts
    TEXTS = 7  # uint8 [MOST * (LONGEST + 1)]
    TIGHT = 8  # room for a number's row
    LENGTH = 8 + Number.LENGTH


class Survey(Constants):
    """Indices into the array that is the argument `survey`."""

    CLASSES = 0  # int64 [capacity, CLASS_WORDS]: a thread and its key
    COUNT = 1
    CAPACITY = 2
    TABLE = 3  # int32 [SIZE]: hash table of class numbers, counted from 1
    SIZE = 4
    PAIRS = 5  # int32 [capacity, 2]: token, class
    PAIR_COUNT = 6
    PAIR_CAPACITY = 7
    FRAMES = 8  # frames from here on belong to the survey
    C = 9  # the thread
    X = 10
    Y = 11
    F = 12
    WHICH = 13  # the trie: 0 the vocabulary's
    ORDINARY = 14  # not 0: omit tokens that continue a key (or unique item) as most do, and list the rejected ones
    LENGTH = 15
