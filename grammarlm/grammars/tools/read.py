"""Reads a turn back: reasoning, content, calls.

    turn = read(tools, text)                          a text, with the names of special tokens in it
    turn = read(tools, pieces, specials)              strings and Tokens: what is a token is no letters
    turn.calls[0].name, turn.calls[0].arguments, turn.message

    reader = CallReader(tools)
    reader.feed("...")                                calls, as soon as each is complete

The constraint guarantees the layout, so every text of the grammar is read, in one way; ValueError for others. What is inside
JSON is only parsed here, and an instance of a tool's type is made, by its validators, when `arguments` is asked for.
"""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from grammarlm.errors import brief
from grammarlm.grammars.derived import Specials
from grammarlm.grammars.items.special_token import Token
from grammarlm.grammars.json_schema.schema import JsonSchema
from grammarlm.grammars.json_schema.types.python_types import reader_of

from .entries.read import EntryReader, decoded
from .entries.writer import BLANKS
from .given import Tool
from .texts import SLOT, Coder
from .tool_format import Entries
from .tools import INDEX, Tools


@dataclass(frozen=True)
class Call:
    """A call of a tool. `json`: the arguments as JSON has them; `text`: the call as it was written."""

    name: str
    json: dict[str, Any]
    id: str
    text: str
    tool: Tool = field(repr=False, compare=False)
    source: str = field(repr=False, compare=False)  # the arguments as JSON text
    is_numbered: bool = field(default=False, repr=False, compare=False)  # is its id a number that only we give?

    @cached_property
    def arguments(self) -> Any:
        """An instance of the tool's type, the values of a function's arguments, or the JSON of a dictionary's; ValueError where a
        validator of the caller's refuses it."""
        kind = self.tool.schema.python_type
        return self.json if kind is None else reader_of(kind)(self.source)

    def call(self) -> Any:
        """What the function returns."""
        function = self.tool.function
        if function is None or not inspect.isroutine(function):
            raise TypeError(f"the tool {self.name!r:.80} was not given as a function; run it with call.arguments")
        return function(**self.arguments)


@dataclass(frozen=True)
class Turn:
    """A turn of the assistant."""

    reasoning: str | None  # None: the turn has none
    content: str
    calls: tuple[Call, ...]
    tools: Tools = field(repr=False)

    @cached_property
    def value(self) -> Any:
        """The value of the answer: parsed where it is JSON; None where there are calls."""
        answer = self.tools.answer
        if self.calls:
            return None
        if not isinstance(answer, JsonSchema):
            return self.content
        kind = answer.python_type
        return json.loads(self.content) if kind is None else reader_of(kind)(self.content)

    @property
    def message(self) -> dict[str, Any]:
        """OpenAI's message, in the form that the chat template takes."""
        content = self.content or (self.tools.format.no_text if self.calls else "")
        found: dict[str, Any] = {"role": "assistant", "content": content}
        if self.reasoning is not None:
            found["reasoning_content"] = self.reasoning
        if self.calls:
            as_text = self.tools.format.as_text
            found["tool_calls"] = [
                {
                    "id": call.id,
                    "type": "function",
                    "function": {"name": call.name, "arguments": call.source if as_text else call.json},
                }
                for call in self.calls
            ]
        return found


def read(tools: Tools, pieces: str | Iterable[str | Token], specials: Specials | None = None) -> Turn:
    """The turn that the pieces of a text are; `specials`: of the vocabulary, those among the pieces where not given."""
    listed = [pieces] if isinstance(pieces, str) else list(pieces)
    if specials is None:
        specials = Specials(str(piece.name) for piece in listed if isinstance(piece, Token))
    reader = TurnReader(tools, specials)
    return reader.turn(reader.coder.pieces(listed))


class CallReader:
    """Reads calls while a text is written."""

    def __init__(self, tools: Tools, specials: Specials | None = None):
        self._reader = TurnReader(tools, Specials(()) if specials is None else specials)
        self._text, self._number = "", 0

    def feed(self, piece: str | Token) -> list[Call]:
        """The calls that end with this piece."""
        reader, found, new = self._reader, list[Call](), self._reader.coder.pieces([piece])
        self._text += new
        at = self._next_call() if reader.last_letter in new else None
        while at is not None:
            try:
                call, end = reader.call(self._text, at, self._number)
            except ValueError:
                break
            found.append(call)
            self._number += 1
            self._text = self._text[end:]
            at = self._next_call()
        return found

    def _next_call(self) -> int | None:
        """Where the next call begins, if it has begun."""
        reader = self._reader
        if self._number:
            begun = reader.further.match(self._text)
            return begun.end() if begun else None
        try:
            return reader.first_call(self._text, reader.reasoning(self._text)[1])
        except ValueError:  # in the reasoning
            return None


