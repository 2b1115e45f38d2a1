"""The suffix automaton of a document (kernels/cpu/substring): what Python allocates, and kernels fill and read."""

from .constants import Constants

ROOT = 0  # the state of the empty piece while the automaton is built
NONE = -1  # no state, no edge
FIRST = 2  # state 0 of the automaton is number 2 of the machine: DEAD and FINISHED come before
MARK = 256  # added to the last byte of a character with which a word begins
FAR = (1 << 31) - 1  # more bytes than any document has


class Growing(Constants):
    """int64: an automaton that is being built. Of its arrays only as much is filled as there are states and edges."""

    SYMBOLS = 0  # uint16 [SIZE]: the document's bytes, some with MARK
    SIZE = 1
    READ = 2  # so many of them are in the automaton
    REST = 3  # int32 [SIZE + 1]: bytes from each place to the next border
    STATES = 4  # so many there are
    EDGES = 5
    LAST = 6  # the state of the whole text so far
    LINK = 7  # int32 [2 SIZE + 3]: the state of the longest suffix that is another state; NONE of the root
    LONGEST = 8  # int32: of the longest text of a state
    HEAD = 9  # int32: its first edge, in no order; NONE where it has none
    LEFT = 10  # int32: bytes to the next border from the nearest place at which texts of the state end
    LISTS = 11  # int32 [3 SIZE + 4, Listed.WIDTH]
    OPEN = 12  # uint16: links to a state that have not passed on their LEFT
    LENGTH = 13


class Listed(Constants):
    """An edge of an automaton that is being built."""

    SYMBOL = 0
    TARGET = 1
    NEXT = 2  # the state's next edge
    WIDTH = 3


class Piece(Constants):
    """int64: the finished automaton, and the vocabulary whose tokens are read."""

    EDGES = 0  # int32 [states + 1]: where the edges of a state begin; those of one are sorted by byte
    BYTE = 1  # uint8
    TARGET = 2  # int32
    LEFT = 3  # int32 [states]
    TREES = 4  # int64 [256, 2], as TokenFacts has them
    NODES = 5  # of the byte trie of the vocabulary, see vocab/byte_trie.py
    NODE_BYTE = 6
    DEPTH = 7
    END = 8
    TOKEN = 9
    TWINS = 10
    TWIN_COUNT = 11
    NOTHING = 12  # value of TOKEN at nodes that stand for no token: the first bit after a row
    DEEPEST = 13  # bytes of the longest token
    VOCABULARY = 14  # number of token ids that have bytes
    OFFSETS = 15  # int64 [VOCABULARY + 1]
    DATA = 16  # uint8: the bytes of all tokens
    DATA_LENGTH = 17
    IS_TEXT = 18  # uint8 [VOCABULARY]: may a mask allow this id for its bytes?
    LENGTH = 19
