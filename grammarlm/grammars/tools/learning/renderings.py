"""Conversations rendered by a chat template, and the texts cut where their parts meet.

    renderings = Renderings(ChatTemplate(source))
    renderings.turn([("get_time", {"zone": "UTC"}, "call00001")])    what follows the user's words

Names and values in these conversations are words that no template writes by itself, so they are found again in what it writes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from grammarlm.errors import GrammarError, LimitExceeded

from ..layout import Entries, filled, json_text
from .chat_template import ChatTemplate

ASKED, ANSWER, THOUGHT = "uvwasked", "uvwanswer", "uvwthought"
NAMES = ("zfn_one", "yfn_two", "xfn_three")
OTHER_NAME = "Get-time2"  # in conversations of which nothing is learned
IDS = ("abcdefg41", "abcdefg42", "abcdefg43")
KINDS = {
    "qks": "string",
    "rkn": "integer",
    "flag": "boolean",
    "ratio": "number",
    "nest": "object",
    "rows": "array",
    "nil": "string",
}
# Names of special tokens as templates write them, and tags, from or to which a name was taken out: a text is not cut inside.
MARKER = re.compile(r"<[^<>\n]{1,80}>|\[/?[A-Z_]{3,}\]")
OPENED = re.compile(r"<(\w[\w:]*)>\s*")  # what a prompt may end with, if it opens the reasoning
CUT = re.compile(rf"{MARKER.pattern}|<[^<>\n]{{0,80}}$|^[^<>\n]{{0,80}}>")

T = TypeVar("T")
Call = tuple[Any, ...]  # (name, arguments) or (name, arguments, id)


class NotRegular(GrammarError):
    """A template does not write calls in a way that the fields of a format say; the message says what was looked for."""


class NoCalls(NotRegular):
    """A template writes no calls at all."""


def _tool(name: str) -> dict[str, Any]:
    properties: dict[str, Any] = {key: {"type": kind, "description": "d"} for key, kind in KINDS.items()}
    properties["rows"]["items"] = {"type": "string"}
    parameters = {"type": "object", "properties": properties, "required": ["qks"]}
    return {"type": "function", "function": {"name": name, "description": "d", "parameters": parameters}}


TOOLS = [_tool(name) for name in (*NAMES, OTHER_NAME)]


class Renderings:
    """What a template writes after the user's words."""

    def __init__(
        self, template: ChatTemplate, as_text: bool = False, no_text: str | None = "", call_id: str | None = None
    ):
        self.template, self.as_text, self.no_text, self.call_id = template, as_text, no_text, call_id
        self._known = dict[str, str]()  # what was rendered before: all renderings are paid for

    def turn(
        self, calls: Sequence[Call] = (), content: str = "", thought: str | None = None, then: str = "", **options: Any
    ) -> str:
        """An assistant's turn; `then`: the role of a message that follows."""
        message: dict[str, Any] = {"role": "assistant", "content": content or self.no_text}
        if calls:
            message["tool_calls"] = [self._call(index, *call) for index, call in enumerate(calls)]
        if thought is not None:
            message |= dict.fromkeys(("reasoning_content", "reasoning", "thinking"), thought)
        result = {"tool_call_id": self._id(0, *calls[0]), "name": calls[0][0]} if calls else {}
        following = [{"role": then, "content": "uvwthen"} | result] if then else []
        text = self._after([message, *following], add_generation_prompt=False, **options)
        return begun(attempt(lambda: self.prompt(**options)) or "", text)

    def prompt(self, **options: Any) -> str:
        """What precedes an assistant's turn."""
        return self._after([], add_generation_prompt=True, **options)

    def asked(self) -> str:
        """What follows the user's words where no turn follows."""
        return self._after([], add_generation_prompt=False)

    def _call(self, index: int, name: str, arguments: Any, *given: str) -> dict[str, Any]:
        written = json_text(arguments) if self.as_text else arguments
        function = {"name": name, "arguments": written}
        return {"id": self._id(index, name, arguments, *given), "type": "function", "function": function}

    def _id(self, index: int, name: str, arguments: Any, *given: str) -> str:
        return (
            filled(self.call_id, {"{name}": name, "{index}": str(index)})
            if self.call_id
            else [*given, IDS[index % len(IDS)]][0]
        )

    def _after(self, messages: list[dict[str, Any]], **options: Any) -> str:
        key = repr((messages, options))
        if key not in self._known:
            asked = [{"role": "user", "content": ASKED}, *messages]
            self._known[key] = self.template.render(messages=asked, tools=TOOLS, **options)
        _, found, after = self._known[key].rpartition(ASKED)
        if not found:
            raise NotRegular("the user's words are not in what the chat template writes")
        return after


def attempt(render: Callable[[], T]) -> T | None:
    """What is rendered; None where a template refuses it, or leaves out what was looked for."""
    try:
        return render()
    except LimitExceeded:
        raise
    except GrammarError:
        return None


def pieces(text: str, marks: Sequence[str]) -> list[str]:
    """The texts before, between and after marks that stand in this order."""
    found, at = [], 0
    for mark in marks:
        where = text.find(mark, at)
        if where < 0:
            raise NotRegular(f"{mark!r} is not where it was looked for in what the chat template writes")
        found.append(text[at:where])
        at = where + len(mark)
    return [*found, text[at:]]


