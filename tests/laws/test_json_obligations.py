"""Rules about keys that are not declared, below `not`, in `oneOf` or `if`: some key has to break them.

Whether it is the first key or the last, by its name or by its value: engine and oracle agree, masks lead to valid texts only, and
budgets are kept.
"""

import random
from collections import Counter
from typing import Any

from tests.counts import record_counts, tiers
from tests.laws.json_budget_laws import check_budgets, check_growth
from tests.laws.json_laws import WALKED, check_schema, check_walks

VALUES: list[Any] = [
    {"type": "string"}, {"type": "integer"}, {"type": "array"}, {"type": "object", "required": ["a"]}, {"enum": ["a", 1, None]},
    {"type": "string", "pattern": "^a"}, {"minimum": 2}, {"maxLength": 1}, False, {"type": ["object", "null"]}, {"const": {"a": 1}},
    {"items": {"type": "string"}},
]  # fmt: skip
PATTERNS = ["^a", "b$", "a", "^[ab]*$", "^.$", "^(ab)*$", ""]


def rule(rng: random.Random, depth: int = 1) -> dict[str, Any]:
    """A rule about keys that are not declared."""

    def value() -> Any:
        return rule(rng, depth - 1) if depth and rng.random() < 0.15 else rng.choice(VALUES)

    kind = rng.randrange(4)
    if kind == 0:
        return {"patternProperties": {rng.choice(PATTERNS): value()}}
    if kind == 1:
        return {"additionalProperties": value(), "properties": dict.fromkeys(rng.sample(["a", "b", "ab"], 1), True)}
    if kind == 2:
        return {"propertyNames": {"pattern": rng.choice(PATTERNS)}}
    return {"additionalProperties": value(), "patternProperties": {rng.choice(PATTERNS): value()}}


def schema_of(rng: random.Random) -> dict[str, Any]:
    """An object that breaks rules, or keeps exactly one of several."""
    schema: dict[str, Any] = {"type": "object"} if rng.random() < 0.8 else {}
    if rng.random() < 0.5:
        names = rng.sample(["a", "b", "ab", "c"], rng.randint(1, 3))
        schema["properties"] = {name: rng.choice([*VALUES, True, True]) for name in names}
        schema["required"] = rng.sample(names, rng.randint(0, 1))
    if rng.random() < 0.3:
        schema |= rule(rng, 0)
    if rng.random() < 0.15:
        schema["minProperties"] = rng.randint(1, 3)
    if rng.random() < 0.1:
        schema["maxProperties"] = rng.randint(1, 3)
    kind = rng.random()
    if kind < 0.35:
        schema["not"] = rule(rng)
    elif kind < 0.6:
        schema["oneOf"] = [rule(rng) for _ in range(rng.randint(2, 3))]
    elif kind < 0.8:
        schema["allOf"] = [{"not": rule(rng)} for _ in range(2)]
    elif kind < 0.9:
        schema |= {"if": rule(rng), "then": rng.choice([{"required": ["c"]}, False, rule(rng)])}
    else:
        schema["additionalProperties"] = {"not": {"type": "object", **rule(rng)}}
    return schema


def check(seed: str, count: int) -> Counter[str]:
    rng, outcomes = random.Random(f"obligations {seed}"), Counter[str]()
    while outcomes["valid"] + outcomes["invalid"] < count:
        schema, order = schema_of(rng), rng.choice(["any", "schema"])
        outcomes += check_schema(schema, rng, property_order="any")
        outcomes += check_walks(schema, rng, WALKED, 2, property_order=order)
        if rng.random() < 0.3:
            outcomes += check_budgets(schema, rng, 1, property_order=order)
            outcomes += check_growth(schema, rng, property_order=order)
    return outcomes


@tiers("seed, count", ("few", 150), *((f"many {part}", 15_000) for part in range(4)))
def test_rules_that_some_key_breaks(seed: str, count: int, record_property: Any) -> None:
    outcomes = check(seed, count)
    assert min(outcomes["valid"], outcomes["invalid"], outcomes["narrowed"]) > 50
    assert outcomes["refused"] < outcomes["compiled"] / 2, outcomes
    record_property("cases", outcomes["valid"] + outcomes["invalid"])
    record_counts(record_property, outcomes)


def test_a_nested_object_that_breaks_its_own_rule() -> None:
    """Each level reads its keys in two ways; where a value has met the rule, the other reading is dropped."""
    node = {
        "type": "object",
        "not": {"additionalProperties": {"type": "integer"}},
        "additionalProperties": {"$ref": "#/$defs/n"},
    }
    schema = {"$ref": "#/$defs/n", "$defs": {"n": {"anyOf": [node, {"type": ["integer", "string"]}]}}}
    rng = random.Random("nested")
    outcomes = check_schema(schema, rng, 300, property_order="any")
    assert min(outcomes["valid"], outcomes["invalid"]) > 10
    assert check_walks(schema, rng, WALKED, 20)["walks"]
