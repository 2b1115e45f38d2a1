"""Layout of the JSON machine: arena, program, threads and frames.

The arena is one int64 array of addresses and numbers. A kernel receives only its address.
masks/machines/json/vocabulary/tables.py fills in what depends on the vocabulary, masks/machines/json/machine.py the rest.

**Program** (PROGRAM, int64): the compiled schema (grammars/json_schema/shapes/shapes.py) as rows at offsets, written by
masks/machines/json/compile/program.py. A row is identified by its offset.

    node     count, flags, then per alternative: kind, offset of its shape
    string   least, most (-1: unbounded) characters, start state of its language (0: any), offset of its lengths (0: none)
    words    first and last key of a finite set of strings
    number   see layout/numbers.py and kernels/cpu/json/step/numbers.py
    object   see Object; its keys at KEYS offsets: Key
    array    see Array; items of a position: count, then per way: node, which `contains` it counts for

**Thread**: one possible parse of the text so far, in four words.

    c   kind, position inside the lexeme (`sub`), the program row it reads (node, shape or object), and a language state
    x   a range of keys and how many of their bytes have been read (words, keys), or the state of a number or language
    y   white space read (structural positions), characters counted and an incomplete escape (strings), or the key so far (keys)
    f   the frame of the enclosing value

**Frame**: an immutable record of eight words; reading a key makes a new one. Frame 0 is below the whole text. Frame 1, the barrier,
stands for frames that a cached row must not read (kernels/cpu/json/rows/rows.py).
"""

from .constants import Constants


