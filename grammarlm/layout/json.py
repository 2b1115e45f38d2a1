"""What lies where for the JSON machine: its arena, its program, its threads and frames.

The arena is one int64 array of addresses and numbers; a kernel is handed its address alone. masks/json_schema/tables.py fills in
what hangs on the vocabulary, masks/json_schema/epoch.py the rest.

**Program** (PROGRAM, int64): what a schema comes down to (grammars/json_schema/shapes.py) as rows at offsets, written
by masks/json_schema/program.py; an offset is a row's name.

    node     count, flags, then per alternative: kind, offset of its shape
    string   least, most (-1: any number) characters, start state of its language (0: any), offset of its lengths (0: none)
    words    first and last key of a finite set of strings
    number   as json_numbers.py has it
    object   see Object; its keys at KEYS offsets: Key
    array    see Array; items of a position: count, then per way: node, which `contains` it counts for

**Thread**: one way to read the text so far: four words.

    c   kind, what the kind needs within a lexeme (`sub`), the row it reads (node, shape or object), and a state of a language
    x   a range of keys and how many of their bytes have been read (words, keys), or the state of a number or language
    y   blanks read (structural positions), or characters counted and half an escape (strings), or the key read so far (keys)
    f   the frame of the value around it

**Frame**: a record of eight words that never changes; reading a key makes a new one. Frame 0 lies below the whole text; frame 1,
the barrier, stands for frames that a row must not read (json_masks.py).
"""

from .constants import Constants


class At(Constants):
    """Places in the arena."""

    PROGRAM = 0
    BLOB = 1  # uint8: the bytes of keys and words
    FRAMES = 2  # int64 [capacity, 8]
    FRAME_COUNT = 3
    FRAME_CAPACITY = 4
    CHAINS = 5  # int64 [capacity, 2]: bytes of keys, see json_keys.py
    CHAIN_COUNT = 6
    CHAIN_CAPACITY = 7
    RECORDS = 8  # int64 [capacity, 5]: c, x, y, f, next thread of the same config or 0
    RECORD_COUNT = 9
    RECORD_CAPACITY = 10
    STATES = 11  # int32 [S, 256]: languages as automata: the next state, -1 refused, 0 not made yet
    ACCEPTS = 12  # int32 [S]: 0 not here, otherwise which case it is, counted from 1
    LENGTHS = 13  # int64: bit sets of the lengths of what can still come, WORDS a state
    LENGTH_OF = 14  # int64 [S]: where a state's bit set lies, -1: none
    BLANKS = 15  # int16 [W, 5]: the automaton of white space: next state after blank, tab, newline, return (-1: dead); what follows
    MORE = 16  # the step had another way: call it again with the next `way`
    MISSING = 17  # int64 [256]: states of languages that were needed and are not made yet; [0] counts
    CROSSED = 18  # int64 [capacity, 3]: where a walk met the barrier
    CROSS_COUNT = 19
    CROSS_CAPACITY = 20
    STACK = 21  # int64 [depth, 6]: threads of a walk, and the marks of what it made
    PENDING = 22  # int64 [capacity, 5]: ways of a walk still to go
    PENDING_CAPACITY = 23
    SET_A = 24  # int64 [WIDEST, 4]: threads of a config being advanced
    SET_B = 25
    STORE = 26  # address of a Store: rows of this schema
    SHARED_STORE = 27  # rows that hang on the vocabulary alone
    SHARED_END = 28  # rows of the program below this offset are the same in every program
    BASES = 29  # int64 [B]: addresses of base rows
    BASE_WORDS = 30  # words of a row; one more to spare
    SCRATCH_ROW = 31
    TRIES = 32  # int64 [T, Trie.LENGTH]: the vocabulary's trie, and tries of what remains behind a closing quote
    SPOTS = 33  # int64 [W, Spot.LENGTH]: of each state of white space: rows and entries; 0 = not made yet
    TWINS = 34
    TWIN_COUNT = 35
    STOP_ROW = 36
    NOTHING = 37
    OFFSETS = 38  # int64: tokens' bytes
    DATA = 39
    IS_TEXT = 40
    VOCABULARY = 41
    MOST_CHARACTERS = 42  # of any token
    MOST_ITEMS = 43  # separators in any token
    LIMITED = 44  # int64 [MOST_CHARACTERS + 1]: addresses of the rows 'at most k characters', 0 = not made yet
    CLOSERS = 45  # int32 [N, 2]: tokens that close a string, and the characters before the quote
    CLOSER_COUNT = 46
    FRESH = 47  # rows made since the last look
    WANTED = 48  # what a kernel lacks beside states: a state of white space, a limited row
    MODE = 49  # 0: keys in any order, 1: in the schema's
    DIGITS_MOST = 50  # of a number in any token: see number_rows.digits_ahead
    SECOND_ROW = 51  # another row of scratch
    FULL = 52  # a store had no room for a row
    UNIVERSAL = 53  # uint8 [S]: every string goes on from here, in one case
    ALLOWED = 54  # uint64 [depth, 4]: bytes that a walk jumps to
    JUMPS = 55  # int64 [depth, 2]: the table of children it jumps through (-1: none), and where the subtree ends
    CLOSED = 56  # int64 [capacity, 3]: where a language met a closing quote: node, state, characters
    ESCAPED = 57  # int64 [capacity, 3]: where it met a backslash
    NOTED_CAPACITY = 58  # of both
    FILTER = 59  # int32: which of the closers a language allows
    FILTER_ON = 60
    CLOSING = 61  # int32 [M, 3]: nodes of closing quotes, and which closers hang below each: first, count
    CLOSING_COUNT = 62
    DIGITS_AFTER = 63  # of those behind an exponent's letter
    SHARED_STATES = 64  # the same of languages that all schemas share: formats
    SHARED_ACCEPTS = 65
    SHARED_UNIVERSAL = 66
    COUNTS = 67  # int64 [S]: how many strings go on from here; -k: at least k; 0: not asked yet
    # int32: tokens with the end of a key, its value, and a whole key; then those with a part of that, or items
    SUSPECTS = 68
    SUSPECT_COUNT = 69  # of the first; of the first and second; and of all of them
    SUSPECT_BEGINNINGS = 70
    SUSPECT_ITEMS = 71
    BEYOND = 72  # what a row being made has read of its own frame behind a value: see json_rows.py
    VIEW_FRAME = 73  # the frame whose open keys are known in part
    VIEW_SEEN = 74  # keys seen, of frames whose view is known
    TOTAL = 75  # uint8 [S]: every string can go on from here and be finished
    SHARED_TOTAL = 76
    CLOSER_TRIE = 77  # which trie has the beginnings of tokens that close a string, by closer
    CLOSER_ROW = 78  # a third row of scratch
    LOOPS = 79  # int64 [S]: classes of bytes that lead from a state to itself, see `loops_of`; 0: not asked yet
    SHARED_LOOPS = 80
    ALPHABETS = 81  # int64 [N]: classes of the bytes below a node of the vocabulary's trie
    CLASSES = 82  # uint8 [256]
    SERIAL = 83  # of the epoch: a number that no other has in this process
    WHOLE_TAGS = 84  # int64 [WHOLE_MASKS, 2]: serial and record of masks that are kept whole, see json_masks.py
    WHOLE_ROWS = 85
    SUSPENDED = 86  # int64 [Suspended.STACK + 6 * depth]: a walk that lacked a state, see json_languages.py
    SUSPENDED_ROW = 87
    TOKEN_ALPHABETS = 88  # int64 [V]: classes of all bytes of a token, and how many characters it has
    RUN_KEYS = 89  # int64 [1 + 2 * RUN_ROWS]: how many rows of runs there are; classes and most characters of each
    RUN_ROWS = 90
    RUN_BASE = 91  # the number of the first of them among the base rows
    ESCAPING = 92  # int32: nodes of the first backslash of tokens, in a string
    ESCAPING_COUNT = 93
    PLAIN = 94  # not 0: strings are spelled as json.dumps does, see json_text.py
    NATURAL = 95  # not 0: white space is another in each gap, see gap_state
    LENGTH = 96


