"""Spellings of one JSON value: white space, escapes, number forms, key orders; and the caps within which a spelling is a text.

The caps are those of the default language: a run of white space is `[ \\t]*(\\r?\\n[ \\t]*){0,2}` with at most 40 blanks and tabs,
a number has at most 25 significant digits and is 0 or between 2.5e-324 and 1.7976931348623158e308, unless the schema names others.
Where it has bounds or multiples, an exponent follows a single digit before the point, as printers write it (`is_printed`).
"""

import json
import random
import re
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from math import gcd, lcm
from typing import Any

from tests.oracles.json_numbers import is_printed
from tests.oracles.json_values import exact

MOST_BLANKS = 40
MOST_DIGITS = 25
LEAST, GREATEST = Fraction(25, 10**325), Fraction(17976931348623158 * 10**292)
_MARK = "a number that no double is: "
_RUN = re.compile(r"[ \t]*(?:\r?\n[ \t]*){0,2}")
_LINE = re.compile(r"\n(?: {0,40}|\t{0,40})")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_SPACE_OR_STRING = re.compile(r'"(?:[^"\\]|\\.)*"|[ \t\r\n]+|-?[0-9][0-9.eE+-]*', re.DOTALL)


def spellings(value: Any, rng: random.Random, wildness: float = 0.3) -> str:
    """A text of the value: the wilder, the less json.dumps would have written it. Equal values, but 1 may become 1.0."""
    return _space(rng, wildness) + _spelled(value, rng, wildness) + _space(rng, wildness)


def usual_spellings(value: Any) -> list[str]:
    """What writers of JSON write: compact, json.dumps' own, indented, in ASCII."""
    plain = _plain(value)
    texts = [
        json.dumps(plain, ensure_ascii=False, separators=(",", ":")),
        json.dumps(plain, ensure_ascii=False),
        json.dumps(plain, ensure_ascii=False, indent=2),
        json.dumps(plain),
        json.dumps(plain, ensure_ascii=False, indent="\t").replace("\n", "\r\n"),
    ]
    return list(map(_with_numbers, texts))


def natural_spellings(value: Any) -> list[str]:
    """What json.dumps writes, whatever it is told of white space."""
    styles: list[dict[str, Any]] = [{}, {"separators": (",", ":")}, *({"indent": indent} for indent in (1, 2, 4, "\t"))]
    return [_with_numbers(json.dumps(_plain(value), ensure_ascii=False, **style)) for style in styles]


def is_spelled(text: str, whitespace: str = "flexible", spelling: str = "any", **_: Any) -> bool:
    """Whether a JSON text is one of those that these options of a JsonSchema take, numbers left aside."""
    is_laid_out = {"natural": is_natural, "spaced": is_spaced}.get(whitespace, bool)
    return is_laid_out(text) and (spelling != "plain" or is_plain(text))


def is_natural(text: str) -> bool:
    """Whether the white space of a JSON text is what json.dumps and pretty-printers write."""
    pieces = [
        found[0]
        for found in re.finditer(r'"(?:[^"\\]|\\.)*"|[ \t\r\n]+|[{}\[\],:]|[^ \t\r\n{}\[\],:]+', text, re.DOTALL)
    ]
    for before, space, after in zip([None, *pieces], pieces, [*pieces[1:], None], strict=False):
        if space[0] not in " \t\r\n":
            continue
        is_line = _LINE.fullmatch(space) is not None
        if before == ":":
            fits = space == " "
        elif before == ",":
            fits = space == " " or is_line
        elif before in ("{", "["):
            fits = is_line and after not in ("}", "]")
        else:
            fits = is_line and after in ("}", "]")
        if not fits:
            return False
    return True


def is_spaced(text: str) -> bool:
    """Whether the white space of a JSON text is that of json.dumps without options."""
    return respaced(text) == text


def respaced(text: str) -> str:
    """A JSON text with the white space of json.dumps without options; of one that is no JSON, likewise."""
    pieces = re.findall(r'"(?:[^"\\]|\\.)*"|[^ \t\r\n]', text, re.DOTALL)
    return "".join(f"{piece} " if piece in (",", ":") else piece for piece in pieces)


