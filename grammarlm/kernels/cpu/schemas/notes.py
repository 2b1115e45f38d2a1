"""What reading a schema records: rows, words, nodes, work left to Python; and what a schema's keywords are about."""

from numba import int64

from grammarlm.kernels.cpu.jit import part
from grammarlm.kernels.cpu.json.fields import ints, longs, octets
from grammarlm.layout.schema import LEFT, NODE_FIX, ODD, Fix, Keyword, Read, Said, Tape, Value, Word

from .fields import tape_at, taped
from .scan import keyword_of


@part
def has_room(arena, words, letters):
    return arena[Read.USED] + words < arena[Read.ROOM] and arena[Read.BLOB_USED] + letters < arena[Read.BLOB_ROOM]


@part
def left_to_python(arena, what, value):
    """Appends an entry to FIXES. Returns its number; -1 if there is no room."""
    number = arena[Read.FIX_COUNT]
    if number >= arena[Read.FIX_ROOM]:
        return int64(-1)
    arena[Read.FIX_COUNT] = number + 1
    fixes = longs(arena, Read.FIXES)
    at = number * Fix.LENGTH
    for i in range(Fix.LENGTH):
        fixes[at + i] = -1
    fixes[at + Fix.WHAT], fixes[at + Fix.VALUE] = what, value
    return number


@part
def put_node(arena, slot, row):
    """Writes a node's row; if it is left to Python, notes the slot in PATCHES."""
    rows = longs(arena, Read.ROWS)
    rows[slot] = row
    if row <= LEFT:
        ints(arena, Read.PATCHES)[arena[Read.PATCH_COUNT]] = slot
        arena[Read.PATCH_COUNT] += 1


@part
def put_word(arena, slot, text):
    """Copies a word's bytes into the blob, and writes their offset and size into the rows."""
    rows = longs(arena, Read.ROWS)
    data, blob = octets(arena, Read.DATA), octets(arena, Read.BLOB)
    at, size, used = taped(arena, text, Tape.AT), taped(arena, text, Tape.SIZE), arena[Read.BLOB_USED]
    for i in range(size):
        blob[used + i] = data[at + i]
    rows[slot], rows[slot + 1] = used, size
    arena[Read.BLOB_USED] = used + size


@part
def remember(arena, schema, row):
    """Stores the row of a schema's node, and the types of its values, in the tape."""
    tape = ints(arena, Read.TAPE)
    tape[tape_at(schema, Tape.ROW)], tape[tape_at(schema, Tape.KINDS)] = row, arena[Read.KINDS]


@part
def remember_chain(arena, first, count, row):
    """The same for references that were followed."""
    for i in range(first, first + count):
        remember(arena, int64(ints(arena, Read.STACK)[i]), row)


@part
def left_node(arena, schema):
    """The row of a node that is left to Python."""
    number = left_to_python(arena, NODE_FIX, schema)
    if number < 0:
        return int64(ODD)
    remember(arena, schema, LEFT - number)
    return int64(LEFT) - number


@part
def need(arena, row, alternative, below):
    """Notes that every value of a node's alternative contains a value of another node; False if there is no room."""
    needs, count = ints(arena, Read.NEEDS), arena[Read.NEED_COUNT]
    if count >= arena[Read.NEED_ROOM]:
        return False
    needs[3 * count], needs[3 * count + 1], needs[3 * count + 2] = row, alternative, below
    arena[Read.NEED_COUNT] = count + 1
    return True


@part
def read_keywords(arena, schema):
    """The bits of what a schema's keywords are about; their values go into FOUND. ODD if a key is no text."""
    found = ints(arena, Read.FOUND)
    table = longs(arena, Read.KEYWORDS)
    for i in range(Word.LENGTH):
        found[i] = -1
    said, end, key = int64(0), taped(arena, schema, Tape.END), schema + 1
    while key < end:
        kind = taped(arena, key, Tape.KIND)
        if kind == Value.TEXT:
            entry = keyword_of(arena, key)
            if entry >= 0:
                said |= table[entry + Keyword.BITS]
                found[table[entry + Keyword.NAME]] = key + 1
                if table[entry + Keyword.NAME] == Word.OLD_ADDRESS and arena[Read.DRAFT] == 4:
                    said |= Said.ADDRESS
        elif kind != Value.HALF_TEXT:
            return int64(ODD)
        key = taped(arena, key + 1, Tape.END)
    return said


@part
def do_addresses_matter(arena):
    """Does anything depend on the addresses that inner schemas declare? Not if the document has neither references nor
    schemas of another draft.
    """
    if arena[Read.ADDRESSES] == 0:
        table, drafts = longs(arena, Read.KEYWORDS), int64(0)
        arena[Read.ADDRESSES] = 1
        for value in range(arena[Read.COUNT]):
            entry = keyword_of(arena, value) if taped(arena, value, Tape.KIND) == Value.TEXT else int64(-1)
            if entry < 0:
                continue
            name = table[entry + Keyword.NAME]
            if name == Word.REFERENCE or name == Word.OTHER_REFERENCE:
                arena[Read.ADDRESSES] = 2
            drafts += int64(name == Word.DRAFT)
        if drafts > int64(arena[Read.OWN_DRAFT] >= 0):
            arena[Read.ADDRESSES] = 2
    return arena[Read.ADDRESSES] == 2


@part
def length_of(arena, value, without):
    """The value of a keyword that counts; -2 if it is not an ordinary number."""
    if value < 0:
        return without
    if taped(arena, value, Tape.KIND) != Value.INTEGER or taped(arena, value, Tape.AT) < 0:
        return int64(-2)
    return taped(arena, value, Tape.AT)
