"""Nodes that are one of several others (anyOf, oneOf), no two of which have a value in common.

They are disjoint by their types; objects are disjoint by a key that all of one schema have, while those of the other cannot have
it, or never with the same text. Function calls and tagged variants are written so.
"""

from numba import int64

from grammarlm.kernels.cpu.jit import part
from grammarlm.kernels.cpu.json.fields import ints, longs
from grammarlm.layout.schema import LEFT, NO_KEY, NOWHERE, ODD, UNION, UNION_FIX, Fix, Read, Said, Tape, Value, Word

from .fields import taped
from .nodes import LONGEST_CHAIN, simple_node
from .notes import has_room, left_node, left_to_python, need, read_keywords, remember, remember_chain
from .scan import compare, value_below

MOST_UNITED = 64  # nodes of a union
MOST_COMPARED = 1 << 20  # pairs of texts compared in a schema: beyond it, Python is no slower
INTEGERS, OBJECTS = 1 << 4, 1 << 5  # bits of types


@part
def node(arena, value):
    """The row of a schema's node, as `simple_node`, or that of a union."""
    row = simple_node(arena, value)
    if row != UNION:
        return row
    schema, first, chain = arena[Read.SCHEMA], arena[Read.CHAINS], arena[Read.CHAIN]
    arena[Read.CHAINS] = first + chain
    row = united(arena, schema)
    arena[Read.CHAINS] = first
    if row != ODD:
        remember(arena, schema, row)
        remember_chain(arena, first, chain, row)
    return row


@part
def united(arena, schema):
    """The row of a node that is one of several others, no two with a value in common; ODD if something is unusual.

    Python copies the alternatives once they are known. What does not have this form is left to Python as a whole.
    """
    found, rows = ints(arena, Read.FOUND), longs(arena, Read.ROWS)
    any_of, one_of, all_of = int64(found[Word.ANY_OF]), int64(found[Word.ONE_OF]), int64(found[Word.ALL_OF])
    listed_at = max(any_of, one_of, all_of)
    alone = int64(any_of >= 0) + int64(one_of >= 0) + int64(all_of >= 0) == 1
    if not alone or taped(arena, listed_at, Tape.KIND) != Value.LIST:
        return left_node(arena, schema)
    values, size = taped(arena, listed_at, Tape.SAME), taped(arena, listed_at, Tape.SIZE)
    if size == 0 or size > MOST_UNITED or (size > 1 and all_of >= 0):
        return left_node(arena, schema)
    remember(arena, schema, int64(NOWHERE))
    children = ints(arena, Read.STACK)
    first = arena[Read.CHAINS] + LONGEST_CHAIN + 1
    objects_at, objects = first + MOST_UNITED, int64(0)
    child, count, total, seen = values + 1, int64(0), int64(0), int64(0)
    while child < taped(arena, values, Tape.END):
        fixes = arena[Read.FIX_COUNT]
        row = simple_node(arena, child)
        child = taped(arena, child, Tape.END)
        if row == ODD or (row == NO_KEY and size == 1):
            return int64(ODD)
        if row == NO_KEY:
            continue
        if row == UNION or (row <= LEFT and size > 1):
            forget(arena, fixes)
            return left_node(arena, schema)
        kinds = arena[Read.KINDS]
        kinds |= (kinds & INTEGERS) >> 1
        if kinds & seen & ~int64(OBJECTS):
            return left_node(arena, schema)
        if kinds & OBJECTS:
            note_object(arena, arena[Read.SCHEMA], objects_at + 3 * objects)
            for other in range(objects):
                if not are_disjoint(arena, objects_at + 3 * objects, objects_at + 3 * other):
                    return left_node(arena, schema)
            objects += 1
        seen |= kinds
        children[first + count] = row
        count += 1
        if row > LEFT:
            total += rows[row]
    arena[Read.KINDS] = seen
    if count == 0:
        return int64(ODD)
    if count == 1:
        return int64(children[first])
    if not has_room(arena, 2 + 2 * total, 0):
        return int64(ODD)
    row = arena[Read.USED]
    number = left_to_python(arena, UNION_FIX, row)
    if number < 0:
        return int64(ODD)
    longs(arena, Read.FIXES)[number * Fix.LENGTH + Fix.NAME] = count
    arena[Read.USED] = row + 2 + 2 * total
    rows[row], rows[row + 1] = total, 0
    for i in range(count):
        rows[row + 2 + i] = children[first + i]
        if not need(arena, row, i, int64(children[first + i])):
            return int64(ODD)
    return row


