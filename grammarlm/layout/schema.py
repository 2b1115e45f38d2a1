"""Layout of the kernel that reads frozen schemas: its arena, the tape, its keywords, and what it leaves to Python.

A schema that a user passes in is stored as `marshal` writes it (grammars/json_schema/__init__.py). Rebuilding dicts from it, only
to look at each once, costs more than everything else that a plain schema needs. A kernel that reads the bytes touches little
memory.

**Tape**: the values of the schema in document order; a dict's alternate: key, value, key, value.

    kind, at, size    its type; the bytes of a text, the value of an integer
    end               the next value that is not inside this one
    same              the value itself, or the earlier one that it refers to (`marshal` writes a shared dict once)
    row, kinds        of a schema that has a row in the program: its node's row, and the types of its values
"""

from .constants import Constants


class Read(Constants):
    """Indices into the arena of one reader."""

    DATA = 0  # uint8: the frozen schema
    SIZE = 1
    TAPE = 2  # int32 [., Tape.LENGTH]
    COUNT = 3
    REFERRED = 4  # int32: values that can be referred to, in order
    STACK = 5  # int32: enclosing containers
    KEYWORDS = 6  # int64 [., Keyword.LENGTH]: hash table, the one of the two in TABLES that applies
    KEYWORD_MASK = 7
    KEYWORD_BYTES = 8  # uint8
    ROWS = 9  # int64: the program
    USED = 10
    ROOM = 11
    BLOB = 12  # uint8: bytes of keys and words
    BLOB_USED = 13
    BLOB_ROOM = 14
    QUEUE = 15  # int32 [., QUEUED]: nodes that have a row and are still to be written
    QUEUED = 16
    FIXES = 17  # int64 [., FIX]: work left to Python
    FIX_COUNT = 18
    FIX_ROOM = 19
    PATCHES = 20  # int32: where in ROWS there is the row of a node left to Python
    PATCH_COUNT = 21
    TEXTS = 22  # int32: texts to sort
    ORDER = 23  # int32: their sorted order
    SPARE = 24  # int32: scratch for sorting
    CHILDREN = 25  # int32: nodes of an object's keys
    NEEDS = 26  # int32 [., 3]: node, index of its alternative, node that every value of that alternative contains
    NEED_COUNT = 27
    NEED_ROOM = 28
    DRAFT = 29
    PLAIN_INTEGERS = 30
    TEMPLATES = 31  # int64: rows that all programs have, indexed by Template
    TEMPLATE_END = 32
    FOUND = 33  # int32 [Word.LENGTH]: the values of a schema's keywords
    HAS_FORMATS = 34  # the automata of formats are where masks look for them
    KINDS = 35  # of the node requested last: bits of types
    SCHEMA = 36  # the schema reached by the references followed last
    CHAIN = 37  # length of that chain of references in STACK
    CHAINS = 38  # and its offset there
    POINTS = 39  # int64: integers of a list
    TABLES = 40  # hash tables and bytes of keywords: where `format` is not asserted, where it is
    TOTAL = 44  # words of the program with its blob, if nothing is left to Python
    ADDRESSES = 45  # do addresses of inner schemas matter? 0: not known yet, 1: no, 2: yes
    OWN_DRAFT = 46  # value of the document's `$schema`, -1: none
    COMPARED = 47  # number of comparisons between texts, made to find objects disjoint
    LENGTH = 48


class Tape(Constants):
    KIND = 0
    AT = 1
    SIZE = 2
    END = 3
    SAME = 4
    ROW = 5
    KINDS = 6  # bits of the types of the node's values
    LENGTH = 7


class Value(Constants):
    DICT = 1
    LIST = 2
    TEXT = 3
    HALF_TEXT = 4  # with an unpaired surrogate
    INTEGER = 5  # of 32 bits
    LARGE = 6  # any other integer
    FRACTION = 7
    TRUE = 8
    FALSE = 9
    NULL = 10


class Keyword(Constants):
    HASH = 0
    AT = 1
    SIZE = 2
    BITS = 3
    NAME = 4
    DRAFT = 5  # for the address of a metaschema
    FORMAT = 6  # for a format's name: start state of its automaton; -1: left to Python
    LENGTH = 7


class Word(Constants):
    """The keywords whose values are read."""

    NONE = 0
    TYPE = 1
    ENUM = 2
    CONST = 3
    LEAST_LENGTH = 4
    MOST_LENGTH = 5
    PATTERN = 6
    FORMAT = 7
    LEAST = 8
    MOST = 9
    ABOVE = 10
    BELOW = 11
    MULTIPLE = 12
    PROPERTIES = 13
    REQUIRED = 14
    OTHERS = 15
    ITEMS = 16
    LEAST_ITEMS = 17
    MOST_ITEMS = 18
    UNIQUE = 19
    REFERENCE = 20
    DRAFT = 21
    OLD_ADDRESS = 22  # `id`, the address keyword of draft 4
    NULL = 23  # from here on the values of `type`, in the order of alternatives
    BOOLEAN = 24
    STRING = 25
    NUMBER = 26
    INTEGER = 27
    OBJECT = 28
    ARRAY = 29
    MAP = 30  # a map of schemas by name that is not read here
    ANY_OF = 31
    ONE_OF = 32
    ALL_OF = 33
    OTHER_REFERENCE = 34
    LENGTH = 35


class Said(Constants):
    """Bits of keywords. Those below HARD are those of grammars/json_schema/read/keywords.py."""

    TYPE = 1
    STRING = 2
    NUMBER = 4
    OBJECT = 8
    ARRAY = 16
    VALUES = 32
    COMBINE = 64
    REFERENCE = 128
    HARD = 1 << 20
    ADDRESS = 1 << 21


class Template(Constants):
    """Rows that every program has: shapes, then nodes of one type."""

    ANYTHING = 0
    STRING = 1
    NUMBER = 2
    INTEGER = 3
    PLAIN_INTEGER = 4
    OBJECT = 5
    ARRAY = 6
    NULL_NODE = 7
    BOOLEAN_NODE = 8
    STRING_NODE = 9
    NUMBER_NODE = 10
    INTEGER_NODE = 11
    OBJECT_NODE = 12
    ARRAY_NODE = 13
    PLAIN_INTEGER_NODE = 14
    LENGTH = 15


class Queued(Constants):
    ROW = 0
    SAID = 1
    KINDS = 2  # bits, in the order of types
    COUNT = 3  # alternatives
    FOUND = 4  # the values of the keywords
    LENGTH = 4 + Word.LENGTH


class Fix(Constants):
    """Work left to Python."""

    WHAT = 0
    VALUE = 1  # of a node: the schema; of a shape: where its kind and its row belong; of a union: its row
    NAME = (
        2  # a number: 0 any, 1 an integer, 2 one of plain digits; a union: how many nodes, whose rows stand in its own
    )
    WORDS = 3  # the values of its keywords, -1: absent; of a range: the numbers themselves
    LENGTH = 8


ASSERTS_FORMATS, WITH_PLAIN_INTEGERS, WITH_FORMATS = 1, 2, 4  # flags: how to read a schema
LONGEST_KEYWORD = 48
REFERRED_BIT = 0x80
DEEPEST = 2000  # marshal's own limit of nesting
NODE_FIX, STRING_FIX, NUMBER_FIX, RANGE_FIX, UNION_FIX = range(5)
NO_KEY, NOWHERE, ODD, UNION, LEFT = -1, -2, -3, -4, -16  # rows; from LEFT downwards: left to Python
