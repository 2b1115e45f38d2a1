"""Layout of the arena of a regular automaton (masks/machines/regular/epoch.py fills it)."""

from .constants import Constants

DEAD = 0
MISS = -1
YES, NO, UNKNOWN = 1, 2, 0  # of USABLE
DONE = 0  # what a walk returns that missed nothing


class Arena(Constants):
    """Indices into the arena: addresses of arrays, and their lengths."""

    NEXT = 0  # int32 [S, classes]
    CLASSES = 1
    STATES = 2
    CLASS_OF = 3  # uint8 [256]
    USABLE = 4  # uint8 [S]: can tokens finish from here? YES, NO; UNKNOWN: not computed yet
    NODES = 5  # the byte trie of the vocabulary, see vocab/byte_trie.py
    BYTE = 6
    DEPTH = 7
    END = 8
    TOKEN = 9
    TWINS = 10
    TWIN_COUNT = 11
    NOTHING = 12  # value of `token` at nodes that stand for no token: the first bit after a row
    VOCABULARY = 13  # number of token ids that have bytes
    OFFSETS = 14  # int64 [VOCABULARY + 1]
    DATA = 15  # uint8: the bytes of all tokens
    DATA_LENGTH = 16
    IS_TEXT = 17  # uint8 [VOCABULARY]: may a mask allow this id for its bytes?
    SPELLS_ALL = 18  # 1: tokens can finish from every state, `usable` need not be checked
    LENGTH = 19
