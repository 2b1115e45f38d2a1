"""The number kernel against every text of small languages, and against exact fractions in the real one."""

import json
import random
import struct
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from itertools import islice
from math import isfinite

import numba
import numpy as np
import pytest

from grammarlm.grammars.json_schema.numbers.decimals import decimal
from grammarlm.grammars.json_schema.numbers.plans import CAPS, Caps, plan
from grammarlm.grammars.json_schema.numbers.rows import pack
from grammarlm.grammars.json_schema.shapes.shapes import NumberShape
from grammarlm.kernels.cpu.json.step.numbers import number_ends, number_key, number_step
from grammarlm.layout.numbers import Number
from tests.oracles.json_numbers import (
    ALPHABET,
    Language,
    Universe,
    admits,
    completable,
    is_open,
    is_tidy,
    names_little,
    tidy_texts,
)

SMALL = Caps(digits=2, zeros=1, exponent_digits=1, smallest=(1, -2), largest=(25, 1))


@numba.njit
def step(row, x, y, byte):
    return number_step(row, x, y, byte)


@numba.njit
def ends(row, x, y):
    return number_ends(row, x, y)


@numba.njit
def walk(row, parents, bytes_, xs, ys, can_end):
    """The states of a tree of texts, from the root on."""
    for i in range(len(parents)):
        if i == 0:
            xs[i], ys[i] = 0, 0
        elif xs[parents[i]] < 0:
            xs[i] = -1
        else:
            xs[i], ys[i] = number_step(row, xs[parents[i]], ys[parents[i]], bytes_[i])
        can_end[i] = xs[i] >= 0 and number_ends(row, xs[i], ys[i])


@numba.njit
def stray(row, xs, ys, known, alphabet):
    """Counts the steps that live although they leave the tree: known[i, j] = node i has a child by character j."""
    found = 0
    for i in range(len(xs)):
        if xs[i] >= 0:
            for j in range(len(alphabet)):
                if not known[i, j] and number_step(row, xs[i], ys[i], alphabet[j])[0] >= 0:
                    found += 1
    return found


class Packed:
    """A shape's row, with something else behind it."""

    def __init__(self, shape: NumberShape, caps: Caps = CAPS, tidy: bool = False):
        self.row = np.array([*pack(shape, caps=caps, tidy=tidy), 1 << 62], np.int64)
        self.at = int(self.row.ctypes.data)

    def after(self, text: str) -> tuple[int, int]:
        x, y = 0, 0
        for byte in text.encode():
            x, y = step(self.at, x, y, byte)
            if x < 0:
                break
        return x, y

    def lives(self, text: str) -> bool:
        return self.after(text)[0] >= 0

    def accepts(self, text: str) -> bool:
        x, y = self.after(text)
        return x >= 0 and ends(self.at, x, y)


@lru_cache
def universe(digits: int) -> tuple[Universe, np.ndarray, np.ndarray, np.ndarray]:
    language = Language(digits, SMALL.zeros, SMALL.exponent_digits, Fraction(1, 100), Fraction(250))
    tree = Universe(language)
    last = np.array([ord(text[-1]) if text else 0 for text in tree.texts], np.int64)
    known = np.array([[c in below for c in tree.alphabet] for below in tree.children])
    return tree, np.array(tree.parents), last, known


def check_everywhere(shape: NumberShape) -> int:
    """Every text of the small language, and every step out of it; how many texts are in the shape."""
    packed = Packed(shape, SMALL)
    tree, parents, last, known = universe(int(packed.row[Number.DIGITS]))
    expected_ends, expected_lives = tree.judge(shape)
    count = len(tree.texts)
    xs, ys, can_end = np.zeros(count, np.int64), np.zeros(count, np.int64), np.zeros(count, bool)
    walk(packed.at, parents, last, xs, ys, can_end)
    for name, mine, right in (("ends", can_end, expected_ends), ("lives", xs[1:] >= 0, expected_lives[1:])):
        wrong = np.flatnonzero(mine != right)
        if len(wrong):
            text = tree.texts[wrong[0] + (name == "lives")]
            raise AssertionError(f"{shape}: {name} of {text!r} should be {right[wrong[0]]}")
    assert stray(packed.at, xs, ys, known, np.array([ord(c) for c in tree.alphabet])) == 0, shape
    return int(expected_ends.sum())


