"""Formats from response templates: how transformers (5.13 and later) reads a model's turns back, kept beside the tokenizer.

    of_response_template({"fields": {"tool_calls": {"open": "<tool_call>", "close": "</tool_call>", "repeats": True,
                                                    "content": "json", "transform": {"function": "{content}"}}}})
    Layout(call=('<tool_call>{"name": "', '", "arguments": ', '}</tool_call>'), ...)

They say where calls begin and end and what is in them, but read white space between these as it comes. So a chat template that
writes calls says more; what it leaves out is taken from here. Calls whose arguments are JSON are understood.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from ..layout import Layout

NAME = re.compile(r"\(\?P<name>.*?\)")
BLANK = re.compile(r"\\s[*+?]|\.\*\??")  # places where white space, or anything, may stand
ESCAPED = re.compile(r"\\([^\w\s])")
PATTERN = re.compile(r"(?<!\\)[][(){}*+?^$.|]|\\\w")  # what makes a text a pattern
FAULTS = (AttributeError, KeyError, TypeError, ValueError)  # what reading a template raises that is made otherwise
Calls = tuple[tuple[str, str, str], tuple[str, str], "str | None"]


def of_response_template(given: Any) -> Layout | None:
    """The format of calls, as far as it can be told; None where they are written otherwise."""
    try:
        call, section, between = _calls(given["fields"]["tool_calls"])
        content, turn = given["fields"].get("content", {}), given.get("start_anchor")
    except FAULTS:
        return None
    stop = _border(content, "close") if "close" in content else ""
    reasoning, turn = reasoning_of(given), turn if isinstance(turn, str) else ""
    return Layout("response_template", call, section, between, reasoning=reasoning, turn=turn, stop=(stop, stop))


def reasoning_of(given: Any) -> tuple[str, str, str] | None:
    """What stands around the reasoning; None where a response template does not say."""
    try:
        fields = given["fields"]
        field = next(fields[name] for name in ("thinking", "reasoning_content", "reasoning") if name in fields)
        return _border(field, "open"), _border(field, "close"), ""
    except (*FAULTS, StopIteration):
        return None


def _calls(field: Mapping[str, Any]) -> Calls:
    """What stands around a call, around all of them, and between; ValueError for calls of another kind."""
    function = field["transform"]["function"]
    end = _border(field, "close") if "close" in field or "close_pattern" in field else ""
    if field["content"] != "json" or field.get("content_args"):
        raise ValueError("arguments in a notation of their own")
    if field.get("transform_each"):
        name, arguments = (json.dumps(function[key].strip("{}")) for key in ("name", "arguments"))
        return (f'{{{name}: "', f'", {arguments}: ', "}"), (_border(field, "open") + "[", "]" + end), ", "
    between = "" if field.get("repeats") else None
    if function == "{content}":
        return (_border(field, "open") + '{"name": "', '", "arguments": ', "}" + end), ("", ""), between
    if function != {"name": "{name}", "arguments": "{content}"}:
        raise ValueError("names or arguments elsewhere")
    before, mid = (_literal(text) for text in NAME.split(field["open_pattern"]))
    return (before, mid, end), ("", ""), between


def _border(field: Mapping[str, Any], key: str) -> str:
    """The text with which a field opens or closes; the first, where there are several."""
    text = field[key] if key in field else _literal(field[f"{key}_pattern"])
    return text if isinstance(text, str) else text[0]


def _literal(pattern: str) -> str:
    """The text that a pattern stands for; ValueError where it stands for several."""
    text = BLANK.sub("", pattern)
    if PATTERN.search(text):
        raise ValueError("a pattern of several texts")
    return ESCAPED.sub(r"\1", text)
