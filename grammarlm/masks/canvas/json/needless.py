"""Escapes of characters that need none, where states leave them out (scales.py): which tokens may begin one, or go on with it.

An escape is what its character is. So a token with a whole one does what the token without it does; and one that ends within an
escape may stand where some character can follow that has such an escape, as many masked tokens later as spell its rest.

    "a [masked] [masked] [masked] b"      a backslash may stand first if "axb" is one of the strings: it goes on with `u00` and `78`

Escapes that begin in masked tokens beside the one that is asked for are none that a canvas writes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from grammarlm.masks.canvas.protocol import MASKED
from grammarlm.vocab.vocabulary import Vocabulary

from .after_texts import MOST_KEPT, NOTHING, AfterTexts
from .escapes import DIGITS, HEX_DIGITS, LAST_POINT, Tokens, escape_tokens, is_half, points_after, read, spelling_of
from .texts import texts_of

if TYPE_CHECKING:
    from grammarlm.masks.canvas.stack.grid import StackGrid
    from grammarlm.masks.canvas.stack.row_states import StatesOfRow

MOST_PARTS = 12  # tokens of an escape
FEW_POINTS = 128  # characters that are tried one by one; of the others one of those that act alike
LEADS = range(0xC2, 0xF5)  # the first bytes of characters beyond ASCII
ANY_CHARACTER = b"\\", b"\\u"  # escapes that may be of any character
NO_TOKENS = np.zeros(0, np.int64)


class Way(NamedTuple):
    """How an escape that has begun can end."""

    size: int  # tokens
    point: int  # its character
    after: int  # the state
    masked: Tokens | None = None  # those at masked positions; None: all, any that end it


class Needless:
    """Of one lattice. The lock of its sets is held wherever it is used."""

    def __init__(self, lattice: StackGrid, vocab: Vocabulary):
        self._sets, self._check = lattice.table.sets, lattice.check
        self._of: np.ndarray = lattice.classes.of
        self._texts, self._stops = texts_of(vocab), frozenset(vocab.stop_ids)
        self.tokens = escape_tokens(vocab)
        self._singles: dict[bytes, dict[int, tuple[np.ndarray, np.ndarray]]] = {}
        self._more: dict[bytes, tuple[list[int], list[int] | None]] = {}
        leads = [self.tokens.of_text.get(bytes([byte]), -1) for byte in LEADS]
        self._leads: list[int] | None = None if -1 in leads else np.unique(self._of[leads]).tolist()
        self._begins: dict[bytes, np.ndarray] = {}
        self._after = AfterTexts(lattice, self.tokens)
        self._known: dict[tuple, np.ndarray] = {}
        self._ways_to_more: dict[tuple[int, bytes], list[Way]] = {}

    def added(
        self,
        states: StatesOfRow,
        row: Sequence[int],
        position: int,
        allowed: np.ndarray,
        begun: bytes = b"",
        opaque: Collection[int] = (),
    ) -> np.ndarray:
        """int64: the tokens that may stand at a masked position, behind an escape that has begun or none, and that say something
        else than their bytes. `row` and `states` are without that escape; `allowed`: classes of which it is known; `opaque`:
        positions whose tokens were spelled with escapes."""
        self._renew()
        before, end = states.forward(position), min(position + 1 + MOST_PARTS, len(row))
        key = before, begun, tuple(row[position + 1 : end]), states.backward(end), allowed.tobytes()
        if any(at in opaque for at in range(position + 1, end)):
            return self._found(states, row, position, allowed, begun, opaque)
        if key not in self._known:
            self._known[key] = self._found(states, row, position, allowed, begun, opaque)
        return self._known[key]

    def _found(
        self, states: StatesOfRow, row: Sequence[int], position: int, allowed: np.ndarray, begun: bytes,
        opaque: Collection[int],
    ) -> np.ndarray:  # fmt: skip
        before, found = states.forward(position), [NO_TOKENS]
        before = self._after.among(before) if begun else before
        after, near = self.tokens.after(begun), None
        for entry in after.ended if before else ():
            here = self._after.through(before, entry.character)
            if here:
                classes = self._sets.classes(here, states.inner(position))
                may = (entry.rest >= 0) & classes[self._of[entry.rest]]
                if (entry.rest < 0).any() and self._sets.meet(here, states.backward(position + 1)):
                    may |= entry.rest < 0
                found.append(entry.tokens[may])
        for group in after.others if before else ():
            if group.begun and not self._may_go_on(row, position + 1, group.begun, opaque):
                continue
            is_open = ~allowed[self._of[group.tokens]]
            if group.begun in ANY_CHARACTER and row[position + 1] == MASKED:
                near = self._near(states, row, position, before) if near is None else near
                is_open &= (group.before < 0) | near[self._of[group.before]]
            may_end: dict[int, bool] = {}
            for i in np.flatnonzero(is_open).tolist():
                here = self._after.read(before, group.entries[i].pieces)
                if here and here not in may_end:
                    may_end[here] = self._ends(states, row, position + 1, here, group.begun, opaque, bool(begun))
                if here and may_end[here]:
                    found.append(group.tokens[i : i + 1])
        return np.unique(np.concatenate(found))

    def _may_go_on(self, row: Sequence[int], at: int, begun: bytes, opaque: Collection[int]) -> bool:
        """Can what follows be the rest of an escape?"""
        if at == len(row) or at in opaque or row[at] in self._stops:
            return False
        return row[at] == MASKED or read(begun, self._texts[row[at]]) is not None

    def _near(self, states: StatesOfRow, row: Sequence[int], position: int, before: int) -> np.ndarray:
        """bool [K]: the classes of which a token may stand at a position if some of the masked ones from there on are left out."""
        every = (self._sets.classes(before, states.inner(position + i)) for i in range(self._masked(row, position)))
        found: np.ndarray = np.logical_or.reduce(list(every))
        return found

    def _ends(
        self, states: StatesOfRow, row: Sequence[int], at: int, before: int, begun: bytes, opaque: Collection[int],
        is_given: bool,
    ) -> bool:  # fmt: skip
        """Can the row be completed from a boundary on, behind an escape that has begun or none? `before`: the state before it;
        `is_given`: it has begun in given tokens, and may end in others behind masked ones."""
        if not begun:
            return self._sets.meet(before, states.backward(at))
        before = self._after.among(before)
        if not before or not self._may_go_on(row, at, begun, opaque):
            return False
        if row[at] == MASKED:
            return next(self.ways(states, row, at, before, begun, opaque, is_given), None) is not None
        found = read(begun, self._texts[row[at]])
        here = NOTHING if found is None else self._after.read(before, found.pieces)
        return found is not None and bool(here) and self._ends(states, row, at + 1, here, found.begun, opaque, is_given)

    def ways(
        self, states: StatesOfRow, row: Sequence[int], at: int, before: int, begun: bytes, opaque: Collection[int],
        is_given: bool = True,
    ) -> Iterator[Way]:  # fmt: skip
        """How an escape can end in the masked tokens from a boundary on, with `is_given` or right behind them, and the row be
        completed then."""
        most = self._masked(row, at)
        for count, (tokens, points) in self._of_one_token(begun).items():
            if count <= most:
                classes = self._sets.classes(before, states.inner(at + count - 1))
                for i in np.flatnonzero(classes[self._of[tokens]]).tolist():
                    yield Way(count, int(points[i]), self._after.through(before, spelling_of(int(points[i]))))
        near = self._near(states, row, at, before) if most else None
        for way in self._of_more(before, begun) if near is not None and self._may_be_more(before, begun, near) else ():
            if way.size <= most and self._sets.meet(way.after, states.backward(at + way.size)):
                yield way
        for way in self._into(row, at, before, begun, opaque) if is_given else ():
            if self._sets.meet(way.after, states.backward(at + way.size)):
                yield way

    def every_way(self, row: Sequence[int], at: int, before: int, begun: bytes, opaque: Collection[int]) -> list[Way]:
        """The same, whether the row can be completed then or not."""
        most, found = self._masked(row, at), self._of_more(before, begun)
        for count, (_, points) in self._of_one_token(begun).items():
            ways = (Way(count, point, self._after.through(before, spelling_of(point))) for point in points.tolist())
            found = [*found, *(way for way in ways if way.after)]
        within = sorted((way for way in found if way.size <= most), key=lambda way: way[:2])
        return [*within, *self._into(row, at, before, begun, opaque)]

    def _into(self, row: Sequence[int], at: int, before: int, begun: bytes, opaque: Collection[int]) -> Iterator[Way]:
        """The ways to end an escape in given tokens behind masked ones: its last digits are given."""
        masked = self._masked(row, at)
        first = end = at + masked
        text, digits = b"", begun[2:]
        while end < len(row) and len(text) < DIGITS and self._is_text(row[end]) and end not in opaque:
            text, end = text + self._texts[row[end]], end + 1
        most = DIGITS - len(digits) - (begun != b"\\")
        given = [
            text[:size] for size in range(1, most + 1) if HEX_DIGITS.fullmatch(text, 0, size) and size <= len(text)
        ]
        for last in given if masked and len(digits) < DIGITS else ():
            for inside in self._inside(DIGITS - len(digits) - len(last)):
                point = int(digits + inside + last, 16)
                if point >= FEW_POINTS and not self._reads_others(before):
                    break  # later ones are larger
                here = NOTHING if is_half(point) else self._after.through(before, spelling_of(point))
                tokens = self.tokens.parted((b"u" if begun == b"\\" else b"") + inside).get(masked) if here else None
                if tokens is not None:
                    behind = last
                    for at_end in range(first, end):
                        rest = self._texts[row[at_end]]
                        if len(behind) <= len(rest):
                            break
                        behind = behind[len(rest) :]
                    reading = read(b"", rest[len(behind) :])
                    here = NOTHING if reading is None or reading.begun else self._after.read(here, reading.pieces)
                    if here:
                        yield Way(at_end + 1 - at, point, here, tokens)

    @staticmethod
    def _inside(count: int) -> Iterator[bytes]:
        """All digits of so many, ascending."""
        return (b"%0*x" % (count, i) if count else b"" for i in range(16**count))

    def _is_text(self, token: int) -> bool:
        return token != MASKED and token not in self._stops

    @staticmethod
    def _masked(row: Sequence[int], at: int) -> int:
        """Of the tokens from a boundary on, as many as an escape may have, the first that are masked."""
        near = row[at : at + MOST_PARTS]
        return next((i for i, token in enumerate(near) if token != MASKED), len(near))

    def within(self, before: int, pieces: Sequence[bytes]) -> int:
        """The state after a text, where that is within a string and between characters; each second piece is that of an escape."""
        self._renew()
        here = self._after.read(before, pieces)
        return self._after.among(here) if here else NOTHING

    def _renew(self) -> None:
        if self._after.renew() or len(self._known) > MOST_KEPT:
            self._known, self._ways_to_more = {}, {}

    # ------------------------------------------------------------------ the characters that an escape can be

    def _of_one_token(self, begun: bytes) -> dict[int, tuple[np.ndarray, np.ndarray]]:
        """By number of tokens that can end an escape: the tokens of characters that it can be, and these."""
        if begun not in self._singles:
            found: dict[int, list[tuple[int, int]]] = {}
            for point in self._first_points(begun):
                spelled = self.tokens.spelled(spelling_of(point))
                if spelled is not None and len(spelled) == 1:
                    for count in self.tokens.ways(begun, point):
                        found.setdefault(count, []).append((spelled[0], point))
            self._singles[begun] = {count: tuple(np.array(found[count]).T) for count in sorted(found)}
        return self._singles[begun]

    @staticmethod
    def _first_points(begun: bytes) -> list[int]:
        return [point for part in points_after(begun) for point in part[:FEW_POINTS] if point < FEW_POINTS]

    def _may_be_more(self, before: int, begun: bytes, near: np.ndarray) -> bool:
        """May a character of more tokens follow, by the classes that may?"""
        if begun not in self._begins:
            spelled = (self.tokens.spelled(spelling_of(point)) for point in self._points(begun)[0])
            self._begins[begun] = np.unique(self._of[[tokens[0] for tokens in spelled if tokens]]).astype(np.int64)
        return bool(near[self._begins[begun]].any()) or (bool(near.any()) and self._reads_others(before))

    def _points(self, begun: bytes) -> tuple[list[int], list[int] | None]:
        """Characters of more tokens that an escape can be, and those beyond ASCII where they were asked for."""
        if begun not in self._more:
            short = (p for p in self._first_points(begun) if len(self.tokens.spelled(spelling_of(p)) or ()) > 1)
            self._more[begun] = list(short), None
        return self._more[begun]

    def _of_more(self, before: int, begun: bytes) -> list[Way]:
        """The ways to characters of more tokens; of those to one state, of as many tokens, the first."""
        key = before, begun
        if key not in self._ways_to_more:
            found: dict[tuple[int, int], Way] = {}
            points, others = self._points(begun)
            if self._reads_others(before):
                others = list(self._that_differ(begun)) if others is None else others
                self._more[begun] = points, others
            for point in [*points, *(others or ())]:
                here = self._after.through(before, spelling_of(point))
                for count in self.tokens.ways(begun, point) if here else ():
                    found.setdefault((count, here), Way(count, point, here))
            self._check()
            self._ways_to_more[key] = list(found.values())
        return self._ways_to_more[key]

    def _reads_others(self, before: int) -> bool:
        """Are there characters beyond ASCII that may follow?"""
        return self._leads is None or any(self._after.step(before, lead) for lead in self._leads)

    def _that_differ(self, begun: bytes) -> Iterator[int]:
        """Characters beyond ASCII whose escape begins like this: one of those whose bytes act alike."""
        byte = np.array([self._of[self.tokens.of_text.get(bytes([b]), 0)] for b in range(256)], np.int64)
        missing = np.array([bytes([b]) not in self.tokens.of_text for b in range(256)])
        for part in points_after(begun):
            points = np.arange(max(part.start, FEW_POINTS), min(part.stop, LAST_POINT + 1))
            for first, end, size in ((0, 0x800, 2), (0x800, 0x10000, 3), (0x10000, LAST_POINT + 1, 4)):
                some = points[(points >= first) & (points < end)]
                spelled = _bytes_of(some, size)
                is_byte_by_byte = ~missing[spelled].any(1)
                kinds = byte[spelled] @ (int(byte.max()) + 1) ** np.arange(size)
                yield from some[is_byte_by_byte][np.unique(kinds[is_byte_by_byte], return_index=True)[1]].tolist()
                yield from some[~is_byte_by_byte].tolist() if (~is_byte_by_byte).sum() <= FEW_POINTS else ()


def _bytes_of(points: np.ndarray, size: int) -> np.ndarray:
    """int [N, size]: the bytes of characters of as many in UTF-8."""
    lead = {2: 0xC0, 3: 0xE0, 4: 0xF0}[size]
    later = [0x80 | points >> 6 * i & 0x3F for i in range(size - 2, -1, -1)]
    return np.stack([lead | points >> 6 * (size - 1), *later], 1)
