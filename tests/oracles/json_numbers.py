"""What a text that spells a JSON number is worth, decided slowly and by the book, and which texts can go on to one in a shape."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from math import gcd, lcm

import numpy as np

from grammarlm.grammars.json_schema.numbers.plans import Caps
from grammarlm.grammars.json_schema.shapes.shapes import NumberShape

FORM = re.compile(r"(-?)(0|[1-9][0-9]*)(?:\.([0-9]+))?(?:[eE]([+-]?)([0-9]+))?")
ALPHABET = "-0123456789.eE+"


@dataclass(frozen=True)
class Language:
    """The caps on numbers, whatever the shape."""

    digits: int = 25
    zeros: int = 330
    exponent_digits: int = 3
    smallest: Fraction = Fraction(25, 10**325)
    largest: Fraction = Fraction(17976931348623158 * 10**292)

    def value(self, text: str, is_open: bool = True) -> Fraction | None:
        """The exact value; None where the text is no number, or beyond the caps. `is_open`: before an exponent digits are any."""
        match = FORM.fullmatch(text)
        if match is None:
            return None
        sign, whole, fraction, exponent_sign, exponent = match.groups()
        if exponent and not is_open and not is_printed(text):
            return None
        fraction, exponent = fraction or "", exponent or ""
        leading = len(fraction) - len(fraction.lstrip("0")) if whole == "0" else 0
        if len((whole + fraction).lstrip("0")) > self.digits or leading > self.zeros:
            return None
        if len(exponent) > self.exponent_digits:
            return None
        power = int(f"{exponent_sign or ''}{exponent or 0}") - len(fraction)
        digits = int(whole + fraction)
        if digits == 0:
            return Fraction(0)
        if abs(power) > 2000:
            return None
        value = digits * Fraction(10) ** power
        if not self.smallest <= value <= self.largest:
            return None
        return -value if sign else value


def is_printed(text: str) -> bool:
    """The number has no exponent, or one after a single digit before the point."""
    return re.fullmatch(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?|-?([1-9](\.[0-9]+)?|0(\.0+)?)[eE][+-]?[0-9]+", text) is not None


def is_open(shape: NumberShape) -> bool:
    """No bound but 0, and no multiples: what is before an exponent may be any digits."""
    bare = not (shape.multiples or shape.not_multiples or shape.integer or shape.fractional)
    return bare and shape.low in (None, 0) and shape.high in (None, 0)


def admits(shape: NumberShape, value: Fraction, text: str = "") -> bool:
    """The schema's assertions, one after the other. In draft 4 (`plain`) the text says what an integer is."""
    if shape.low is not None and (value <= shape.low if shape.low_open else value < shape.low):
        return False
    if shape.high is not None and (value >= shape.high if shape.high_open else value > shape.high):
        return False
    is_integer = value == int(value)
    if shape.plain and text:
        is_integer = re.fullmatch("-?[0-9]+", text) is not None
    if (shape.integer and not is_integer) or (shape.fractional and is_integer):
        return False
    if any(value % multiple != 0 for multiple in shape.multiples):
        return False
    return all(value % multiple != 0 for multiple in shape.not_multiples)


def completable(prefix: str, shape: NumberShape, language: Language) -> bool:
    """Some text that begins with the prefix is in the language and has a value in the shape (not for draft 4).

    Every way to go on is tried: so many more digits, that power of ten. What can be read then is an arithmetic progression.
    """
    match = re.fullmatch(r"(-?)(?:(0|[1-9][0-9]*)(\.[0-9]*)?(?:[eE]([+-]?)([0-9]*))?)?", prefix)
    if match is None:
        return False
    sign, whole, fraction, exponent_sign, exponent = match.groups()
    signs = (1, -1) if prefix == "" else (-1,) if sign else (1,)
    if exponent is not None:
        mantissa = prefix[: re.search("[eE]", prefix).start()]  # type: ignore[union-attr]
        if mantissa.endswith(".") or len(exponent) > language.exponent_digits:
            return False
        return _with_exponents(mantissa, exponent_sign, exponent, shape, language)
    if whole is None:
        heads = [str(digit) for digit in range(10)]
        return any(completable(("-" if s < 0 else "") + head, shape, language) for s in signs for head in heads)
    digits = (whole + (fraction or "")[1:]).lstrip("0")
    leading = len(fraction) - 1 if fraction and not digits else 0
    if fraction and whole == "0" and digits:
        leading = len(fraction) - 1 - len(fraction[1:].lstrip("0"))
    if len(digits) > language.digits or leading > language.zeros:
        return False
    if fraction == "." and (
        len(digits) == language.digits or (not digits and language.zeros == 0 and language.digits == 0)
    ):
        return False
    if not digits:
        bare = not (fraction == "." and language.zeros == 0)
        if bare and admits(shape, Fraction(0)):
            return True
        heads = ((place, d) for place in range(leading + 1, language.zeros + 2) for d in range(1, 10))
        return any(_written(d, 1, s, shape, language, place) for place, d in heads for s in signs)
    places = len(fraction) - 1 if fraction else None
    return any(_written(int(digits), len(digits), s, shape, language, places, len(whole) == 1) for s in signs)


