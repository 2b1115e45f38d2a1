"""Objects of plain schemas: their keys, sorted, and which of them are required."""

from numba import int64

from grammarlm.kernels.cpu.jit import part
from grammarlm.kernels.cpu.json.fields import ints, longs
from grammarlm.layout.json import INLINE, MOST_REQUIRED, Key, Object, Shape
from grammarlm.layout.schema import NO_KEY, ODD, Queued, Read, Tape, Template, Value, Word

from .fields import taped, template
from .notes import has_room, need, put_node, put_word
from .scan import compare, find_text, sort_texts
from .unions import node

MOST_NAMELESS = 64  # required keys that no property declares


@part
def declared_keys(arena, properties):
    """An object's own keys go into TEXTS, their nodes into CHILDREN. Returns their number, or ODD."""
    children = ints(arena, Read.CHILDREN)
    if properties < 0:
        return int64(0)
    properties = taped(arena, properties, Tape.SAME)
    count, key, end = int64(0), properties + 1, taped(arena, properties, Tape.END)
    while key < end:
        row = node(arena, key + 1)
        if row == ODD or row == NO_KEY or taped(arena, key, Tape.KIND) != Value.TEXT:
            return int64(ODD)
        children[count] = row
        count += 1
        key = taped(arena, key + 1, Tape.END)
    texts = ints(arena, Read.TEXTS)  # after the nodes, which use TEXTS themselves
    count, key = int64(0), properties + 1
    while key < end:
        texts[count] = key
        count += 1
        key = taped(arena, key + 1, Tape.END)
    sort_texts(arena, count)
    return count


@part
def required_keys(arena, required, count, rest, row, slot):
    """Adds required keys that are not declared, and notes what such objects contain. Returns the number of keys, or ODD."""
    texts, children = ints(arena, Read.TEXTS), ints(arena, Read.CHILDREN)
    declared, end = count, taped(arena, required, Tape.END)
    for item in range(required + 1, end):
        key = find_text(arena, item, declared)
        if key < 0:
            for other in range(declared, count):
                if compare(arena, int64(texts[other]), item) == 0:
                    key = other
        if key < 0:
            if rest == NO_KEY or count - declared >= MOST_NAMELESS:
                return int64(ODD)
            key = count
            texts[count], children[count] = item, rest
            count += 1
        if not need(arena, row, slot, int64(children[key])):
            return int64(ODD)
    if count > declared:
        sort_texts(arena, count)
    return count


@part
def put_object(arena, entry, slot):
    rows = longs(arena, Read.ROWS)
    anything = template(arena, Template.ANYTHING)
    others, required = int64(entry[Queued.FOUND + Word.OTHERS]), int64(entry[Queued.FOUND + Word.REQUIRED])
    rest = anything if others < 0 else node(arena, others)
    if rest == ODD:
        return rest
    count = declared_keys(arena, int64(entry[Queued.FOUND + Word.PROPERTIES]))
    if required >= 0:
        required = taped(arena, required, Tape.SAME) if taped(arena, required, Tape.KIND) == Value.LIST else int64(-1)
    if count >= 0 and required >= 0:
        count = required_keys(arena, required, count, rest, int64(entry[Queued.ROW]), slot)
    if count < 0:
        return count
    rows[slot] = Shape.OBJECT
    if count == 0 and rest == anything:
        rows[slot + 1] = template(arena, Template.OBJECT)
        return int64(0)
    texts, order, children = ints(arena, Read.TEXTS), ints(arena, Read.ORDER), ints(arena, Read.CHILDREN)
    letters = int64(0)
    for i in range(count):
        letters += taped(arena, int64(texts[i]), Tape.SIZE)
    if not has_room(arena, 6 * count + Object.LENGTH + 8, letters):
        return int64(ODD)
    keys = at = arena[Read.USED]
    spare = ints(arena, Read.SPARE)  # becomes the sorted position of each key
    for i in range(count):
        which = int64(order[i])
        spare[which] = i
        put_word(arena, at, int64(texts[which]))
        put_node(arena, at + Key.NODE, int64(children[which]))
        rows[at + Key.RANK] = which
        at += Key.LENGTH
    ranks = needed = bits = usable = int64(0)
    if count <= INLINE:
        ranks = at
        later = int64(0)
        rows[at + count] = rows[at + count + 1] = 0
        for which in range(count - 1, -1, -1):
            later |= int64(1) << int64(spare[which])
            rows[at + which] = later
        usable = later
        at += count + 2
        if required >= 0:
            for item in range(required + 1, taped(arena, required, Tape.END)):
                bits |= int64(1) << int64(spare[find_text(arena, item, count)])
    else:
        needed = at
        at += 1
        if required >= 0:
            at = needed_keys(arena, required, count, needed)
            if at < 0:
                return at
        bits = rows[needed] = at - needed - 1
    rows[slot + 1] = at
    for i in range(Object.LENGTH):
        rows[at + i] = 0
    rows[at + Object.COUNT], rows[at + Object.KEYS] = count, keys
    put_node(arena, at + Object.OTHERS, rest)
    rows[at + Object.MOST], rows[at + Object.NEEDED], rows[at + Object.USABLE] = -1, bits, usable
    rows[at + Object.NEEDED_LIST], rows[at + Object.AVAILABLE], rows[at + Object.RANKS] = needed, -1, ranks
    arena[Read.USED] = at + Object.LENGTH
    return int64(0)


@part
def needed_keys(arena, required, count, needed):
    """For an object of many keys: writes the list of required keys, in schema order. Returns the end of the list, or ODD."""
    rows, marks = longs(arena, Read.ROWS), ints(arena, Read.CHILDREN)
    for i in range(count):
        marks[i] = 0  # the nodes have been written
    for item in range(required + 1, taped(arena, required, Tape.END)):
        marks[find_text(arena, item, count)] = 1
    at, spare = needed + 1, ints(arena, Read.SPARE)
    for which in range(count):
        if marks[which]:
            rows[at] = spare[which]
            at += 1
    return at if at - needed - 1 <= MOST_REQUIRED else int64(ODD)
