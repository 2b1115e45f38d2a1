"""Random JSON schemas, fixed by their seed: every keyword, nested and combined, over names, characters and numbers so few that
constraints meet each other.

A `$ref` in place of a value leads to later definitions only, inside of items and properties to any, so that nothing refers to
itself without reading a byte. Numbers are written as JSON would hold them: ints and floats.
"""

import json
import random
from collections.abc import Callable
from decimal import Decimal
from typing import Any

NAMES = ("a", "b", "ab", "ba", "c", "é")
KEY_PATTERNS = ("^a", "b$", "^[ab]+$", "^.$", "a|b", "c")
# Each with texts at its edge.
PATTERNS: dict[str, tuple[str, ...]] = {
    "^a": ("a", "ab", "ba", ""),
    "b$": ("b", "ab", "ba", "b\n"),
    "^(ab)*$": ("", "ab", "abab", "aba"),
    "^[ab]{2,4}$": ("ab", "abba", "a", "ababa"),
    "a.b": ("aab", "xaéby", "ab", "a\nb"),
    r"^\d+$": ("0", "12", "٣", "1a"),
    "^(?!a)": ("", "b", "a", "ba"),
    r"\bé|a\b": ("a", "éa", "ab", "aé"),
    "^a?b?$": ("", "ab", "b", "ba"),
    r"^\p{L}*$": ("éab", "", "1", "aé"),
    "^(a|bb)+$": ("a", "abb", "b", "bba"),
    "": ("", "a"),
}
FORMATS: dict[str, tuple[str, ...]] = {
    "date": ("2024-02-29", "2023-02-29", "2020-1-01", "0001-12-31"),
    "ipv4": ("1.2.3.4", "255.255.255.255", "256.1.1.1", "1.2.3"),
    "uuid": ("2eb8aa08-aa98-11ea-b4aa-73b441d16380", "2EB8AA08-AA98-11EA-B4AA-73B441D16380", "2eb8aa08"),
    "date-time": ("2024-02-29T23:59:59Z", "1999-01-01T00:00:00.5+01:00", "1999-01-01 00:00", "1999-02-30T00:00:00Z"),
    "regex": ("^a$", "(", "a|b", "[b-a]"),
    "hostname": ("a.b", "xn--4gbwdl.xn--wgbh1c", "-a", "a..b"),
    "no-such-format": ("a", ""),
}
NUMBERS = (-1, 0, 1, 2, 3, 5, 10, 0.5, 1.5, 2.5, -0.5, 0.1)
MULTIPLES = (1, 2, 3, 0.5, 1.5, 0.1, 7, 10)
# At the edges of doubles, beyond them, and a few between.
MAGNITUDES: tuple[Any, ...] = (
    *(5e-324, -5e-324, 1e-323, 2.2250738585072014e-308, Decimal("2.4e-324"), Decimal("1e-400"), Decimal("-7e-400")),
    *(1.7976931348623157e308, Decimal("1.7976931348623158e308"), -1e308, 10**309, -(10**309), 10**309 + 1, 10**400),
    *(Decimal("-1.25e400"), 10**40 + 1, 1e16, 1e-5, 0, 1, -1, 0.1),
)
TYPES = ("null", "boolean", "integer", "number", "string", "array", "object")
DRAFTS = (
    *[None] * 12,
    "http://json-schema.org/draft-04/schema#",
    "http://json-schema.org/draft-07/schema",
    "https://json-schema.org/draft/2019-09/schema",
    "https://json-schema.org/draft/2020-12/schema",
)
UNHEARD = {
    "maxLenght": 1,
    "minimun": 2,
    "requierd": ["a"],
    "x-mine": {"type": 3},
    "example": {"type": 3},
    "nullable": True,
}
_TEXTS = tuple(text for texts in PATTERNS.values() for text in texts)
_COMBINED = ("allOf", "anyOf", "oneOf", "not", "if", "$ref", "enum", "const")


