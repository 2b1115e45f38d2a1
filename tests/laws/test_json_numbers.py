"""Numbers of any size in a schema: what a mask allows has an end, and texts are judged as exact fractions are."""

import json
import random
import re
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest

import grammarlm as gl
from tests.laws.json_laws import WALKED, accepts, compiled
from tests.laws.laws import allowed_ids
from tests.oracles.json_numbers import is_tidy

Number = int | float | Decimal
NAMED: list[Number] = [
    5e-324, 1e-323, 2.2250738585072014e-308, -5e-324, Decimal("1e-400"), Decimal("-2.5e-324"), Decimal("1e-4000"),
    1e308, 1.7976931348623157e308, Decimal("1.7976931348623158e308"), 10**309, -(10**309), Decimal("1e400"), Decimal("-1.25e400"),
    10**309 + 1, 12345 * 10**330, Decimal("12345678901234567890123456789e-350"), Decimal("9.999e3999"), 10**3900,
    0, -0.0, 1, 1.0, 0.1, 1e16, 1e-5, 10**40 + 1,
]  # fmt: skip
ABOUT: dict[str, Callable[[Any], Any]] = {
    "const": lambda v: {"const": v},
    "enum": lambda v: {"enum": [v, "a"]},
    "optional": lambda v: {"properties": {"a": {"const": v}}, "additionalProperties": False},
    "required": lambda v: {"properties": {"a": {"const": v}}, "required": ["a"], "additionalProperties": False},
    "positions": lambda v: {"prefixItems": [{"const": v}, {"enum": [v, None]}], "items": False, "minItems": 1},
    "either": lambda v: {"anyOf": [{"const": [v]}, {"enum": [v]}, {"const": {"b": v}}]},
    "objects": lambda v: {"enum": [{"a": v}, {"b": 1}]},
    "deep": lambda v: {"const": {"a": [v, {"b": v}]}},
    "least": lambda v: {"type": "number", "minimum": v},
    "most": lambda v: {"type": "number", "exclusiveMaximum": v},
    "above": lambda v: {"type": "integer", "exclusiveMinimum": v},
    "steps": lambda v: {"type": "number", "multipleOf": abs(v) or 1},
    "others": lambda v: {"items": {"type": "number", "not": {"const": v}}, "type": "array", "minItems": 1},
}


def exact(value: Number) -> Fraction:
    return Fraction(repr(value)) if isinstance(value, float) else Fraction(value)


def a_number(rng: random.Random) -> Number:
    if rng.random() < 0.4:
        return rng.choice(NAMED)
    power = rng.choice(
        [rng.randrange(-20, 20), rng.randrange(-330, -300), rng.randrange(300, 330), rng.randrange(-3900, 3900)]
    )
    value = Decimal(rng.randrange(1, 10 ** rng.randrange(1, 20))).scaleb(power) * rng.choice((1, -1))
    return int(value) if power > 0 and rng.random() < 0.5 else value


def fractions_of(text: str) -> Any:
    return json.loads(text, parse_float=lambda t: Fraction(Decimal(t)), parse_int=lambda t: Fraction(Decimal(t)))


def walk(constraint: Any, rng: random.Random) -> str:
    """A text by random allowed tokens: until there may be an end and a coin says so. No row is empty."""
    matcher, stop, text = constraint.matcher(), WALKED.stop_ids[0], b""
    while True:
        allowed = allowed_ids(matcher, WALKED)
        assert allowed, text
        if stop in allowed and (len(allowed) == 1 or rng.random() < 0.3):
            return text.decode()
        # Rather what ends a number: digits would go on until the caps stop them.
        chosen = sorted(allowed - {stop}, key=lambda token: (WALKED.token_bytes(token)[:1] in b"0123456789", token))
        token = rng.choice(chosen[:3] if rng.random() < 0.5 else chosen)
        assert matcher.advance(token)
        text += WALKED.token_bytes(token)


def holds(schema: Any, value: Any) -> bool:
    """The few keywords of ABOUT, by exact fractions."""
    if "anyOf" in schema:
        return any(holds(below, value) for below in schema["anyOf"])
    if "enum" in schema or "const" in schema:
        return any(same(wanted, value) for wanted in schema.get("enum", [schema.get("const")]))
    if "properties" in schema:
        required = schema.get("required", [])
        return not isinstance(value, dict) or (
            set(required) <= set(value) <= {"a"} and all(holds(schema["properties"]["a"], v) for v in value.values())
        )
    if "prefixItems" in schema:
        return not isinstance(value, list) or (
            1 <= len(value) <= 2 and all(holds(s, v) for s, v in zip(schema["prefixItems"], value, strict=False))
        )
    if schema.get("type") == "array":
        return isinstance(value, list) and bool(value) and all(holds(schema["items"], item) for item in value)
    if not isinstance(value, Fraction):
        return False
    if "not" in schema:
        return value != exact(schema["not"]["const"])
    if schema["type"] == "integer" and value.denominator != 1:
        return False
    if "multipleOf" in schema and (value / exact(schema["multipleOf"])).denominator != 1:
        return False
    above, below = schema.get("exclusiveMinimum"), schema.get("exclusiveMaximum")
    if (above is not None and value <= exact(above)) or (below is not None and value >= exact(below)):
        return False
    return "minimum" not in schema or value >= exact(schema["minimum"])


def same(wanted: Any, value: Any) -> bool:
    if isinstance(wanted, dict):
        return isinstance(value, dict) and set(wanted) == set(value) and all(same(wanted[k], value[k]) for k in wanted)
    if isinstance(wanted, list):
        return isinstance(value, list) and len(wanted) == len(value) and all(map(same, wanted, value))
    if wanted is None or isinstance(wanted, str):
        return wanted == value
    return isinstance(value, Fraction) and exact(wanted) == value