def _written(
    digits: int,
    length: int,
    sign: int,
    shape: NumberShape,
    language: Language,
    places: int | None,
    is_single: bool = False,
) -> bool:
    """Some further digits make a value in the shape, `places` of the given ones being after the point (None: before it, and more
    may be), or some exponent does: it may follow a single digit before the point, or any where the shape is open."""
    has_exponents = is_open(shape) or (is_single and places in (None, length - 1))
    if has_exponents and _scaled(digits, length, sign, shape, language, lambda more: range(-10_000, 10_000)):
        return True
    if places is None:
        return _scaled(digits, length, sign, shape, language, lambda more: range(-more, 1))
    return _scaled(digits, length, sign, shape, language, lambda more: range(-places - more, 1 - places - more))


def _with_exponents(mantissa: str, sign: str, digits: str, shape: NumberShape, language: Language) -> bool:
    signs = [sign] if sign else [""] if digits else ["", "-"]
    for chosen in signs:
        for more in range(language.exponent_digits - len(digits) + 1):
            if not digits and more == 0:
                continue
            start = int(digits or 0) * 10**more
            for exponent in range(start, min(start + 10**more, 1000)):
                value = language.value(f"{mantissa}e{chosen}{exponent}", is_open(shape))
                if value is not None and admits(shape, value):
                    return True
    return False


def _scaled(
    digits: int, length: int, sign: int, shape: NumberShape, language: Language, allowed: Callable[[int], range]
) -> bool:
    """Some further digits and some power of ten of the last one, which their count allows, make a value in the shape."""
    least, most = (shape.low, shape.high) if sign > 0 else (shape.high, shape.low)
    bottom = language.smallest if least is None else max(language.smallest, sign * least)
    top = language.largest if most is None else min(language.largest, sign * most)
    if bottom > top:
        return False
    powers = range(_power(language.smallest) - length - language.digits, _power(language.largest) + 2)
    # Of the place of the last given digit: all others are too small or too large.
    places = range(_power(bottom) - length - 1, _power(top) - length + 3)
    for more in range(language.digits - length + 1):
        some = allowed(more)
        first, stop = (
            max(powers.start, places.start - more, some.start),
            min(powers.stop, places.stop - more, some.stop),
        )
        for power in range(first, stop):
            unit = _power_of_ten(power)
            low, high = digits * 10**more * unit, ((digits + 1) * 10**more - 1) * unit
            low, high = max(low, language.smallest), min(high, language.largest)
            if low <= high and _any_between(low if sign > 0 else -high, high if sign > 0 else -low, unit, shape):
                return True
    return False


@lru_cache
def _power_of_ten(power: int) -> Fraction:
    return Fraction(10) ** power


@lru_cache
def _power(value: Fraction) -> int:
    power = 0
    while Fraction(10) ** power < value:
        power += 1
    while Fraction(10) ** power > value:
        power -= 1
    return power


