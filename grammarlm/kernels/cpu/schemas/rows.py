"""Plain schemas, compiled from the tape (scan.py) straight to the rows of a program (layout/json.py).

masks/machines/json/compile/plain.py defines what is plain and how it is compiled: its PlainReader is the reference for this
kernel. Work left to Python is in FIXES: a string with a pattern or a format, a number with bounds, a schema that is not plain.
A document with anything unusual is rejected as a whole (ODD); Python reads it and words the errors.
"""

from numba import int64

from grammarlm.kernels.cpu.jit import copy_bytes, kernel, part
from grammarlm.kernels.cpu.json.fields import ints, longs, octets
from grammarlm.layout.json import Shape
from grammarlm.layout.schema import (
    ASSERTS_FORMATS,
    NO_KEY,
    NUMBER_FIX,
    ODD,
    STRING_FIX,
    WITH_FORMATS,
    WITH_PLAIN_INTEGERS,
    Fix,
    Keyword,
    Queued,
    Read,
    Said,
    Tape,
    Template,
    Value,
    Word,
)

from .fields import fix_of, queued, read_arena, taped, template
from .nodes import NEWEST
from .notes import has_room, left_to_python, length_of, need, put_node, read_keywords
from .objects import put_object
from .scan import keyword_at, keyword_of, scan
from .unions import node

SETTLING, NO_VALUE_YET = 1000, -1  # most rounds; a mark


@part
def format_of(arena, form):
    """Start state of a format's automaton; 0 if the name is unknown or absent, -1 if left to Python."""
    if form < 0:
        return int64(0)
    if taped(arena, form, Tape.KIND) != Value.TEXT:
        return int64(-1)
    entry = keyword_of(arena, form)
    start = longs(arena, Read.KEYWORDS)[entry + Keyword.FORMAT] if entry >= 0 else int64(0)
    return start if start <= 0 or arena[Read.HAS_FORMATS] else int64(-1)


@part
def put_string(arena, entry, slot):
    """Writes kind and row of strings; ODD if something is unusual."""
    rows = longs(arena, Read.ROWS)
    pattern, form = int64(entry[Queued.FOUND + Word.PATTERN]), int64(entry[Queued.FOUND + Word.FORMAT])
    least, most = int64(entry[Queued.FOUND + Word.LEAST_LENGTH]), int64(entry[Queued.FOUND + Word.MOST_LENGTH])
    low, high = length_of(arena, least, int64(0)), length_of(arena, most, int64(-1))
    start = format_of(arena, form)
    if start == 0:
        form = int64(-1)  # an unknown format asserts nothing
    if pattern >= 0 or low == -2 or high == -2 or start < 0 or (start and (low or high >= 0)):
        number = left_to_python(arena, STRING_FIX, slot)
        if number < 0:
            return int64(ODD)
        fix = fix_of(arena, number)
        fix[Fix.WORDS], fix[Fix.WORDS + 1], fix[Fix.WORDS + 2], fix[Fix.WORDS + 3] = pattern, form, least, most
        return int64(0)
    rows[slot] = Shape.STRING
    if low == 0 and high < 0 and not start:
        rows[slot + 1] = template(arena, Template.STRING)
        return int64(0)
    if 0 <= high < low or not has_room(arena, 4, 0):
        return int64(ODD)
    at = arena[Read.USED]
    rows[at], rows[at + 1], rows[at + 2], rows[at + 3] = low, high, start, 0
    rows[slot + 1] = at
    arena[Read.USED] = at + 4
    return int64(0)


@part
def put_number(arena, entry, slot, is_integer):
    if not entry[Queued.SAID] & Said.NUMBER:
        rows = longs(arena, Read.ROWS)
        which = int64(Template.NUMBER)
        if is_integer:
            which = int64(Template.PLAIN_INTEGER) if arena[Read.PLAIN_INTEGERS] else int64(Template.INTEGER)
        rows[slot], rows[slot + 1] = Shape.NUMBER, template(arena, which)
        return int64(0)
    number = left_to_python(arena, NUMBER_FIX, slot)
    if number < 0:
        return int64(ODD)
    fix = fix_of(arena, number)
    fix[Fix.NAME] = is_integer + (is_integer & arena[Read.PLAIN_INTEGERS])
    for i in range(5):
        fix[Fix.WORDS + i] = entry[Queued.FOUND + Word.LEAST + i]
    return int64(0)


