"""Schemas of a tape as nodes of a program: what they say, where their references lead, lists of scalars.

A node gets its place when somebody first refers to it, and is written when its turn in the queue comes (schema_rows.py), so nothing
here calls itself.
"""

from numba import carray, int32, int64

from .jit import part, pointer
from .json_places import Shape
from .schema_places import (
    LEFT,
    NO_KEY,
    NODE_FIX,
    NOWHERE,
    ODD,
    RANGE_FIX,
    UNION,
    UNION_FIX,
    Fix,
    Keyword,
    Queued,
    Read,
    Said,
    Tape,
    Template,
    Value,
    Word,
    bytes_at,
    ints,
    longs,
    of,
    tell,
    template,
)
from .schema_scan import compare, keyword_of, sort_texts, value_below

LONGEST_CHAIN = 32  # references to references
MOST_UNITED, MOST_POINTS = 64, 256  # nodes of a union; whole numbers of a list
INTEGERS, NUMBERS = 1 << 4, 3 << 3  # bits of types
ALL_KINDS = 0b1101111  # all types but integers, which are numbers
NEWEST, MOST_DRAFT_HIDES = 2020, 7  # up to this draft a reference hides what stands beside it


@part
def has_room(arena, words, letters):
    return arena[Read.USED] + words < arena[Read.ROOM] and arena[Read.BLOB_USED] + letters < arena[Read.BLOB_ROOM]


@part
def left_to_python(arena, what, value):
    """The number of a new entry of FIXES; -1 where there is no room."""
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
def put_node(arena, place, row):
    """Writes a node's row; where Python will know it, the place is noted."""
    rows = longs(arena, Read.ROWS)
    rows[place] = row
    if row <= LEFT:
        ints(arena, Read.PATCHES)[arena[Read.PATCH_COUNT]] = place
        arena[Read.PATCH_COUNT] += 1


@part
def put_word(arena, place, text):
    """A word's bytes into the blob, where they lie and how many into the rows."""
    rows = longs(arena, Read.ROWS)
    data, blob = bytes_at(arena, Read.DATA), bytes_at(arena, Read.BLOB)
    at, size, used = (
        tell(arena, text, Tape.AT),
        tell(arena, text, Tape.SIZE),
        arena[Read.BLOB_USED],
    )
    for i in range(size):
        blob[used + i] = data[at + i]
    rows[place], rows[place + 1] = used, size
    arena[Read.BLOB_USED] = used + size


@part
def remember(arena, schema, row):
    """The row of a schema's node, and the types of its values."""
    tape = ints(arena, Read.TAPE)
    tape[of(schema, Tape.ROW)], tape[of(schema, Tape.KINDS)] = row, arena[Read.KINDS]


@part
def remember_chain(arena, first, count, row):
    """The same of references that have been followed."""
    for i in range(first, first + count):
        remember(arena, int64(ints(arena, Read.STACK)[i]), row)


@part
def read_keywords(arena, schema):
    """What a schema's keywords are about; their values into FOUND. ODD where a key is no text."""
    found = ints(arena, Read.FOUND)
    table = longs(arena, Read.KEYWORDS)
    for i in range(Word.LENGTH):
        found[i] = -1
    said, end, key = int64(0), tell(arena, schema, Tape.END), schema + 1
    while key < end:
        kind = tell(arena, key, Tape.KIND)
        if kind == Value.TEXT:
            entry = keyword_of(arena, key)
            if entry >= 0:
                said |= table[entry + Keyword.BITS]
                found[table[entry + Keyword.NAME]] = key + 1
                if table[entry + Keyword.NAME] == Word.OLD_ADDRESS and arena[Read.DRAFT] == 4:
                    said |= Said.ADDRESS
        elif kind != Value.HALF_TEXT:
            return int64(ODD)
        key = tell(arena, key + 1, Tape.END)
    return said


@part
def reading_below(arena, reads_schema, key_entry):
    """Does a schema stand below a key? `reads_schema`: the key is one of a schema, not of a map of schemas."""
    if not reads_schema or key_entry < 0:
        return True
    table = longs(arena, Read.KEYWORDS)
    name = table[key_entry + Keyword.NAME]
    return name != Word.MAP and name != Word.PROPERTIES


