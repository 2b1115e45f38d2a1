"""Rows of one length, and the states that each needs: what its given tokens can make matter.

A lattice that follows everything has tens of thousands of states, and nearly no row needs them. So a row is looked at first: the
fewest characters of a string that masked tokens can be forced to have, against the maxLengths (lengths.py).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from grammarlm.masks.canvas.classes import TokenClasses
from grammarlm.masks.canvas.json.duplicate_keys.objects import Objects
from grammarlm.masks.canvas.json.duplicate_keys.plain_tokens import PlainTokens
from grammarlm.masks.canvas.json.duplicate_keys.read_rows import ReadRows
from grammarlm.masks.canvas.json.duplicate_keys.spans import Run, Runs
from grammarlm.masks.canvas.json.states.explored import States
from grammarlm.masks.canvas.json.states.tracked import MOST_COUNTED
from grammarlm.masks.canvas.protocol import Undecided
from grammarlm.masks.canvas.stack.grid import StackGrid
from grammarlm.masks.canvas.stack.passes import StackPasses
from grammarlm.masks.matcher import Matcher

from .begun import begun_of
from .lengths import Lengths, counted_to, fewest_characters

if TYPE_CHECKING:
    from grammarlm.masks.canvas.json.duplicate_keys.plain_row import PlainRow
    from grammarlm.masks.canvas.json.duplicate_keys.spans import Span

    from .unrolled_view import UnrolledView

MOST_KEYS = 4  # tracked at once
FEW_OPEN = 8  # symbols: stacks of no more lead to nearly all that may stand somewhere, and to few states
SHORT_ROW = 16  # tokens
EMPTY = b""  # the key that no token varies
FEW_CONTROLS = 1 << 9  # of a lattice that knows the empty key in each short row
FEW_STATES = 1 << 11  # of one that takes no long time
MOST_MARKED = 64  # lattices


def followed(states: States) -> int:
    """How many keys do states follow, beside the empty one?"""
    return len(states.keys) - (EMPTY in states.keys)


class JsonRows:
    """What the rows of one length share."""

    def __init__(self, view: UnrolledView, length: int, after: Matcher | None, room: int, check: Callable[[], None]):
        self._view, self.length, self._after, self.room, self.check = view, length, after, room, check
        self.vocab = view.vocab
        self.stops = frozenset(self.vocab.stop_ids)
        self._grids: dict[States, StackGrid] = {}
        self.latest: dict[States, StackPasses] = {}  # the last row of some states
        self.latest_low: dict[States, PlainRow] = {}  # the same, of few open brackets
        self.latest_near: dict[States, PlainRow] = {}  # the same, of which little is masked
        self.latest_read: list[int] | None = None  # a completion of the last row of which one was read
        self.shown = ReadRows(length)
        self.follows_empty = False  # is the empty key followed in any row?
        self.height = FEW_OPEN
        self._marked: dict[object, tuple[StackGrid, np.ndarray]] = {}
        self.latest_marked: dict[object, PlainRow] = {}  # the last rows with marks around so many keys
        self.unmarked: set[States] = set()  # those that would be too many
        self.followed: tuple[bytes, ...] = ()  # keys with marks around them in the last row
        self.apart: tuple[np.ndarray, dict[bytes, frozenset[Span]]] | None = None  # a row, and places that can't meet
        self.begun = begun_of([] if after is None or after.is_finished else view.configs_of(after))
        self.runs = Runs(self.vocab, self.begun.key)
        self.has_free_keys = view.has_free_keys
        self.classes = self.grid(States()).classes
        self._plain: list[PlainTokens] = []

    def grid(self, states: States) -> StackGrid:
        """The lattice of these states."""
        if states not in self._grids:
            if followed(states) > MOST_KEYS:
                raise Undecided(
                    f"a canvas: whether more than {MOST_KEYS} keys come twice in an object depends on masked positions"
                )
            self._grids[states] = self._view.lattice(states, self.length, self._after, self.room, self.check)
        return self._grids[states]

    def marked(self, states: States, keys: tuple[bytes, ...], begun: int) -> tuple[StackGrid, np.ndarray]:
        """The lattice of these states with marks around some keys, and the classes of bytes and marks. `begun`: of which mark is a
        key that a matcher has begun?"""
        states = states._replace(marks=len(keys))
        name = (states, keys, begun) if self.begun.every_key or self.begun.key is not None else states
        if name not in self._marked:
            if len(self._marked) > MOST_MARKED:
                self._marked.clear()
            found, starts = self._view.marked(states, self._after, keys, begun)
            lattice = StackGrid(found.table, found.classes, self.length, starts, self.room, self.check)
            self._marked[name] = lattice, found.byte_classes
        return self._marked[name]

    def plain_tokens(self, classes: TokenClasses) -> PlainTokens:
        """Kept of the classes that were asked for last: those of rows with marks, and of rows without."""
        found = next((plain for plain in self._plain if plain.classes is classes), None)
        if found is None:
            found = PlainTokens(self.vocab, classes, self.length)
            self._plain = [found, *self._plain[:1]]
        return found

    def reads(self, text: Sequence[int], ends: bool) -> bool:
        """Does the machine read a row's text, to its end where the row has one?"""
        if self._after is not None and self._after.is_finished:
            return not text
        return self._view.reads(self._after, text, ends or not self.room)

    def may_end_after(self, row: Sequence[int]) -> bool:
        """Of a row that is read: does the machine know an end within the tokens that may follow? There may be one if not."""
        text = self.text(row)
        is_over = len(text) < len(row) or (self._after is not None and self._after.is_finished)
        return not self.room or is_over or self._view.fewest_after(self._after, text) <= self.room

    @cached_property
    def with_room(self) -> JsonRows:
        """Rows with all that may follow them."""
        return JsonRows(self._view, self.length + self.room, self._after, 0, self.check)

    # ------------------------------------------------------------------ the states of a row

    def needed(self, tokens: Sequence[int]) -> States:
        """What the given tokens ask of the states."""
        keys = (EMPTY,) if self.has_free_keys and (self.follows_empty or self.is_small(tokens)) else ()
        return States(keys, self._counted(self.text(tokens)) if self._view.long_lengths else MOST_COUNTED)

    def follows_more(self, states: States) -> bool:
        """Have states room for one more key, and do they not take long?"""
        return followed(states) < MOST_KEYS and self.grid(states).table.controls <= FEW_STATES

    def is_short(self, tokens: Sequence[int]) -> bool:
        """Has a row few tokens of text?"""
        text = self.text(tokens)
        return (len(text) if len(text) < len(tokens) else self.length + self.room) <= SHORT_ROW

    def is_small(self, tokens: Sequence[int]) -> bool:
        """Is so little to be known of a row that all keys of it can be?"""
        return self.has_free_keys and self.is_short(tokens) and self.grid(States()).table.controls <= FEW_CONTROLS

    def text(self, tokens: Sequence[int]) -> list[int]:
        """A row to its first stop id."""
        found = list(tokens)
        for stop in self.stops:
            if stop in found:
                del found[found.index(stop) :]
        return found

    def objects(self, row: Sequence[int]) -> Objects:
        """Those of a completion."""
        return Objects(self.vocab, self.begun, self.text(row))

    def runs_of(self, tokens: Sequence[int]) -> list[Run]:
        """The runs of a row's text."""
        text = self.text(tokens)
        return self.runs.of(text, len(text) == len(tokens) and self.room > 0)

    def _counted(self, tokens: Sequence[int]) -> int:
        fewest = fewest_characters(tokens, self.vocab, self.begun.characters)
        return counted_to(fewest) if fewest > self._view.long_lengths[0] else MOST_COUNTED

    def lengths(self, tokens: Sequence[int], states: States) -> Lengths | None:
        """What a row's states leave open about the characters of its strings; None: nothing."""
        least = next((n for n in self._view.long_lengths if n > states.counted), None)
        return None if least is None else Lengths(self.text(tokens), self.vocab, self.begun.characters, least)