@part
def forget(arena, fixes):
    """Discards the last `simple_node`; there were `fixes` FIXES before it."""
    arena[Read.KINDS] = 0
    if arena[Read.FIX_COUNT] > fixes:
        remember(arena, arena[Read.SCHEMA], int64(0))
    arena[Read.FIX_COUNT] = fixes
    remember_chain(arena, arena[Read.CHAINS], arena[Read.CHAIN], int64(0))


@part
def note_object(arena, schema, at):
    """Stores in STACK the values of a schema's `properties`, `required` and `additionalProperties`; -1: absent."""
    found, stack = ints(arena, Read.FOUND), ints(arena, Read.STACK)
    read_keywords(arena, schema)
    stack[at], stack[at + 1], stack[at + 2] = found[Word.PROPERTIES], found[Word.REQUIRED], found[Word.OTHERS]


@part
def are_disjoint(arena, one, other):
    """Are two schemas disjoint on objects, by what `note_object` stored of them?"""
    return excludes_by_key(arena, one, other) or excludes_by_key(arena, other, one)


@part
def excludes_by_key(arena, one, other):
    """Is there a key that all objects of one schema have, while those of the other cannot have it, or never with the same value?"""
    stack = ints(arena, Read.STACK)
    required, others = int64(stack[one + 1]), int64(stack[other + 2])
    if required < 0 or taped(arena, required, Tape.KIND) != Value.LIST:
        return False
    required = taped(arena, required, Tape.SAME)
    for item in range(required + 1, taped(arena, required, Tape.END)):
        theirs = property_of(arena, int64(stack[other]), item)
        if theirs < 0:
            if others >= 0 and taped(arena, others, Tape.KIND) == Value.FALSE:
                return True
            continue
        mine = property_of(arena, int64(stack[one]), item)
        if mine >= 0 and without_common_text(arena, mine, theirs):
            return True
    return False


@part
def property_of(arena, properties, name):
    """The schema of a key; -1 if it is not declared."""
    if (
        properties < 0
        or taped(arena, properties, Tape.KIND) != Value.DICT
        or taped(arena, name, Tape.KIND) != Value.TEXT
    ):
        return int64(-1)
    return value_below(
        arena, taped(arena, properties, Tape.SAME), taped(arena, name, Tape.AT), taped(arena, name, Tape.SIZE)
    )


@part
def without_common_text(arena, one, other):
    """Do two schemas list texts, with none in common?"""
    first, end = texts_of(arena, one)
    other_first, other_end = texts_of(arena, other)
    arena[Read.COMPARED] += (end - first) * (other_end - other_first) + 1
    if first == end or other_first == other_end or arena[Read.COMPARED] > MOST_COMPARED:
        return False
    for text in range(first, end):
        for other_text in range(other_first, other_end):
            if compare(arena, text, other_text) == 0:
                return False
    return True


@part
def texts_of(arena, schema):
    """The texts that all values of a schema are among: from, to; an empty range if it has other values."""
    found, nothing = ints(arena, Read.FOUND), (int64(0), int64(0))
    if taped(arena, schema, Tape.KIND) != Value.DICT:
        return nothing
    said = read_keywords(arena, taped(arena, schema, Tape.SAME))
    if said < 0 or said & Said.REFERENCE:  # a reference may hide the keywords beside it
        return nothing
    values, first = int64(found[Word.ENUM]), int64(found[Word.CONST])
    end = first + 1
    if values >= 0:
        if taped(arena, values, Tape.KIND) != Value.LIST:
            return nothing
        values = taped(arena, values, Tape.SAME)
        first, end = values + 1, taped(arena, values, Tape.END)
    if first < 0:
        return nothing
    for value in range(first, end):
        if taped(arena, value, Tape.KIND) != Value.TEXT:
            return nothing
    return first, end
