"""Number shapes: read, joined, opposites, emptiness and counts, against fractions and every value of a small language."""

import random
from decimal import Decimal
from fractions import Fraction

import pytest

from grammarlm.errors import GrammarError, UnsupportedFeature
from grammarlm.grammars.json_schema.numbers.numbers import both, exact, has, is_empty, opposites, read
from grammarlm.grammars.json_schema.numbers.plans import Caps, count, plan, values
from grammarlm.grammars.json_schema.numbers.rows import digits_ahead, pack
from grammarlm.grammars.json_schema.shapes.shapes import NumberShape
from grammarlm.layout.numbers import Number
from tests.oracles.json_numbers import Language, admits, names_little

HALF = Fraction(1, 2)


def test_exact_is_what_is_written() -> None:
    assert exact(0.1) == Fraction(1, 10)
    assert exact(1e300) == 10**300
    assert exact(-2.5) == Fraction(-5, 2)
    assert exact(Decimal("1.10")) == Fraction(11, 10)
    assert exact(Decimal("1e-400")) == Fraction(1, 10**400)
    assert exact(12345678901234567891) == 12345678901234567891
    assert exact(3.0) == 3


@pytest.mark.parametrize("value", [True, "1", None, float("nan"), float("-inf"), Decimal("Infinity"), Decimal("NaN")])
def test_what_is_no_number(value: object) -> None:
    with pytest.raises(GrammarError):
        exact(value)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "value", [1 << 20_000, Decimal("1e1000000000000"), Decimal("1e-999999999")], ids=["integer", "1e", "1e-"]
)
def test_numbers_too_long_to_write_out(value: object) -> None:
    with pytest.raises(UnsupportedFeature):
        exact(value)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("schema", "shape"),
    [
        ({}, NumberShape()),
        ({"type": "number", "minLength": 3}, NumberShape()),
        ({"minimum": 1, "maximum": 2.5}, NumberShape(low=Fraction(1), high=Fraction(5, 2))),
        ({"exclusiveMinimum": 0}, NumberShape(low=Fraction(0), low_open=True)),
        ({"minimum": 0, "exclusiveMinimum": True}, NumberShape(low=Fraction(0), low_open=True)),
        ({"minimum": 0, "exclusiveMinimum": False}, NumberShape(low=Fraction(0))),
        ({"exclusiveMinimum": True}, NumberShape()),
        ({"minimum": 0, "exclusiveMinimum": 0}, NumberShape(low=Fraction(0), low_open=True)),
        ({"minimum": 1, "exclusiveMinimum": 0}, NumberShape(low=Fraction(1))),
        ({"minimum": -1, "exclusiveMinimum": 0}, NumberShape(low=Fraction(0), low_open=True)),
        ({"maximum": 5, "exclusiveMaximum": 6}, NumberShape(high=Fraction(5))),
        ({"maximum": 5, "exclusiveMaximum": 4}, NumberShape(high=Fraction(4), high_open=True)),
        ({"maximum": 5, "exclusiveMaximum": True}, NumberShape(high=Fraction(5), high_open=True)),
        ({"multipleOf": 0.01}, NumberShape(multiples=(Fraction(1, 100),))),
    ],
)
def test_read(schema: dict, shape: NumberShape) -> None:
    assert read(schema) == shape


@pytest.mark.parametrize(
    "schema",
    [
        {"minimum": "1"},
        {"maximum": None},
        {"multipleOf": 0},
        {"multipleOf": -2},
        {"exclusiveMaximum": []},
        {"minimum": True},
    ],
)
def test_broken_schemas_are_named(schema: dict) -> None:
    with pytest.raises(GrammarError, match=f"^{next(iter(schema))} must be"):
        read(schema)


def a_shape(rng: random.Random) -> NumberShape:
    def value() -> Fraction:
        return Fraction(rng.randrange(-9, 10)) * rng.choice((Fraction(1), HALF, Fraction(1, 10), Fraction(10)))

    steps = [Fraction(s) for s in ("1", "2", "3", "5", "7", "0.5", "0.1", "0.3", "20", "0.04")]
    return NumberShape(
        low=rng.choice((None, value())),
        low_open=rng.random() < 0.5,
        high=rng.choice((None, value())),
        high_open=rng.random() < 0.5,
        integer=rng.random() < 0.3,
        fractional=rng.random() < 0.2,
        multiples=tuple(rng.sample(steps, rng.choice((0, 0, 1, 2)))),
        not_multiples=tuple(rng.sample(steps, rng.choice((0, 0, 1, 2)))),
    )


def some_values(rng: random.Random) -> list[Fraction]:
    return [Fraction(rng.randrange(-120, 120), rng.choice((1, 1, 2, 10, 100))) for _ in range(40)]


def test_both_has_and_opposites() -> None:
    rng = random.Random(3)
    held = 0
    for _ in range(400):
        a, b = a_shape(rng), a_shape(rng)
        for value in some_values(rng):
            in_a, in_b = has(a, value), has(b, value)
            assert in_a == admits(a, value)
            assert has(both(a, b), value) == (in_a and in_b)
            assert any(has(shape, value) for shape in opposites(a)) != in_a
            held += in_a
    assert held > 500


SMALL = Caps(digits=2, zeros=1, exponent_digits=1, smallest=(1, -2), largest=(25, 1))


