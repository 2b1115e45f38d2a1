"""What callers give as tools and as tool_choice, read: names, schemas of arguments, and which tools may be called.

tool_of(get_weather)                      a function: its name, and a schema of its arguments
tool_of(Weather)                          a pydantic model or a dataclass
tool_of({"type": "function", "function": {"name": "look", "parameters": {...}, "strict": False}})        OpenAI's, also flat
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from grammarlm.errors import GrammarError, UnsupportedFeature, brief
from grammarlm.grammars.json_schema.schema import JsonSchema
from grammarlm.grammars.json_schema.types.python_types import is_python_type

from .plain import closed

MODES = ("any", "required", "none", "one")  # "one": a single call, which must come
CHOICES = {"any": "any", "auto": "any", "required": "required", "none": "none"}
CHOICE = "tool_choice= (calls= of gl.Tools)"
READ = ("type", "name", "description", "strict", "parameters")  # of a dictionary
TAKES = "a function, a pydantic model, a dataclass or OpenAI's dictionary of a function"


@dataclass(frozen=True)
class Tool:
    name: str
    schema: JsonSchema
    is_sure: bool = False  # is it certainly a schema of objects that has some?

    @property
    def function(self) -> Callable[..., Any] | None:
        """What was given, if it can be called; None for a dictionary."""
        found: Callable[..., Any] | None = self.schema.python_type
        return found


def tools_of(tools: Any, **options: Any) -> tuple[Tool, ...]:
    check_tools(tools)
    return tuple(tool_of(tool, **options) for tool in tools)


def check_tools(tools: Any) -> None:
    if isinstance(tools, (str, Mapping)) or not isinstance(tools, Iterable):
        raise TypeError(f"tools is {type(tools).__name__}; it takes a list of tools, each {TAKES}")


def tool_of(tool: Any, **options: Any) -> Tool:
    if isinstance(tool, Mapping):
        return _of_dictionary(tool, options)
    name = getattr(tool, "__name__", None)
    if not isinstance(name, str) or not is_python_type(tool):
        raise TypeError(f"{brief(tool, 80)} is no tool; a tool is {TAKES}")
    if name == "<lambda>":
        raise TypeError("a lambda is no tool: it has no name by which a model calls it; write a function with def")
    return Tool(name, JsonSchema(tool, **options), is_sure=inspect.isroutine(tool))


def _of_dictionary(tool: Mapping[str, Any], options: dict[str, Any]) -> Tool:
    kind = tool.get("type", "function")
    if kind != "function":
        raise UnsupportedFeature(f"a tool of type {brief(kind)}: only functions are called; it takes {TAKES}")
    function = tool.get("function", tool)
    name = function.get("name") if isinstance(function, Mapping) else None
    if not isinstance(name, str):
        raise GrammarError(
            f'a tool has no name: {brief(dict(tool), 80)}; write {{"type": "function", "function": ...}}'
        )
    parameters = function.get("parameters")
    if parameters is None:
        unread = next((key for key in function if key not in READ), None)
        if unread is not None:  # another interface's, or misspelt: a call without arguments is not what was meant
            raise GrammarError(
                f"tool {name!r:.80} has no 'parameters', and has {unread!r:.60}, which is not read; the schema of its arguments "
                "is 'parameters'"
            )
        parameters = {"type": "object", "properties": {}}
    if function.get("strict") is False or parameters is True:
        return Tool(name, JsonSchema({"type": "object"}, **options), is_sure=True)
    if not isinstance(parameters, (dict, bool)):
        raise TypeError(f"tool {name!r:.80}: its parameters are a schema, not {type(parameters).__name__}")
    if isinstance(parameters, dict) and "type" not in parameters:
        parameters = {**parameters, "type": "object"}
    plain = closed(parameters)
    if plain is not None and plain["type"] == "object":
        return Tool(name, JsonSchema(plain, **options), is_sure=True)
    return Tool(name, JsonSchema(parameters, **{"extra": "forbid", **options}))


def described(tool: Any) -> dict[str, Any]:
    """A tool as OpenAI's dictionary, which chat templates show to the model."""
    if isinstance(tool, Mapping):
        return (
            dict(tool)
            if "function" in tool
            else {"type": "function", "function": {k: tool[k] for k in tool if k != "type"}}
        )
    made = tool_of(tool)
    function = {"name": made.name, "description": inspect.getdoc(tool) or "", "parameters": made.schema.document()}
    return {"type": "function", "function": function}


def choice_of(calls: Any) -> tuple[str, tuple[str, ...] | None]:
    """The mode, and the names of the tools that may be called; None: all."""
    if isinstance(calls, str):
        return (CHOICES[calls], None) if calls in CHOICES else ("one", (calls,))
    if not isinstance(calls, Mapping):
        raise TypeError(
            f'{CHOICE} takes "auto", "required", "none", the name of a tool or OpenAI\'s dictionary, not {type(calls).__name__}'
        )
    kind = calls.get("type")
    if kind == "function":
        return "one", (_name(calls, calls),)
    if kind == "allowed_tools":
        inner = calls.get("allowed_tools", calls)
        mode = CHOICES.get(inner.get("mode", "auto")) if isinstance(inner, Mapping) else None
        listed = inner.get("tools") if mode else None
        if mode in ("any", "required") and isinstance(listed, (list, tuple)):
            return mode, tuple(_name(one, calls) for one in listed)
    raise GrammarError(f"tool_choice {brief(dict(calls), 120)} is none of OpenAI's: of type function or allowed_tools")


def _name(one: Any, whole: Any) -> str:
    inner = one.get("function", one) if isinstance(one, Mapping) else None
    name = inner.get("name") if isinstance(inner, Mapping) else None
    if not isinstance(name, str):
        raise GrammarError(f"tool_choice {brief(dict(whole), 120)} names no function")
    return name
