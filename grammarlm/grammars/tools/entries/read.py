"""Reads arguments that are written as entries back to values, under the rules of entries.py."""

from __future__ import annotations

import json
import re
from typing import Any

from grammarlm.errors import brief
from grammarlm.grammars.tools.texts import Coder, end_mark
from grammarlm.grammars.tools.tool_format import Entries

from .arguments import Arguments, Value
from .escapes import Escaped
from .nested import notation_of
from .read_nested import NestedReader
from .writer import BLANKS, LOOKS_LIKE, PYTHON, Spelling, follows, key_ends, spellings

FROM_PYTHON = {text: json.loads(name) for name, text in PYTHON.items()}
PYTHON_TYPES = {"None": "null", "True": "boolean", "False": "boolean"}
WORD = re.compile("None|True|False")
OPENED = re.compile(rf"{BLANKS}([\[{{]?)")


def decoded(text: str, at: int) -> tuple[Any, int]:
    """The JSON value that begins here, perhaps after blanks, and where it ends."""
    opened = OPENED.match(text, at)
    assert opened is not None
    value, end = DECODER.raw_decode(text, opened.start(1))
    return value, end


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no number of JSON's")


DECODER = json.JSONDecoder(parse_constant=_no_constant)


class EntryReader:
    """Reads the entries of one call. `closing`: the pattern of what follows the last one, and its text in the format."""

    def __init__(
        self, entries: Entries, arguments: Arguments, coder: Coder, closing: re.Pattern[str], closing_text: str
    ):
        self.entries, self.arguments, self.coder, self.closing = entries, arguments, coder, closing
        self.gap, self.escaped = coder.text(entries.gap), Escaped(entries.escapes)
        self.ends = [text for text in follows(entries, closing_text) if text]
        letters = "".join(re.escape(coder.text(text)[0]) for text in key_ends(entries) if text)
        self.key = re.compile(f"[^{letters}]+")

    def read(self, text: str, at: int) -> tuple[dict[str, Any], int]:
        found: dict[str, Any] = {}
        while self.closing.pattern == "" or not self.closing.match(text, at):
            if found and self.gap:
                if not text.startswith(self.gap, at):
                    break
                at += len(self.gap)
            entry = self._entry(text, at)
            if entry is None:
                break
            key, value, at = entry
            if key in found and key in self.arguments.values:
                raise ValueError(f"the argument {key!r:.80} is written twice")
            found[key] = value
        for name in self.arguments.required - found.keys():
            if self.entries.nulls or "null" not in self.arguments.values[name].types:
                raise ValueError(f"the argument {name!r:.80} is missing")
            found[name] = None  # not written by this format
        return found, at

    def _entry(self, text: str, at: int) -> tuple[str, Any, int] | None:
        """Key, value and end of the entry that begins here; None where none does."""
        for way in spellings(self.entries, frozenset(LOOKS_LIKE) | {"string"}):
            begun = self.coder.text(way.before)
            matched = self.key.match(text, at + len(begun)) if text.startswith(begun, at) else None
            if matched is None:
                continue
            key = matched[0]
            value = self.arguments.values.get(key, self.arguments.others)
            if value is None:
                raise ValueError(f"there is no argument {key!r:.80}")
            for own in sorted(spellings(self.entries, value.types), key=lambda own: -len(own.between)):
                after_key = self.coder.text(own.between.replace("{key}", key))
                if own.before == way.before and text.startswith(after_key, matched.end()):
                    found, end = self._value(text, matched.end() + len(after_key), own, key, value)
                    return key, found, end
        return None

    def _value(self, text: str, at: int, way: Spelling, key: str, value: Value) -> tuple[Any, int]:
        after = self.coder.text(way.after.replace("{key}", key))
        found, end = self._bare_value(text, at, way, key)
        next_entry = re.escape(self.gap or self.coder.text(way.before))
        following = [re.escape(after)] if after else [f"(?={one})" for one in (next_entry, self.closing.pattern) if one]
        ended = re.compile(f"{BLANKS}?(?:{'|'.join(following)})").match(text, end)
        if ended is None:
            raise ValueError(f"the value of {key!r:.80} should end at {brief(text[end : end + 60], 80)}")
        return found, ended.end()

    def _bare_value(self, text: str, at: int, way: Spelling, key: str) -> tuple[Any, int]:
        entries, types = self.entries, way.types
        for kind in types & {"object", "array"}:
            notation = notation_of(entries, kind)
            begin = (
                ""
                if notation is None
                else self.coder.text((notation.object if kind == "object" else notation.array)[0])
            )
            if notation is not None and text.startswith(begin, at):
                return NestedReader(notation, self.coder).value(text, at)
        opened = OPENED.match(text, at)
        assert opened is not None
        if opened[1] and {"{": "object", "[": "array"}[opened[1]] in types:
            return decoded(text, at)
        if "string" in types and isinstance(entries.strings, tuple):
            left, right = map(self.coder.text, entries.strings)
            if text.startswith(left, at):
                start = at + len(left)
                end = self._end(text, start, [entries.strings[1]])
                return self.escaped.read(text[start:end]), end + len(right)
        is_raw = "string" in types and (entries.strings == "raw" or entries.marked is not None)
        if not is_raw:
            word = WORD.match(text, at)
            if word and PYTHON_TYPES[word[0]] in types and PYTHON_TYPES[word[0]] in entries.python:
                return FROM_PYTHON[word[0]], word.end()
            return decoded(text, at)
        ends = [end.replace("{key}", key) for end in ([way.after] if way.after else self.ends)]
        end = self._end(text, at, ends)
        raw = text[at:end]
        if PYTHON_TYPES.get(raw) in types and PYTHON_TYPES.get(raw) in entries.python:
            return FROM_PYTHON[raw], end
        if any(re.fullmatch(LOOKS_LIKE[kind], raw) for kind in types - {"string"}):
            return json.loads(raw), end
        return self.escaped.read(raw), end

    def _end(self, text: str, at: int, ends: list[str]) -> int:
        """Where the raw text that begins here ends: before the first of the marks."""
        is_sure = self.entries.escapes and self.escaped.ends_before(map(end_mark, ends))
        start, found = self.escaped.end(text, at) if is_sure else at, []
        for end in ends:
            whole, mark = self.coder.text(end), self.coder.text(end_mark(end))
            begun = text.find(mark, start)
            if begun >= 0:
                found.append((begun, begun - whole.index(mark)))
        if not found or min(found)[1] < at:
            raise ValueError(f"the value at {brief(text[at : at + 60], 80)} does not end")
        return min(found)[1]
