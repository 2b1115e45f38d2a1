"""The kernels of the stack machine as Python calls them: operations, capacities, and what can be full."""

# Operations of `ask`.
FILL_ROW, SIGN, ADVANCE, ADVANCE_BYTES, ADVANCE_COLUMN, PUSH, MAKE_CONFIG = range(7)
FILL_TARGETS, FILL_NEXT, SHIFT, NEXT_LINE, FILL_SIGNED, FORGET, UNITE = range(7, 14)
DONE = 0

# Which arrays have no room, in a missing code with FULL; 0 to 3: see `kernels/cpu/stack`.
FULL_NODES, FULL_ENTRIES, FULL_TRIES, FULL_SURVEYS, FULL_SPARSE, FULL_DENSE, FULL_EXITS = 4, 5, 6, 7, 8, 9, 10
FULL_DRAFT_NODES, FULL_DRAFT_ENTRIES, FULL_POOL = 11, 12, 13
FULL_SIGNATURES, FULL_KNOWN = 14, 15
FULL_LEAVES = 16
FULL_UNIONS = 17  # the cache of unions is not allocated yet: few grammars need it

STEPS_KEPT = 8192  # size of the cache of steps: rereading a text of some thousand tokens hits it

# Surveys.
FEW = 400  # most tokens of a row stored as a list
DENSE, SPARSE = 1, 0  # formats of rows: bits, or a list of tokens
GROUPS = 512  # most groups of one survey
TALLY = 3 + 2 * GROUPS
MOST_CLASSES = 256  # of bytes; the columns after them are special tokens
SUSPENDED_LENGTH = 6  # of a suspended walk, see draft_row.py
AGENDA_LENGTH = 8192
SIGNATURE_LENGTH = 1 << 16
EMPTIES = -1  # in a signature: no survey, but the tokens of a trie with an empty remainder