@part
def target_of(arena, reference):
    """The value that a reference leads to; -1 where Python has to follow it."""
    data = bytes_at(arena, Read.DATA)
    if reference < 0 or tell(arena, reference, Tape.KIND) != Value.TEXT:
        return int64(-1)
    at, size = tell(arena, reference, Tape.AT), tell(arena, reference, Tape.SIZE)
    if size == 0 or data[at] != ord("#") or (size > 1 and data[at + 1] != ord("/")):
        return int64(-1)
    for i in range(at, at + size):
        if data[i] == ord("%") or data[i] == ord("~"):
            return int64(-1)
    here, is_schema, pos, end = int64(0), True, at + 1, at + size
    while pos < end:
        pos += 1  # behind the slash
        stop = pos
        while stop < end and data[stop] != ord("/"):
            stop += 1
        if tell(arena, here, Tape.KIND) != Value.DICT:
            return int64(-1)
        below = value_below(arena, here, pos, stop - pos)
        if below < 0:
            return int64(-1)
        is_schema = reading_below(arena, is_schema, keyword_of(arena, below - 1))
        here = tell(arena, below, Tape.SAME)
        if is_schema and here and tell(arena, here, Tape.KIND) == Value.DICT:
            if read_keywords(arena, here) & Said.ADDRESS:
                return int64(-1)  # it has an address of its own
        pos = stop
    return here


@part
def left_node(arena, schema):
    """The row of a node that is left to Python."""
    number = left_to_python(arena, NODE_FIX, schema)
    if number < 0:
        return int64(ODD)
    remember(arena, schema, LEFT - number)
    return int64(LEFT) - number


@part
def simple_node(arena, value):
    """The row of a schema's node: an old one, or room for a new one; NO_KEY where it is `false`, ODD where something is odd.

    UNION where it is alternatives of others: of which schema is in SCHEMA, and nothing is remembered of it.
    """
    found, stack = ints(arena, Read.FOUND), ints(arena, Read.STACK)
    schema, first, chain = tell(arena, value, Tape.SAME), arena[Read.CHAINS], int64(0)
    row = int64(NOWHERE)
    while row == NOWHERE:
        arena[Read.KINDS] = 0
        kind = tell(arena, schema, Tape.KIND)
        if kind == Value.TRUE:
            row, arena[Read.KINDS] = template(arena, Template.ANYTHING), ALL_KINDS
            break
        if kind == Value.FALSE:
            return int64(NO_KEY)
        if kind != Value.DICT:
            return int64(ODD)
        known = tell(arena, schema, Tape.ROW)
        if known:
            row, arena[Read.KINDS] = int64(ODD) if known == NOWHERE else known, tell(arena, schema, Tape.KINDS)
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
        if schema == 0:
            said &= ~int64(Said.ADDRESS)
        row = new_node(arena, schema, said)
    arena[Read.SCHEMA], arena[Read.CHAIN] = schema, chain
    if row != ODD and row != UNION:
        remember_chain(arena, first, chain, row)
    return row


@part
def node(arena, value):
    """The row of a schema's node, as `simple_node`, and that of a union, too."""
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
    """The row of a node that is one of several others, none of which has values of another's types; ODD where something is odd.

    Its alternatives are copied when theirs are known, by Python. What has no such form is left to Python whole.
    """
    found, rows = ints(arena, Read.FOUND), longs(arena, Read.ROWS)
    any_of, one_of, all_of = int64(found[Word.ANY_OF]), int64(found[Word.ONE_OF]), int64(found[Word.ALL_OF])
    listed_at = max(any_of, one_of, all_of)
    alone = int64(any_of >= 0) + int64(one_of >= 0) + int64(all_of >= 0) == 1
    if not alone or tell(arena, listed_at, Tape.KIND) != Value.LIST:
        return left_node(arena, schema)
    values, size = tell(arena, listed_at, Tape.SAME), tell(arena, listed_at, Tape.SIZE)
    if size == 0 or size > MOST_UNITED or (size > 1 and all_of >= 0):
        return left_node(arena, schema)
    remember(arena, schema, int64(NOWHERE))
    children = ints(arena, Read.STACK)
    first = arena[Read.CHAINS] + LONGEST_CHAIN + 1
    child, count, total, seen = values + 1, int64(0), int64(0), int64(0)
    while child < tell(arena, values, Tape.END):
        fixes = arena[Read.FIX_COUNT]
        row = simple_node(arena, child)
        child = tell(arena, child, Tape.END)
        if row == ODD or (row == NO_KEY and size == 1):
            return int64(ODD)
        if row == NO_KEY:
            continue
        if row == UNION or (row <= LEFT and size > 1):
            forget(arena, fixes)
            return left_node(arena, schema)
        kinds = arena[Read.KINDS]
        kinds |= (kinds & INTEGERS) >> 1
        if kinds & seen:
            return left_node(arena, schema)
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
    """What was asked for last is not wanted; there were so many FIXES before."""
    arena[Read.KINDS] = 0
    if arena[Read.FIX_COUNT] > fixes:
        remember(arena, arena[Read.SCHEMA], int64(0))
    arena[Read.FIX_COUNT] = fixes
    remember_chain(arena, arena[Read.CHAINS], arena[Read.CHAIN], int64(0))