@part
def put_array(arena, entry, slot):
    rows = longs(arena, Read.ROWS)
    items = int64(entry[Queued.FOUND + Word.ITEMS])
    low = length_of(arena, int64(entry[Queued.FOUND + Word.LEAST_ITEMS]), int64(0))
    high = length_of(arena, int64(entry[Queued.FOUND + Word.MOST_ITEMS]), int64(-1))
    item = template(arena, Template.ANYTHING)
    if items >= 0:
        item = node(arena, items)
        if item == ODD or item == NO_KEY:
            return int64(ODD)
    if low > 0 and not need(arena, int64(entry[Queued.ROW]), slot, item):
        return int64(ODD)
    rows[slot] = Shape.ARRAY
    if item == template(arena, Template.ANYTHING) and low == 0 and high < 0:
        rows[slot + 1] = template(arena, Template.ARRAY)
        return int64(0)
    if not has_room(arena, 11, 0):
        return int64(ODD)
    at = arena[Read.USED]
    rows[at] = 1  # ways, their offset, then the array itself: see layout/json.py
    put_node(arena, at + 1, item)
    rows[at + 2], rows[at + 3] = 0, at
    rows[at + 4], rows[at + 5], rows[at + 6], rows[at + 7] = 0, at + 3, low, high
    rows[at + 8], rows[at + 9], rows[at + 10] = 0, at + 4, 0
    rows[slot + 1] = at + 4
    arena[Read.USED] = at + 11
    return int64(0)


@part
def write_node(arena, entry):
    """Writes a node's alternatives; ODD if something is unusual."""
    rows = longs(arena, Read.ROWS)
    row, said, kinds = int64(entry[Queued.ROW]), int64(entry[Queued.SAID]), int64(entry[Queued.KINDS])
    at = row + 2
    for kind in range(Word.NULL, Word.ARRAY + 1):
        if not kinds >> (kind - Word.NULL) & 1:
            continue
        verdict = int64(0)
        if kind == Word.NULL:
            rows[at], rows[at + 1] = Shape.LITERAL, 3
        elif kind == Word.BOOLEAN:
            rows[at], rows[at + 1], rows[at + 2], rows[at + 3] = Shape.LITERAL, 1, Shape.LITERAL, 2
            at += 2
        elif kind == Word.STRING:
            verdict = put_string(arena, entry, at)
        elif kind == Word.NUMBER or kind == Word.INTEGER:
            verdict = put_number(arena, entry, at, int64(kind == Word.INTEGER))
        elif kind == Word.OBJECT:
            if said & Said.OBJECT:
                verdict = put_object(arena, entry, at)
            else:
                rows[at], rows[at + 1] = Shape.OBJECT, template(arena, Template.OBJECT)
        elif said & Said.ARRAY:
            verdict = put_array(arena, entry, at)
        else:
            rows[at], rows[at + 1] = Shape.ARRAY, template(arena, Template.ARRAY)
        if verdict < 0:
            return verdict
        at += 2
    return int64(0)


