"""Frozen schemas as written by `marshal`: their values as a tape, and lookups of their texts.

The bytes are our own `marshal.dumps(..., 4)`. An unknown type code stops the scan, and Python reads the schema.
"""

from numba import int32, int64, uint64

from grammarlm.kernels.cpu.jit import inlined, part
from grammarlm.kernels.cpu.json.fields import ints, longs, octets
from grammarlm.layout.schema import DEEPEST, LONGEST_KEYWORD, REFERRED_BIT, Keyword, Read, Tape, Value

from .fields import tape_at, taped


@inlined
def int_at(data, at):
    return int32(data[at] | int32(data[at + 1]) << 8 | int32(data[at + 2]) << 16 | int32(data[at + 3]) << 24)


@part
def hash_of(data, at, size):
    """FNV-1a. Untrusted grammars may cause collisions, so lookups compare the bytes."""
    found = uint64(0xCBF29CE484222325)
    for i in range(at, at + size):
        found = (found ^ uint64(data[i])) * uint64(0x100000001B3)
    return int64(found)


@part
def same_bytes(one, one_at, other, other_at, size):
    for i in range(size):
        if one[one_at + i] != other[other_at + i]:
            return False
    return True


@part
def scan(arena):
    """Builds the tape; False if some bytes are not understood."""
    data, tape = octets(arena, Read.DATA), ints(arena, Read.TAPE)
    referred, stack = ints(arena, Read.REFERRED), ints(arena, Read.STACK)
    pos, size = int64(0), arena[Read.SIZE]
    count = known = depth = int64(0)
    while pos < size:
        code = data[pos]
        pos += 1
        is_referred, code = code & REFERRED_BIT, code & 0x7F
        if code == ord("0"):  # the end of a dict
            depth -= 1
            tape[tape_at(stack[2 * depth], Tape.END)] = count
        else:
            at = count * Tape.LENGTH
            tape[at + Tape.SAME], tape[at + Tape.END], tape[at + Tape.ROW] = count, count + 1, 0
            tape[at + Tape.AT] = tape[at + Tape.SIZE] = 0
            if is_referred:
                referred[known] = count
                known += 1
            opened = int64(-1)
            if code == ord("z") or code == ord("Z"):
                tape[at + Tape.KIND], tape[at + Tape.AT], tape[at + Tape.SIZE] = Value.TEXT, pos + 1, data[pos]
                pos += 1 + data[pos]
            elif code == ord("{"):
                tape[at + Tape.KIND] = Value.DICT
                opened = 0
            elif code == ord("["):
                opened = int64(int_at(data, pos))
                tape[at + Tape.KIND], tape[at + Tape.SIZE] = Value.LIST, opened
                pos += 4
            elif code == ord("r"):
                known_at = int64(int_at(data, pos))
                pos += 4
                if known_at >= known:
                    return False
                same = int64(referred[known_at])
                for i in range(Tape.SAME + 1):  # except its end, which is here
                    if i != Tape.END:
                        tape[at + i] = tape[same * Tape.LENGTH + i]
            elif code == ord("i"):
                tape[at + Tape.KIND], tape[at + Tape.AT] = Value.INTEGER, int_at(data, pos)
                pos += 4
            elif code == ord("T"):
                tape[at + Tape.KIND] = Value.TRUE
            elif code == ord("F"):
                tape[at + Tape.KIND] = Value.FALSE
            elif code == ord("N"):
                tape[at + Tape.KIND] = Value.NULL
            elif code == ord("a") or code == ord("A") or code == ord("u") or code == ord("t"):
                length = int64(int_at(data, pos))
                pos += 4
                kind = Value.TEXT
                if code == ord("u") or code == ord("t"):
                    for i in range(pos, pos + length - 1):
                        if data[i] == 0xED and data[i + 1] >= 0xA0:
                            kind = Value.HALF_TEXT
                tape[at + Tape.KIND], tape[at + Tape.AT], tape[at + Tape.SIZE] = kind, pos, length
                pos += length
            elif code == ord("g"):
                tape[at + Tape.KIND], tape[at + Tape.AT] = Value.FRACTION, pos
                pos += 8
            elif code == ord("l"):
                digits = int64(int_at(data, pos))
                tape[at + Tape.KIND], tape[at + Tape.AT] = Value.LARGE, pos - 1
                pos += 4 + 2 * abs(digits)
                tape[at + Tape.SIZE] = 5 + 2 * abs(digits)
            else:
                return False
            count += 1
            if opened >= 0:
                if depth >= DEEPEST:
                    return False
                stack[2 * depth], stack[2 * depth + 1] = count - 1, opened if code == ord("[") else -1
                depth += 1
                if code == ord("{") or opened:
                    continue
                depth -= 1  # an empty list is complete
        # A value is complete, and with it perhaps enclosing lists.
        while depth > 0 and stack[2 * depth - 1] >= 0:
            stack[2 * depth - 1] -= 1
            if stack[2 * depth - 1] > 0:
                break
            depth -= 1
            tape[tape_at(stack[2 * depth], Tape.END)] = count
        if depth == 0:
            break
    arena[Read.COUNT] = count
    return depth == 0 and pos == size