@part
def need(arena, row, alternative, below):
    """Every value of a node's alternative has a value of another inside; False where there is no room to note it."""
    needs, count = ints(arena, Read.NEEDS), arena[Read.NEED_COUNT]
    if count >= arena[Read.NEED_ROOM]:
        return False
    needs[3 * count], needs[3 * count + 1], needs[3 * count + 2] = row, alternative, below
    arena[Read.NEED_COUNT] = count + 1
    return True


@part
def new_node(arena, schema, said):
    """The row of a schema that has none; its keywords have been read."""
    found = ints(arena, Read.FOUND)
    kinds = int64(ALL_KINDS)
    if said & Said.TYPE:
        kinds = kinds_of(arena, int64(found[Word.TYPE]))
        if (
            said == Said.TYPE
            and kinds > 0
            and kinds & (kinds - 1) == 0
            and tell(arena, found[Word.TYPE], Tape.KIND) == Value.TEXT
        ):
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
    entry = carray(pointer(arena[Read.QUEUE] + 4 * Queued.LENGTH * arena[Read.QUEUED]), int64(Queued.LENGTH), int32)
    entry[Queued.ROW], entry[Queued.SAID], entry[Queued.KINDS], entry[Queued.COUNT] = row, said, kinds, count
    for i in range(Word.LENGTH):
        entry[Queued.FOUND + i] = found[i]
    arena[Read.QUEUED] += 1
    return row


@part
def kind_of(arena, value):
    """The type that a text names, from 0; -1: none."""
    if tell(arena, value, Tape.KIND) != Value.TEXT:
        return int64(-1)
    entry = keyword_of(arena, value)
    if entry < 0:
        return int64(-1)
    name = longs(arena, Read.KEYWORDS)[entry + Keyword.NAME]
    return name - Word.NULL if Word.NULL <= name <= Word.ARRAY else int64(-1)


@part
def kinds_of(arena, value):
    """Bits of the types that `type` names; 0 where it names none or something else."""
    if tell(arena, value, Tape.KIND) != Value.LIST:
        kind = kind_of(arena, value)
        return int64(1) << kind if kind >= 0 else int64(0)
    value = tell(arena, value, Tape.SAME)
    kinds, item = int64(0), value + 1
    while item < tell(arena, value, Tape.END):
        kind = kind_of(arena, item)
        if kind < 0:
            return int64(0)
        kinds |= int64(1) << kind
        item = tell(arena, item, Tape.END)
    if kinds >> (Word.NUMBER - Word.NULL) & 1:
        kinds &= ~(int64(1) << (Word.INTEGER - Word.NULL))
    return kinds


@part
def is_easy(arena, said):
    """Are the keywords' values such as they should be, and none of them one for the general way?"""
    found = ints(arena, Read.FOUND)
    if said & Said.VALUES:
        return said & (Said.STRING | Said.NUMBER) == 0 and (found[Word.ENUM] < 0 or found[Word.CONST] < 0)
    if said & Said.OBJECT:
        properties, required = int64(found[Word.PROPERTIES]), int64(found[Word.REQUIRED])
        if properties >= 0 and tell(arena, properties, Tape.KIND) != Value.DICT:
            return False
        if required >= 0:
            kind = tell(arena, required, Tape.KIND)
            if kind == Value.LIST:
                required = tell(arena, required, Tape.SAME)
                item = required + 1
                while item < tell(arena, required, Tape.END):
                    if tell(arena, item, Tape.KIND) != Value.TEXT:
                        return False
                    item += 1
            elif kind != Value.NULL and kind != Value.TRUE and kind != Value.FALSE:
                return False
    if said & Said.ARRAY:
        items, unique = int64(found[Word.ITEMS]), int64(found[Word.UNIQUE])
        if items >= 0 and tell(arena, items, Tape.KIND) == Value.LIST:
            return False
        if unique >= 0 and tell(arena, unique, Tape.KIND) != Value.FALSE:
            return False
        least, most = int64(found[Word.LEAST_ITEMS]), int64(found[Word.MOST_ITEMS])
        if least >= 0 and tell(arena, least, Tape.KIND) != Value.INTEGER:
            return False
        if most >= 0 and tell(arena, most, Tape.KIND) != Value.INTEGER:
            return False
        low = tell(arena, least, Tape.AT) if least >= 0 else int64(0)
        high = tell(arena, most, Tape.AT) if most >= 0 else int64(1) << 40
        return 0 <= low <= high and high > 0
    return True