class Suspended(Constants):
    """A walk of a language along the vocabulary's trie that lacked a state: of whom, and where it goes on."""

    SERIAL = 0  # of the epoch; 0: there is none
    STATE = 1
    ROW_OF = 2
    COUNT = 3
    IS_BODY = 4
    RUN = 5
    RUN_MOST = 6
    NODE = 7
    CLOSINGS = 8  # noted before the node
    ESCAPES = 9
    STACK = 10  # of the nodes above it


class Store(Constants):
    """Rows by key."""

    TABLE = 0  # int64 [size, KEY_WORDS + 1]: key, offset in the pool; -1 empty, -2 a mark: the row hangs on more than this key
    SIZE = 1
    COUNT = 2
    POOL = 3  # int32: rows, see json_masks.py
    USED = 4
    CAPACITY = 5
    LENGTH = 6


class Trie(Constants):
    NODES = 0
    BYTE = 1
    DEPTH = 2
    END = 3
    TOKEN = 4  # uint32 [N], of the vocabulary's trie
    FIRST = 5  # int32 [N + 2], of tries of remainders: tokens of node i - 1 are LIST[FIRST[i] : FIRST[i + 1]]; -1: nothing remains
    LIST = 6
    WIDE = 7  # int32 [N + 1]: which table of children node i - 1 has, -1: none
    CHILDREN = 8  # int32 [., 256]: of nodes with many children
    LENGTH = 9


