"""Schemas of a tape as nodes of a program: resolves references and selects the schemas that can be written here.

A node gets its row at the first reference to it, and is written when its turn in the queue comes (rows.py), so nothing
here is recursive.
"""

from numba import int64

from grammarlm.kernels.cpu.jit import part
from grammarlm.kernels.cpu.json.fields import ints, longs, octets
from grammarlm.layout.schema import (
    NO_KEY,
    NOWHERE,
    ODD,
    UNION,
    Keyword,
    Queued,
    Read,
    Said,
    Tape,
    Template,
    Value,
    Word,
)

from .fields import queued, taped, template
from .lists import kinds_of, listed
from .notes import do_addresses_matter, has_room, left_node, length_of, read_keywords, remember, remember_chain
from .scan import keyword_of, value_below

LONGEST_CHAIN = 32  # references to references
NEWEST, MOST_DRAFT_HIDES = 2020, 7  # up to this draft a reference hides the keywords beside it
ALL_KINDS = 0b1101111  # bits of all types but integer, which is part of number


@part
def reading_below(arena, reads_schema, key_entry):
    """Is the value of a key a schema? `reads_schema`: the key belongs to a schema, not to a map of schemas."""
    if not reads_schema or key_entry < 0:
        return True
    table = longs(arena, Read.KEYWORDS)
    name = table[key_entry + Keyword.NAME]
    return name != Word.MAP and name != Word.PROPERTIES


@part
def target_of(arena, reference):
    """The value that a reference refers to; -1 if Python must resolve it."""
    data = octets(arena, Read.DATA)
    if reference < 0 or taped(arena, reference, Tape.KIND) != Value.TEXT:
        return int64(-1)
    at, size = taped(arena, reference, Tape.AT), taped(arena, reference, Tape.SIZE)
    if size == 0 or data[at] != ord("#") or (size > 1 and data[at + 1] != ord("/")):
        return int64(-1)
    for i in range(at, at + size):
        if data[i] == ord("%") or data[i] == ord("~"):
            return int64(-1)
    here, is_schema, pos, end = int64(0), True, at + 1, at + size
    while pos < end:
        pos += 1  # after the slash
        stop = pos
        while stop < end and data[stop] != ord("/"):
            stop += 1
        if taped(arena, here, Tape.KIND) != Value.DICT:
            return int64(-1)
        below = value_below(arena, here, pos, stop - pos)
        if below < 0:
            return int64(-1)
        is_schema = reading_below(arena, is_schema, keyword_of(arena, below - 1))
        here = taped(arena, below, Tape.SAME)
        if is_schema and here and taped(arena, here, Tape.KIND) == Value.DICT:
            if read_keywords(arena, here) & Said.ADDRESS:
                return int64(-1)  # it has an address of its own
        pos = stop
    return here


@part
def simple_node(arena, value):
    """The row of a schema's node: an existing one, or space for a new one; NO_KEY for `false`, ODD if the schema is unusual.

    UNION if it is a union of alternatives: its schema is in SCHEMA, and no row is stored for it.
    """
    found, stack = ints(arena, Read.FOUND), ints(arena, Read.STACK)
    schema, first, chain = taped(arena, value, Tape.SAME), arena[Read.CHAINS], int64(0)
    row = int64(NOWHERE)
    while row == NOWHERE:
        arena[Read.KINDS] = 0
        kind = taped(arena, schema, Tape.KIND)
        if kind == Value.TRUE:
            row, arena[Read.KINDS] = template(arena, Template.ANYTHING), ALL_KINDS
            break
        if kind == Value.FALSE:
            return int64(NO_KEY)
        if kind != Value.DICT:
            return int64(ODD)
        known = taped(arena, schema, Tape.ROW)
        if known:
            row, arena[Read.KINDS] = int64(ODD) if known == NOWHERE else known, taped(arena, schema, Tape.KINDS)
            break
        said = read_keywords(arena, schema)
        if said < 0:
            return said
        if said & Said.REFERENCE and (said == Said.REFERENCE or arena[Read.DRAFT] <= MOST_DRAFT_HIDES):
            target = target_of(arena, int64(found[Word.REFERENCE]))
            if target < 0:
                row = left_node(arena, schema)
                break
            remember(arena, schema, int64(NOWHERE))
            stack[first + chain] = schema
            chain += 1
            if chain > LONGEST_CHAIN:
                return int64(ODD)
            schema = target
            continue
        if said & Said.ADDRESS and (schema == 0 or not do_addresses_matter(arena)):
            said &= ~int64(Said.ADDRESS)
        row = new_node(arena, schema, said)
    arena[Read.SCHEMA], arena[Read.CHAIN] = schema, chain
    if row != ODD and row != UNION:
        remember_chain(arena, first, chain, row)
    return row