def _any_between(low: Fraction, high: Fraction, unit: Fraction, shape: NumberShape) -> bool:
    """A multiple of the unit from low to high is in the shape: of those that are multiples of all, the first few tell."""
    if shape.low is not None:
        low = max(low, shape.low)
    if shape.high is not None:
        high = min(high, shape.high)
    if low > high:
        return False
    step = unit
    for multiple in (*shape.multiples, *([Fraction(1)] if shape.integer else [])):
        step = _common(step, multiple)
    first = -(-low // step)
    period = 1  # of which multiples of the step are excluded: so many in a row tell all
    for multiple in (*shape.not_multiples, *([Fraction(1)] if shape.fractional else [])):
        period = int(_common(Fraction(period), _common(step, multiple) / step))
    for i in range(min(period + 2, 5000)):
        value = (first + i) * step
        if value > high:
            return False
        if admits(shape, value):
            return True
    return False


@lru_cache(4096)
def _common(a: Fraction, b: Fraction) -> Fraction:
    """The least common multiple."""
    multiple = a
    numerators = np.lcm(a.numerator * b.denominator, b.numerator * a.denominator, dtype=object)
    multiple = Fraction(int(numerators), a.denominator * b.denominator)
    return multiple


def names_little(shape: NumberShape, caps: Caps) -> bool:
    """No magnitude that the shape names is as far from 1 as the caps: they stay as they are."""
    named = [value for value in (shape.low, shape.high, *shape.multiples, *shape.not_multiples) if value]
    if shape.multiples:
        step = lcm(*(m.numerator for m in shape.multiples))
        named.append(Fraction(step, gcd(*(m.denominator for m in shape.multiples))))
    (least, below), (most, above) = caps.smallest, caps.largest
    return all(least * Fraction(10) ** below < abs(v) < most * Fraction(10) ** above for v in named)


class Universe:
    """Every text of a small language and every beginning of one, as a tree: node i is its parent's text and one more character."""

    def __init__(self, language: Language, alphabet: str = "-0123456789.e+"):
        self.language = language
        self.texts = [""]
        self.parents = [-1]
        self.children: list[dict[str, int]] = [{}]
        for sign in ("", "-"):
            for mantissa in self._mantissas():
                self._add(sign + mantissa)
                for exponent in range(10**language.exponent_digits):
                    for length in range(len(str(exponent)), language.exponent_digits + 1):
                        for mark in ("e", "e+", "e-"):
                            self._add(f"{sign}{mantissa}{mark}{exponent:0{length}}")
        self.alphabet = alphabet

    def _mantissas(self) -> list[str]:
        most = self.language.digits
        found = ["0", *(str(number) for number in range(1, 10**most))]
        found += ["0." + "0" * zeros for zeros in range(1, self.language.zeros + 1)]
        for number in range(1, 10**most):
            text = str(number)
            found += [f"{text[:i]}.{text[i:]}" for i in range(1, len(text))]
            found += [f"0.{'0' * zeros}{text}" for zeros in range(self.language.zeros + 1)]
        return found

    def _add(self, text: str) -> None:
        node = 0
        for i, character in enumerate(text):
            following = self.children[node].get(character)
            if following is None:
                following = len(self.texts)
                self.children[node][character] = following
                self.children.append({})
                self.texts.append(text[: i + 1])
                self.parents.append(node)
            node = following

    @cached_property
    def values(self) -> list[Fraction | None]:
        return [self.language.value(text) for text in self.texts]

    @cached_property
    def printed(self) -> np.ndarray:
        return np.array([is_printed(text) for text in self.texts])

    @cached_property
    def distinct(self) -> dict[Fraction, list[int]]:
        by_value: dict[Fraction, list[int]] = {}
        for i, value in enumerate(self.values):
            if value is not None:
                by_value.setdefault(value, []).append(i)
        return by_value

    def judge(self, shape: NumberShape) -> tuple[np.ndarray, np.ndarray]:
        """(ends, lives) of every node."""
        ends = np.zeros(len(self.texts), bool)
        for value, nodes in self.distinct.items():
            if shape.plain:
                ends[nodes] = [admits(shape, value, self.texts[node]) for node in nodes]
            elif admits(shape, value):
                ends[nodes] = True
        if not is_open(shape):
            ends &= self.printed
        lives = ends.copy()
        parents = self.parents
        for node in range(len(parents) - 1, 0, -1):  # children come behind their parents
            if lives[node]:
                lives[parents[node]] = True
        return ends, lives


TIDY_FORM = re.compile(
    r"-?(0|[1-9][0-9]*)|-?(0|[1-9][0-9]*)\.(0|[0-9]*[1-9])|-?[1-9](\.[0-9]*[1-9])?e[+-]([0-9]{2}|[1-9][0-9]+)"
)


def is_tidy(text: str) -> bool:
    """The text is what json.dumps writes of an int, or would write of a float that had so many digits; or that from 1e16 on without
    an exponent."""
    if TIDY_FORM.fullmatch(text) is None or text == "-0":
        return False
    mantissa, _, exponent = text.lstrip("-").partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    if exponent:
        return not -4 <= int(exponent) < 16
    if not fraction or not digits:
        return True
    leading = len(fraction) - len(fraction.lstrip("0"))
    return leading < 4 or whole != "0"


def tidy_texts(value: Fraction) -> list[str]:
    """What json.dumps writes of a number: as an int, as a float."""
    found = [str(int(value))] if value.denominator == 1 else []
    sign, power, digits = "-" if value < 0 else "", 0, abs(value)
    if not value:
        return ["0", "0.0", "-0.0"]
    while digits.denominator != 1:
        digits, power = digits * 10, power - 1
    text = str(int(digits)).rstrip("0")
    power += len(str(int(digits))) - 1  # of the first digit
    if not -4 <= power < 16:
        return [*found, f"{sign}{text[0]}{'.' if text[1:] else ''}{text[1:]}e{power:+03d}"]
    if power < 0:
        return [*found, f"{sign}0.{'0' * (-power - 1)}{text}"]
    text = text.ljust(power + 1, "0")
    return [*found, f"{sign}{text[: power + 1]}.{text[power + 1 :] or '0'}"]
