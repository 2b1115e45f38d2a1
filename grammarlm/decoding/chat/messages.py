"""Messages of a conversation, checked, in the form that chat templates take.

    [{"role": "user", "content": "Wake me at 6."}]
    [..., out.message, {"role": "tool", "content": "done", "tool_call_id": call.id}]

Content may be a text, typed parts as far as they are text, or None in a turn of the assistant. Arguments of calls may be JSON
text, as OpenAI has them, or objects: templates are written for one of the two, which `as_text` says. Reasoning has several names,
of which a template reads one.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, TypeGuard

from grammarlm.errors import brief

ROLES = ("system", "developer", "user", "assistant", "tool")
THOUGHTS = ("reasoning_content", "reasoning", "thinking")
MESSAGE = '{"role": "user", "content": "..."}'


def is_conversation(prompt: object) -> TypeGuard[Sequence[Mapping[str, Any]]]:
    """A list that holds messages; an empty list is a list of no prompts."""
    return isinstance(prompt, (list, tuple)) and any(isinstance(one, Mapping) for one in prompt)


def read_messages(messages: Sequence[Any], template: str, name: str = "the prompt") -> list[dict[str, Any]]:
    """Copies with plain contents. `template`: its text, which may know roles of its own."""
    read = [_message(one, template, f"message {at} of {name}") for at, one in enumerate(messages)]
    if read[-1]["role"] == "assistant" and read[-1].get("tool_calls"):
        raise ValueError(
            f'{name} ends with calls of tools; append the result of each, a message {{"role": "tool", ...}}, before the next turn'
        )
    return read


def with_arguments(messages: list[dict[str, Any]], as_text: bool) -> list[dict[str, Any]]:
    """The same with the arguments of calls as JSON text, or as objects."""
    return [{**one, "tool_calls": [_call(call, as_text) for call in one["tool_calls"]]} if one.get("tool_calls") else one
            for one in messages]  # fmt: skip


def with_thoughts(messages: list[dict[str, Any]], template: str) -> list[dict[str, Any]]:
    """The same with the reasoning under the names that the template reads; beside a text and calls it stays as it is, since there
    some templates take no more than one of the three."""
    names = [name for name in THOUGHTS if re.search(rf"[.'\"]{name}\b", template)]
    found = []
    for one in messages:
        thought = next((one[name] for name in THOUGHTS if isinstance(one.get(name), str)), None)
        is_read = any(name in one for name in names) or (one.get("content") and one.get("tool_calls"))
        found.append(one if thought is None or is_read else {**one, **dict.fromkeys(names, thought)})
    return found


def _message(message: Any, template: str, where: str) -> dict[str, Any]:
    if not isinstance(message, Mapping):
        raise TypeError(f"{where} is {type(message).__name__}: {brief(message, 60)}; a message is {MESSAGE}")
    role = message.get("role")
    if not isinstance(role, str):
        raise TypeError(f"{where} has no role: {brief(dict(message), 80)}; a message is {MESSAGE}")
    if role not in ROLES and f'"{role}"' not in template and f"'{role}'" not in template:
        raise ValueError(f"{where} has the role {role!r:.60}; there are {', '.join(ROLES)}")
    is_empty = message.get("content") is None and (role != "assistant" or "content" not in message)
    if is_empty and not message.get("tool_calls"):
        raise ValueError(f"{where} has no content: {brief(dict(message), 80)}; a message is {MESSAGE}")
    calls = message.get("tool_calls")
    if calls is not None and not (isinstance(calls, Sequence) and all(map(_is_call, calls))):
        raise ValueError(
            f"{where}: tool_calls is {brief(calls, 80)}; it takes a list of "
            '{"type": "function", "function": {"name": ..., "arguments": {...}}}, as out.message has them'
        )
    return {**message, "content": _content(message.get("content"), where)}


def _is_call(call: Any) -> bool:
    function = call.get("function", call) if isinstance(call, Mapping) else None
    return isinstance(function, Mapping) and isinstance(function.get("name"), str)


def _content(content: Any, where: str) -> str | None:
    """A text; typed parts that are texts become one."""
    if content is None or isinstance(content, str):
        return content
    if not isinstance(content, (list, tuple)):
        raise TypeError(
            f"{where}: content is {type(content).__name__}; it takes a text (json.dumps of other values), or a list of parts that "
            "are texts"
        )
    texts = []
    for part in content:
        text = part.get("text") if isinstance(part, Mapping) and part.get("type", "text") == "text" else None
        if not isinstance(text, str):
            kind = part.get("type") if isinstance(part, Mapping) else type(part).__name__
            raise TypeError(
                f'{where} has a part of type {kind!r:.60}; only parts of text are read: {{"type": "text", "text": "..."}}'
            )
        texts.append(text)
    return "".join(texts)


def _call(call: Mapping[str, Any], as_text: bool) -> dict[str, Any]:
    """A call with its arguments as a template takes them; arguments that are no JSON stay as they are."""
    function = call.get("function", call)
    arguments = function.get("arguments", {})
    if as_text and not isinstance(arguments, str):
        arguments = json.dumps(arguments, ensure_ascii=False)
    elif not as_text and isinstance(arguments, str):
        with contextlib.suppress(ValueError):
            arguments = json.loads(arguments or "{}")
    return {**call, "function": {**function, "arguments": arguments}} if "function" in call else {
        "type": "function", "function": {**function, "arguments": arguments}
    }  # fmt: skip
