"""What Python and the kernel of LALR(1) tables (kernels/cpu/lalr) read and write. All arrays are int64.

A **link** leads on from a state: a symbol and the state after it or, beyond the symbols, a rule that is complete there and its
number among all that are complete in some state. Those of a state are in order.
"""

from .constants import Constants

DONE = 0  # what the kernel answers
FULL = 1  # ROOM is too small
TOO_MANY_STATES = 2
TOO_MUCH = 3  # MOST_ITEMS or MOST_WORK is exceeded
IN_A_CIRCLE = 4  # nonterminals that may be empty follow each other in a circle of states


class Field(Constants):
    """The arena: addresses of arrays, sizes, and what the kernel made."""

    COLUMN = 0  # of each symbol: a terminal's number, the last one the end of the text; of nonterminal n ~n
    ORIGIN = 1  # of each rule its nonterminal, as a symbol; the last rule is the whole text's
    BODY = 2  # the symbols of all rules
    BEGINS = 3  # where each rule's begin, and their number
    IS_EMPTY = 4  # of each symbol: may it derive the empty text?
    SYMBOLS = 5
    RULES = 6
    TERMINALS = 7  # with the end
    MOST_STATES = 8
    MOST_ITEMS = 9  # of all states together, with their closures
    MOST_WORK = 10  # steps along rules, and words of bit sets that are joined
    ROOM = 11  # the array that the kernel takes others from
    ROOM_LENGTH = 12
    KERNEL_BEGINS = (
        13  # of each state the number of items in the kernels before; these lie at the end of ROOM, backwards
    )
    LINK_BEGINS = 14  # of each state the number of links before
    STATES = 15
    LINKS = 16  # place in ROOM: pairs
    COMPLETE = 17  # how many
    LOOKAHEADS = 18  # place in ROOM: of each that is complete the terminals that may follow, as bits
    USED = 19  # of ROOM, from its begin
    LENGTH = 20
