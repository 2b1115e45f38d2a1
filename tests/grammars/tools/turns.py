"""Tools for tests, with values of their arguments; random turns that call them; which texts a constraint takes."""

import random

import grammarlm as gl
from tests.grammars.tools.layouts import Layout, written
from tests.oracles.tool_turns import Units

TOOLS = {
    "look": {
        "type": "object",
        "properties": {"city": {"type": "string"}, "days": {"type": "integer"}, "note": {"type": ["string", "null"]}},
        "required": ["city"],
        "additionalProperties": False,
    },
    "look_up": {
        "type": "object",
        "properties": {
            "q": {"type": "string", "pattern": "^[a-z]+$", "maxLength": 3},
            "tags": {"type": "array", "items": {"type": "string"}},
            "or": {"type": ["string", "number", "object"]},
        },
        "required": ["q", "or"],
        "additionalProperties": False,
    },
    "set": {
        "type": "object",
        "properties": {"unit": {"type": "string", "enum": ["c", "kelvin"]}, "flag": {"type": "boolean"}},
        "additionalProperties": False,
    },
}
VALUES = {
    "city": ["Paris", "", '\nO\'Brien "x"', "a, b</p", "é<x>{", "12"],
    "days": [0, -3, 12],
    "note": [None, "a\nb", "{1}"],
    "q": ["abc", "x"],
    "tags": [[], ["a", "</p>"], ["x\ny"]],
    "or": [1.5, {"a": [1]}, "no"],
    "unit": ["c", "kelvin"],
    "flag": [True, False],
}
TEXTS = ["", "Let me look.", "1 < 2\n", "{", "a [x] <tool_cal", "\n"]


def tool(name: str, schema: dict, **more: object) -> dict:
    return {"type": "function", "function": {"name": name, "parameters": schema, **more}}


def tools_of(layout: Layout, **options: object) -> gl.Tools:
    return gl.Tools([tool(name, schema) for name, schema in TOOLS.items()], format=layout.form, **options)


def accepts(constraint: gl.Constraint, text: Units) -> bool:
    matcher = constraint.matcher()
    names = {constraint.vocab.token_bytes(token).decode(): token for token in constraint.vocab.special_ids}
    taken = (matcher.advance(names[unit]) if unit in names else matcher.advance_bytes(unit.encode()) for unit in text)
    return all(taken) and matcher.is_accepting


def random_turn(layout: Layout, chance: random.Random, options: dict, thinks: bool) -> str:
    """Mostly one of the mode."""
    mode, is_odd = options.get("calls", "any"), chance.random() < 0.1
    count = chance.choice([0, 1, 1, 2])
    if mode != "any" and not is_odd:
        count = {"none": 0, "required": max(count, 1)}.get(mode, 1)
    if layout.form.between is None or options.get("parallel") is False:
        count = min(count, 1)
    calls = []
    for _ in range(count):
        name = mode if mode in TOOLS and not is_odd else chance.choice(list(TOOLS))
        schema = TOOLS[name]
        keys = [k for k in schema["properties"] if k in schema.get("required", []) or chance.random() < 0.5]
        calls.append((name, {key: chance.choice(VALUES[key]) for key in keys}))
    has_text = not calls or (layout.form.beside is not None and (mode == "any" or is_odd))
    content = chance.choice(TEXTS) if has_text else ""
    may_think = thinks or (layout.form.reasoning and chance.random() < 0.2)
    return written(
        layout.form, calls, content, chance.choice(["", "so\n", "hm {"][: None if thinks else 1]) if may_think else None
    )