@pytest.mark.parametrize("name", sorted(ABOUT))
@pytest.mark.parametrize("spelling", ["any", "plain"])
@pytest.mark.parametrize(("count", "walks"), [(6, 2), pytest.param(12, 3, marks=pytest.mark.proof)])
def test_what_a_mask_allows_has_an_end(name: str, spelling: str, count: int, walks: int) -> None:
    rng = random.Random(f"{name} {spelling}")
    refused = 0
    numbers = [*NAMED, *(a_number(rng) for _ in range(count))]
    for number in numbers:
        schema = ABOUT[name](number)
        try:
            constraint = compiled(schema, whitespace="compact", spelling=spelling)
        except gl.UnsupportedFeature:
            refused += 1
            continue
        for _ in range(walks):
            text = walk(constraint, rng)
            assert holds(schema, fractions_of(text)), (schema, text)
            if spelling == "plain":
                assert all(map(is_tidy, re.findall("-?[0-9][0-9.eE+-]*", re.sub(r'"([^"\\]|\\.)*"', "", text)))), text
    assert refused <= (0.4 if spelling == "plain" else 0.2) * len(numbers), refused


def spellings_of(number: Number) -> list[str]:
    """The number, and numbers next to it, as texts within the caps."""
    decimal = Decimal(repr(number)) if isinstance(number, float) else Decimal(number)
    sign, digits, power = decimal.as_tuple()
    written = "".join(map(str, digits))
    mantissa = written.rstrip("0") or "0"
    power += len(written) - len(mantissa)
    before = "-" if sign else ""

    def scientific(digits: str, power: int, letter: str = "e", form: str = "d") -> str:
        return f"{before}{digits[0]}.{digits[1:]}".rstrip(".") + letter + format(power + len(digits) - 1, form)

    found = [
        scientific(mantissa, power),
        scientific(mantissa, power, "E", "+04d"),
        scientific(str(int(mantissa) + 1), power),
        scientific(mantissa + "5", power - 1),
        scientific(mantissa, power - 1),
    ]
    if int(mantissa) > 1:
        found.append(scientific(str(int(mantissa) - 1), power))
    if -30 < power <= 0:
        found.append(format(decimal, "f"))
    return found


@pytest.mark.parametrize("name", ["const", "enum", "least", "most", "above"])
def test_texts_are_judged_as_fractions_are(name: str) -> None:
    rng, verdicts = random.Random(f"texts {name}"), [0, 0]
    for number in [*NAMED, *(a_number(rng) for _ in range(25))]:
        schema = ABOUT[name](number)
        matcher = compiled(schema, whitespace="compact").matcher()
        for text in spellings_of(number):
            value = fractions_of(text)
            least = min(Fraction(25, 10**325), abs(exact(number)) or 1)
            most = max(Fraction(17976931348623158 * 10**292), abs(exact(number)))
            right = holds(schema, value)
            if right and value and not least <= abs(value) <= most:
                continue  # next to the largest and smallest that are named there may be more
            verdicts[right] += 1
            assert accepts(matcher, text.encode()) == right, (schema, text)
    assert min(verdicts) > 20


@pytest.mark.parametrize("value", [10**25, 10**30, -(10**30), 12 * 10**60, 10**309, 7 * 10**990])
def test_what_a_schema_names_can_be_written_in_digits(value: int) -> None:
    bound = {"minimum" if value > 0 else "maximum": value}
    for schema in ({"const": value}, {"enum": [value, "a"]}, {"type": "integer", **bound}, {"const": {"a": [value]}}):
        text = json.dumps({"a": [value]} if isinstance(schema.get("const"), dict) else value).encode()
        for spelling in ("any", "plain"):
            assert accepts(compiled(schema, spelling=spelling).matcher(), text), (schema, spelling)
            assert not accepts(compiled(schema, spelling=spelling).matcher(), text.replace(b"0", b"00", 1) + b"x")


def test_what_json_dumps_writes_is_plain() -> None:
    rng, matcher = random.Random(43), compiled({}, whitespace="compact", spelling="plain").matcher()
    for _ in range(500):
        numbers = [
            rng.uniform(-1, 1) * 10 ** rng.randrange(-320, 308),
            rng.randrange(10 ** rng.randrange(1, 25)),
            rng.random(),
        ]
        assert accepts(matcher, json.dumps(numbers, separators=(",", ":")).encode()), numbers


def test_plain_rows_are_the_same_by_all_ways() -> None:
    """Dicts are read by a kernel, text with fractions in Python, and what is below `allOf` in the general way."""
    rng = random.Random(47)
    for _ in range(20):
        low, high = sorted((round(rng.uniform(-50, 50), 1), rng.randrange(10 ** rng.randrange(1, 18))))
        inner = {"type": rng.choice(["number", "integer"]), "minimum": low, "maximum": high + 2}
        ways = [
            {"items": inner},
            json.dumps({"items": inner}),
            {"items": {"allOf": [inner]}},
            {"allOf": [{"items": inner}]},
        ]
        matchers = [compiled(way, whitespace="compact", spelling="plain").matcher() for way in ways]
        for _ in range(20):
            text = rng.choice(
                [
                    f"[{rng.randrange(60)}]",
                    f"[{rng.uniform(-60, 60)!r}]",
                    f"[{low!r}]",
                    f"[{high}]",
                    f"[{float(high)!r}]",
                ]
            )
            assert len({accepts(matcher, text.encode()) for matcher in matchers}) == 1, (inner, text)
