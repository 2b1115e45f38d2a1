"""Instances near the edge of a schema: guessed from its keywords, judged, and changed at one place.

`near(schema, judge, rng)` gives values of which about half are valid where the schema has valid ones; most invalid ones are
one change away from a valid one.
"""

import copy
import random
from fractions import Fraction
from typing import Any

from tests.oracles.json_schema_oracle import Judge
from tests.oracles.json_values import exact, identity
from tests.oracles.random_json_schemas import FORMATS, NAMES, NUMBERS, PATTERNS, TYPES

_CHARACTERS = "abé1😀\n"
_PLACES = ("allOf", "anyOf", "oneOf")
_DEEPEST = 6


def near(schema: Any, judge: Judge, rng: random.Random, wanted: int = 8, tries: int = 60) -> list[tuple[Any, bool]]:
    """(value, whether it is valid), no two alike: as far as they are found, half of them valid."""
    found: dict[Any, tuple[Any, bool]] = {}
    guesser = Guesser(exact(schema), rng)
    good: list[Any] = []
    for _ in range(tries):
        value = changed(rng.choice(good), rng) if good and rng.random() < 0.5 else guesser.guess()
        key = identity(value)
        if key in found:
            continue
        found[key] = value, judge.valid_value(value)
        if found[key][1]:
            good.append(value)
        if len(good) >= wanted and len(found) - len(good) >= wanted:
            break
    pairs = list(found.values())
    rng.shuffle(pairs)
    valid = [pair for pair in pairs if pair[1]][: (wanted + 1) // 2]
    return valid + [pair for pair in pairs if not pair[1]][: wanted - len(valid)]


class Guesser:
    """Values that might be valid: the keywords that hold at one place, some branch of each choice, taken together."""

    def __init__(self, schema: Any, rng: random.Random):
        self._root, self._rng = schema, rng

    def guess(self) -> Any:
        return self._value([self._root], 0)

    def _value(self, schemas: list[Any], depth: int) -> Any:
        rng = self._rng
        views = [view for schema in schemas for view in self._views(schema, 0)]
        fixed = [v for view in views for v in [*view.get("enum", ()), *([view["const"]] if "const" in view else ())]]
        if fixed and rng.random() < 0.85:
            return copy.deepcopy(rng.choice(fixed))
        name = self._type(views)
        if depth >= _DEEPEST and name in ("array", "object"):
            return [] if name == "array" else {}
        makers = {"string": self._string, "integer": self._number, "number": self._number}
        if name in makers:
            return makers[name](views, name)
        if name == "array":
            return self._array(views, depth)
        if name == "object":
            return self._object(views, depth)
        return None if name == "null" else rng.random() < 0.5

    def _views(self, schema: Any, depth: int) -> list[dict[str, Any]]:
        """The schemas that hold for a value in place, one or all branches of each choice."""
        if not isinstance(schema, dict) or depth > 8:
            return []
        rng, views = self._rng, [schema]
        inner = [self._target(schema["$ref"])] if "$ref" in schema else []
        inner += schema.get("allOf", ())
        for choice in ("anyOf", "oneOf"):
            if choice in schema:
                inner += rng.sample(schema[choice], rng.choice([1, 1, len(schema[choice])]))
        if "if" in schema:
            inner += rng.choice([[schema["if"], schema.get("then", True)], [schema.get("else", True)]])
        for keyword in ("dependentSchemas", "dependencies"):
            inner += [each for each in schema.get(keyword, {}).values() if rng.random() < 0.5]
        return views + [view for each in inner for view in self._views(each, depth + 1)]

    def _target(self, reference: str) -> Any:
        at = self._root
        if reference.startswith("#a"):
            return at["$defs"][f"d{reference.removeprefix('#a')}"]
        for name in reference.removeprefix("#").split("/")[1:]:
            at = at[name]
        return at

    def _type(self, views: list[dict[str, Any]]) -> str:
        allowed = set(TYPES)
        for view in views:
            if "type" in view:
                named = {view["type"]} if isinstance(view["type"], str) else set(view["type"])
                named |= {"integer"} if "number" in named else set()
                allowed = allowed & named or allowed
        if allowed == set(TYPES):  # types that the keywords speak of
            spoken = {
                "object": {"properties", "required", "patternProperties", "additionalProperties", "minProperties"},
                "array": {"items", "prefixItems", "contains", "minItems", "uniqueItems"},
                "string": {"pattern", "minLength", "maxLength", "format"},
                "number": {"minimum", "maximum", "multipleOf", "exclusiveMinimum", "exclusiveMaximum"},
            }
            allowed = {n for n, keys in spoken.items() if any(keys & set(view) for view in views)} or allowed
        return self._rng.choice(sorted(allowed) if self._rng.random() < 0.95 else TYPES)

    def _string(self, views: list[dict[str, Any]], _name: str) -> str:
        rng = self._rng
        texts = [t for view in views for t in PATTERNS.get(view.get("pattern", "no"), ())]
        texts += [t for view in views for t in FORMATS.get(view.get("format", "no"), ())]
        if texts and rng.random() < 0.8:
            return rng.choice(texts)
        return "".join(rng.choice(_CHARACTERS[:3]) for _ in range(self._count(views, "minLength", "maxLength", 4)))

    def _number(self, views: list[dict[str, Any]], name: str) -> Any:
        rng = self._rng
        bounds = [
            view[k]
            for view in views
            for k in ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")
            if k in view
        ]
        bounds = [b for b in bounds if not isinstance(b, bool)] or list(exact(list(NUMBERS)))
        steps = [view["multipleOf"] for view in views if "multipleOf" in view] or [1]
        value = rng.choice(bounds) + rng.choice([0, 0, 1, -1, 2]) * rng.choice([*steps, Fraction(1, 10)])
        if rng.random() < 0.5:
            step = Fraction(rng.choice(steps))
            value = round(value / step) * step
        return int(value) if value == int(value) or name == "integer" else Fraction(value)

    def _count(self, views: list[dict[str, Any]], least: str, most: str, usual: int) -> int:
        low = max((int(view[least]) for view in views if least in view), default=0)
        high = min((int(view[most]) for view in views if most in view), default=max(usual, low + 1))
        rng = self._rng
        return max(0, rng.choice([low, high, rng.randint(min(low, high), max(low, high)), low - 1, high + 1]))

    def _array(self, views: list[dict[str, Any]], depth: int) -> list[Any]:
        rng, made = self._rng, []
        for place in range(min(self._count(views, "minItems", "maxItems", 3), 8)):
            made.append(self._value(self._item_schemas(views, place), depth + 1))
            if place and rng.random() < 0.15:
                made[-1] = copy.deepcopy(rng.choice(made[:-1]))
        return made

    def _item_schemas(self, views: list[dict[str, Any]], place: int) -> list[Any]:
        applied = []
        for view in views:
            first = view.get("prefixItems", view["items"] if isinstance(view.get("items"), list) else [])
            rest = view.get("additionalItems") if isinstance(view.get("items"), list) else view.get("items")
            applied.append(first[place] if place < len(first) else rest)
            if "contains" in view and self._rng.random() < 0.5:
                applied.append(view["contains"])
        return [each for each in applied if each is not None]

    def _object(self, views: list[dict[str, Any]], depth: int) -> dict[str, Any]:
        rng = self._rng
        needed = {name for view in views for name in view.get("required", ())}
        declared = [name for view in views for name in view.get("properties", ())]
        keys = [name for name in sorted(needed) if rng.random() < 0.93]
        keys += [name for name in declared if rng.random() < 0.5]
        keys += [rng.choice([*NAMES, "aa", "bb", "cb"]) for _ in range(rng.choice([0, 0, 1, 2]))]
        for view in views:
            for trigger, implied in [*view.get("dependentRequired", {}).items(), *view.get("dependencies", {}).items()]:
                keys += implied if trigger in keys and isinstance(implied, list) and rng.random() < 0.8 else []
        keys = list(dict.fromkeys(keys))
        rng.shuffle(keys)
        count = self._count(views, "minProperties", "maxProperties", len(keys))
        if any("maxProperties" in view for view in views):
            keys = keys[: max(count, len(needed) if rng.random() < 0.5 else 0)]
        return {key: self._value(self._member_schemas(views, key), depth + 1) for key in keys}

    def _member_schemas(self, views: list[dict[str, Any]], key: str) -> list[Any]:
        applied = []
        for view in views:
            mine = [view["properties"][key]] if key in view.get("properties", {}) else []
            mine += [each for pattern, each in view.get("patternProperties", {}).items() if self._rng.random() < 0.6]
            applied += mine or [view.get("additionalProperties", view.get("unevaluatedProperties", True))]
        return applied


def changed(value: Any, rng: random.Random) -> Any:
    """The value with one change somewhere inside."""
    if isinstance(value, (list, dict)) and value and rng.random() < 0.6:
        made = copy.copy(value)
        key = rng.choice(list(value)) if isinstance(value, dict) else rng.randrange(len(value))
        made[key] = changed(value[key], rng)
        return made
    if isinstance(value, list):
        return _changed_list(value, rng)
    if isinstance(value, dict):
        return _changed_object(value, rng)
    if isinstance(value, str) and rng.random() < 0.85:
        place = rng.randint(0, len(value))
        middle = rng.choice(["", rng.choice(_CHARACTERS), value[place : place + 1] * 2])
        return value[:place] + middle + value[place + rng.choice([0, 1]) :]
    if isinstance(value, (int, Fraction)) and not isinstance(value, bool) and rng.random() < 0.85:
        step = rng.choice([1, -1, Fraction(1, 2), Fraction(-1, 10), Fraction(1, 1000), value, 10**6])
        changed_number = Fraction(value) + step
        return int(changed_number) if changed_number.denominator == 1 else changed_number
    return rng.choice([None, True, False, 0, 1, Fraction(1, 2), "", "a", [], {}, [0], {"a": 1}])


def _changed_list(value: list[Any], rng: random.Random) -> Any:
    made = list(value)
    kind = rng.randrange(5)
    if kind == 0 and made:
        made.pop(rng.randrange(len(made)))
    elif kind == 1 and made:
        made.insert(rng.randint(0, len(made)), copy.deepcopy(rng.choice(made)))
    elif kind == 2:
        rng.shuffle(made)
    elif kind == 3:
        return {}
    else:
        made.append(rng.choice([None, True, 0, 1, "a", [], {}]))
    return made


def _changed_object(value: dict[str, Any], rng: random.Random) -> Any:
    made = dict(value)
    kind = rng.randrange(4)
    if kind == 0 and made:
        made.pop(rng.choice(list(made)))
    elif kind == 1 and made:
        old = rng.choice(list(made))
        made[rng.choice([*NAMES, "aa", old + "b"])] = made.pop(old)
    elif kind == 2:
        return []
    else:
        made[rng.choice([*NAMES, "aa", ""])] = rng.choice([None, True, 0, 1, "a", [], {}])
    return made