class Spot(Constants):
    """Of one state of white space."""

    BLANK_BASE = 0  # number of the base row: tokens of white space that may come
    START_BASE = 1  # white space, a quote and part of a string
    OFFSETS = 2  # int32 [257]: entries by the byte that ends them
    NODES = 3  # int32: nodes of the vocabulary's trie behind white space and that byte
    REMAINDERS = 4  # which trie has what remains behind white space and a whole string
    MADE = 5
    LENGTH = 6


class Kind(Constants):
    VALUE = 0  # before a value
    STRING = 1  # in a string: any, or of a language, or counted
    WORD = 2  # in a string out of a finite set
    LITERAL = 3
    NUMBER = 4
    AFTER = 5  # behind a value
    KEYS = 6  # before a key: sub 0 behind {, sub 1 behind ,
    KEY = 7  # in a key
    COLON = 8
    ENTRY = 9  # behind [: a value or ]


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
    KEYS = 1  # where they lie: Key.LENGTH words each
    OTHERS = 2  # node of other keys' values, -1: no other keys, -2: by case
    LANGUAGE = 3  # start state of the language of other keys, 0: any
    CASES = 4  # offset: the node of each case of it; before them: is every key of some case?
    LEAST = 5
    MOST = 6  # -1: any number
    NEEDED = 7  # bits of keys (in sorted order) that must be there, where there are at most INLINE keys
    USABLE = 8  # bits of keys whose value exists
    IMPLIED = 9  # offset: count, then pairs (key, bits it needs) ; 0: none
    NEEDED_LIST = 10  # offset: count, then indexes, where there are more keys
    AVAILABLE = 11  # how many keys there are that have no place of their own; -1: as many as anybody wants
    RANKS = 12  # offset: bits of keys from each rank on, COUNT + 2 of them (at most INLINE keys)
    DEFAULT = 13  # the case that most other keys belong to, counted from 1; 0: none
    CASE_COUNT = 14
    LENGTH = 15


class Key(Constants):
    BYTES = 0
    SIZE = 1
    NODE = 2
    RANK = 3  # its turn in the schema's order
    LENGTH = 4


class Array(Constants):
    PREFIX = 0  # how many positions have ways of their own
    ITEMS = 1  # offset: of each such position the offset of its ways, then of all others
    LEAST = 2
    MOST = 3
    CONTAINS = 4  # how many counted kinds
    BOUNDS = 5  # offset: least and most of each
    UNIQUE = 6
    LENGTH = 7


class Frame(Constants):
    PARENT = 0
    ROW = 1  # offset of the object or array; arrays have bit ARRAY_BIT
    SEEN = 2  # keys seen: bits, or the number of a set where there are more than INLINE
    COUNT = 3
    OTHERS = 4  # keys seen that have no place of their own (arrays: items seen that must be unique): head of a list of chains
    LAST = 5  # objects: rank of the last key, plus one; arrays: what counts so far, 16 bits each
    NEEDED = 6  # bits of keys still needed
    TEXT = 7  # arrays of unique items: chain of the item being read
    LENGTH = 8


LACKING, TOO_MANY = -1, -2  # in place of a result: something must be made first; the text can be read in too many ways
ENOUGH = 1 << 41  # bit of WANTED: so much is missing that going on would be in vain
WAITS = 1 << 42  # bit of WANTED: what is lacking is all that is, nothing has to begin anew when it is made
OUT_OF_ROOM = 1 | 64 | ENOUGH  # bits of WANTED: frames or chains have run out, what was made last is not to be read
INLINE = 62
ANY_STRING = 8  # the row of strings of which nothing is counted
SHARED_BIT = 1 << 26  # of a state: it belongs to a language that all schemas share
COUNT_BIT = 1 << 30  # of a state in MISSING: what is lacking is how many strings go on from there
ARRAY_BIT = 1 << 40
NO_FRAME, BARRIER = 0, 1
WIDEST = 1024  # threads of a config
DEAD, CROSS = -1, -2  # what a step's c can be
BEHIND, FURTHER = 1, 2  # bits of BEYOND
# States of white space. In 0 nothing has been read; from the next three only what follows it goes on: anything, a closing bracket,
# anything else.
GAP, CAN_START, CLOSES, GOES_ON = 0, 1, 2, 3
# Where it is natural each gap has a state of its own in place of 0: before a bracket that can close, behind one that opened, behind
# a comma, behind a colon. No other gap has any white space, and stands in CAN_START.
BEFORE_CLOSE, AFTER_OPEN, AFTER_COMMA, AFTER_COLON = 4, 5, 6, 7
FOLLOWS, BRACKET = 1, 2  # bits of what may follow white space: anything else, a closing bracket
FIELD = (1 << 21) - 1  # of x: first key, last key, bytes read
ESCAPE = (1 << 24) - 1  # of y: half an escape
MOST_REQUIRED = 2000  # properties that one object must have