class At(Constants):
    """Indices into the arena."""

    PROGRAM = 0
    BLOB = 1  # uint8: the bytes of keys and words
    FRAMES = 2  # int64 [capacity, 8]
    FRAME_COUNT = 3
    FRAME_CAPACITY = 4
    CHAINS = 5  # int64 [capacity, 2]: bytes of keys, see kernels/cpu/json/step/frames.py
    CHAIN_COUNT = 6
    CHAIN_CAPACITY = 7
    RECORDS = 8  # int64 [capacity, 5]: c, x, y, f, next thread of the same config or 0
    RECORD_COUNT = 9
    RECORD_CAPACITY = 10
    STATES = 11  # int32 [S, 256]: automata of languages: next state, -1 rejected, 0 not computed yet
    ACCEPTS = 12  # int32 [S]: 0 not accepting, otherwise the case it accepts, counted from 1
    LENGTHS = 13  # int64: lengths of a continuation: number of words, not 0 if all longer ones are possible, a bit set
    LENGTH_OF = 14  # int64 [S]: offset of a state's entry in LENGTHS, -1: none
    BLANKS = 15  # int16 [W, 5]: white space automaton: next state on blank, tab, newline, return (-1: dead); followers
    MORE = 16  # the step has another alternative: call it again with the next `way`
    MISSING = 17  # int64 [256]: language states that were needed and are not computed yet; [0] counts them
    CROSSED = 18  # int64 [capacity, Crossing.LENGTH]: where a walk met the barrier
    CROSS_COUNT = 19
    CROSS_CAPACITY = 20
    STACK = 21  # int64 [depth, 6]: threads of a walk, with the marks to roll back to
    PENDING = 22  # int64 [capacity, 5]: alternatives that a walk still has to try (backtracking)
    PENDING_CAPACITY = 23
    SET_A = 24  # int64 [WIDEST, 4]: threads of a config being advanced
    SET_B = 25
    STORE = 26  # address of a Store: cached rows of this schema
    SHARED_STORE = 27  # cached rows that depend on the vocabulary alone
    SHARED_END = 28  # program rows below this offset are the same in every program
    BASES = 29  # int64 [B]: addresses of base rows
    BASE_WORDS = 30  # words of a row, one of them spare
    SCRATCH_ROW = 31
    TRIES = 32  # int64 [T, Trie.LENGTH]: the vocabulary's trie, and tries of the remainders after a closing quote
    SPOTS = 33  # int64 [W, Spot.LENGTH]: per white space state: rows and entries; 0 = not computed yet
    TWINS = 34
    TWIN_COUNT = 35
    STOP_ROW = 36
    NOTHING = 37
    OFFSETS = 38  # int64: tokens' bytes
    DATA = 39
    IS_TEXT = 40
    VOCABULARY = 41
    MOST_CHARACTERS = 42  # in any token
    MOST_ITEMS = 43  # most separators in any token
    LIMITED = 44  # int64 [MOST_CHARACTERS + 1]: addresses of the rows "at most k characters", 0 = not computed yet
    CLOSERS = 45  # int32 [N, 2]: tokens that close a string, and their characters before the quote
    CLOSER_COUNT = 46
    WANTED = 47  # bits: what a kernel misses besides states: a white space state, a limited row
    MODE = 48  # 0: keys in any order, 1: in the schema's order
    DIGITS_MOST = 49  # digits of a number in any token: see digits_ahead in grammars/json_schema/numbers/rows.py
    SECOND_ROW = 50  # a second scratch row
    FULL = 51  # a store had no room for a row
    UNIVERSAL = 52  # uint8 [S]: every string can continue from here, all in one case
    ALLOWED = 53  # uint64 [depth, 4]: the bytes that a walk jumps to
    JUMPS = 54  # int64 [depth, 2]: table of children it jumps through (-1: none), end of the subtree
    CLOSED = 55  # int64 [capacity, 3]: where a language met a closing quote: node, state, characters
    ESCAPED = 56  # int64 [capacity, 3]: where it met a backslash
    NOTED_CAPACITY = 57  # capacity of both
    FILTER = 58  # int32: which closers a language allows
    FILTER_ON = 59
    CLOSING = 60  # int32 [M, 3]: nodes of closing quotes, and the closers in their subtree: first, count
    CLOSING_COUNT = 61
    DIGITS_AFTER = 62  # most digits after an exponent's letter
    SHARED_STATES = 63  # the same two for languages that all schemas share: formats
    SHARED_ACCEPTS = 64
    COUNTS = 65  # int64 [S]: number of strings that continue from here; -k: at least k; 0: not computed yet
    # int32: tokens with the end of a key, its value, and a whole key; then those with a part of that; then those with items
    SUSPECTS = 66
    SUSPECT_COUNT = 67  # number of the first; of the first and second; of all of them
    SUSPECT_BEGINNINGS = 68
    SUSPECT_ITEMS = 69
    BEYOND = (
        70  # what the row being computed has read of its own frame after a value: see kernels/cpu/json/rows/rows.py
    )
    VIEW_FRAME = 71  # the frame whose open keys are partly known
    VIEW_SEEN = 72  # keys seen, for frames whose view is known
    TOTAL = 73  # uint8 [S]: every string can continue from here and be finished
    CLOSER_TRIE = 74  # per closer: which trie has the prefixes of tokens that close a string
    CLOSER_ROW = 75  # a third scratch row
    LOOPS = 76  # int64 [S]: byte classes on which a state loops to itself, see `loops_of`; 0: not computed yet
    SHARED_LOOPS = 77
    ALPHABETS = 78  # int64 [N]: byte classes in the subtree of a node of the vocabulary's trie
    CLASSES = 79  # uint8 [256]
    SERIAL = 80  # of the epoch: unique within this process
    WHOLE_TAGS = 81  # int64 [WHOLE_MASKS, 2]: cache of whole masks: serial and record, see kernels/cpu/json/masks.py
    WHOLE_ROWS = 82
    SUSPENDED = 83  # int64 [Suspended.STACK + 6 * depth]: a walk that missed a state: see kernels/cpu/json/rows/language_walk.py
    SUSPENDED_ROW = 84
    ESCAPING = 85  # int32: nodes of the first backslash of tokens, inside a string
    ESCAPING_COUNT = 86
    PLAIN = 87  # not 0: strings are spelled as by json.dumps, see kernels/cpu/json/step/text.py
    NATURAL = 88  # not 0: each gap has its own white space state, see Gap
    LENGTH = 89