def a_decimal(rng: random.Random, digits: int) -> Fraction:
    return rng.randrange(1, 10**digits) * Fraction(10) ** rng.randrange(-3, 4 - digits)


STEPS = [
    Fraction(s) for s in ("1", "2", "3", "5", "7", "0.5", "0.1", "0.2", "0.3", "20", "40", "60", "0.04", "0.01", "9")
]


def a_shape(rng: random.Random, digits: int) -> NumberShape:
    low, high = (a_decimal(rng, digits) * rng.choice((1, 1, -1)) for _ in range(2))
    if low > high and rng.random() < 0.9:
        low, high = high, low
    if rng.random() < 0.1:
        high = low
    kind = rng.random()
    steps = [step for step in STEPS if decimal(step)[0] < 10**digits]
    return NumberShape(
        low=low if rng.random() < 0.6 else None,
        low_open=rng.random() < 0.4,
        high=high if rng.random() < 0.6 else None,
        high_open=rng.random() < 0.4,
        integer=kind < 0.3,
        fractional=0.3 <= kind < 0.4,
        multiples=tuple(rng.sample(steps, rng.choice((0, 0, 1, 2)))),
        not_multiples=tuple(rng.sample(steps, rng.choice((0, 0, 0, 0, 1, 2)))),
        plain=rng.random() < 0.2,
    )


def some_shapes(seed: int, count: int, digits: int, caps: Caps = SMALL) -> list[NumberShape]:
    """Whose numbers have at most so many digits and one, so that all can be written down, and no magnitudes beyond the caps."""
    rng = random.Random(seed)
    shapes = (a_shape(rng, digits) for _ in range(10 * count))
    few = (s for s in shapes if names_little(s, caps) and plan(s, caps).digits <= digits + 1)
    return list(islice(few, count))


@pytest.mark.parametrize("count", [15, pytest.param(600, marks=pytest.mark.proof)])
def test_every_text_of_small_languages(count: int) -> None:
    nonempty = sum(check_everywhere(shape) > 0 for shape in some_shapes(1, count, 1))
    assert nonempty > count // 2


@pytest.mark.parametrize("count", [2, pytest.param(20, marks=pytest.mark.proof)])
def test_every_text_of_a_larger_language(count: int) -> None:
    assert sum(check_everywhere(shape) > 0 for shape in some_shapes(2, count, 2)) > count // 3


@numba.njit
def key_of(row, x, y, most, after):
    return number_key(row, x, y, most, after)


class Behaviour:
    """What a state does with the next characters, as a number: equal numbers, same behaviour. Found out by trying them all."""

    def __init__(self, packed: Packed):
        self.packed = packed
        self.known: dict[tuple, int] = {}
        self.numbers: dict[tuple, int] = {}

    def number(self, state: tuple[int, int], digits: int, after: int, in_exponent: bool) -> int:
        key = (state, digits, after, in_exponent)
        if key not in self.known:
            outcome: list = [ends(self.packed.at, *state)]
            for character in "-+.e0123456789":
                if character.isdigit() and digits == 0:
                    continue
                following = step(self.packed.at, *state, ord(character))
                if following[0] < 0:
                    outcome.append(None)
                elif character == "e":
                    outcome.append(self.number(following, after, 0, True))
                else:
                    outcome.append(self.number(following, digits - character.isdigit(), after, in_exponent))
            self.known[key] = self.numbers.setdefault(tuple(outcome), len(self.numbers))
        return self.known[key]


def check_keys(packed: Packed, texts: list[str], most: int, after: int) -> int:
    """Equal keys behave alike; how many keys there are."""
    behaviour = Behaviour(packed)
    seen: dict[tuple[int, int], tuple[int, str]] = {}
    for text in texts:
        state = packed.after(text)
        assert state[0] >= 0
        key = key_of(packed.at, *state, most, after)
        number = behaviour.number(state, most, after, "e" in text.lower())
        before, example = seen.setdefault(key, (number, text))
        assert before == number, f"{text!r} and {example!r} look alike for {most} digits, {after} after an e"
    return len(seen)