def is_plain(text: str) -> bool:
    """Whether the strings of a JSON text are spelled as json.dumps(ensure_ascii=False) spells them."""
    strings = [found[0] for found in _SPACE_OR_STRING.finditer(text) if found[0][0] == '"']
    return all(json.dumps(json.loads(string), ensure_ascii=False) == string for string in strings)


def has_plain_numbers(text: str) -> bool:
    """Whether json.dumps writes the numbers of a JSON text just so."""
    numbers = [found[0] for found in _SPACE_OR_STRING.finditer(text) if found[0][0] in "-0123456789"]
    return all(_NUMBER.fullmatch(number) and json.dumps(json.loads(number)) == number for number in numbers)


def has_printed_numbers(text: str) -> bool:
    """Whether the numbers of a JSON text are written as printers do, so that they are read whatever their bounds."""
    return all(is_printed(found[0]) for found in _SPACE_OR_STRING.finditer(text) if found[0][0] in "-0123456789")


def integers_in_digits(text: str) -> str:
    """The text with 5 for 5.0 and 0 for -0.0: with spelling="plain" an integer is written so where the schema asks for one."""

    def rewritten(found: "re.Match[str]") -> str:
        piece = found[0]
        if not _NUMBER.fullmatch(piece) or len(piece.lower().partition("e")[2]) > 5:
            return piece
        value = Fraction(Decimal(piece))
        return str(value) if value.denominator == 1 and value < 10**MOST_DIGITS else piece

    return _SPACE_OR_STRING.sub(rewritten, text)


@dataclass(frozen=True)
class NumberCaps:
    """How long, how small and how large a number other than 0 may be."""

    digits: int = MOST_DIGITS
    least: Fraction = LEAST
    greatest: Fraction = GREATEST


USUAL_CAPS = NumberCaps()


def widest_caps(schema: Any) -> NumberCaps:
    """The caps where each number that a schema names anywhere is named.

    A number of more digits or of another magnitude has room for a digit more, a magnitude beyond the usual caps for two powers of
    ten; what numbers are multiples of counts together.
    """
    steps, named, left = Fraction(1), [], [exact(schema)]
    while left:
        value = left.pop()
        if isinstance(value, dict):
            left += value.values()
            several = value.get("multipleOf")
            if isinstance(several, (int, Fraction)) and several > 0:
                both = Fraction(several)
                steps = Fraction(lcm(steps.numerator, both.numerator), gcd(steps.denominator, both.denominator))
        elif isinstance(value, list):
            left += value
        elif isinstance(value, (int, Fraction)) and value and not isinstance(value, bool):
            named.append(abs(Fraction(value)))
    named += [steps, 1 / Fraction(steps.denominator)]
    digits = [len(f"{value.numerator * 10 ** _places(value) // value.denominator}") + 1 for value in named]
    beyond = [value for value in named if not LEAST < value < GREATEST]
    return NumberCaps(
        max([MOST_DIGITS, *digits]),
        min([LEAST, *(value / 100 for value in beyond)]),
        max([GREATEST, *(value * 100 for value in beyond)]),
    )


def _places(value: Fraction) -> int:
    """Decimal places of a decimal fraction."""
    twos = (value.denominator & -value.denominator).bit_length() - 1
    fives, rest = 0, value.denominator >> twos
    while rest > 1:
        fives, rest = fives + 1, rest // 5
    return max(twos, fives)


def is_within_caps(text: str, caps: NumberCaps = USUAL_CAPS) -> bool:
    """Whether white space and numbers of a text that may be no JSON at all keep within the caps."""
    for found in _SPACE_OR_STRING.finditer(text):
        piece = found[0]
        if piece[0] in " \t\r\n":
            if not _RUN.fullmatch(piece) or len(re.sub(r"[\r\n]", "", piece)) > MOST_BLANKS:
                return False
        elif piece[0] != '"' and _NUMBER.fullmatch(piece) and not number_is_within_caps(piece, caps):
            return False
    return True