@part
def keyword_at(arena, at, size):
    """The hash table entry of a keyword, `size` bytes of the schema; -1 if it is none."""
    if size > LONGEST_KEYWORD:
        return int64(-1)
    data = octets(arena, Read.DATA)
    hashed = hash_of(data, at, size)
    table = longs(arena, Read.KEYWORDS)
    slot = hashed & arena[Read.KEYWORD_MASK]
    while table[slot * Keyword.LENGTH + Keyword.SIZE]:
        entry = slot * Keyword.LENGTH
        if table[entry + Keyword.HASH] == hashed and table[entry + Keyword.SIZE] == size:
            if same_bytes(data, at, octets(arena, Read.KEYWORD_BYTES), table[entry + Keyword.AT], size):
                return entry
        slot = (slot + 1) & arena[Read.KEYWORD_MASK]
    return int64(-1)


@part
def keyword_of(arena, value):
    """The hash table entry of a text as a keyword; -1 if it is none."""
    return keyword_at(arena, taped(arena, value, Tape.AT), taped(arena, value, Tape.SIZE))


@part
def compare(arena, one, other):
    """Negative, zero or positive as a text comes before, equals or comes after another, by bytes."""
    data = octets(arena, Read.DATA)
    a_at, b_at = taped(arena, one, Tape.AT), taped(arena, other, Tape.AT)
    a_size, b_size = taped(arena, one, Tape.SIZE), taped(arena, other, Tape.SIZE)
    for i in range(min(a_size, b_size)):
        if data[a_at + i] != data[b_at + i]:
            return int64(data[a_at + i]) - int64(data[b_at + i])
    return a_size - b_size


@part
def sort_texts(arena, count):
    """Sorts TEXTS into ORDER: bottom-up merge sort."""
    texts, order, spare = ints(arena, Read.TEXTS), ints(arena, Read.ORDER), ints(arena, Read.SPARE)
    for i in range(count):
        order[i] = i
    width = int64(1)
    while width < count:
        start = int64(0)
        while start < count:
            middle, end = min(start + width, count), min(start + 2 * width, count)
            a, b = start, middle
            for k in range(start, end):
                if a < middle and (b >= end or compare(arena, int64(texts[order[a]]), int64(texts[order[b]])) <= 0):
                    spare[k] = order[a]
                    a += 1
                else:
                    spare[k] = order[b]
                    b += 1
            start = end
        for k in range(count):
            order[k] = spare[k]
        width *= 2


@part
def find_text(arena, text, count):
    """Binary search: which of the first sorted TEXTS equals a text; -1: none."""
    texts, order = ints(arena, Read.TEXTS), ints(arena, Read.ORDER)
    low, high = int64(0), count
    while low < high:
        middle = (low + high) // 2
        verdict = compare(arena, int64(texts[order[middle]]), text)
        if verdict == 0:
            return int64(order[middle])
        if verdict < 0:
            low = middle + 1
        else:
            high = middle
    return int64(-1)


@part
def value_below(arena, mapping, at, size):
    """The value of a dict's key, whose bytes are given within the schema; -1: there is none."""
    data = octets(arena, Read.DATA)
    end, key = taped(arena, mapping, Tape.END), mapping + 1
    while key < end:
        if taped(arena, key, Tape.SIZE) == size and taped(arena, key, Tape.KIND) == Value.TEXT:
            if same_bytes(data, taped(arena, key, Tape.AT), data, at, size):
                return key + 1
        key = taped(arena, key + 1, Tape.END)
    return int64(-1)