class TextReader:
    """Reads reasoning and content while a text is written, as far as they are certain."""

    def __init__(self, tools: Tools, specials: Specials | None = None):
        self._reader = TurnReader(tools, Specials(()) if specials is None else specials)
        self._text, self._told = "", {"reasoning": 0, "content": 0}
        self._from: int | None = None  # where the content begins

    def feed(self, piece: str | Token) -> tuple[str, str]:
        """How the reasoning and the content go on with this piece."""
        self._text += self._reader.coder.pieces([piece])
        reasoning = "" if self._from is not None else self._more_reasoning()
        return reasoning, "" if self._from is None else self._more_content(self._from)

    def _more_reasoning(self) -> str:
        reader, text = self._reader, self._text
        tools, coder = reader.tools, reader.coder
        if not tools.thinks:
            empty = coder.text(tools.no_thought)
            if not empty.startswith(text) or len(text) >= len(empty):
                self._from = len(empty) if text.startswith(empty) else 0
            return ""
        begin, end, blanks = map(coder.text, tools.format.reasoning or ("", "", ""))
        start = len(begin) if tools.opened != "open" else 0
        until = text.find(end, start)
        if until < 0:
            return self._new("reasoning", text[start : len(text) - held(text[start:], [end])])
        if len(text) >= until + len(end + blanks):
            self._from = until + len(end + blanks)
        return self._new("reasoning", text[start:until])

    def _more_content(self, at: int) -> str:
        reader, text = self._reader, self._text[at:]
        tools, (before, after) = reader.tools, reader.content
        endings = [after]
        if tools.callable:
            opening = reader.lead + reader.opening
            if text[: len(opening)] == opening[: len(text)]:  # a call begins, or may
                return ""
            if (
                tools.answer is None and tools.mode == "any" and reader.beside is not None
            ):  # calls may come after a text
                if reader.lead + reader.beside[0] != before:
                    return ""
                begun = text.find(reader.opening)
                endings = [after, reader.beside[1] + reader.opening]
                if begun >= 0:
                    text, endings = text[:begun], [reader.beside[1]]
        if not text.startswith(before):
            return ""
        return self._new("content", text[len(before) : len(text) - held(text[len(before) :], endings)])

    def _new(self, name: str, text: str) -> str:
        """What of a text has not been told yet."""
        told = self._told[name]
        self._told[name] = max(told, len(text))
        return self._reader.coder.plain(text[told:])


def held(text: str, endings: Iterable[str]) -> int:
    """How many of the last letters may be the beginning of an ending."""
    return max(
        (n for ending in endings for n in range(1, min(len(ending), len(text)) + 1) if text.endswith(ending[:n])),
        default=0,
    )


