r"""How a model family writes one turn of an assistant: reasoning, a text, calls of tools. Data, not code.

    format.write([("get_weather", {"city": "Paris"})])
                                  '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Paris"}}\n</tool_call>'

A turn is

    reasoning[0] THOUGHT reasoning[1] reasoning[2]       if the model thinks
    content[0] TEXT content[1] stop[1]                   an answer
    lead beside[0] TEXT beside[1]                        or a text, if there is one, before
    section[0] CALL between CALL ... section[1] stop[0]  calls, each of which is
        call[0] NAME call[1] ARGUMENTS call[2]

Names of special tokens in these texts mean the tokens where the vocabulary has them (Specials in derived.py). In the texts of calls
stand `{name}` for the name, where it is written again, `{id}` for the id of the call (a text that matches `id`), and `{index}` for
its number in the turn, counted from `first_index`; in those of entries `{key}` for the key, where it is written again, and `{type}`
for the JSON type of the value. All other braces are themselves.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from grammarlm.errors import GrammarError, brief, check_type

COMPACT = (",", ":")
TEXTS = {"call": 3, "section": 2, "reasoning": 3, "content": 2, "beside": 2, "stop": 2}  # fields of so many texts


@dataclass(frozen=True)
class Nested:
    """Objects and arrays inside values are written in the notation of the entries, as Gemma's `{flag:true,tags:[<|"|>x<|"|>]}`."""

    object: tuple[str, str]  # around the entries of an object
    array: tuple[str, str]  # around the items of an array
    item: str | None = (
        None  # items are entries under this key, without a gap; None: bare values with the gap between them
    )


@dataclass(frozen=True)
class Entries:
    """Arguments written one after the other, each as entry[0] KEY entry[1] VALUE entry[2]."""

    entry: tuple[str, str, str]
    gap: str = ""  # between two entries
    other: str | None = None  # instead of entry[1] where the value is no string; None: the same
    strings: str | tuple[str, str] = "raw"  # "raw": as they are, "json": in quotes; or two marks around the raw text
    marked: str | None = None  # only strings that hold one of these characters have the marks; None: all have them
    escapes: tuple[tuple[str, str], ...] = ()  # characters of strings that are no JSON, and what is written for each
    values: str | Nested = "json"  # objects and arrays: "json" (json.dumps' defaults), "compact" JSON, or as entries
    python: tuple[
        str, ...
    ] = ()  # JSON types that are written as Python writes them: "boolean", "null", "array", "object"
    nulls: bool = True  # False: an argument that is null is left out
    keys: str = "declared"  # "declared": in the order of the schema or the caller; "sorted", without regard to case

    def write(self, arguments: Mapping[str, Any]) -> str:
        """The text of the arguments, or of an object inside a value."""
        names = sorted(arguments, key=str.lower) if self.keys == "sorted" else arguments
        return self.gap.join(
            self.write_entry(name, arguments[name]) for name in names if self.nulls or arguments[name] is not None
        )

    def write_entry(self, key: str, value: Any) -> str:
        before, mid, after = self.entry
        mid = mid if self.other is None or isinstance(value, str) else self.other
        places = {"{key}": key, "{type}": json_type(value)}
        return filled(before, places) + key + filled(mid, places) + self.write_value(value) + filled(after, places)

    def write_value(self, value: Any) -> str:
        if isinstance(value, str):
            return self._write_string(value)
        if value is None and not self.nulls:
            return ""
        if json_type(value) in self.python:
            return str(value)
        if isinstance(value, Mapping) and isinstance(self.values, Nested):
            return self.values.object[0] + self.write(value) + self.values.object[1]
        if isinstance(value, (list, tuple)) and isinstance(self.values, Nested):
            item = self.values.item
            items = [self.write_value(each) if item is None else self.write_entry(item, each) for each in value]
            return self.values.array[0] + (self.gap if item is None else "").join(items) + self.values.array[1]
        return json_text(value, "compact" if self.values == "compact" else "spaced")

    def _write_string(self, text: str) -> str:
        if self.strings == "json":
            return json_text(text)
        text = "".join(map({**{letter: letter for letter in text}, **dict(self.escapes)}.__getitem__, text))
        if self.strings == "raw":
            return text
        if self.marked is not None and not any(character in text for character in self.marked):
            return text
        return self.strings[0] + text + self.strings[1]


