"""What agents are asked for: grammars of thoughts, records, calls and tags, each with a reader of its texts that shares no code."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import grammarlm as gl
from tests.decoding.agents.written_turns import LAYOUTS, Cursor, Said, said

RECORD = {
    "type": "object",
    "properties": {
        "city": {"type": "string", "minLength": 1},
        "days": {"type": "integer", "minimum": 1, "maximum": 14},
        "tags": {"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": 3},
    },
    "required": ["city", "tags"],
    "additionalProperties": False,
}
WEATHER = {
    "type": "object",
    "properties": {
        "city": {"type": "string"},
        "days": {"type": "integer", "minimum": 1, "maximum": 14},
        "unit": {"enum": ["c", "f"]},
        "exact": {"type": "boolean"},
    },
    "required": ["city"],
    "additionalProperties": False,
}
SEARCH = {
    "type": "object",
    "properties": {
        "query": {"type": "string", "pattern": "^[a-z][a-z ]*$"},
        "since": {"type": ["integer", "null"]},
        "words": {"type": "array", "items": {"type": "string"}, "maxItems": 2},
    },
    "required": ["query", "since"],
    "additionalProperties": False,
}
NOTHING = {"type": "object", "properties": {}, "additionalProperties": False}
SCHEMAS = {"get_weather": WEATHER, "search": SEARCH, "now": NOTHING}
GIVEN = [
    {"type": "function", "function": {"name": name, "description": "tells", "parameters": schema}}
    for name, schema in SCHEMAS.items()
]
MARKER, DEADLINE = "</think>", 12


@dataclass(frozen=True)
class Case:
    """A grammar; `read` gives what a text says, or raises AssertionError or ValueError: named values, or a turn."""

    grammar: Any
    read: Callable[[str], dict[str, Any] | Said]


# ---------------------------------------------------------------------- a thought, and what follows


def thought_then(pattern: str, most_chars: int | None = None, is_list: bool = False) -> Callable[[str], dict[str, Any]]:
    """`pattern`: what stands between two records."""

    def read(text: str) -> dict[str, Any]:
        cursor = Cursor(text)
        thought = cursor.until(MARKER)
        assert most_chars is None or len(thought) <= most_chars
        records = [cursor.value(RECORD)]
        while is_list and cursor.rest:
            cursor.take(pattern)
            records.append(cursor.value(RECORD))
        assert not cursor.rest
        return {"thought": thought + MARKER, "record": records if is_list else records[0]}

    return read


def thinking(separator: str = "", most: int = 1, **limits: int) -> Case:
    record = gl.Capture("record", gl.JsonSchema(RECORD))
    records = gl.Repeat(record, 1, most, separator) if most > 1 else record
    grammar = gl.Capture("thought", gl.Text(until=MARKER, **limits)) + records
    return Case(grammar, thought_then(separator, limits.get("max_chars"), most > 1))


# ---------------------------------------------------------------------- turns with tools


def turn(name: str, *, answer: Any = None, calls: Any = "any", **options: Any) -> Case:
    tools = gl.Tools(GIVEN, format=name, answer=answer, calls=calls, **options)

    def read(text: str) -> Said:
        found = said(text, LAYOUTS[name], SCHEMAS, thinks=bool(options.get("reasoning")), answer=answer)
        assert calls != "required" or (found.calls and not found.content) or found.value is not None
        assert calls not in SCHEMAS or [name for name, _ in found.calls] in ([calls], [])
        assert options.get("parallel", True) or len(found.calls) <= 1
        return found

    return Case(tools, read)


# ---------------------------------------------------------------------- structural tags with loops

NUMBER = {"type": "json_schema", "json_schema": {"type": "integer", "minimum": 0}}
OBJECT = {"type": "json_schema", "json_schema": RECORD}


def tag(begin: str, content: dict[str, Any], end: str) -> dict[str, Any]:
    return {"type": "tag", "begin": begin, "content": content, "end": end}


CALLS = [tag("<f=record>", OBJECT, "</f>"), tag("<f=number>", NUMBER, "</f>")]
TAGGED = {"<f=record>": RECORD, "<f=number>": NUMBER["json_schema"]}


def tags_in(cursor: Cursor, between: Callable[[Cursor], bool]) -> int:
    """How many tags there are; `between` reads what stands before the next, and says whether there is one."""
    count = 0
    while between(cursor):
        begin = cursor.match("<f=[a-z]*>")[0]
        cursor.value(TAGGED[begin])
        cursor.take("</f>")
        count += 1
    return count


def free_text(cursor: Cursor) -> bool:
    """Whatever has not the trigger."""
    at = cursor.text.find("<f=", cursor.at)
    cursor.at = len(cursor.text) if at < 0 else at
    return at >= 0


def listed(separator: str) -> Callable[[Cursor], bool]:
    begun: list[bool] = []

    def between(cursor: Cursor) -> bool:
        if not cursor.rest or not cursor.rest.startswith(separator if begun else "<f="):
            return False
        if begun:
            cursor.take(separator)
        begun.append(True)
        return True

    return between


def tags(format: dict[str, Any], between: Callable[[], Callable[[Cursor], bool]], least: int, most: int) -> Case:
    def read(text: str) -> dict[str, Any]:
        cursor = Cursor(text)
        assert least <= tags_in(cursor, between()) <= most
        assert not cursor.rest
        return {}

    return Case(gl.StructuralTag({"type": "structural_tag", "format": format}), read)


def thought_and_loop(text: str) -> dict[str, Any]:
    """A thought of some characters, then numbers in brackets, then perhaps a word."""
    assert re.fullmatch(r"<think>(?:(?!</think>).){0,9}</think>(?:\[\d+\]){2,}(?:done)?", text, re.DOTALL), text
    return {}


LOOPS = {
    "triggered": tags(
        {"type": "triggered_tags", "triggers": ["<f="], "tags": CALLS}, lambda: free_text, 0, 10**6
    ),
    "triggered, one at least": tags(
        {"type": "triggered_tags", "triggers": ["<f="], "tags": CALLS, "at_least_one": True}, lambda: free_text, 1, 10**6
    ),
    "separated": tags(
        {"type": "tags_with_separator", "separator": ", ", "tags": CALLS, "at_least_one": True}, lambda: listed(", "), 1,
        10**6,
    ),
    "repeated": tags(
        {"type": "repeat", "min": 1, "max": 4, "content": {"type": "or", "elements": CALLS}}, lambda: listed(""), 1, 4
    ),
    "thought and loop": Case(
        gl.StructuralTag({"type": "structural_tag", "format": {"type": "sequence", "elements": [
            tag("<think>", {"type": "any_text", "max_chars": 9}, MARKER),
            tag("[", NUMBER, "]"),
            {"type": "plus", "content": tag("[", NUMBER, "]")},
            {"type": "optional", "content": {"type": "const_string", "value": "done"}},
        ]}}),
        thought_and_loop,
    ),
}  # fmt: skip

FAMILIES: dict[str, dict[str, Case]] = {
    "thinking": {
        "plain": thinking(),
        "of few tokens": thinking(max_tokens=DEADLINE),
        "of few characters": thinking(max_chars=20),
        "then lines": thinking("\n", 4),
        "of few tokens, then lines": thinking("\n", 4, max_tokens=DEADLINE),
    },
    "json": {
        "hermes": turn("hermes"),
        "hermes, thinking": turn("hermes", reasoning=True),
        "hermes, required": turn("hermes", calls="required"),
        "hermes, one": turn("hermes", calls="search"),
        "kimi": turn("kimi", reasoning=15),
        "harmony": turn("harmony"),
        "harmony, thinking": turn("harmony", reasoning=15),
    },
    "entries": {
        "qwen3_coder": turn("qwen3_coder"),
        "qwen3_coder, required, thinking": turn("qwen3_coder", calls="required", reasoning=20),
        "glm_4_7": turn("glm_4_7", reasoning=True),
        "glm_4_7, required": turn("glm_4_7", calls="required", parallel=False),
        "gemma4": turn("gemma4", reasoning=15),
        "gemma4, required": turn("gemma4", calls="required"),
    },
    "answers": {
        "hermes": turn("hermes", answer=RECORD),
        "hermes, thinking": turn("hermes", answer=RECORD, reasoning=20),
        "qwen3_coder": turn("qwen3_coder", answer=RECORD, reasoning=True),
        "kimi": turn("kimi", answer=RECORD),
    },
    "tags": LOOPS,
}
