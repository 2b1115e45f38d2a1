"""The fields of each format, and what they take.

    read({"value": "a"}, "/format", "value").value        "a"

A field that a format does not have is an error, as is a value of another kind: nothing is read past.
"""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from grammarlm.errors import GrammarError, brief, placed_error

Fits = Callable[[Any], bool]


def _is(*kinds: type) -> Fits:
    return lambda value: isinstance(value, kinds)


def is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def is_token(value: Any) -> bool:
    return is_count(value) or (isinstance(value, str) and value != "")


def _is_rule(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 2 and is_token(value[0]) and isinstance(value[1], dict)


def _list(fits: Fits, least: int) -> Fits:
    return lambda value: isinstance(value, list) and len(value) >= least and all(map(fits, value))


def _is_end(value: Any) -> bool:
    return isinstance(value, (str, dict)) or _list(_is(str), 1)(value)


# What a field takes, in whatever format it is; and its value where it is left out or null, if it may be.
_KINDS: dict[str, tuple[Fits, str]] = {
    "a string": (_is(str), "grammar pattern separator style syntax type value"),
    "true or false": (_is(bool), "any_order at_least_one loop stop_after_first"),
    "a number, 0 or more": (is_count, "max_chars max_tokens max_whitespace_cnt min"),
    "a number, 0 or more, or -1": (lambda value: value == -1 or is_count(value), "max"),
    "an object": (_is(dict), "content format"),
    "a list of at least one object": (_list(_is(dict), 1), "elements structures tags"),
    "a list of strings that are not empty": (_list(lambda value: isinstance(value, str) and value != "", 0), "excludes triggers"),
    "a list of tokens, by their texts or ids": (_list(is_token, 0), "exclude_tokens trigger_tokens"),
    "a list of pairs of what begins a format and the format": (_list(_is_rule, 1), "rules"),
    "a token, by its text or id": (is_token, "token"),
    "a string or a token": (_is(str, dict), "begin"),
    "a string, a list of strings or a token": (_is_end, "end"),
    "a JSON schema": (_is(dict, bool), "json_schema"),
    "a JSON schema, or its text": (_is(dict, bool, str), "schema"),
}  # fmt: skip
_FIELDS = {name: (takes, fits) for takes, (fits, names) in _KINDS.items() for name in names.split()}
_DEFAULTS: dict[str, Any] = {
    "any_order": False, "at_least_one": False, "exclude_tokens": (), "excludes": (), "loop": True, "max_chars": None,
    "max_tokens": None, "max_whitespace_cnt": None, "stop_after_first": False, "style": "json", "syntax": "ebnf",
    "type": "structural_tag",
}  # fmt: skip
_NULLS: dict[str, Any] = {"json_schema": {}, "schema": {}}  # SGLang writes null for a tool without parameters
_LEFT_OUT = object()
FORMATS = {
    "const_string": "value",
    "json_schema": "json_schema style any_order max_whitespace_cnt excludes",
    "qwen_xml_parameter": "json_schema any_order max_whitespace_cnt excludes",
    "any_text": "excludes max_tokens max_chars",
    "regex": "pattern excludes",
    "grammar": "grammar syntax",
    "token": "token",
    "exclude_token": "exclude_tokens",
    "any_tokens": "exclude_tokens max_tokens",
    "sequence": "elements",
    "or": "elements",
    "optional": "content",
    "star": "content",
    "plus": "content",
    "repeat": "content min max",
    "tag": "begin content end",
    "triggered_tags": "triggers tags at_least_one stop_after_first excludes",
    "token_triggered_tags": "trigger_tokens tags at_least_one stop_after_first exclude_tokens",
    "tags_with_separator": "tags separator at_least_one stop_after_first",
    "dispatch": "rules loop excludes",
    "token_dispatch": "rules loop exclude_tokens",
}


def wrong(message: str, pointer: str) -> GrammarError:
    return placed_error(GrammarError(message), pointer)


def read(value: Any, pointer: str, names: str) -> SimpleNamespace:
    """The values of an object's fields, and `at`, where it stands; GrammarError where it has others, or other values."""
    known = names.split()
    if not isinstance(value, dict):
        raise wrong(f"{brief(value)} is no object; it takes one with {', '.join(known)}", pointer)
    strange = next((name for name in value if name not in known), None)
    if strange is not None:
        raise wrong(f"there is no field {brief(strange)} here; there are {', '.join(known)}", pointer)
    found = SimpleNamespace(at=pointer)
    for name in known:
        given, (takes, fits) = value.get(name, _LEFT_OUT), _FIELDS[name]
        given = _NULLS.get(name) if given is None else None if given is _LEFT_OUT else given
        if given is None and name not in _DEFAULTS:
            raise wrong(f"the field {name!r} is missing; it takes {takes}", pointer)
        if given is not None and not fits(given):
            raise wrong(f"{brief(given)}; it takes {takes}", f"{pointer}/{name}")
        setattr(found, name, _DEFAULTS[name] if given is None else given)
    return found