def every_value(digits: int) -> list[Fraction]:
    """All values of the small language: they have few digits."""
    language = Language(digits, SMALL.zeros, SMALL.exponent_digits, Fraction(1, 100), Fraction(250))
    texts = [f"{sign}{number}e{e}" for sign in ("", "-") for number in range(10**digits) for e in range(-9, 3)]
    return sorted({value for text in texts if (value := language.value(text)) is not None})


def test_emptiness_and_counts_of_a_small_language() -> None:
    rng = random.Random(4)
    everything = {digits: every_value(digits) for digits in (2, 3)}
    shapes = [a_shape(rng) for _ in range(900)]
    shapes = [shape for shape in shapes if names_little(shape, SMALL) and plan(shape, SMALL).digits <= 3]
    empty = 0
    for shape in shapes:
        admitted = [value for value in everything[plan(shape, SMALL).digits] if admits(shape, value)]
        right = len(admitted)
        assert count(shape, 10**6, SMALL) == right, shape
        assert values(shape, 50, SMALL) == (admitted if right <= 50 else None), shape
        assert count(shape, 5, SMALL) == min(right, 5)
        assert plan(shape, SMALL).is_empty == (right == 0)
        empty += right == 0
    assert 50 < empty < len(shapes) - 50


@pytest.mark.parametrize(
    ("shape", "empty"),
    [
        (NumberShape(), False),
        (NumberShape(low=Fraction(15), high=Fraction(20), multiples=(Fraction(7),)), True),
        (NumberShape(low=Fraction(15), high=Fraction(21), multiples=(Fraction(7),)), False),
        (NumberShape(low=Fraction(15), high=Fraction(21), high_open=True, multiples=(Fraction(7),)), True),
        (NumberShape(low=HALF, high=Fraction(99, 100), integer=True), True),
        (NumberShape(low=Fraction(0), high=Fraction(0), low_open=True), True),
        (NumberShape(low=Fraction(1), high=Fraction(0)), True),
        (NumberShape(integer=True, fractional=True), True),
        (NumberShape(integer=True, fractional=True, plain=True), True),
        (NumberShape(fractional=True), False),
        (NumberShape(multiples=(Fraction(2),), not_multiples=(Fraction(1),)), True),
        (NumberShape(multiples=(Fraction(2),), not_multiples=(Fraction(4),)), False),
        (NumberShape(low=Fraction(10) ** 309), False),
        (NumberShape(high=Fraction(1, 10**400), low=Fraction(0), low_open=True), False),
        (NumberShape(high=Fraction(1, 10**308), low=Fraction(0)), False),
        (NumberShape(low=Fraction(10) ** 30, high=Fraction(10) ** 30, integer=True, plain=True), False),
        # between two bounds of many digits there is room
        (NumberShape(low=1 + Fraction(1, 10**40), high=1 + Fraction(2, 10**40), low_open=True, high_open=True), False),
    ],
)
def test_is_empty(shape: NumberShape, empty: bool) -> None:
    assert is_empty(shape) == empty
    assert (count(shape, 1) == 0) == empty


def test_what_only_the_caps_leave_empty_is_refused() -> None:
    shape = NumberShape(fractional=True, low=Fraction(10) ** 26)  # digits end before the point
    assert plan(shape).is_empty
    with pytest.raises(UnsupportedFeature, match="more than 25 digits"):
        is_empty(shape)


def test_single_values_need_no_step() -> None:
    prime = Fraction(2**127 - 1)
    assert count(NumberShape(low=prime, high=prime, multiples=(prime,)), 10) == 1
    pack(NumberShape(low=prime, high=prime, multiples=(prime,), integer=True))


def test_digits_follow_the_bounds() -> None:
    assert plan(NumberShape(low=Fraction(3))).digits == 25
    assert plan(NumberShape(low=Fraction("0." + "123456789" * 3))).digits == 28
    assert plan(NumberShape(low=Fraction(10) ** 300)).digits == 25
    assert plan(NumberShape(integer=True, plain=True, low=Fraction(10) ** 30)).digits == 32


@pytest.mark.parametrize(
    ("shape", "named"),
    [
        (NumberShape(multiples=(Fraction(2**61 - 1),)), "remainder"),
        (NumberShape(multiples=(Fraction(982451653), Fraction(982451629))), "remainder"),
        (NumberShape(low=Fraction(1, 10**1200) + 1), "digits"),
        (
            NumberShape(not_multiples=tuple(map(Fraction, (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31)))),
            "no multiple of 11",
        ),
        (NumberShape(low=Fraction(1, 3)), "decimal"),
    ],
)
def test_refused_by_name(shape: NumberShape, named: str) -> None:
    with pytest.raises(UnsupportedFeature, match=named) as raised:
        pack(shape, pointer="#/properties/x")
    assert raised.value.pointer == "#/properties/x"


def test_large_steps_are_taken() -> None:
    for step in (Fraction(899_999_999_999_999_863), Fraction(2**59), Fraction(10) ** 40, Fraction(7, 10**30)):
        assert len(pack(NumberShape(multiples=(step,)))) > Number.LENGTH


def test_digits_ahead() -> None:
    assert digits_ahead([]) == (0, 0)
    assert digits_ahead([b"a12", b"--------", b"", b"e", b"..."]) == (0, 0)
    assert digits_ahead([b"123", b".5", b"engine", b"45,67890"]) == (3, 0)
    assert digits_ahead([b"12.345}", b"1e5 "]) == (5, 1)
    assert digits_ahead([b"E-300", b"0000000000000000"]) == (16, 3)