@part
def listed(arena, kinds):
    """The row of a node of listed scalars; 0 where it has others, or none of a type that is named; ODD where there is no room."""
    found, texts = ints(arena, Read.FOUND), ints(arena, Read.TEXTS)
    first = int64(found[Word.CONST])
    end = first + 1
    if found[Word.ENUM] >= 0:
        values = int64(found[Word.ENUM])
        if tell(arena, values, Tape.KIND) != Value.LIST:
            return int64(0)
        values = tell(arena, values, Tape.SAME)
        first, end = values + 1, tell(arena, values, Tape.END)
    is_null = is_true = is_false = False
    words = letters = points = int64(0)
    for value in range(first, end):
        kind = tell(arena, value, Tape.KIND)
        if kind == Value.TEXT:
            texts[words] = value
            words += 1
            letters += tell(arena, value, Tape.SIZE)
        elif kind == Value.NULL:
            is_null = True
        elif kind == Value.TRUE:
            is_true = True
        elif kind == Value.FALSE:
            is_false = True
        elif kind == Value.INTEGER and not arena[Read.PLAIN_INTEGERS]:
            if kinds & NUMBERS:
                points = with_point(arena, points, tell(arena, value, Tape.AT))
                if points > MOST_POINTS:
                    return int64(0)
        elif kind != Value.INTEGER or kinds & NUMBERS:
            return int64(0)  # a container, or a number that may be meant
    is_null = is_null and kinds & 1 != 0
    is_true, is_false = is_true and kinds & 2 != 0, is_false and kinds & 2 != 0
    if not kinds & 4:
        words = int64(0)
    ranges = ranges_of(arena, points)
    count = int64(is_null) + int64(is_true) + int64(is_false) + int64(words > 0) + ranges
    if count == 0:
        return int64(0)
    if not has_room(arena, 4 * words + 3 + 2 + 2 * count, letters):
        return int64(ODD)
    rows = longs(arena, Read.ROWS)
    at = arena[Read.USED]
    table = at
    if words:
        order = ints(arena, Read.ORDER)
        sort_texts(arena, words)
        kept = int64(0)
        for i in range(words):
            text = int64(texts[order[i]])
            if i == 0 or compare(arena, int64(texts[order[i - 1]]), text) != 0:
                put_word(arena, at, text)
                rows[at + 2] = rows[at + 3] = 0
                at += 4
                kept += 1
        rows[at], rows[at + 1], rows[at + 2] = table, 0, kept
        table = at
        at += 3
    row = at
    rows[at], rows[at + 1] = count, 0
    at += 2
    for literal in range(1, 4):  # null, true, false
        number = int64(3) if literal == 1 else int64(literal - 1)
        if (literal == 1 and is_null) or (literal == 2 and is_true) or (literal == 3 and is_false):
            rows[at], rows[at + 1] = Shape.LITERAL, number
            at += 2
    if words:
        rows[at], rows[at + 1] = Shape.WORDS, table
        at += 2
    arena[Read.USED] = at + 2 * ranges
    if not put_ranges(arena, points, at):
        return int64(ODD)
    arena[Read.KINDS] = (
        int64(is_null) | int64(is_true or is_false) << 1 | int64(words > 0) << 2 | int64(points > 0) << 3
    )
    return row


@part
def with_point(arena, count, value):
    """Adds a number to those of a list, in order, each once; how many there are then."""
    points = longs(arena, Read.POINTS)
    at = count
    while at > 0 and points[at - 1] > value:
        at -= 1
    if at > 0 and points[at - 1] == value:
        return count
    for i in range(count, at, -1):
        points[i] = points[i - 1]
    points[at] = value
    return count + 1


@part
def ranges_of(arena, count):
    """How many runs of numbers one after the other there are."""
    points, ranges = longs(arena, Read.POINTS), int64(0)
    for i in range(count):
        if i == 0 or points[i] != points[i - 1] + 1:
            ranges += 1
    return ranges


@part
def put_ranges(arena, count, place):
    """Leaves each run of numbers to Python, as an alternative; False where there is no room."""
    points, first = longs(arena, Read.POINTS), int64(0)
    for i in range(count):
        if i + 1 < count and points[i + 1] == points[i] + 1:
            continue
        number = left_to_python(arena, RANGE_FIX, place)
        if number < 0:
            return False
        words = number * Fix.LENGTH + Fix.WORDS
        longs(arena, Read.FIXES)[words], longs(arena, Read.FIXES)[words + 1] = points[first], points[i]
        place += 2
        first = i + 1
    return True
