"""What classes of threads cost near the end of a budget: sums of a thread's own end, its frame's rest, and the frames around it.

Each of the three is kept under what it depends on, so a class costs a few look-ups. Tokens may span two of them, so the sum may be
a few tokens too high: where it misses the budget by so few, the whole text is tokenized together.
"""

from __future__ import annotations

from grammarlm.layout.json import ARRAY_BIT, ROW, Array, Frame, Kind, Object
from grammarlm.masks.filters.budget import INFINITE
from grammarlm.masks.machines.json.endings.completion import Endings
from grammarlm.masks.machines.json.endings.reader import AFTER
from grammarlm.masks.machines.json.endings.texts import Thread

WITHIN = -1  # in place of where a text stands in a frame: in a key or item whose end decides the frame's rest
MOST_NUMBERS = 48  # whose ends are computed for one row; others fit where any number does
SPARE = 2
SAVED = 4  # tokens that tokenizing the pieces of a text together may save; most often fewer


class Prices:
    """What threads of one epoch's texts cost."""

    def __init__(self, endings: Endings):
        self._endings, self._reader, self._rows = endings, endings.reader, endings.reader.rows
        self._frames: dict[tuple[int, int], int] = {}  # of frames that stay, by where a text stands in them
        self._passing: dict[tuple[int, int], int] = {}  # of frames of the scratch
        self._numbers = 0  # whose ends were computed for the row

    def begin(self, is_new: bool) -> None:
        """To be called within a scratch, before the first price in it. `is_new`: a row begins."""
        self._passing.clear()
        self._numbers = 0 if is_new else self._numbers

    def price(self, thread: Thread) -> int:
        """So many tokens end the text from a thread, and from those of its class."""
        c, x, y, f = thread
        if self._endings.ends_frame(c, f):
            pieces = self._endings.own_pieces(*thread)
            return INFINITE if pieces is None else sum(map(self._reader.tokens, pieces)) + self._of_frame(f, WITHIN)
        own = self._endings.own_end(c, x, y)
        return INFINITE if own is None else self._reader.tokens(own) + self._of_frame(f, self._endings.where(c, y))

    def fits(self, thread: Thread, left: int) -> bool:
        """Do fewer than `left` tokens end the text?"""
        c, x, y, f = thread
        kind = c & 31
        if kind == Kind.KEY:
            tokens, enough = self._reader.tokens, left - self._of_frame(f, WITHIN)
            if enough > 0 and any(sum(map(tokens, own)) < enough for own in self._endings.key_ends(*thread)):
                return True
        elif kind == Kind.NUMBER and not self._endings.ends_frame(c, f):
            if self._endings.lexemes.numbers.ceiling(c, x, y) + self._of_frame(f, AFTER) < left:
                return True
            self._numbers += 1
            if self._numbers > MOST_NUMBERS:
                return False
        apart = self.price(thread)
        return apart < left or (apart < left + SAVED and self._together(thread) < left)

    def _of_frame(self, f: int, where: int) -> int:
        """The tokens of a frame's rest and of what is around it."""
        known = self._frames if f < self._reader.stable else self._passing
        price = known.get((f, where))
        if price is None:
            rest, tail, tokens = self._rest(f, where), self._endings.around(f), self._reader.tokens
            price = INFINITE
            if rest is not None and tail is not None:
                price = tokens(rest) + tokens(tail.text) + tail.cost + self._spare(f, rest)
            known[f, where] = price
        return price

    def _rest(self, f: int, where: int) -> bytes | None:
        return b"" if where == WITHIN else self._endings.frames.rest(f, where)

    def _together(self, thread: Thread) -> int:
        """The tokens of all of it, as one text or piece by piece."""
        whole, (c, _, y, f) = self._endings.whole(thread), thread
        where = WITHIN if self._endings.ends_frame(c, f) else self._endings.where(c, y)
        return INFINITE if whole is None else whole[0] + self._spare(f, self._rest(f, where))

    def _spare(self, f: int, rest: bytes | None) -> int:
        """Spare tokens of a class of threads that have read different keys (or items that must differ), where others must come.

        `rest` ends the frame of one of them; "" within a key or item. The keys that end another are among those that would end the
        frame if the last key had not been read at all.
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
        if not missing or not rest:
            return SPARE * missing
        if words[Frame.OTHERS]:
            words[Frame.OTHERS] = int(reader.machine.arrays["chains"][words[Frame.OTHERS], 0])
            words[Frame.COUNT] -= 1
            f = reader.alone(words)
        more = self._endings.frames.rest(f, AFTER)
        return SPARE * missing + max(reader.tokens(more) - reader.tokens(rest) if more else 0, 0)