class TurnReader:
    """Reads texts of some tools, coded: special tokens are characters (texts.py)."""

    def __init__(self, tools: Tools, specials: Specials):
        self.tools, form, coder = tools, tools.format, Coder(specials)
        self.coder = coder
        self.opening, self.between = coder.text(tools.opening), coder.text(form.between or "")
        self.lead, self.section = coder.text(form.lead), [coder.text(text) for text in form.section]
        self.content = [coder.text(text) for text in tools.around(form.content)]
        self.beside = None if form.beside is None else [coder.text(text) for text in tools.around(form.beside)]
        self.marks = [coder.text(mark) for mark in tools.marks() if mark]
        after = form.call[2] or ("" if isinstance(form.arguments, Entries) else "}")
        ends_open = after.endswith(("{id}", "{index}", "{name}"))
        self.last_letter = "" if ends_open else coder.text(after)[-1:]  # of a call; "": it may be any
        ends = "".join(re.escape(coder.text(text)[0]) for text in tools.after_name if text)
        self._slots = {"name": f"[^{ends}]+", "id": form.id, "index": INDEX}
        self._head = re.compile(coder.pattern(f"{form.call[0]}{{name}}{form.call[1]}", self._slots))
        # Between calls, and after the last one. Where nothing else ends JSON, more white space may follow it.
        blanks = "" if form.call[2].strip() or isinstance(form.arguments, Entries) else f"{BLANKS}?"
        begin = re.escape(coder.text(SLOT.split(form.call[0])[0]))
        self.further = re.compile(f"{blanks}{re.escape(self.between)}(?={begin})")
        self._end = re.compile(rf"{blanks}{re.escape(self.section[1])}\Z")

    def turn(self, text: str) -> Turn:
        reasoning, at = self.reasoning(text)
        begun = self.first_call(text, at) if self.tools.callable else None
        if begun is not None:
            try:
                calls = self._calls(text, begun)
                beside = text[at + len(self.lead) : begun - len(self.section[0])]
                return Turn(reasoning, self._beside(beside), calls, self.tools)
            except ValueError:
                if self.tools.answer is None and not self.content[0]:  # an answer that begins as a call does
                    raise
        self._expect(self.tools.mode in ("any", "none"), text, at, "a call")
        return Turn(reasoning, self._content(text[at:]), (), self.tools)

    def _calls(self, text: str, at: int) -> tuple[Call, ...]:
        """The calls from the first one to the end."""
        calls = list[Call]()
        form = self.tools.format
        may_go_on = self.tools.parallel and self.tools.mode != "one" and form.between is not None
        while True:
            call, at = self.call(text, at, len(calls))
            calls.append(call)
            if self._end.match(text, at):
                return tuple(calls)
            further = self.further.match(text, at)
            self._expect(further is not None and may_go_on, text, at, "the end of the turn")
            assert further is not None
            at = further.end()

    def reasoning(self, text: str) -> tuple[str | None, int]:
        """The reasoning, and where it ends."""
        tools = self.tools
        if not tools.thinks:
            empty = self.coder.text(tools.no_thought)
            return None, len(empty) if text.startswith(empty) else 0
        begin, end, blanks = map(self.coder.text, tools.format.reasoning or ("", "", ""))
        start = len(begin) if tools.opened != "open" else 0
        self._expect(start == 0 or text.startswith(begin), text, 0, "the reasoning")
        until = text.find(end, start)
        self._expect(until >= start and text.startswith(end + blanks, until), text, start, "the end of the reasoning")
        return self.coder.plain(text[start:until]), until + len(end + blanks)

    def first_call(self, text: str, at: int) -> int | None:
        """Where the first call begins, if there is one: at once, or after a text."""
        start = at + len(self.lead)
        begun = text.find(self.opening, start) if text.startswith(self.lead, at) else -1
        has_text = self.tools.answer is None and self.tools.mode == "any" and self.beside is not None
        if begun < 0 or (begun > start and not has_text):
            return None
        return begun + len(self.section[0])

    def call(self, text: str, at: int, number: int) -> tuple[Call, int]:
        """The call that begins here, and where it ends."""
        form, head = self.tools.format, self._head.match(text, at)
        self._expect(head is not None, text, at, "a call")
        assert head is not None
        name = head["name"]
        tool = self.tools.callable.get(name)
        self._expect(tool is not None, text, at, "the name of a tool")
        assert tool is not None
        known = head.groupdict()
        end = self.coder.pattern(form.call[2], self._slots, known)
        closing = re.compile(end if isinstance(form.arguments, Entries) else f"{BLANKS}?{end}")
        if isinstance(form.arguments, Entries):
            reader = EntryReader(form.arguments, self.tools.arguments_of(tool), self.coder, closing, form.call[2])
            arguments, after = reader.read(text, head.end())
            source = json.dumps(arguments, ensure_ascii=False)
        else:
            arguments, after = decoded(text, head.end())
            source = text[head.end() : after].strip()
        self._expect(isinstance(arguments, dict), text, head.end(), "an object of arguments")
        tail = closing.match(text, after)
        self._expect(tail is not None, text, after, "the end of the call")
        assert tail is not None
        self._expect(not self.coder.has_tokens(source), text, after, "no special tokens in arguments")
        known |= tail.groupdict()
        index = known.get("index") or str(number + form.first_index)
        own = "call_{index}" if form.call_id is None else form.call_id
        id = known.get("id") or own.replace("{name}", name).replace("{index}", index)
        is_numbered = not known.get("id") and form.call_id is None
        written = self.coder.plain(text[at : tail.end()])
        return Call(name, arguments, id, written, tool, source, is_numbered), tail.end()

    def _content(self, text: str) -> str:
        before, after = self.content
        is_whole = text.startswith(before) and text.endswith(after) and len(text) >= len(before + after)
        self._expect(is_whole, text, 0, "a text")
        inner = text[len(before) : len(text) - len(after)]
        if self.tools.answer is None:
            self._expect(not any(mark in inner for mark in self.marks), text, 0, "a text without the mark of a call")
        return self.coder.plain(inner)

    def _beside(self, text: str) -> str:
        """The text before calls."""
        if not text:
            return ""
        self._expect(self.beside is not None, text, 0, "no text before a call")
        before, after = self.beside or ("", "")
        is_whole = text.startswith(before) and text.endswith(after) and len(text) > len(before + after)
        self._expect(is_whole, text, 0, "a text before a call")
        inner = text[len(before) : len(text) - len(after)]
        self._expect(not any(mark in inner for mark in self.marks), text, 0, "a text without the mark of a call")
        return self.coder.plain(inner)

    def _expect(self, holds: bool, text: str, at: int, what: str) -> None:
        if not holds:
            raise ValueError(f"no turn of {self.tools!r:.120}: {what} should be at {brief(text[at : at + 60], 80)}")
