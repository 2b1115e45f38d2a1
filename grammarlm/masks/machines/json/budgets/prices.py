"""What classes of threads cost near the end of a budget: sums of a thread's own end, its frame's rest, and the frames around it.

Each of the three is kept under what it depends on, so a class costs a few look-ups. Tokens may span two of them, so the sum may be
a few tokens too high: where it misses the budget by so few, the whole text is tokenized together.
"""

from __future__ import annotations

from grammarlm.layout.json import ARRAY_BIT, ROW, Array, Frame, Kind, Object
from grammarlm.masks.filters.budget import INFINITE
from grammarlm.masks.machines.json.endings.completion import BETWEEN, Endings
from grammarlm.masks.machines.json.endings.reader import AFTER
from grammarlm.masks.machines.json.endings.texts import Thread

KEY, AROUND = -1, -2  # in place of where a text stands in a frame: in a key; in a frame within it
MOST_NUMBERS = 48  # whose ends are computed for one row; others fit where any number does
SPARE = 2
SAVED = 4  # tokens that tokenizing the pieces of a text together may save; most often fewer


class Prices:
    """What threads of one epoch's texts cost."""

    def __init__(self, endings: Endings):
        self._endings, self._reader, self._rows = endings, endings.reader, endings.reader.rows
        self._machine = self._reader.machine
        self._frames: dict[tuple[int, int], int] = {}  # of frames that stay, by where a text stands in them
        self._passing: dict[tuple[int, int], int] = {}  # of frames of the scratch
        self._numbers = 0  # whose ends were computed for the row

    def begin(self, is_new: bool = True) -> None:
        """To be called within a scratch, before the first price in it. `is_new`: a row begins."""
        self._passing.clear()
        self._numbers = 0 if is_new else self._numbers
        if self._machine is not self._reader.machine:  # its frames have new numbers
            self._machine = self._reader.machine
            self._frames.clear()

    def price(self, thread: Thread) -> int:
        """So many tokens end the text from a thread, and from those of its class."""
        c, x, y, f = thread
        kind = c & 31
        if kind == Kind.KEY:
            return self._of_key(thread)
        if kind not in BETWEEN and self._is_unique(f):
            return self._together(thread)
        own = self._endings.own_end(c, x, y)
        if own is None:
            return INFINITE
        return self._reader.tokens(own) + self._of_frame(f, self._endings.where(c, y))

    def fits(self, thread: Thread, left: int) -> bool:
        """Do fewer than `left` tokens end the text?"""
        if thread[0] & 31 == Kind.KEY and self._key_fits(thread, left):
            return True
        if thread[0] & 31 == Kind.NUMBER and not self._is_unique(thread[3]):
            c, x, y, f = thread
            if self._endings.lexemes.numbers.ceiling(c, x, y) + self._of_frame(f, AFTER) < left:
                return True
            self._numbers += 1
            if self._numbers > MOST_NUMBERS:
                return False
        apart = self.price(thread)
        return apart < left or (apart < left + SAVED and self._together(thread) < left)

    def _is_unique(self, f: int) -> bool:
        return f != 0 and self._endings.frames.is_unique(f)

    def _of_frame(self, f: int, where: int) -> int:
        """The tokens of a frame's rest and of what is around it."""
        known = self._frames if f < self._reader.stable else self._passing
        price = known.get((f, where))
        if price is None:
            rest, price = self._endings.frames.rest(f, where), INFINITE
            if rest is not None:
                price = self._reader.tokens(rest) + self._around(f) + self._spare(Kind.AFTER, f, rest)
            known[f, where] = price
        return price

    def _around(self, f: int) -> int:
        """The tokens of what is around a frame: of its parent's rest, and so on."""
        parent = int(self._machine.arrays["frames"][f, Frame.PARENT])
        known = self._frames if parent < self._reader.stable else self._passing
        price = known.get((parent, AROUND))
        if price is None:
            tail = self._endings.tail(f)
            price = known[parent, AROUND] = INFINITE if tail is None else self._reader.tokens(tail.text) + tail.cost
        return price

    def _of_key(self, thread: Thread) -> int:
        own = self._endings.own_pieces(*thread)
        return INFINITE if own is None else sum(map(self._reader.tokens, own)) + self._around_key(thread[3])

    def _key_fits(self, thread: Thread, left: int) -> bool:
        tokens, enough = self._reader.tokens, left - self._around_key(thread[3])
        return enough > 0 and any(sum(map(tokens, own)) < enough for own in self._endings.key_ends(*thread))

    def _around_key(self, f: int) -> int:
        """What is around an object, in which a class's keys may be any."""
        price = self._passing.get((f, KEY))
        if price is None:
            price = self._passing[f, KEY] = self._around(f) + self._spare(Kind.KEY, f, b"")
        return price

    def _together(self, thread: Thread) -> int:
        """The tokens of all of it, as one text or piece by piece."""
        own, tail = self._endings.own_pieces(*thread), self._endings.tail(thread[3])
        if own is None or tail is None:
            return INFINITE
        tokens = self._reader.tokens
        pieces = *own, tail.text
        fewest = min(tokens(b"".join(pieces)), sum(map(tokens, pieces)))
        return fewest + tail.cost + self._spare(thread[0] & 31, thread[3], own[-1])

    def _spare(self, kind: int, f: int, rest: bytes) -> int:
        """Spare tokens of a class of threads that have read different keys (or items that must differ), where others must come.

        `rest` ends the frame of one of them. The keys that end another are among those that would end the frame if the last key had
        not been read at all.
        """
        if not f:
            return 0
        reader, words = self._reader, self._reader.frame(f)
        row = words[Frame.ROW]
        if row & ARRAY_BIT:
            least = self._rows[(row & ROW) + Array.LEAST] if self._rows[(row & ROW) + Array.UNIQUE] else 0
        else:
            least = self._rows[row + Object.LEAST] if self._rows[row + Object.OTHERS] != -1 else 0
        missing = max(least - words[Frame.COUNT], 0)
        if not missing:
            return 0
        if kind != Kind.KEY and words[Frame.OTHERS]:
            words[Frame.OTHERS] = int(reader.machine.arrays["chains"][words[Frame.OTHERS], 0])
            words[Frame.COUNT] -= 1
            f = reader.alone(words)
        more = self._endings.frames.rest(f, AFTER)
        dearer = reader.tokens(more) - reader.tokens(rest) if rest and more else 0
        return SPARE * missing + max(dearer, 0)
