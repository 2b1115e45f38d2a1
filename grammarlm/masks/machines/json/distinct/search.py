"""The search for an end that repeats no item.

While the item being read can still become an earlier one, a text lives if something else can come. What does not lead away from all
earlier items spells one of them on, so the search is over few texts: byte by byte, until a thread is safe
(Steps.is_safe). It runs in the reader's machine (endings/reader.py), where everything is rolled back.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

import numpy as np

from grammarlm.errors import LimitExceeded
from grammarlm.layout.json import ROW, Kind
from grammarlm.layout.table import DEAD
from grammarlm.masks.machines.json.configs import key
from grammarlm.masks.machines.json.endings.texts import Thread
from grammarlm.masks.machines.json.skeleton import single_bytes

from .number_ends import number_ends
from .steps import Steps
from .tracker import BLANKS, KEY, SCALAR, TEXT, Tracker

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from grammarlm.masks.machines.json.endings.reader import Reader

    from .freedom import Freedom

MOST_STEPS = 20_000
MOST_ZEROS, MOST_EXPONENT = 25, 2  # of numbers that are tried: more zeros and digits of an exponent name no others
BYTES = [bytes([byte]) for byte in range(256)]
ENDS_NUMBER = (b",", b"]", b"}")


class Search:
    """Searches from the threads of a reader. To be used within its scratch."""

    def __init__(self, reader: Reader, freedom: Freedom):
        self.reader = reader
        self._values = freedom.numbers
        self.steps = Steps(reader.machine, freedom)
        self._tokens = single_bytes(reader.program.vocab)
        self._row = np.zeros(reader.program.vocab.words, np.int32)

    def lives(self, thread: Thread, tracker: Tracker) -> bool:
        """Can the thread be ended so that no item comes twice?"""
        steps = self.steps
        return steps.is_safe(thread, tracker) or self._way(thread, tracker, steps.is_safe, is_deep=True) is not None

    def away(self, thread: Thread, tracker: Tracker) -> bytes | None:
        """The shortest text after which no item can become an earlier one, whatever follows; None where there is none."""
        return self._way(thread, tracker, lambda each, then: not self.steps.risks(each, then, {}), is_deep=False)

    def _way(
        self, thread: Thread, tracker: Tracker, is_enough: Callable[[Thread, Tracker], bool], is_deep: bool
    ) -> bytes | None:
        """A text after which a thread is enough: the shortest, or one that is soon found by going on where something was found."""
        queue = deque[tuple[int, Tracker, bytes]]([(self.reader.record(*thread), tracker, b"")])
        seen: set[Hashable] = set()
        while queue:
            record, here, text = queue.pop() if is_deep else queue.popleft()
            self.reader.program.clock.check()
            if len(seen) > MOST_STEPS:
                raise LimitExceeded("whether the items of an array can differ takes too long to find out here")
            for byte in self._following(record, here):
                after, then = self.steps.read(record, here, byte)
                if after == DEAD:
                    continue
                if then is None or any(is_enough(each, then) for each in self.steps.threads(after)):
                    return text + byte
                known = key(self.steps.machine, after), then
                if known not in seen:
                    seen.add(known)
                    queue.append((after, then, text + byte))
        return None

    def _following(self, record: int, tracker: Tracker) -> list[bytes]:
        """What may come. White space only where it must; of a number only what can make it another one."""
        threads = self.steps.threads(record)
        if tracker.mode == SCALAR and all(c & 31 == Kind.NUMBER for c, *_ in threads):
            few = [self._values.of(c >> 11 & ROW) for c, *_ in threads]
            if None not in few:
                ends = {end for values in few for value in values or () for end in number_ends(tracker.lexeme, value)}
                return [end + after for end in sorted(ends) for after in ENDS_NUMBER]
        self.steps.machine.fill(record, self._row)
        bits = self._row[self._tokens >> 5] >> (self._tokens & 31) & 1
        found: list[int] = np.flatnonzero((bits != 0) & (self._tokens >= 0)).tolist()
        if tracker.mode == SCALAR:
            found = _of_number(found, tracker.lexeme.lower())
        if tracker.mode not in (TEXT, KEY):
            found = [byte for byte in found if byte not in BLANKS] or found
        return [BYTES[byte] for byte in found]


def _of_number(found: list[int], lexeme: bytes) -> list[int]:
    """Without zeros and digits of an exponent that lead to no other values."""
    mantissa, ended, exponent = lexeme.partition(b"e")
    may_end = any(BYTES[byte] in ENDS_NUMBER for byte in found)
    if ended and may_end and len(exponent.lstrip(b"+-")) >= MOST_EXPONENT:
        return [byte for byte in found if BYTES[byte] in ENDS_NUMBER]
    if not ended and mantissa.endswith(b"0" * MOST_ZEROS):
        found = [byte for byte in found if byte != ord("0")]
    return [byte for byte in found if byte != ord("E")]