@dataclass(frozen=True)
class Layout:
    """How a model family writes a turn."""

    name: str
    call: tuple[str, str, str]  # before the name, between name and arguments, after the arguments
    section: tuple[str, str] = ("", "")  # before and after all calls of a turn
    between: str | None = ""  # between two calls; None: one call a turn
    arguments: str | Entries = "json"
    json: str = "spaced"  # JSON arguments: "spaced", as json.dumps writes them by default, or "compact"
    id: str = "[A-Za-z0-9_-]{1,64}"  # what {id} may be, a pattern
    first_index: int = 0  # the {index} of the first call
    call_id: str | None = None  # the id that a call has in messages, of {name} and {index}; None: free, or as {id}
    as_text: bool = False  # the template takes the arguments in a message as JSON text, not as an object
    no_text: str | None = ""  # the content of a message that has no text beside its calls
    reasoning: tuple[str, str, str] | None = (
        None  # before and after the reasoning, and white space that follows its end
    )
    content: tuple[str, str] = ("", "")  # around a text that is the answer
    beside: tuple[str, str] | None = ("", "")  # around a text before calls; None: none is written beside calls
    lead: str = ""  # what a turn with calls begins with, before a text and where there is none
    thought_gap: str = ""  # what content[0] and beside[0] begin with after a thought only
    turn: str = ""  # what the prompt ends with, before the model's turn and any reasoning; "": not known
    stop: tuple[str, str] = (
        "",
        "",
    )  # names of the tokens that end the turn, after calls and after an answer; "": the tokenizer's

    def __post_init__(self) -> None:
        for name, size in TEXTS.items():
            given = getattr(self, name)
            if given is None and name in ("reasoning", "beside"):
                continue
            if (
                not isinstance(given, (list, tuple))
                or len(given) != size
                or not all(isinstance(text, str) for text in given)
            ):
                raise TypeError(f"ToolFormat({name}=) takes {size} texts, not {brief(given)}")
            object.__setattr__(self, name, tuple(given))
        for name in ("lead", "thought_gap"):
            check_type(getattr(self, name), str, f"ToolFormat({name}=) takes a text")
        if self.json not in ("spaced", "compact"):
            raise ValueError(f'ToolFormat(json=) takes "spaced" or "compact", not {brief(self.json)}')
        if self.arguments != "json" and not isinstance(self.arguments, Entries):
            raise TypeError(f'ToolFormat(arguments=) takes "json" or gl.Entries, not {brief(self.arguments)}')

    def write(self, calls: Iterable[tuple[Any, ...]]) -> str:
        """The text of calls, (name, arguments) or (name, arguments, id) each, from section[0] to section[1]; of none, no text."""
        texts = [self._write_call(index, *call) for index, call in enumerate(calls, self.first_index)]
        if len(texts) > 1 and self.between is None:
            raise GrammarError(f"the format {self.name} has one call a turn, not {len(texts)}")
        return self.section[0] + (self.between or "").join(texts) + self.section[1] if texts else ""

    def _write_call(self, index: int, name: str, arguments: Mapping[str, Any], id: str | None = None) -> str:
        if id is None and any("{id}" in text for text in self.call):
            raise GrammarError(f"the format {self.name} writes ids: the call of {name} must be (name, arguments, id)")
        places = {"{name}": name, "{index}": str(index), "{id}": id or ""}
        before, mid, after = (filled(text, places) for text in self.call)
        written = (
            json_text(arguments, self.json) if isinstance(self.arguments, str) else self.arguments.write(arguments)
        )
        return before + name + mid + written + after

    def opened(self, prompt: str) -> str:
        """Whether a prompt has opened ("open") or closed ("closed") the reasoning already, or says nothing of it ("none")."""
        check_type(prompt, str, "opened() takes the text of a prompt")
        if self.reasoning is None:
            return "none"
        begin, end = (text.strip() for text in self.reasoning[:2])
        turn = self.turn.rstrip()
        if not turn or turn not in prompt:  # what stands in the conversation says nothing: only the end counts
            prompt = prompt.rstrip()
            return "closed" if prompt.endswith(end) else "open" if begin and prompt.endswith(begin) else "none"
        written = prompt.rpartition(turn)[2]
        at, ended = written.rfind(begin) if begin else 0, written.rfind(end)  # "": prompts always open it
        return "none" if at < 0 and ended < 0 else "closed" if ended >= at else "open"


def filled(text: str, places: Mapping[str, str]) -> str:
    """A text of a format with what stands at its places."""
    for place, value in places.items():
        text = text.replace(place, value)
    return text


def json_text(value: Any, spelling: str = "spaced") -> str:
    return json.dumps(value, ensure_ascii=False, separators=COMPACT if spelling == "compact" else None)


def json_type(value: Any) -> str:
    """The name that JSON has for the type of a value; all numbers are "number"."""
    if value is None or isinstance(value, bool):
        return "null" if value is None else "boolean"
    kinds = {str: "string", list: "array", tuple: "array"}
    return next(
        (kind for of, kind in kinds.items() if isinstance(value, of)),
        "object" if isinstance(value, Mapping) else "number",
    )
