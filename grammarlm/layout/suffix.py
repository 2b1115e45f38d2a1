"""A suffix tree over token texts (kernels/cpu/suffix): what Python allocates and kernels fill."""

from .constants import Constants

DEPTH = 32  # tokens of a window: texts are known by all their windows of so many tokens
END = -1  # after the last token of a finished text
MATCH = 24  # most tokens of a suffix that is looked up: what follows it is known by counts up to DEPTH
LONGEST = 8  # matches of so many tokens and more are rated together
ROOT = 0  # the node of no token; as a child or a neighbour: none


class Field(Constants):
    """int64: addresses of the arrays, their sizes, and what kernels count."""

    TEXT = 0  # int32, a ring: all texts, one after the other
    TEXT_SIZE = 1  # a power of two
    NODES = 2  # int32 [NODE_ROOM, Node.WIDTH]
    NODE_ROOM = 3
    SLOTS = 4  # int32: the hash table of children
    SLOT_COUNT = 5  # a power of two
    CURSORS = 6  # int32 [DEPTH, 2]: (node, tokens of its edge) of the window that starts at a place, by the place modulo DEPTH
    FIRST = 7  # the oldest place that is remembered
    LAST = 8  # after the newest place
    OPEN = 9  # windows of the running text that are shorter than DEPTH: those at the last so many places
    ALIVE = 10  # nodes in use
    FRESH = 11  # the first node that never was in use
    FREE = 12  # the first one that no longer is; the next one stands in its PARENT
    GUESSES = 13  # (tokens of the match, first token) that its own tree proposed last, and that another one did; no match: 0 tokens
    LENGTH = 17


class Node(Constants):
    """A node is the edge that leads to it: `LENGTH` tokens of the text from `START` on."""

    PARENT = 0
    TOKEN = 1  # the first of its edge
    START = 2  # where the last window that went along it has its tokens
    LENGTH = 3
    COUNT = 4  # windows that went along it
    CHILD = 5  # the child that was used last
    NEXT = 6  # the neighbour that was used before, and the one after
    BEFORE = 7
    WIDTH = 8


class Merit(Constants):
    """How good matches of a length were, float64: of so many first tokens that they proposed, so many were drawn."""

    DRAWN = 0
    TRIED = 1
    WIDTH = 2


class SideBranch(Constants):
    """A branch beside a path, float64: how probable it is that all of it up to there is drawn, and where it is."""

    CHANCE = 0
    SOURCE = 1  # OTHER or OWN
    NODE = 2  # the child that the path has not taken
    RUN = 3  # the path
    KEPT = 4  # its tokens above the branch
    MATCH = 5  # tokens of the match that the path began with
    WIDTH = 6


CHOICES = 64  # branches that are remembered while runs are drafted
SEEN = 32  # children of a node that are compared: those used last
NOTHING = -1
OTHER, OWN = 0, 1  # the tree of finished texts, the running text's
