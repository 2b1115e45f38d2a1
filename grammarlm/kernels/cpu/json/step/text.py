"""The text of a JSON string, byte by byte: position in a character or an escape, and the character it stands for.

`text_step(sub, escape, byte, plain)` -> (sub', escape', what). A string's content is a sequence of characters in UTF-8. A character
is spelled by its bytes or by an escape; an escape gives its code point once it is complete. `what` says what the byte is:

    RAW      a byte of the content
    DONE     the end of an escape: `escape'` is its code point
    PART     a part of an escape
    QUOTE    the closing quote
    WRONG    no JSON string continues like this

An incomplete escape stands for ranges of code points (`escape_range`): it is allowed iff one of these is.

In `plain` spelling a character is spelled by its bytes, except those that JSON requires to be escaped: they have the escapes that
json.dumps writes, the short ones and \\u0000 to \\u001f in lower case.
"""

from numba import int64

from grammarlm.kernels.cpu.jit import inlined, part
from grammarlm.layout.json_strings import (
    BACKSLASH,
    BODY,
    HEX,
    LAST_1,
    LAST_2,
    LEAD_E0,
    LEAD_ED,
    LEAD_F,
    LEAD_F0,
    LEAD_F4,
    LOW_BACKSLASH,
    LOW_HEX,
    LOW_U,
)

RAW, DONE, PART, QUOTE, WRONG = 0, 1, 2, 3, 4
RANGES = 3  # most ranges of code points that an incomplete escape stands for


@inlined
def hex_digit(byte):
    value = int64(-1)
    if 48 <= byte <= 57:
        value = byte - 48
    elif 97 <= byte <= 102:
        value = byte - 87
    elif 65 <= byte <= 70:
        value = byte - 55
    return int64(value)


@part
def text_step(sub, escape, byte, plain):
    """See the module docstring."""
    if sub == BODY:
        return _first_byte(byte)
    if sub >= LAST_1:
        return _later_byte(sub, byte)
    if plain != 0 and not is_plain_escape(sub, escape, byte):
        return int64(0), int64(0), int64(WRONG)
    if sub == BACKSLASH:
        return _after_backslash(byte)
    if sub == LOW_BACKSLASH:
        return (int64(LOW_U), escape, int64(PART)) if byte == 92 else (int64(0), int64(0), int64(WRONG))
    if sub == LOW_U:
        return (int64(LOW_HEX), escape, int64(PART)) if byte == 117 else (int64(0), int64(0), int64(WRONG))
    digit = hex_digit(byte)
    if digit < 0:
        return int64(0), int64(0), int64(WRONG)
    if sub < LOW_BACKSLASH:
        return _hex_step(sub, escape, digit)
    # The second half of a pair is DC00 to DFFF. `escape` holds the ten bits of the first half, then more.
    if (sub == LOW_HEX and digit != 13) or (sub == LOW_HEX + 1 and digit < 12):
        return int64(0), int64(0), int64(WRONG)
    if sub == LOW_HEX:
        return int64(sub + 1), escape, int64(PART)
    if sub == LOW_HEX + 1:
        return int64(sub + 1), escape << 2 | (digit & 3), int64(PART)
    if sub == LOW_HEX + 2:
        return int64(sub + 1), escape << 4 | digit, int64(PART)
    return int64(BODY), (escape << 4 | digit) + 0x10000, int64(DONE)


@inlined
def _first_byte(byte):
    after, what = int64(0), int64(WRONG)
    if byte == 34:
        what = int64(QUOTE)
    elif byte == 92:
        after, what = int64(BACKSLASH), int64(PART)
    elif byte < 0x20 or 0x80 <= byte < 0xC2 or byte > 0xF4:
        pass
    else:
        what = int64(RAW)
        if byte >= 0x80:
            after = int64(LEAD_F)
            if byte < 0xE0:
                after = int64(LAST_1)
            elif byte == 0xE0:
                after = int64(LEAD_E0)
            elif byte == 0xED:
                after = int64(LEAD_ED)
            elif byte < 0xF0:
                after = int64(LAST_2)
            elif byte == 0xF0:
                after = int64(LEAD_F0)
            elif byte == 0xF4:
                after = int64(LEAD_F4)
    return after, int64(0), what


@inlined
def _later_byte(sub, byte):
    low, high, after = int64(0x80), int64(0xBF), int64(LAST_2)
    if sub == LAST_1:
        after = int64(BODY)
    elif sub == LAST_2:
        after = int64(LAST_1)
    elif sub == LEAD_E0:
        low, after = int64(0xA0), int64(LAST_1)
    elif sub == LEAD_ED:
        high, after = int64(0x9F), int64(LAST_1)
    elif sub == LEAD_F0:
        low = int64(0x90)
    elif sub == LEAD_F4:
        high = int64(0x8F)
    what = int64(RAW) if low <= byte <= high else int64(WRONG)
    return after, int64(0), what


