"""JSON values in one form each: equal values are equal here, whatever their spelling.

"a", "\\u0061"           'a'
1, 1.0, 10e-1           ("n", False, "1", 0)                 sign, digits, power of ten
true                    True
[1, "a"]                ("[", (("n", False, "1", 0), "a"))
{"b": 1, "a": true}     ("{", frozenset({("a", True), ("b", ...)}))    keys do not come twice
"""

from __future__ import annotations

import json
import re
from typing import Any

Value = Any  # a str, True, False, None, or a tuple that begins with one of the three below
NUMBER, OBJECT, ARRAY = "n", "{", "["
LITERALS = {b"true": True, b"false": False, b"null": None}
# An incomplete escape at the end of the text of a string, or half of a pair of surrogates.
SURROGATE = rb"\\u[dD][89abAB][0-9a-fA-F]{2}"
CUT_ESCAPE = re.compile(rb"(?<!\\)(?:\\\\)*((?:%s)?\\(?:u[0-9a-fA-F]{0,3})?|%s)$" % (SURROGATE, SURROGATE))


def text_of(lexeme: bytes) -> str:
    """What a string stands for, given by its text between the quotes."""
    if b"\\" not in lexeme:
        return lexeme.decode("utf-8", "surrogatepass")
    found: str = json.loads(b'"%s"' % lexeme)
    return found


def begun_text(lexeme: bytes) -> bytes:
    """What a string that is not finished stands for, in UTF-8; an incomplete escape at its end is left out."""
    if b"\\" not in lexeme:
        return lexeme
    cut = CUT_ESCAPE.search(lexeme)
    whole = lexeme[: cut.start(1)] if cut else lexeme
    ends = len(whole)
    while ends and whole[ends - 1] >= 0x80:  # the last character may be incomplete
        ends -= 1
    return text_of(whole[:ends]).encode("utf-8", "surrogatepass") + whole[ends:]


def scalar_of(lexeme: bytes) -> Value:
    """A number or literal."""
    if lexeme in LITERALS:
        return LITERALS[lexeme]
    negative, digits, power = parts_of(lexeme)
    kept = digits.rstrip("0")
    if not kept:
        return NUMBER, False, "", 0
    return NUMBER, negative, kept, power + len(digits) - len(kept)


def parts_of(lexeme: bytes) -> tuple[bool, str, int]:
    """Sign, digits without leading zeros, and power of ten of a number."""
    mantissa, _, exponent = lexeme.decode().lower().partition("e")
    whole, _, fraction = mantissa.lstrip("-").partition(".")
    return mantissa.startswith("-"), (whole + fraction).lstrip("0"), int(exponent or 0) - len(fraction)


def may_become(lexeme: bytes, value: Value) -> bool:
    """Can the number or literal being read become this value? A yes may be wrong, a no is not."""
    if value is True or value is False or value is None:
        return ("null" if value is None else str(value).lower()).encode().startswith(lexeme)
    if value.__class__ is not tuple or value[0] != NUMBER:
        return False
    mantissa, ended, _ = lexeme.lower().partition(b"e")
    if not mantissa or mantissa[:1] not in b"-0123456789":
        return False
    negative, digits, _ = parts_of(mantissa)
    wanted = value[2]
    if not wanted:
        return not digits
    if negative is not value[1] or digits[: len(wanted)] != wanted[: len(digits)]:
        return False
    return not digits[len(wanted) :].strip("0") and (not ended or len(digits) >= len(wanted))