class Suspended(Constants):
    """A suspended walk of a language along the vocabulary's trie, which missed a state: its key and its position."""

    SERIAL = 0  # of the epoch; 0: there is none
    STATE = 1
    ROW_OF = 2
    COUNT = 3
    IS_BODY = 4
    NODE = 5
    CLOSINGS = 6  # number of CLOSED entries before the node
    ESCAPES = 7
    STACK = 8  # of the nodes above it


class Store(Constants):
    """A hash table of cached rows."""

    TABLE = 0  # int64 [size, KEY_WORDS + 1]: key, offset in POOL; -1 empty; -2: the row depends on more than this key
    SIZE = 1
    COUNT = 2
    POOL = 3  # int32: rows, see kernels/cpu/json/rows/rows.py
    USED = 4
    CAPACITY = 5
    LENGTH = 6


class KeptRow(Constants):
    """A row in a store's POOL (int32): its head; then the exceptions, the crossings, and the filter."""

    BASE = 0  # index of the base row
    EXCEPTIONS = 1  # number of words that differ from it: index, bits
    CROSSINGS = 2  # number of them: Crossing.LENGTH words each
    REMAINDERS = 3  # the trie of remainders after the row's strings, -1: none
    FILTER = 4  # words of the filter: which tokens that close a string a language allows
    LENGTH = 5


class Crossing(Constants):
    """Where a token leaves the frame of a row."""

    NODE = 0
    TRIE = 1
    BLANKS = 2  # state of white space
    HOW = 3  # see kernels/cpu/json/rows/tries.py
    LENGTH = 4


class Trie(Constants):
    NODES = 0
    BYTE = 1
    DEPTH = 2
    END = 3
    TOKEN = 4  # uint32 [N], of the vocabulary's trie
    FIRST = 5  # int32 [N + 2], of remainder tries: node i - 1 has LIST[FIRST[i] : FIRST[i + 1]]; -1: empty remainder
    LIST = 6
    WIDE = 7  # int32 [N + 1]: the table of children of node i - 1, -1: none
    CHILDREN = 8  # int32 [., 256]: for nodes with many children
    LENGTH = 9


class Spot(Constants):
    """Data of one white space state."""

    BLANK_BASE = 0  # index of the base row: white space tokens that are allowed
    START_BASE = 1  # index of the base row: white space, a quote and part of a string
    OFFSETS = 2  # int32 [257]: offsets of entries, by the byte after the white space
    NODES = 3  # int32: nodes of the vocabulary's trie after white space and that byte
    REMAINDERS = 4  # index of the trie of remainders after white space and a whole string
    MADE = 5
    LENGTH = 6


class Kind(Constants):
    VALUE = 0  # before a value
    STRING = 1  # in a string: unrestricted, of a language, or counted
    WORD = 2  # in a string of a finite set
    LITERAL = 3
    NUMBER = 4
    AFTER = 5  # after a value
    KEYS = 6  # before a key: sub 0 after {, sub 1 after ,
    KEY = 7  # in a key
    COLON = 8
    ENTRY = 9  # before an item: sub 0 after [ (or the closing ]), sub 1 after ,


class Want(Constants):
    """Bits of WANTED: what a kernel is missing."""

    FRAMES = 1  # room for these
    SPOT = 2  # a white space state: its number is above bit 8
    LIMITED = 4  # a row "at most k characters": likewise
    TOO_WIDE = 8  # the text is too ambiguous
    CROSSED = 16
    PENDING = 32
    CHAINS = 64
    RECORDS = 128
    NOTED = 1 << 40
    ENOUGH = 1 << 41  # so much that continuing is useless
    WAITS = 1 << 42  # only this; nothing has to restart once it is computed
    OUT_OF_ROOM = 1 | 64 | 1 << 41  # several bits: frames or chains have run out; the last ones must not be read


class Gap(Constants):
    """States of white space. After START, three accept only what follows white space: anything, a closing bracket, anything else.

    With NATURAL each gap has a state of its own in place of START. No other gap has white space; it starts in CAN_START.
    """

    START = 0
    CAN_START = 1
    CLOSES = 2
    GOES_ON = 3
    BEFORE_CLOSE = 4  # before a bracket that can close
    AFTER_OPEN = 5
    AFTER_COMMA = 6
    AFTER_COLON = 7


