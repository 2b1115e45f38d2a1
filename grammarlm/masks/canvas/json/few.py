"""Keys of which only few spellings are left: partly given, and of a language that says what keys may be.

Keys of an object that must differ are a matching problem: n keys can be told apart unless some m of them have less than m spellings
together. So only keys with less spellings than there are partly given keys in the row matter, and all their spellings are tracked.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import cache

Step = Callable[[int], list[tuple[int, int]]]  # (byte, state) after a state
OPENED = re.compile(rb'"([^"\\]*)$')
INSIDE = re.compile(rb'[^"\\]*$')
CLOSED = re.compile(rb'([^"\\]*)"[ \t\r\n]*(?::|$)')
LONGEST, MOST_STEPS = 200, 4000  # bytes of a key; steps of a search
MOST_KNOWN = 4096  # patterns
MANY = 50  # spellings: a row has not as many partly given keys
Pattern = tuple[bytes | None, ...]  # None: a masked token


def partly_given(runs: Sequence[bytes]) -> list[Pattern]:
    """What is known of the keys that masked tokens complete; `runs`: bytes of given tokens between masked ones."""
    found = list[Pattern]()
    open_ones: Pattern | None = None
    for at, run in enumerate(runs):
        closed = CLOSED.match(run)
        if at and open_ones is not None:
            if closed:
                found.append((*open_ones, closed[1]))
            elif INSIDE.match(run):
                open_ones = (*open_ones, run, None) if run else (*open_ones, None)
                continue
            else:
                found.append(open_ones)
        elif at and closed and closed[1]:
            found.append((None, closed[1]))
        opened = OPENED.search(run)
        open_ones = (opened[1], None) if opened and at + 1 < len(runs) else None
    if open_ones is not None:
        found.append(open_ones)
    return [pattern for pattern in found if any(pattern)]


class Spellings:
    """The strings that patterns allow, of some languages; kept, since a row has the patterns of the row before, but for one."""

    def __init__(
        self, starts: Iterable[int], step: Step, accepts: Callable[[int], bool], is_token: Callable[[bytes], bool]
    ):
        self._starts, self._is_token = list(starts), is_token
        self._step, self._accepts = cache(step), cache(accepts)
        self._known: dict[tuple[Pattern, bool], set[bytes] | None] = {}

    def of(self, pattern: Pattern, are_tokens: bool) -> set[bytes] | None:
        """`are_tokens`: only those whose masked tokens stand for themselves."""
        name = pattern, are_tokens
        if name not in self._known:
            if len(self._known) >= MOST_KNOWN:
                self._known.clear()
            is_token = self._is_token if are_tokens else None
            self._known[name] = spellings(pattern, self._starts, self._step, self._accepts, is_token)
        return self._known[name]


def spellings(
    pattern: Pattern,
    starts: Iterable[int],
    step: Step,
    accepts: Callable[[int], bool],
    is_token: Callable[[bytes], bool] | None,
) -> set[bytes] | None:
    """The strings of some languages that a pattern allows; None where there are many, or they are long.

    With `is_token` only those whose masked tokens stand for themselves; else those of several tokens and escapes, too.
    """
    found: set[bytes] = set()
    waiting: list[tuple[int, bytes, int, int]] = [
        (start, b"", 0, 0) for start in starts
    ]  # state, text, part, bytes of it
    seen = 0
    while waiting:
        state, text, part, at = waiting.pop()
        seen += 1
        if len(text) > LONGEST or seen > MOST_STEPS or len(found) > MANY:
            return None
        if part == len(pattern):
            if accepts(state):
                found.add(text)
            continue
        here = pattern[part]
        if at == len(here) if here is not None else at and (is_token is None or is_token(text[-at:])):
            waiting.append((state, text, part + 1, 0))
        if here is None or at < len(here):
            waiting += [
                (after, text + bytes([byte]), part, at + 1)
                for byte, after in step(state)
                if here is None or byte == here[at]
            ]
    return found
