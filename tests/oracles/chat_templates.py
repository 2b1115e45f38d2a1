"""Chat templates as transformers renders them, and conversations with random calls.

rendered(template, messages, tools)                  what transformers writes, from the user's words on
random_call(rng) -> (name, arguments, id)
"""

import functools
import json
import random
from typing import Any
from unittest import mock

import pytest

try:
    import grammarlm.grammars.tools.learning.sandbox  # noqa: F401

    missing = False
except ImportError:
    missing = True
needs_jinja2 = pytest.mark.skipif(missing, reason="chat templates are read by jinja2, 3.1.6 or later")

USER = "what is it like there?"
NAMES = ["get_weather", "look-up", "Find2"]
PIECES = [
    "a",
    " ",
    "\n",
    '"',
    "'",
    "\\",
    "é",
    "<b>",
    "</b>",
    "&",
    "{",
    "}",
    "[",
    ",",
    ": ",
    "true",
    "12",
    "None",
    "日本",
    "{{",
    "%}",
]
KEYS = ["city", "days", "exact", "where", "tags", "Zone"]


def tool(name: str) -> dict[str, Any]:
    kinds = dict(zip(KEYS, ["string", "integer", "boolean", "object", "array", "string"], strict=True))
    properties = {key: {"type": kind, "description": "one"} for key, kind in kinds.items()}
    properties["tags"]["items"] = {"type": "string"}  # type: ignore[assignment]
    parameters = {"type": "object", "properties": properties, "required": ["city"]}
    return {"type": "function", "function": {"name": name, "description": "tells", "parameters": parameters}}


TOOLS = [tool(name) for name in NAMES]


@functools.cache
def compiled(source: str) -> Any:
    """As transformers compiles it, except that lists may be changed: some templates collect ids, and only fail there."""
    sandbox = pytest.importorskip("jinja2.sandbox")
    templates = pytest.importorskip("transformers.utils.chat_template_utils")
    compile_ = (
        getattr(templates, "_cached_compile_jinja_template", None) or templates._compile_jinja_template.__wrapped__
    )
    with mock.patch.object(templates, "ImmutableSandboxedEnvironment", sandbox.SandboxedEnvironment):
        return compile_(source)


def rendered(source: str, turns: list[dict[str, Any]], **options: Any) -> str:
    """What follows the user's words."""
    messages = json.loads(json.dumps([{"role": "user", "content": USER}, *turns]))
    given = {"bos_token": "<s>", "eos_token": "</s>", "tools": TOOLS, "add_generation_prompt": not turns, **options}
    return compiled(source).render(messages=messages, **given).rpartition(USER)[2]


def assistant(
    calls: list[Any], *, as_text: bool = False, no_text: str | None = "", text: str = "", thought: str = ""
) -> dict[str, Any]:
    """A message with calls, in OpenAI's form."""
    made = [
        {
            "id": id,
            "type": "function",
            "function": {"name": name, "arguments": json.dumps(given, ensure_ascii=False) if as_text else given},
        }
        for name, given, id in calls
    ]
    thoughts = {"reasoning_content": thought, "thinking": thought} if thought else {}
    return {"role": "assistant", "content": text or no_text, "tool_calls": made, **thoughts}


def writes_calls(source: str) -> bool:
    """Whether a template writes the name of a tool that is called, in some form of the message."""
    forms = [(as_text, no_text) for as_text in (False, True) for no_text in ("", None)]
    for as_text, no_text in forms:
        call = (NAMES[0], {"city": "Rome"}, "abcdef123")
        try:
            if NAMES[0] in rendered(source, [assistant([call], as_text=as_text, no_text=no_text)]):
                return True
        except Exception:  # templates raise what they like
            continue
    return False


def random_text(rng: random.Random) -> str:
    return "".join(rng.choices(PIECES, k=rng.randrange(6)))


def random_value(rng: random.Random, depth: int = 2) -> Any:
    kind = rng.randrange(8 if depth else 6)
    if kind == 6:
        return [random_value(rng, depth - 1) for _ in range(rng.randrange(3))]
    if kind == 7:
        return {key: random_value(rng, depth - 1) for key in rng.sample(KEYS, rng.randrange(3))}
    simple = [
        random_text(rng),
        rng.randrange(-99, 10**6),
        rng.random() * 10 ** rng.randrange(-9, 20),
        True,
        False,
        None,
    ]
    return simple[kind]


def random_call(rng: random.Random) -> tuple[str, dict[str, Any], str]:
    arguments = {key: random_value(rng) for key in rng.sample(KEYS, rng.randrange(len(KEYS)))}
    return rng.choice(NAMES), arguments, "".join(rng.choices("abcdefGHIJ0123456789", k=9))