def written(value: Any) -> str:
    """The JSON text of a schema, each number as it is."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(key)}: {written(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return f"[{', '.join(map(written, value))}]"
    return str(value) if isinstance(value, Decimal) else json.dumps(value)


class RandomSchemas:
    """An endless supply of schemas; `numbers`: those that bounds, multiples and constants are."""

    def __init__(self, seed: str, depth: int = 3, numbers: tuple[Any, ...] = NUMBERS):
        self._numbers = numbers
        self._multiples = MULTIPLES if numbers is NUMBERS else tuple(abs(number) for number in numbers if number)
        self._rng = random.Random(f"schemas {seed}")
        self._aside = random.Random(f"keywords that nobody knows {seed}")
        self._depth = depth
        self._definitions = 0
        self._anchors: set[int] = set()  # definitions that have one
        self._here = 0  # which definition is being drawn; 0 is the root

    def schema(self) -> Any:
        rng = self._rng
        if rng.random() < 0.01:
            return rng.random() < 0.7
        self._definitions, self._here = rng.choice([0, 0, 1, 2, 3]), 0
        draft = rng.choice(DRAFTS)
        self._anchors = set()
        if not draft or "/draft/20" in draft:
            self._anchors = {i for i in range(1, self._definitions + 1) if rng.random() < 0.2}
        root = self._object(rng.randint(1, self._depth), in_place=True)
        drawn = {}
        for self._here in range(1, self._definitions + 1):  # noqa: B020 - definitions are drawn one after the other
            made = self._node(rng.randint(0, self._depth - 1), in_place=True)
            if self._here in self._anchors:
                made = {"$anchor": f"a{self._here}", **(made if isinstance(made, dict) else {"allOf": [made]})}
            drawn[f"d{self._here}"] = made
        if drawn:
            root["$defs"] = drawn
        return {"$schema": draft, **root} if draft else root

    def _reference(self, definition: int) -> str:
        """By its anchor where it has one, mostly; else by its place."""
        by_anchor = definition in self._anchors and self._rng.random() < 0.7
        return f"#a{definition}" if by_anchor else f"#/$defs/d{definition}"

    def _node(self, depth: int, in_place: bool = False, hint: "list[str] | None" = None) -> Any:
        return self._rng.random() < 0.7 if self._rng.random() < 0.05 else self._object(depth, in_place, hint)

    def _object(self, depth: int, in_place: bool = False, hint: "list[str] | None" = None) -> dict[str, Any]:
        """A schema that is an object.

        `in_place`: it holds for the value of its definition itself. `hint`: types of the schema that it stands in, for the
        same value; mostly kept, so that constraints meet.
        """
        rng, made = self._rng, {}
        if hint and rng.random() < 0.75:
            types = hint
        elif depth and rng.random() < 0.4:
            types = [rng.choice(["array", "object"])]
        else:
            types = rng.sample(TYPES, rng.choice([1, 1, 1, 1, 2, 3]))
        if rng.random() < (0.35 if hint else 0.8):
            made["type"] = types[0] if len(types) == 1 and rng.random() < 0.9 else types
        drawn: dict[str, Callable[..., dict[str, Any]]] = {
            "string": self._string,
            "integer": self._number,
            "number": self._number,
            "array": self._array,
            "object": self._members,
        }
        for name in types:
            if name in drawn and rng.random() < 0.85:
                made.update(drawn[name](depth, in_place))
        for _ in range(rng.choice([0, 0, 0, 1, 1, 2] if depth else [0, 0, 0, 0, 1])):
            made.update(self._combination(depth, in_place, types))
        if self._aside.random() < 0.05:
            name = self._aside.choice(sorted(UNHEARD))
            made[name] = UNHEARD[name]
        items = list(made.items())
        rng.shuffle(items)
        return dict(items)

    def _combination(self, depth: int, in_place: bool, types: list[str]) -> dict[str, Any]:
        rng = self._rng
        kind = rng.choice(_COMBINED)
        if kind == "enum":
            return {"enum": [self._value(min(depth, 1), types) for _ in range(rng.randint(1, 5))]}
        if kind == "const":
            return {"const": self._value(min(depth, 1), types)}
        if kind == "$ref":
            targets = [self._reference(i) for i in range(self._here + 1 if in_place else 1, self._definitions + 1)]
            return {"$ref": rng.choice([*targets] if in_place else ["#", *targets])} if targets or not in_place else {}
        if depth == 0:
            return {}
        if kind == "not":
            return {"not": self._node(depth - 1, in_place, types)}
        if kind == "if":
            made = {"if": self._node(depth - 1, in_place, types)}
            for branch in rng.choice([("then",), ("else",), ("then", "else")]):
                made[branch] = self._node(depth - 1, in_place, types)
            return made
        return {kind: [self._node(depth - 1, in_place, types) for _ in range(rng.choice([1, 2, 2, 3]))]}

    def _string(self, _depth: int = 0, _in_place: bool = False) -> dict[str, Any]:
        rng, made = self._rng, {}
        kinds = rng.choice(
            [(), ("length",), ("length",), ("pattern",), ("pattern",), ("length", "pattern"), ("format",)]
        )
        if "length" in kinds:
            made.update(self._range("minLength", "maxLength", 5))
        if "pattern" in kinds:
            made["pattern"] = rng.choice(list(PATTERNS))
        if "format" in kinds:
            made["format"] = rng.choice(list(FORMATS))
        return made

    def _range(self, least: str, most: str, greatest: int) -> dict[str, int]:
        """One bound or both, seldom crossed."""
        rng = self._rng
        low, high = rng.randint(0, greatest - 1), rng.randint(0, greatest)
        if low > high and rng.random() < 0.9:
            low, high = high, low
        return rng.choice([{least: low}, {most: high}, {least: low, most: high}])

    def _number(self, _depth: int = 0, _in_place: bool = False) -> dict[str, Any]:
        rng, made = self._rng, {}
        low, high = rng.choice(self._numbers), rng.choice(self._numbers)
        if low > high and rng.random() < 0.9:
            low, high = high, low
        for bound, names in ((low, ("minimum", "exclusiveMinimum")), (high, ("maximum", "exclusiveMaximum"))):
            if rng.random() < 0.45:
                made[rng.choice(names)] = bound
        if "minimum" in made and rng.random() < 0.15:
            made["exclusiveMinimum"] = rng.choice([True, True, False, low])
        if rng.random() < 0.3:
            made["multipleOf"] = rng.choice(self._multiples)
        return made

    def _array(self, depth: int, _in_place: bool = False) -> dict[str, Any]:
        rng, made, inner = self._rng, {}, max(depth - 1, 0)
        if depth and rng.random() < 0.6:
            made["items"] = self._node(inner)
        if depth and rng.random() < 0.35:
            positions = [self._node(inner) for _ in range(rng.randint(1, 3))]
            if rng.random() < 0.3:
                made["items"] = positions
                if rng.random() < 0.6:
                    made["additionalItems"] = self._node(inner)
            else:
                made["prefixItems"] = positions
        if depth and rng.random() < 0.3:
            made["contains"] = self._node(inner)
            if rng.random() < 0.4:
                made["minContains"] = rng.randint(0, 3)
            if rng.random() < 0.4:
                made["maxContains"] = rng.randint(0, 3)
        if rng.random() < 0.4:
            made.update(self._range("minItems", "maxItems", 4))
        if rng.random() < 0.25:
            made["uniqueItems"] = rng.random() < 0.9
        if depth and rng.random() < 0.1:
            made["unevaluatedItems"] = rng.choice([False, self._node(0)])
        return made

    def _members(self, depth: int, in_place: bool = False) -> dict[str, Any]:
        rng, made, inner = self._rng, {}, max(depth - 1, 0)
        if rng.random() < 0.7:
            made["properties"] = {
                name: self._node(inner) if depth else True for name in rng.sample(NAMES, rng.randint(1, 4))
            }
        if rng.random() < 0.4:
            made["required"] = rng.sample(NAMES, rng.randint(0, 3))
        if rng.random() < 0.35:
            made["additionalProperties"] = rng.choice([False, False, self._node(inner)])
        if rng.random() < 0.25:
            made["patternProperties"] = {
                pattern: self._node(inner) for pattern in rng.sample(KEY_PATTERNS, rng.randint(1, 2))
            }
        if rng.random() < 0.15:
            made["propertyNames"] = rng.choice(
                [{"pattern": rng.choice(KEY_PATTERNS)}, {"maxLength": 1}, self._string(0)]
            )
        if rng.random() < 0.3:
            made.update(self._range("minProperties", "maxProperties", 4))
        for keyword, values in (
            ("dependentRequired", (self._names,)),
            ("dependentSchemas", (lambda: self._node(inner, in_place, ["object"]),)),
            ("dependencies", (self._names, lambda: self._node(inner, in_place, ["object"]))),
        ):
            if rng.random() < 0.1:
                made[keyword] = {name: rng.choice(values)() for name in rng.sample(NAMES, rng.randint(1, 2))}
        if rng.random() < 0.1:
            made["unevaluatedProperties"] = rng.choice([False, self._node(0)])
        return made

    def _names(self) -> list[str]:
        return self._rng.sample(NAMES, self._rng.randint(0, 2))

    def _value(self, depth: int, types: list[str]) -> Any:
        """A constant, mostly of one of the types."""
        rng = self._rng
        kind = rng.choice(types if rng.random() < 0.9 else TYPES)
        if kind == "array":
            return [self._value(0, list(TYPES[:5])) for _ in range(rng.randint(0, 2))] if depth else []
        if kind == "object":
            return (
                {name: self._value(0, list(TYPES[:5])) for name in rng.sample(NAMES, rng.randint(0, 2))}
                if depth
                else {}
            )
        constants = {
            "null": [None],
            "boolean": [True, False],
            "integer": range(-1, 6),
            "number": self._numbers,
            "string": _TEXTS,
        }
        return rng.choice(constants[kind])
