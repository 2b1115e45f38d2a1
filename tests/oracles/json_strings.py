"""The content of a JSON string, read from its beginning each time: characters, and what has begun of one more.

A character is its UTF-8 bytes or an escape; \\uD800 to \\uDFFF occur in pairs only. In plain spelling a character has the escape
that json.dumps(ensure_ascii=False) writes, or none.
"""

import functools
import json
import re
from contextlib import suppress
from itertools import product
from typing import NamedTuple

HEX = "[0-9a-fA-F]"
ANY_ESCAPE = re.compile(
    rf'\\(?:["\\/bfnrt]|u(?:[0-9abcefABCEF]{HEX}{{3}}|[dD][0-7]{HEX}{{2}}|[dD][89abAB]{HEX}{{2}}\\u[dD][c-fC-F]{HEX}{{2}}))'
)
PLAIN_ESCAPE = re.compile(r'\\(?:["\\bfnrt]|u00(?:0[0-7bef]|1[0-9a-f]))')
WHOLE_ESCAPES = ("\\n", "\\u0000", "\\ud800\\udc00")  # what is left of one of these ends any escape that has begun
LATER = (0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF)  # bytes that end characters of every kind


class Content(NamedTuple):
    text: str  # the characters that are complete
    has_begun: bool  # one more
    is_closed: bool


def read_content(data: bytes, is_plain: bool) -> Content | None:
    """What follows the opening quote, up to the closing one; None where no string begins like this."""
    escape = PLAIN_ESCAPE if is_plain else ANY_ESCAPE
    text, at = "", 0
    while at < len(data):
        if data[at : at + 1] == b'"':
            return Content(text, False, True) if at + 1 == len(data) else None
        if data[at : at + 1] == b"\\":
            rest = data[at:].decode("latin-1")
            found = escape.match(rest)
            if found is None:
                ends = [rest + whole[len(rest) :] for whole in WHOLE_ESCAPES if len(rest) < len(whole)]
                return Content(text, True, False) if any(map(escape.fullmatch, ends)) else None
            text += json.loads(f'"{found[0]}"')
            at += len(found[0])
            continue
        if data[at] < 0x20:
            return None
        size = next((size for size in range(1, 5) if is_utf8(data[at : at + size])), 0)
        if size == 0:
            begins = begins_character(data[at:])
            return Content(text, True, False) if begins else None
        text += data[at : at + size].decode()
        at += size
    return Content(text, False, False)


@functools.cache
def begins_character(data: bytes) -> bool:
    """Do these bytes, which are no character yet, begin one?"""
    return any(is_utf8(data + bytes(more)) for count in (1, 2, 3) for more in product(LATER, repeat=count))


@functools.cache
def is_utf8(data: bytes) -> bool:
    """One character or more, nothing left over."""
    with suppress(UnicodeDecodeError):
        return bool(data.decode())
    return False