@inlined
def _after_backslash(byte):
    point, after, what = int64(0), int64(BODY), int64(DONE)
    if byte == 34 or byte == 92 or byte == 47:
        point = int64(byte)
    elif byte == 98:
        point = int64(8)
    elif byte == 102:
        point = int64(12)
    elif byte == 110:
        point = int64(10)
    elif byte == 114:
        point = int64(13)
    elif byte == 116:
        point = int64(9)
    elif byte == 117:
        after, what = int64(HEX), int64(PART)
    else:
        what = int64(WRONG)
    return after, point, what


@inlined
def _hex_step(sub, escape, digit):
    value = escape << 4 | digit
    after, what = int64(sub + 1), int64(PART)
    if sub == HEX + 1 and 0xDC <= value <= 0xDF:
        what = int64(WRONG)  # the second half of a pair without the first
    elif sub == HEX + 3:
        after, what = int64(BODY), int64(DONE)
        if 0xD800 <= value < 0xDC00:
            after, what, value = int64(LOW_BACKSLASH), int64(PART), value - 0xD800
    return after, value, what


@inlined
def is_plain_escape(sub, escape, byte):
    """May the byte come next in an escape as written by json.dumps?"""
    fits = False
    if sub == BACKSLASH:
        fits = byte != 47
    elif sub == HEX or sub == HEX + 1:
        fits = byte == 48
    elif sub == HEX + 2:
        fits = byte == 48 or byte == 49
    elif sub == HEX + 3:
        fits = not 65 <= byte <= 70
        if escape == 0:  # 8, 9, a, c and d are characters with short escapes
            fits = 48 <= byte <= 55 or byte == 98 or byte == 101 or byte == 102
    return fits


@part
def escape_range(sub, escape, plain, which):
    """The code points that an incomplete escape can still become: range number `which` of RANGES (first, last); some are empty.

    Surrogates within a range do not count.
    """
    if plain != 0:
        return _plain_range(sub, escape, which)
    low, high = int64(1), int64(0)
    if which == 0:
        if sub == BACKSLASH or sub == HEX:
            low, high = int64(0), int64(0x10FFFF)
        elif sub < LOW_BACKSLASH:
            width = int64(4 * (4 - (sub - HEX)))
            low, high = escape << width, ((escape + 1) << width) - 1
            if sub == HEX + 1 and escape == 13:  # D000 to D7FF, or the first half of any pair
                high = int64(0xD7FF)
            elif 0xD800 <= low <= 0xDBFF:
                low, high = ((low - 0xD800) << 10) + 0x10000, ((high - 0xD800) << 10) + 0x103FF
        elif sub <= LOW_HEX + 1:
            low, high = (escape << 10) + 0x10000, (escape << 10) + 0x103FF
        else:
            width = int64(8) if sub == LOW_HEX + 2 else int64(4)
            low, high = (escape << width) + 0x10000, ((escape + 1) << width) - 1 + 0x10000
    elif which == 1 and sub == HEX + 1 and escape == 13:
        low, high = int64(0x10000), int64(0x10FFFF)
    return low, high


@inlined
def _plain_range(sub, escape, which):
    """The same for the escapes of json.dumps: control characters, and after a backslash also the quote and the backslash."""
    low, high = int64(1), int64(0)
    if sub == BACKSLASH:
        if which == 0:
            low, high = int64(0), int64(0x1F)
        else:
            low = int64(34) if which == 1 else int64(92)
            high = low
    elif sub == HEX + 3 and escape == 1:
        if which == 0:
            low, high = int64(0x10), int64(0x1F)
    elif which == 0:
        low, high = int64(0), int64(7)
    elif which == 1:
        low, high = int64(11), int64(11)
    else:
        low, high = int64(14), int64(15) if sub == HEX + 3 else int64(0x1F)
    return low, high


@inlined
def utf8_length(point):
    return int64(1) if point < 0x80 else int64(2) if point < 0x800 else int64(3) if point < 0x10000 else int64(4)


@inlined
def utf8_byte(point, length, index):
    """Byte `index` of a code point that takes `length` bytes."""
    value = point >> int64(6 * (length - 1 - index))
    if length == 1:
        return int64(point)
    if index > 0:
        return int64(0x80 | (value & 0x3F))
    return int64(value | (0xC0 if length == 2 else 0xE0 if length == 3 else 0xF0))