def number_is_within_caps(text: str, caps: NumberCaps = USUAL_CAPS) -> bool:
    mantissa, _, exponent = text.lower().partition("e")
    digits = mantissa.replace("-", "").replace(".", "").lstrip("0")
    is_far = caps.least < Fraction(1, 10**999) or caps.greatest > 10**999
    if len(digits) > caps.digits or len(exponent.lstrip("+-")) > (4 if is_far else 3):
        return False
    size = abs(Fraction(Decimal(text)))
    return size == 0 or caps.least <= size <= caps.greatest


def decimal_text(value: Fraction) -> str:
    """A decimal fraction in digits, without an exponent."""
    scale = 0
    while (value * 10**scale).denominator != 1:
        scale += 1
        if scale > 1000:
            raise ValueError(f"{value} is no decimal fraction")
    sign, digits = ("-" if value < 0 else ""), str(abs(int(value * 10**scale))).rjust(scale + 1, "0")
    return f"{sign}{digits[:-scale]}.{digits[-scale:]}" if scale else sign + digits


def _plain(value: Any) -> Any:
    """Fractions as floats where json.dumps then says the same; others as strings that `_with_numbers` opens."""
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, Fraction) and value.denominator == 1:
        return int(value)
    if isinstance(value, Fraction):
        nearest = float(value) if abs(value) < GREATEST else 0.0
        return nearest if exact(nearest) == value else f"{_MARK}{decimal_text(value)}"
    return value


def _with_numbers(text: str) -> str:
    return re.sub(f'"{_MARK}([^"]*)"', r"\1", text)


def _space(rng: random.Random, wildness: float) -> str:
    if rng.random() > wildness:
        return ""
    before = "".join(rng.choice(" \t") for _ in range(rng.choice([0, 0, 1, 1, 2, 4, 18])))
    after = "".join(rng.choice(" \t") for _ in range(rng.choice([0, 0, 1, 1, 2, 4, 20])))
    return before + rng.choice(["", "", "\n", "\r\n", "\n\n", "\n \r\n"]) + after


def _spelled(value: Any, rng: random.Random, wildness: float) -> str:
    def between() -> str:
        return _space(rng, wildness / 2)

    if isinstance(value, str):
        return _string(value, rng, wildness)
    if isinstance(value, list):
        items = (between() + _spelled(item, rng, wildness) + between() for item in value)
        return f"[{','.join(items) or between()}]"
    if isinstance(value, dict):
        pairs = list(value.items())
        if rng.random() < wildness:
            rng.shuffle(pairs)
        members = (
            between()
            + _string(key, rng, wildness)
            + between()
            + ":"
            + between()
            + _spelled(item, rng, wildness)
            + between()
            for key, item in pairs
        )
        return "{" + (",".join(members) or between()) + "}"
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    return _number(Fraction(value), rng, wildness)


def _string(text: str, rng: random.Random, wildness: float) -> str:
    return '"' + "".join(_character(char, rng, wildness) for char in text) + '"'


def _character(char: str, rng: random.Random, wildness: float) -> str:
    short = {'"': '\\"', "\\": "\\\\", "/": "\\/", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
    must = char in '"\\' or ord(char) < 0x20
    if not must and rng.random() > wildness:
        return char
    if char in short and rng.random() < 0.6:
        return short[char]
    units = char.encode("utf-16-be").hex()
    units = units.upper() if rng.random() < 0.5 else units
    return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))


def _number(value: Fraction, rng: random.Random, wildness: float) -> str:
    plain = decimal_text(value)
    if rng.random() > wildness or len(plain) > 18:
        return plain
    first = (
        len(plain.strip("-0.").partition(".")[0]) - 1
    )  # the power of ten of its first digit, where that is before the point
    shift = rng.choice([first, first, first, -2, -1, 1, 2, 3])
    text = rng.choice([plain, plain, decimal_text(value / Fraction(10) ** shift)])
    exponent = shift if text != plain else 0
    if rng.random() < 0.5:
        text += rng.choice(["0", "00"]) if "." in text else rng.choice([".0", ".00"])
    if exponent or rng.random() < 0.3:
        sign = "-" if exponent < 0 else rng.choice(["", "+"])
        text += rng.choice("eE") + sign + rng.choice(["", "", "0"]) + str(abs(exponent))
    if value == 0 and rng.random() < 0.3:
        text = f"-{text.removeprefix('-')}"
    return text
