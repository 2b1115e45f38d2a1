"""Ctrl-C at any line: what was half made is not used again, and masks are what they are without it.

An interrupt is an exception that rises between two lines of the package, here wherever a trace function counts to. Behind it the
constraint is used again, by the matcher that was interrupted, by a new one, and beside other threads.
"""

import linecache
import random
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import grammarlm as gl
from tests.counts import tiers

PACKAGE = str(Path(gl.__file__).parent)
VOCAB = gl.Vocabulary([bytes([b]) for b in range(256)] + [b"ab", b'"a', b"</s>"], stop_ids=[258])

CASES = {
    "regex": (gl.Regex(r"(a|b)*a(a|b){6}"), b"abbaabab"),
    "gbnf": (gl.Gbnf('root ::= "(" root ")" | [a-z]{1,5} root? | "\\"" [^"\\n]* "\\""'), b'((ab"e e"))'),
    "lark": (
        gl.Lark('start: "(" start ")" | NAME | start "," NAME\nNAME: /[a-z]+/\n%ignore /[ \\n]/'),
        b"((a , b) ,ab)",
    ),
    "earley": (gl.Lark('start: "a" start "a" | "b" | start B\nB: /b(?=a)/'), b"aabbaa"),
    "json": (
        gl.JsonSchema(
            {
                "properties": {"a": {"pattern": "^[ab]{2,4}c?$"}, "b": {"minimum": 12, "type": "integer"}},
                "required": ["a"],
                "additionalProperties": {"type": "array", "uniqueItems": True, "items": {"type": "integer"}},
            }
        ),
        b'{"a": "abc", "b": 13, "c": [1, 2]',
    ),
    "parts": (
        gl.Regex("x+") + gl.JsonSchema({"type": "array", "items": {"enum": ["a", "b"]}}) + gl.Regex("y"),
        b'xx["a", "b"]y',
    ),
    "items": ("x" + gl.Tokens([[97, 98], [97, 99, 100]]), b"x"),
}


class Interrupt(BaseException):
    """What a signal's handler raises."""


@contextmanager
def interrupted_at(count: int) -> Iterator[Callable[[], int]]:
    """Interrupt rises at such a line of the package; yields how many lines have come."""
    lines = 0

    def trace(frame: FrameType, event: str, argument: object) -> Any:
        nonlocal lines
        if not frame.f_code.co_filename.startswith(PACKAGE):
            return None
        if event == "line" and not calls_nothing(frame):
            lines += 1
            if lines == count:
                raise Interrupt
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        yield lambda: lines
    finally:
        sys.settrace(before)


def calls_nothing(frame: FrameType) -> bool:
    """A signal calls its handler after calls alone. `try:` is none; and at its end a block has its first line's number once more:
    an interrupt there would come before its lock is given back."""
    line = linecache.getline(frame.f_code.co_filename, frame.f_lineno).lstrip()
    return line.startswith(("with ", "try:"))


def use(matcher: gl.Matcher, text: bytes) -> list[bytes]:
    """The masks along a text, and what else is made on the way."""
    mask, masks = gl.allocate_mask(2, VOCAB.size), []
    for byte in text:
        gl.fill_masks([matcher, None], mask)
        masks.append(mask[0].tobytes())
        assert matcher.advance(byte)
    matcher.fill_mask(mask)
    return [*masks, mask[0].tobytes()]


def use_all(constraint: gl.Constraint, text: bytes) -> tuple[list[bytes], list[bytes], int]:
    masks = use(constraint.matcher(), text)
    others = [constraint.matcher() for _ in range(len(text) + 1)]
    for length, other in enumerate(others):
        assert other.advance_bytes(text[:length])
    rows = gl.allocate_mask(len(others), VOCAB.size)
    gl.fill_masks(others, rows, threads=2)
    try:
        fewest = others[-1].min_tokens_left
    except gl.GrammarError:
        fewest = -1
    return masks, [row.tobytes() for row in rows], fewest


def check(name: str, places: Callable[[int], list[int]]) -> int:
    """Interrupts the first use of a constraint at such places of all that it comes to; how many."""
    grammar, text = CASES[name]
    wanted = use_all(gl.compile(grammar, VOCAB), text)
    constraint = gl.compile(grammar, VOCAB)
    with interrupted_at(-1) as lines:
        use(constraint.matcher(), text)
        use_all(constraint, text)
    found = 0
    for place in places(lines()):
        constraint = gl.compile(grammar, VOCAB)
        first = constraint.matcher()
        try:
            with interrupted_at(place):
                use(first, text)
                use_all(constraint, text)
        except Interrupt:
            found += 1
        first.reset()
        assert use(first, text) == wanted[0], place
        assert use_all(constraint, text) == wanted, place
    return found


@pytest.mark.parametrize("name", CASES)
@tiers("is_quick", True, False)
def test_interrupts(name: str, is_quick: bool, record_property: Any) -> None:
    def places(lines: int) -> list[int]:
        if is_quick:
            return sorted(random.Random(name).sample(range(1, lines), min(30, lines - 1)))
        return list(range(1, lines, 1 + lines // 5000))

    found = check(name, places)
    assert found > 5
    record_property("interrupts", found)
