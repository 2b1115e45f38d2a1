"""The values listed by `type`, `enum` and `const`."""

from numba import int64

from grammarlm.kernels.cpu.jit import part
from grammarlm.kernels.cpu.json.fields import ints, longs
from grammarlm.layout.json import Shape
from grammarlm.layout.schema import ODD, RANGE_FIX, Fix, Keyword, Read, Tape, Value, Word

from .fields import taped
from .notes import has_room, left_to_python, put_word
from .scan import compare, keyword_of, sort_texts

MOST_POINTS = 256  # integers of a list
NUMBERS = 3 << 3  # bits of types


@part
def kind_of(arena, value):
    """The type named by a text, from 0; -1: none."""
    if taped(arena, value, Tape.KIND) != Value.TEXT:
        return int64(-1)
    entry = keyword_of(arena, value)
    if entry < 0:
        return int64(-1)
    name = longs(arena, Read.KEYWORDS)[entry + Keyword.NAME]
    return name - Word.NULL if Word.NULL <= name <= Word.ARRAY else int64(-1)


@part
def kinds_of(arena, value):
    """Bit set of the types that `type` names; 0 if it names none, or something else."""
    if taped(arena, value, Tape.KIND) != Value.LIST:
        kind = kind_of(arena, value)
        return int64(1) << kind if kind >= 0 else int64(0)
    value = taped(arena, value, Tape.SAME)
    kinds, item = int64(0), value + 1
    while item < taped(arena, value, Tape.END):
        kind = kind_of(arena, item)
        if kind < 0:
            return int64(0)
        kinds |= int64(1) << kind
        item = taped(arena, item, Tape.END)
    if kinds >> (Word.NUMBER - Word.NULL) & 1:
        kinds &= ~(int64(1) << (Word.INTEGER - Word.NULL))
    return kinds


@part
def listed(arena, kinds):
    """The row of a node of listed scalars; 0 if other values are listed, or none of a named type; ODD if there is no room."""
    found, texts = ints(arena, Read.FOUND), ints(arena, Read.TEXTS)
    first = int64(found[Word.CONST])
    end = first + 1
    if found[Word.ENUM] >= 0:
        values = int64(found[Word.ENUM])
        if taped(arena, values, Tape.KIND) != Value.LIST:
            return int64(0)
        values = taped(arena, values, Tape.SAME)
        first, end = values + 1, taped(arena, values, Tape.END)
    is_null = is_true = is_false = False
    words = letters = points = int64(0)
    for value in range(first, end):
        kind = taped(arena, value, Tape.KIND)
        if kind == Value.TEXT:
            texts[words] = value
            words += 1
            letters += taped(arena, value, Tape.SIZE)
        elif kind == Value.NULL:
            is_null = True
        elif kind == Value.TRUE:
            is_true = True
        elif kind == Value.FALSE:
            is_false = True
        elif kind == Value.INTEGER and not arena[Read.PLAIN_INTEGERS]:
            if kinds & NUMBERS:
                points = with_point(arena, points, taped(arena, value, Tape.AT))
                if points > MOST_POINTS:
                    return int64(0)
        elif kind != Value.INTEGER or kinds & NUMBERS:
            return int64(0)  # a container, or a number that the types may allow
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
    """Inserts a number into the sorted list POINTS, without duplicates. Returns the new count."""
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
    """The number of runs of consecutive numbers."""
    points, ranges = longs(arena, Read.POINTS), int64(0)
    for i in range(count):
        if i == 0 or points[i] != points[i - 1] + 1:
            ranges += 1
    return ranges


@part
def put_ranges(arena, count, slot):
    """Leaves each run of numbers to Python, as an alternative; False if there is no room."""
    points, first = longs(arena, Read.POINTS), int64(0)
    for i in range(count):
        if i + 1 < count and points[i + 1] == points[i] + 1:
            continue
        number = left_to_python(arena, RANGE_FIX, slot)
        if number < 0:
            return False
        words = number * Fix.LENGTH + Fix.WORDS
        longs(arena, Read.FIXES)[words], longs(arena, Read.FIXES)[words + 1] = points[first], points[i]
        slot += 2
        first = i + 1
    return True