@part
def new_node(arena, schema, said):
    """The row of a schema that has none yet; its keywords have been read."""
    found = ints(arena, Read.FOUND)
    kinds = int64(ALL_KINDS)
    if said & Said.TYPE:
        kinds = kinds_of(arena, int64(found[Word.TYPE]))
        is_one = kinds > 0 and kinds & (kinds - 1) == 0
        if said == Said.TYPE and is_one and taped(arena, found[Word.TYPE], Tape.KIND) == Value.TEXT:
            at = int64(0)
            while kinds >> at != 1:
                at += 1
            arena[Read.KINDS] = kinds
            is_plain = at == Word.INTEGER - Word.NULL and arena[Read.PLAIN_INTEGERS]
            return template(arena, int64(Template.PLAIN_INTEGER_NODE) if is_plain else int64(Template.NULL_NODE) + at)
    if said == 0:
        arena[Read.KINDS] = ALL_KINDS
        return template(arena, Template.ANYTHING)
    if said == Said.COMBINE:
        return int64(UNION)
    if said & (Said.HARD | Said.REFERENCE | Said.ADDRESS | Said.COMBINE) or kinds <= 0 or not is_easy(arena, said):
        return left_node(arena, schema)
    if said & Said.VALUES:
        row = listed(arena, kinds)
        if row == 0:
            return left_node(arena, schema)
        if row > 0:
            remember(arena, schema, row)
        return row
    count = int64(0)
    for i in range(7):
        count += kinds >> i & 1
    count += kinds >> (Word.BOOLEAN - Word.NULL) & 1
    if not has_room(arena, 2 + 2 * count, 0):
        return int64(ODD)
    row, rows = arena[Read.USED], longs(arena, Read.ROWS)
    rows[row], rows[row + 1] = count, 0
    arena[Read.USED], arena[Read.KINDS] = row + 2 + 2 * count, kinds
    remember(arena, schema, row)
    entry = queued(arena, arena[Read.QUEUED])
    entry[Queued.ROW], entry[Queued.SAID], entry[Queued.KINDS], entry[Queued.COUNT] = row, said, kinds, count
    for i in range(Word.LENGTH):
        entry[Queued.FOUND + i] = found[i]
    arena[Read.QUEUED] += 1
    return row


@part
def is_easy(arena, said):
    """Are the keywords' values well-formed, with none that needs the general path?"""
    found = ints(arena, Read.FOUND)
    if said & Said.VALUES:
        return said & (Said.STRING | Said.NUMBER) == 0 and (found[Word.ENUM] < 0 or found[Word.CONST] < 0)
    if said & Said.OBJECT:
        properties, required = int64(found[Word.PROPERTIES]), int64(found[Word.REQUIRED])
        if properties >= 0 and taped(arena, properties, Tape.KIND) != Value.DICT:
            return False
        if required >= 0:
            kind = taped(arena, required, Tape.KIND)
            if kind == Value.LIST:
                required = taped(arena, required, Tape.SAME)
                item = required + 1
                while item < taped(arena, required, Tape.END):
                    if taped(arena, item, Tape.KIND) != Value.TEXT:
                        return False
                    item += 1
            elif kind != Value.NULL and kind != Value.TRUE and kind != Value.FALSE:
                return False
    if said & Said.ARRAY:
        items, unique = int64(found[Word.ITEMS]), int64(found[Word.UNIQUE])
        if items >= 0 and taped(arena, items, Tape.KIND) == Value.LIST:
            return False
        if unique >= 0 and taped(arena, unique, Tape.KIND) != Value.FALSE:
            return False
        low = length_of(arena, int64(found[Word.LEAST_ITEMS]), int64(0))
        high = length_of(arena, int64(found[Word.MOST_ITEMS]), int64(1) << 40)
        return 0 <= low <= high and high > 0
    return True
