"""What stands around the calls of a turn, learned from a chat template: reasoning, a text, the tokens that end the turn."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import reduce
from typing import Any

from ..layout import Layout, filled
from .renderings import (
    ANSWER,
    IDS,
    MARKER,
    NAMES,
    OPENED,
    THOUGHT,
    Renderings,
    Shape,
    attempt,
    common_end,
    common_start,
    pieces,
    shares,
)

CALLS = [(NAMES[0], {"qks": "valone"}, IDS[0])]
THINKING = {"enable_thinking": True, "thinking": True}
SILENT = {"enable_thinking": False, "thinking": False}
TEXTS = "two\nlines", 'and "one"'


class Turn:
    """An assistant's turn cut at what it says; what a template does not write is None."""

    def __init__(self, renderings: Renderings, shape: Shape):
        self.renderings, self.shape = renderings, shape
        self.before = filled(shape.before, {"{index}": str(shape.first_index), "{id}": IDS[0], "{name}": NAMES[0]})
        answered = self._cut([ANSWER], content=ANSWER)
        self.answered = answered or ["", ""]
        self.options: dict[str, Any] = {}
        self.thought = self._cut([THOUGHT, NAMES[0]], CALLS, thought=THOUGHT)
        if self.thought is None:
            self.options = THINKING
            self.thought = self._cut([THOUGHT, NAMES[0]], CALLS, thought=THOUGHT, **THINKING)
        self.mused = self._cut([THOUGHT, ANSWER], content=ANSWER, thought=THOUGHT, **self.options)
        thinking = {"thought": THOUGHT, **self.options} if self.thought else {}
        self.beside = self._cut([ANSWER, NAMES[0]], CALLS, content=ANSWER, **thinking)
        self.head = ""  # up to the turn proper
        self.begin = self.end = self.follows = ""  # of the reasoning
        self._learn_reasoning([texts for texts in (answered, self.mused, self.thought) if texts])

    def _cut(self, marks: list[str], calls: Any = (), **said: Any) -> list[str] | None:
        return attempt(lambda: pieces(self.renderings.turn(calls, **said), marks))

    def _learn_reasoning(self, turns: list[list[str]]) -> None:
        """Around thoughts as they are written, or as prompts open and close them."""
        thoughts = [texts for texts in (self.mused, self.thought) if texts]
        prompts = [attempt(lambda o=options: self.renderings.prompt(**o)) for options in ({}, THINKING, SILENT)]  # type: ignore[misc]
        known = [text for text in prompts if text is not None]  # a template may refuse to think, or not to
        self.head = reduce(_shared, [*known[:1], self.before, *(texts[0] for texts in turns)])
        begun = [text for text in known if _shared(self.head, text).strip()]  # others say something to the user
        self.head = reduce(_shared, begun, self.head)
        marker = MARKER.search(thoughts[0][1]) if thoughts else None
        if marker is None:
            self._learn_from_prompts(begun)
            return
        start = thoughts[0][0]
        opened = None if start[len(self.head) :].strip() else self._opening(start)
        self.head = self.head[: opened.start()] if opened else self.head  # every rendering has thoughts, if empty ones
        self.begin, self.end = start[len(self.head) :], marker.group()
        whole = self._closing(thoughts, marker.end())
        silent = prompts[-1] or ""
        closed = silent.rpartition(self.head)[2] if self.head else ""
        if self.end in closed:
            self.follows = closed.rpartition(self.end)[2]
            self.end = whole[: whole.rfind(self.end)] + self.end
        else:
            self.end, self.follows = whole.rstrip(), whole[len(whole.rstrip()) :]

    def _learn_from_prompts(self, prompts: list[str]) -> None:
        """Of a template that writes no thoughts: one prompt may open the reasoning, and one hold reasoning that is empty."""
        openings = [opened for text in prompts if (opened := self._opening(text))]
        if not openings:
            return
        opened = min(openings, key=_rest)
        tag, end = f"<{opened.group(1)}>", f"</{opened.group(1)}>"
        self.head, self.begin, self.end = self.head[: opened.start()], opened.group(), end
        self.follows = "\n\n" if "\n" in self.begin else ""
        empty = re.compile(rf"(?:{re.escape(tag)}(\s*))?{re.escape(end)}(\s*)$")
        for closed in filter(None, (empty.search(text, len(self.head)) for text in prompts)):
            blanks, self.follows = closed[1], closed[2] or self.follows
            if blanks is None:  # it only ends the reasoning
                continue
            if closed.start() == opened.start() and closed.string == opened.string:  # no prompt leaves it open
                self.begin = tag + blanks[: (len(blanks) + 1) // 2]
            self.end = blanks.removeprefix(self.begin.removeprefix(tag)) + end

    def _opening(self, text: str) -> re.Match[str] | None:
        """Where a prompt opens the reasoning: after what all turns begin with, or, where all turns have reasoning, at its end."""
        for match in OPENED.finditer(text):
            thinks = any(word in match.group().lower() for word in ("think", "thought", "reason"))
            if match.start() >= len(self.head) or (thinks and match.end() >= len(self.head)):
                return match
        return None

    def _closing(self, thoughts: list[list[str]], ended: int) -> str:
        """What stands between a thought and what is said then."""
        for texts, start in ((self.mused, self.answered[0]), (self.thought, self.before)):
            said = start[len(self.head) :]
            if texts and not self._is_closed(said) and texts[1].endswith(said):
                return texts[1][: len(texts[1]) - len(said)]
        alone = self._cut([THOUGHT], thought=THOUGHT, **self.options)
        closings = [texts[1] for texts in (*thoughts, alone) if texts]
        return reduce(_shared, closings) if len(thoughts) > 1 else thoughts[0][1][:ended]

    def _is_closed(self, text: str) -> bool:
        """Whether reasoning that is empty, or its end alone, stands before what is said."""
        return bool(self.end) and text.lstrip().startswith((self.begin.strip(), self.end.strip()))

    def said(self, text: str) -> str:
        """The beginning of a turn without what comes before it and without empty reasoning."""
        text = text[len(self.head) :]
        return text.partition(self.end.strip())[2].removeprefix(self.follows) if self._is_closed(text) else text

    def format(self) -> Layout:
        shape, whole = self.shape, self.end + self.follows
        opening, answer = self.said(self.before), self.said(self.answered[0])
        if self.thought and self.thought[1].startswith(whole) and self.before.endswith(self.thought[1][len(whole) :]):
            opening = self.thought[1][len(whole) :]
        gap = ""
        if self.mused and self.mused[1].startswith(whole):
            plain, answer = answer, self.mused[1][len(whole) :]
            gap = "" if plain or answer.strip() else answer
        ended, tail, stop = self._stops()
        closing = shape.after[: len(shape.after) - len(tail)]
        lead, beside = self._beside(opening)
        opened = shape.before[len(self.before) - len(opening) + len(lead) :]
        between = shape.between
        before, after = (len(opened), len(closing)) if between is None else shares(opened, shape.mid, between, closing)
        return Layout(
            name="learned",
            call=(opened[len(opened) - before :], shape.mid, closing[:after]),
            section=(opened[: len(opened) - before], closing[after:]),
            between=None if between is None else between[after : len(between) - before],
            arguments=shape.arguments,
            json=shape.json,
            first_index=shape.first_index,
            reasoning=(self.begin, self.end, self.follows) if self.end else None,
            content=(answer, ended),
            beside=beside,
            lead=lead,
            thought_gap=gap,
            turn=self.head.removeprefix(attempt(self.renderings.asked) or ""),
            stop=stop,
        )

    def _beside(self, opening: str) -> tuple[str, tuple[str, str] | None]:
        """What a turn with calls begins with, with a text and without, where that must be told; what stands around the text."""
        if self.beside is None:
            return "", None
        before, after = self.beside[:2]
        said = before.partition(THOUGHT + self.end + self.follows)[2] if self.thought else self.said(before)
        for size in (0, *common_start(said, opening)):
            if after.endswith(opening[size:]):
                return opening[:size], (said[size:], after[: len(after) - len(opening) + size])
        return "", None

    def _stops(self) -> tuple[str, str, tuple[str, str]]:
        """What follows an answer before its last token, what follows all calls from theirs on, and these tokens."""
        answered, called = self.answered[1], self.shape.after
        tail = called[len(called) - next(common_end(called, answered)) :]
        if tail.strip():
            earlier = self.before[len(self.head) :] + self.shape.mid + called[: len(called) - len(tail)]
            markers = _markers(tail)
            stop = next((marker for marker in markers if marker not in earlier), markers[0])
            size = len(tail) - tail.find(stop)
            return answered[: len(answered) - size], called[len(called) - size :], (stop, stop)
        # One of the two is left open, since nothing follows it, or they end in different tokens.
        stop = _markers(answered)[-1] or self._next(self._cut([ANSWER], content=ANSWER, then="user"), answered)
        ended = answered[: answered.rfind(stop)] if stop in answered else answered
        if stop and stop in called:
            return ended, called[called.rfind(stop) :], (stop, stop)
        last = _markers(called)[-1]
        if answered.strip() and not (self.shape.between or "").startswith(called[: called.rfind(last) + len(last)]):
            return ended, called[called.rfind(last) :], (last, stop)
        return ended, "", (self._next(self._cut([NAMES[0], "valone"], CALLS, then="tool"), called), stop)

    def _next(self, texts: list[str] | None, before: str) -> str:
        """The token with which the next turn begins: who speaks then is what the model writes last."""
        following = texts[-1].partition(before)[2] if texts and before else texts[-1] if texts else ""
        match = MARKER.match(following.lstrip())
        return match.group() if match else ""

    def verified(self, found: Layout) -> Layout:
        """The format without a reasoning or a text that the template writes otherwise beside calls."""
        thought, text = TEXTS
        written = found.write(CALLS)
        start, end = pieces(self.renderings.turn(CALLS), [written])
        thinking: dict[str, Any] = {"thought": thought, **self.options} if self.thought else {}
        if self.thought and found.reasoning:
            start = self.head + found.reasoning[0] + thought + found.reasoning[1] + found.reasoning[2] + found.lead
            if self.renderings.turn(CALLS, **thinking) != start + written + end:
                found = replace(found, reasoning=None)
        if found.beside is not None:
            start += found.beside[0] + text + found.beside[1]
            if attempt(lambda: self.renderings.turn(CALLS, content=text, **thinking)) != start + written + end:
                found = replace(found, beside=None)
        return found


def _markers(text: str) -> list[str]:
    """The names of tokens in a text; of none, all of it."""
    return [match.group() for match in MARKER.finditer(text)] or [text.strip()]


def _rest(opened: re.Match[str]) -> int:
    """How much follows an opening: nothing in a prompt that leaves the reasoning to the model."""
    return len(opened.string) - opened.end()


def _shared(one: str, other: str) -> str:
    """What both texts begin with."""
    return one[: next(common_start(one, other))]