class Shape(Constants):
    """Kinds of alternatives."""

    LITERAL = 0  # the offset is 1 true, 2 false, 3 null
    STRING = 1
    WORDS = 2
    NUMBER = 3
    OBJECT = 4
    ARRAY = 5


class Object(Constants):
    COUNT = 0  # keys with a node of their own, sorted by bytes
    KEYS = 1  # their offset: Key.LENGTH words each
    OTHERS = 2  # node of the values of other keys, -1: no other keys, -2: depends on the case
    LANGUAGE = 3  # start state of the language of other keys, 0: any
    CASES = 4  # offset of the node of each case; the word before them: does every key belong to some case?
    LEAST = 5
    MOST = 6  # -1: unbounded
    NEEDED = 7  # bit set of required keys (in sorted order), where there are at most INLINE keys; and of obligations
    USABLE = 8  # bit set of keys whose value can exist
    IMPLIED = 9  # offset: count, then pairs (key, bit set of keys it requires); 0: none
    NEEDED_LIST = 10  # offset: count, then indexes of required keys, where there are more than INLINE keys
    AVAILABLE = 11  # number of possible keys without an entry; -1: unlimited
    RANKS = 12  # offset: bit sets of keys from each rank on, COUNT + 2 of them (at most INLINE keys)
    DEFAULT = 13  # the case that most other keys belong to, counted from 1; 0: none
    CASE_COUNT = 14
    # Some key must have a value of a certain node, whichever key it is. Offset: count, then of each way to meet obligations: their
    # bits in NEEDED, the node of the key's values (which no other key has), the node of those that meet them. 0: none.
    OBLIGATIONS = 15
    LENGTH = 16


class Key(Constants):
    BYTES = 0
    SIZE = 1
    NODE = 2
    RANK = 3  # its position in the schema's order
    LENGTH = 4


class Array(Constants):
    PREFIX = 0  # number of positions with items of their own
    ITEMS = 1  # offset: for each such position the offset of its ways, then that of all others
    LEAST = 2
    MOST = 3
    CONTAINS = 4  # number of counted `contains`
    BOUNDS = 5  # offset: least and most of each
    UNIQUE = 6
    LENGTH = 7


class Frame(Constants):
    PARENT = 0
    ROW = 1  # offset of the object or array; arrays have bit ARRAY_BIT
    SEEN = 2  # keys seen: a bit set, or where there are more than INLINE the index of one in CHAINS
    COUNT = 3
    OTHERS = 4  # keys seen without an entry (arrays: items seen, if unique): head of a list of chains
    LAST = 5  # objects: rank of the last key, plus one; arrays: the counters, 16 bits each
    NEEDED = 6  # bit set of keys still required, and of obligations not met
    TEXT = 7  # arrays of unique items: chain of the item being read
    LENGTH = 8


SHORT, TOO_MANY = -1, -2  # in place of a result: something must be computed first; the text is too ambiguous
INLINE = 62
FIRST_OBLIGATION, MOST_OBLIGATIONS = 59, 3  # bits of NEEDED; objects with obligations have fewer than 59 keys
ROW = (1 << 24) - 1  # field of c: the program row
NO_LANGUAGE = (1 << 28) - 1  # in place of the language state of a key: no other key has this prefix
ANY_STRING = 8  # the row of strings without counted characters
SHARED_BIT = 1 << 26  # of a state: it belongs to a language that all schemas share
COUNT_BIT = 1 << 30  # of a state in MISSING: the number of strings that continue from it is missing
ARRAY_BIT = 1 << 40
NO_FRAME, BARRIER = 0, 1
WIDEST = 1024  # most threads of a config
DEAD, CROSS = -1, -2  # values of a step's c: rejected; met the barrier
AFTER_VALUE, FURTHER = 1, 2  # bits of BEYOND
FOLLOWS, BRACKET = 1, 2  # bits of what may follow white space: anything else, a closing bracket
FIELD = (1 << 21) - 1  # fields of x: first key, last key, bytes read
ESCAPE = (1 << 24) - 1  # field of y: an incomplete escape
MOST_REQUIRED = 2000  # required properties of one object