@part
def needs_itself(arena):
    """Is there a node whose every value contains such a value again, without end (ill-founded recursion)?

    A fixpoint: the flags of nodes serve as marks for "no value known yet". A node with an alternative that needs nothing has
    values.
    """
    needs, rows, count = ints(arena, Read.NEEDS), longs(arena, Read.ROWS), arena[Read.NEED_COUNT]
    for i in range(count):
        if i == 0 or needs[3 * i] != needs[3 * i - 3] or needs[3 * i + 1] != needs[3 * i - 2]:
            rows[int64(needs[3 * i]) + 1] += 1
    for i in range(count):
        row = int64(needs[3 * i])
        if rows[row + 1] != NO_VALUE_YET:
            rows[row + 1] = NO_VALUE_YET if rows[row + 1] == rows[row] else 0
    for _ in range(SETTLING):
        has_changed = is_open = False
        i = count - 1
        while i >= 0:  # inner nodes come last
            row, alternative, is_met = int64(needs[3 * i]), needs[3 * i + 1], True
            while i >= 0 and needs[3 * i] == row and needs[3 * i + 1] == alternative:
                below = int64(needs[3 * i + 2])
                if below >= arena[Read.TEMPLATE_END] and rows[below + 1]:
                    is_met = False
                i -= 1
            if rows[row + 1] and is_met:
                rows[row + 1] = 0
                has_changed = True
            is_open = is_open or rows[row + 1] != 0
        if not is_open:
            return False
        if not has_changed:
            return True
    return True


@part
def draft_of(arena, address):
    """The draft that `$schema` names; the newest if it names no known one."""
    if address < 0 or taped(arena, address, Tape.KIND) != Value.TEXT:
        return int64(NEWEST)
    data, at, size = octets(arena, Read.DATA), taped(arena, address, Tape.AT), taped(arena, address, Tape.SIZE)
    while size and data[at + size - 1] == ord("#"):
        size -= 1
    entry = keyword_at(arena, at, size)
    draft = longs(arena, Read.KEYWORDS)[entry + Keyword.DRAFT] if entry >= 0 else int64(0)
    return draft if draft else int64(NEWEST)


@part
def finish(arena):
    """Appends the blob to the rows; False if there is no room."""
    letters, used = arena[Read.BLOB_USED], arena[Read.USED]
    words = letters // 8 + 1  # followed by at least one zero byte
    if not has_room(arena, words, 0):
        return False
    rows = longs(arena, Read.ROWS)
    rows[used + words - 1] = 0
    copy_bytes(arena[Read.ROWS] + 8 * used, arena[Read.BLOB], letters)
    arena[Read.TOTAL] = used + words
    return True


@kernel("int64(int64, int64, int64)", holds_gil=True, seconds=14)
def read_schema(address, size, options):
    """Compiles the frozen schema of `size` bytes at DATA. Returns the row of its node, or a negative number: LEFT and below
    if left to Python, ODD if Python must read the whole document.
    """
    arena = read_arena(address)
    arena[Read.SIZE], arena[Read.ADDRESSES], arena[Read.COMPARED] = size, 0, 0
    for i in range(2):
        arena[Read.KEYWORDS + 2 * i] = arena[Read.TABLES + 2 * (options & ASSERTS_FORMATS) + i]
    arena[Read.PLAIN_INTEGERS] = int64(options & WITH_PLAIN_INTEGERS != 0)
    arena[Read.HAS_FORMATS] = int64(options & WITH_FORMATS != 0)
    arena[Read.USED], arena[Read.BLOB_USED], arena[Read.DRAFT] = arena[Read.TEMPLATE_END], 0, NEWEST
    arena[Read.QUEUED] = arena[Read.FIX_COUNT] = arena[Read.PATCH_COUNT] = 0
    arena[Read.NEED_COUNT] = arena[Read.CHAINS] = 0
    if not scan(arena) or ints(arena, Read.TAPE)[Tape.KIND] != Value.DICT or read_keywords(arena, int64(0)) < 0:
        return int64(ODD)
    arena[Read.OWN_DRAFT] = ints(arena, Read.FOUND)[Word.DRAFT]
    arena[Read.DRAFT] = draft_of(arena, arena[Read.OWN_DRAFT])
    arena[Read.PLAIN_INTEGERS] |= int64(arena[Read.DRAFT] == 4)
    start = node(arena, int64(0))
    done = int64(0)
    while done < arena[Read.QUEUED] and start != ODD:
        if write_node(arena, queued(arena, done)) < 0:
            return int64(ODD)
        done += 1
    if start == NO_KEY or (arena[Read.NEED_COUNT] and needs_itself(arena)):
        return int64(ODD)
    if arena[Read.FIX_COUNT] == 0 and not finish(arena):
        return int64(ODD)
    return start