def begun(prompt: str, text: str) -> str:
    """A turn that begins as its prompt does but for white space, with that of the prompt, also at the prompt's end: templates that
    are indented write more blanks in some of their branches than in others."""
    places = [at for at, letter in enumerate(text) if not letter.isspace()]
    letters = [at for at, letter in enumerate(prompt) if not letter.isspace()]
    same = _alike(["".join(map(prompt.__getitem__, letters)), "".join(map(text.__getitem__, places))])
    ends = [match.end() for match in MARKER.finditer(prompt) if same and match.end() <= letters[same - 1] + 1]
    if ends and prompt[: ends[-1]] != text[: ends[-1]]:
        text = prompt[: ends[-1]] + text[places[letters.index(ends[-1] - 1)] + 1 :]
    said = text.removeprefix(prompt.rstrip())
    is_other = prompt.strip() and said != text and said[:1].isspace() and not text.startswith(prompt)
    opens = any(
        match.end() == len(prompt) for match in OPENED.finditer(prompt)
    )  # a thought, which has blanks of its own
    return prompt + said.lstrip() if is_other and not opens else text


def is_border(left: str, right: str) -> bool:
    """Whether no marker runs from one text into the other."""
    left, right = left[-100:], right[:100]
    return not any(match.start() < len(left) < match.end() for match in CUT.finditer(left + right))


def _alike(texts: Sequence[str]) -> int:
    """With how many characters all begin."""
    return next(
        (at for at, letters in enumerate(zip(*texts, strict=False)) if len(set(letters)) > 1), min(map(len, texts))
    )


def common_start(one: str, other: str) -> Iterator[int]:
    """Lengths of texts with which both begin, the longest first, and only whole markers."""
    for size in range(_alike([one, other]), -1, -1):
        if is_border(one[:size], one[size:]) and is_border(other[:size], other[size:]):
            yield size


def common_end(one: str, other: str) -> Iterator[int]:
    """The same of texts with which both end."""
    for size in range(_alike([one[::-1], other[::-1]]), -1, -1):
        if all(is_border(text[: len(text) - size], text[len(text) - size :]) for text in (one, other)):
            yield size


def shares(opening: str, mid: str, gap: str, closing: str, whole: str | None = None) -> tuple[int, int]:
    """How much of the gap between two things stands before the first, too, and how much after the last; the rest is a gap proper.

    All ways write the same, but some read better, and in values inside values they differ: the least gap proper, then an end that
    is no white space, and then one that ends as `mid` does, which stands inside the things. `whole`: what stands there
    without things.
    """
    begins, ends = list(common_end(opening, gap)), list(common_start(closing, gap))
    ways = [(begin, end) for begin in begins for end in ends if begin + end <= len(gap)]

    def faults(way: tuple[int, int]) -> tuple[bool, int, bool, int, int]:
        begin, end = way
        left = opening[: len(opening) - begin] + closing[end:]
        alike = _alike([closing[:end][::-1], mid[::-1]])
        return left != whole, -begin - end, closing[:end] != closing[:end].rstrip(), -alike, -begin

    return min(ways, key=faults)


def numbered(texts: Sequence[str]) -> tuple[str, int | None]:
    """The text that all are, but for a number that counts up, which becomes {index}; and the first of these numbers."""
    if len(set(texts)) == 1:
        return texts[0], None
    start = _alike(texts)
    end = _alike([text[::-1] for text in texts])
    numbers = [text[start : len(text) - end] for text in texts]
    first = int(numbers[0]) if numbers[0].isdigit() else -1
    if first < 0 or numbers != [str(first + index) for index in range(len(texts))]:
        raise NotRegular("calls are not all written in the same way")
    return texts[0][:start] + "{index}" + texts[0][len(texts[0]) - end :], first


@dataclass(frozen=True)
class Shape:
    """What stands around names and arguments in a turn with calls."""

    before: str  # from the user's words to the first name
    mid: str  # between name and arguments
    after: str  # from the last arguments to the end of the turn
    between: str | None  # from arguments to the next name; None: one call a turn
    arguments: str | Entries = "json"
    json: str = "spaced"
    first_index: int = 0


def shape_of(one: Sequence[str], three: Sequence[str] | None) -> Shape:
    """The shape from the pieces of a turn with one call, and with three if there can be so many: before the first name, and then
    what follows each name and each call's arguments."""
    before, mid, after = (_placed(text) for text in one)
    if three is None:
        return Shape(before, mid, after, None)
    three = [_placed(text) for text in three]
    mid, first = numbered(three[1::2])
    between, number = numbered(three[2:-1:2])
    if three[0] != before or (first is None and mid != _placed(one[1])):
        raise NotRegular("one call is written otherwise than the first of several")
    if number is not None:
        start, _, end = between.partition("{index}")
        if before.endswith(f"{number - 1}{end}"):  # of the call that follows
            first, before = number - 1, before[: len(before) - len(f"{number - 1}{end}")] + "{index}" + end
        elif after.startswith(f"{start}{number}"):  # of the call before
            first, after = number, start + "{index}" + after[len(f"{start}{number}") :]
        else:
            raise NotRegular("calls are counted in a way that is not understood")
    return Shape(before, mid, after, between, first_index=first or 0)


def _placed(text: str) -> str:
    """A piece with {id} and {name} where ids and names stand."""
    for words, place in ((IDS, "{id}"), (NAMES, "{name}")):
        for word in words:
            text = text.replace(word, place)
    return text