@pytest.mark.parametrize("count", [7, pytest.param(60, marks=pytest.mark.proof)])
def test_keys_of_small_languages(count: int) -> None:
    caps = Caps(digits=2, zeros=2, exponent_digits=1, smallest=(1, -4), largest=(25, 3))
    language = Language(2, 2, 1, Fraction(1, 10**4), Fraction(25000))
    folded = 0
    trees: dict[int, Universe] = {}
    for shape in [NumberShape(), NumberShape(integer=True), NumberShape(fractional=True), *some_shapes(3, count, 1)]:
        packed = Packed(shape, caps)
        digits = int(packed.row[Number.DIGITS])
        if digits > 2:
            continue
        tree = trees.setdefault(digits, Universe(language))
        texts = [text for text, lives in zip(tree.texts, tree.judge(shape)[1], strict=True) if lives]
        texts = texts[:: max(1, len(texts) // 3000)]
        for most, after in ((1, 0), (2, 0), (1, 1)):
            folded += len(texts) > 4 * check_keys(packed, texts, most, after)
    assert folded > count // 4


def texts_along(packed: Packed, rng: random.Random, count: int) -> list[str]:
    """Beginnings of numbers in the shape, some of them long."""
    found = []
    for _ in range(count):
        text, state, before_exponent = "", (0, 0), rng.randrange(1, 30)
        while True:
            found.append(text)
            following = {c: step(packed.at, *state, ord(c)) for c in ALPHABET}
            alive = [c for c in ALPHABET if following[c][0] >= 0]
            early = [c for c in alive if c not in "eE" or len(text) > before_exponent]
            if not alive or (ends(packed.at, *state) and rng.random() < 0.07):
                assert ends(packed.at, *state), text
                break
            chosen = rng.choice(early or alive)
            text, state = text + chosen, following[chosen]
    return found


def check_against_fractions(shape: NumberShape, caps: Caps, language: Language, rng: random.Random, count: int) -> None:
    packed = Packed(shape, caps)
    language = replace(language, digits=int(packed.row[Number.DIGITS]))
    for text in rng.sample(texts_along(packed, rng, 3), count):
        value = language.value(text, is_open(shape))
        assert packed.accepts(text) == (value is not None and admits(shape, value)), (shape, text)
        for character in rng.sample(ALPHABET, 4):
            expected = completable(text + character, shape, language)
            assert packed.lives(text + character) == expected, (shape, text, character)


MIDDLE = Caps(digits=6, zeros=4, exponent_digits=2, smallest=(1, -9), largest=(123456, 7))


def test_random_beginnings_in_a_middle_language() -> None:
    language = Language(6, 4, 2, Fraction(1, 10**9), Fraction(123456 * 10**7))
    rng = random.Random(11)
    shapes = [shape for shape in some_shapes(12, 120, 5, MIDDLE) if not shape.plain]
    for shape in shapes:
        if not plan(shape, MIDDLE).is_empty:
            check_against_fractions(shape, MIDDLE, language, rng, 5)


REAL = [
    NumberShape(),
    NumberShape(integer=True),
    NumberShape(fractional=True),
    NumberShape(low=Fraction(0)),
    NumberShape(low=Fraction(1), high=Fraction(100)),
    NumberShape(low=Fraction(1), high=Fraction(100), integer=True),
    NumberShape(low=Fraction("-273.15"), low_open=True, high=Fraction("1.5e30")),
    NumberShape(low=Fraction("0.000015"), high=Fraction(2)),
    NumberShape(low=Fraction("3.14"), high=Fraction("3.14")),
    NumberShape(low=Fraction(12345678901234567890), high=Fraction(12345678901234567890)),
    NumberShape(low=Fraction(10) ** 300, high=Fraction(10) ** 300),
    *(
        NumberShape(multiples=(Fraction(m),))
        for m in ("2", "5", "10", "60", "0.01", "0.1", "0.5", "0.001", "1e-8", "7")
    ),
    NumberShape(multiples=(Fraction(982451653),)),
    NumberShape(multiples=(Fraction(982451653),), low=Fraction(5), high=Fraction(10) ** 10),
    NumberShape(multiples=(Fraction(899_999_999_999_999_863),)),
    NumberShape(multiples=(Fraction(7),), low=Fraction(15), high=Fraction(30)),
    NumberShape(integer=True, not_multiples=(Fraction(7),)),
    NumberShape(multiples=(Fraction(3),), not_multiples=(Fraction(5), Fraction(7), Fraction("0.4"))),
    NumberShape(fractional=True, low=Fraction(10) ** 22, high=Fraction(10) ** 24),
    NumberShape(not_multiples=(Fraction("0.25"),), low=Fraction(-1), high=Fraction(1)),
]


@pytest.mark.parametrize("shape", REAL, ids=[f"shape{i}" for i in range(len(REAL))])
def test_random_beginnings_in_the_real_language(shape: NumberShape) -> None:
    check_against_fractions(shape, CAPS, Language(), random.Random(13), 1)


@pytest.mark.proof
@pytest.mark.parametrize("shape", REAL, ids=[f"shape{i}" for i in range(len(REAL))])
def test_many_random_beginnings_in_the_real_language(shape: NumberShape) -> None:
    check_against_fractions(shape, CAPS, Language(), random.Random(14), 20)


@pytest.mark.parametrize("shape", REAL, ids=[f"shape{i}" for i in range(len(REAL))])
@pytest.mark.parametrize("count", [20, pytest.param(40, marks=pytest.mark.proof)])
def test_keys_in_the_real_language(count: int, shape: NumberShape) -> None:
    packed = Packed(shape)
    texts = texts_along(packed, random.Random(17), count)
    texts += [text for zeros in range(9) if packed.lives(text := "0." + "0" * zeros)]
    for most, after in ((1, 0), (2, 0), (1, 1), (0, 2)):
        check_keys(packed, sorted(set(texts)), most, after)


@pytest.mark.parametrize("tidy", [False, True])
def test_exponents_of_four_digits_where_a_schema_names_them(tidy: bool) -> None:
    for value, mantissa, power in ((10**3900, "1", 3900), (Fraction(25, 10**4001), "2.5", -4000)):
        packed = Packed(NumberShape(low=Fraction(value), high=Fraction(value)), tidy=tidy)
        for exponent in range(power - 1200, power + 1200):
            text = f"{mantissa}e{exponent:+}"
            assert packed.accepts(text) is packed.lives(text) is (exponent == power), text
        assert not packed.lives(f"{mantissa}e{power:+}0")


def test_keys_are_few() -> None:
    """Of what a thousand numbers of any length come to, most is the same."""
    for shape in (NumberShape(), NumberShape(integer=True), NumberShape(low=Fraction(0))):
        packed = Packed(shape)
        texts = [text for text in texts_along(packed, random.Random(19), 300) if "e" not in text and "E" not in text]
        keys = set()
        for text in texts:
            keys.add(key_of(packed.at, *packed.after(text), 3, 0))
        assert len(texts) > 2000
        assert len(keys) <= 200


@pytest.mark.parametrize("shape", [NumberShape(), NumberShape(low=Fraction(0)), NumberShape(high=Fraction(10) ** 300)])
def test_tidy_numbers_are_what_json_dumps_writes(shape: NumberShape) -> None:
    packed, rng = Packed(shape, tidy=True), random.Random(23)
    floats = [struct.unpack("<d", rng.randbytes(8))[0] for _ in range(2000)]
    floats += [rng.uniform(-1, 1) * 10 ** rng.randrange(-8, 20) for _ in range(2000)]
    floats += [round(rng.uniform(-1000, 1000), rng.randrange(4)) for _ in range(500)]
    floats += [
        5e-324,
        2.2250738585072014e-308,
        1.7976931348623157e308,
        0.0,
        -0.0,
        1e16,
        1e15,
        9999999999999998.0,
        1e-4,
        1e-5,
        1e22,
    ]
    for number in [x for x in floats if isfinite(x)] + [rng.randrange(-(10**k), 10**k) for k in range(25)]:
        text = json.dumps(number)
        value = Fraction(text)
        assert packed.accepts(text) == (admits(shape, value)), text
        assert is_tidy(text), text


def test_short_tidy_texts_are_what_json_dumps_writes() -> None:
    packed, rng, seen = Packed(NumberShape(), tidy=True), random.Random(29), 0
    for text in texts_along(packed, rng, 3000):
        if packed.accepts(text) and sum(map(str.isdigit, text.split("e")[0])) <= 15 and abs(float(text)) > 1e-300:
            seen += 1
            assert json.dumps(json.loads(text)) == text
    assert seen > 500


TIDY_SHAPES = [
    *REAL,
    NumberShape(low=Fraction(10) ** 15, high=Fraction(10) ** 17),
    NumberShape(low=Fraction(12), high=Fraction(12)),
    NumberShape(low=Fraction("0.00002"), high=Fraction("0.0003")),
    NumberShape(low=Fraction(-5), high=Fraction(5), multiples=(Fraction("0.25"),)),
    NumberShape(low=Fraction("99999.5"), high=Fraction("100000.25"), multiples=(Fraction("0.05"),)),
    NumberShape(low=Fraction(0), high=Fraction(1), not_multiples=(Fraction("0.1"),)),
    NumberShape(low=Fraction("12345678901234567.5"), high=Fraction("12345678901234567.5")),
    NumberShape(low=Fraction(10) ** 17 + Fraction(1, 2), high=Fraction(10) ** 17 + Fraction(7, 2)),
    NumberShape(low=Fraction(10) ** 18, multiples=(Fraction("0.7"),), high=3 * Fraction(10) ** 18),
    NumberShape(high=Fraction("1e-400")),
    NumberShape(low=Fraction("1e-330"), high=Fraction("1e-5")),
    NumberShape(low=Fraction(10) ** 310),
    NumberShape(fractional=True, plain=True),
    NumberShape(integer=True, low=Fraction(10) ** 30),
]


def a_value_near(shape: NumberShape, rng: random.Random) -> Fraction:
    """A number of few digits, or one next to what the shape names."""
    named = [v for v in (shape.low, shape.high, *shape.multiples) if v]
    if not named or rng.random() < 0.4:
        return rng.choice((-1, 1)) * rng.randrange(10 ** rng.randrange(1, 20)) * Fraction(10) ** rng.randrange(-12, 14)
    value = rng.choice(named) * rng.choice((1, 1, 2, 3, 10, Fraction(1, 10), 10 ** rng.randrange(20)))
    return value + rng.choice((0, 0, 1, -1)) * Fraction(10) ** rng.randrange(-6, 20)


def random_tidy_shapes(count: int) -> list[NumberShape]:
    rng, shapes = random.Random(31), list[NumberShape]()
    while len(shapes) < count:
        shape = replace(a_shape(rng, rng.choice((1, 2, 5))), plain=False)
        scale = Fraction(10) ** rng.choice((0, 0, 0, 12, 16, -6))
        shape = replace(shape, low=shape.low and shape.low * scale, high=shape.high and shape.high * scale)
        if not plan(shape).is_empty:
            shapes.append(shape)
    return shapes


@pytest.mark.parametrize("shapes", [TIDY_SHAPES, random_tidy_shapes(60)], ids=["named", "random"])
def test_tidy_shapes(shapes: list[NumberShape]) -> None:
    """Whatever lives has an end (texts_along says so), what is accepted is tidy and admitted; all tidy texts of values are."""
    rng, right = random.Random(37), 0
    for shape in shapes:
        packed = Packed(shape, tidy=True)
        for text in texts_along(packed, rng, 12):
            if packed.accepts(text):
                assert is_tidy(text), (shape, text)
                assert admits(shape, Fraction(text), text), (shape, text)
        named = [abs(value) for value in (shape.low, shape.high, *shape.multiples) if value]
        least, most = min([Fraction(25, 10**325), *named]), max([Fraction(17976931348623158 * 10**292), *named])
        for value in [a_value_near(shape, rng) for _ in range(60)]:
            if value and not least <= abs(value) <= most:
                continue  # beyond what the shape names there may be more
            for text in tidy_texts(value):
                digits = len(text.lstrip("-0.").partition("e")[0].replace(".", ""))
                if digits > 25 or (shape.integer and not text.lstrip("-").isdigit()):
                    continue
                wanted = admits(shape, value, text)
                assert packed.accepts(text) == wanted, (shape, text)
                right += wanted
            mantissa = tidy_texts(value)[-1]
            for text in (
                mantissa + "0",
                mantissa + "e0",
                mantissa.replace("e", "E"),
                "-0",
                "0.00",
                "1.50",
                "1e5",
                "10.0e20",
            ):
                assert packed.accepts(text) <= is_tidy(text), (shape, text)
    assert right > 200


def test_keys_of_tidy_rows() -> None:
    for shape in (
        NumberShape(),
        NumberShape(low=Fraction(0)),
        NumberShape(low=Fraction(1), high=Fraction(100)),
        *TIDY_SHAPES[-9:],
    ):
        packed = Packed(shape, tidy=True)
        texts = sorted(set(texts_along(packed, random.Random(41), 60)))
        for most, after in ((1, 0), (2, 0), (1, 1), (0, 2)):
            check_keys(packed, texts, most, after)
