"""The places of keys that may come twice in one row, and the row with marks around some of them.

A place counts as given, too, where a masked token beside it is alone between given ones, and can be nothing but its quote.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from grammarlm.masks.canvas.classes import NEVER
from grammarlm.masks.canvas.json.tables.explored import States
from grammarlm.masks.canvas.protocol import MASKED

from .marked_row import AVOIDED, FREE, Marked, MarkedRow
from .spans import Run, Span, all_spans

if TYPE_CHECKING:
    from grammarlm.masks.canvas.classes import TokenClasses
    from grammarlm.masks.canvas.json.rows import JsonRows


class MarkedPlaces:
    """Those of one row."""

    def __init__(
        self,
        grid: JsonRows,
        tokens: list[int],
        states: States,
        classes: TokenClasses,
        like: MarkedPlaces | None = None,
    ):
        """`classes` without marks; `like`: of a row with the same tokens, but some of them masked."""
        self.grid, self.tokens, self.states, self.classes = grid, tokens, states, classes
        self.had = grid.begun.keys
        self.text = grid.text(tokens)
        self.runs = grid.runs_of(tokens)
        self._all_spans: dict[bytes, list[Span]] = {}
        for span in all_spans(self.runs):
            self._all_spans.setdefault(span.key, []).append(span)
        self._spans: dict[bytes, list[Span]] = {}
        self._tight: dict[Span, bool] = {}
        self._tight_before = {} if like is None else like._tight
        self.added = None if like is None else self._added(like._all_spans)
        self._rows: dict[object, MarkedRow] = {}
        self._at: dict[int, np.ndarray] = {}  # classes of positions

    def spans(self, key: bytes) -> list[Span]:
        """The places of a key. They count as given where a masked token beside them can be nothing but the quote."""
        if key not in self._spans:
            found = self._all_spans.get(key, [])
            several = len(found) > 1 or key in self.had
            self._spans[key] = [s._replace(is_given=True) if several and self._is_tight(s) else s for s in found]
        return self._spans[key]

    def _added(self, others: dict[bytes, list[Span]]) -> frozenset[bytes]:
        """The keys that have places which they had not in another row."""
        return frozenset(
            key for key, spans in self._all_spans.items()
            if (known := others.get(key)) != spans and (known is None or any(span not in known for span in spans))
        )  # fmt: skip

    def _is_tight(self, span: Span) -> bool:
        """Are both quotes of a place given, or the masked tokens beside it nothing but quotes there, as far as completions of few
        open brackets tell? Nothing that is said hangs on it: given places are followed where they can meet, others avoided."""
        if span.is_given:
            return True
        if span not in self._tight:
            known = self._tight_before.get(span)
            self._tight[span] = self._has_quotes(span) if known is None else known
        return self._tight[span]

    def _has_quotes(self, span: Span) -> bool:
        (first, inside), (end, behind), text = span.begin, span.end, self.text
        if end == len(text) and not behind:
            return False
        left = inside == 0 and first > 0 and text[first - 1] == MASKED
        right = behind == 0 and text[end] == MASKED
        ends, begins = self.grid.quotes(self.classes)
        return (not left or self._is_quote(first - 1, ends)) and (not right or self._is_quote(end, begins))

    @cached_property
    def twins(self) -> list[bytes]:
        """The keys that may come twice."""
        return [key for key, spans in self._all_spans.items() if len(spans) > 1 or key in self.had]

    def row(self, marked: Sequence[Marked], keys: tuple[bytes, ...], role: object, height: int = 0) -> MarkedRow:
        """The row with these marks, `keys` being those of mark 0, 1 and so on."""
        count = max(len(keys), 1)
        name = count, tuple(marked), keys, height
        if name not in self._rows:
            rows = self.grid.marked(self.states, count)
            self._rows[name] = rows.row(self.tokens, marked, keys, role, height)
        return self._rows[name]

    def loose(self, key: bytes) -> list[Span]:
        """The places of a key with a masked token beside them."""
        return [span for span in self.spans(key) if not span.is_given]

    def given(self, key: bytes) -> list[Span]:
        return [span for span in self.spans(key) if span.is_given]

    def least_with(
        self, keys: tuple[bytes, ...], avoided: Iterable[bytes], free: Iterable[Span] = (), ignored: bytes | None = None,
        role: object = "least", height: int = 0, shunned: Iterable[bytes] = (),
    ) -> MarkedRow:  # fmt: skip
        """Marks around the given places of some keys, and around `free` where those are of such a key; no place of the keys
        `avoided` that has a masked token beside it is one, but for those of `free`; of others, `shunned`, no given one is either.
        `ignored`: one of the keys, without marks."""
        marked: list[Marked] = []
        avoided, free = set(avoided), list(free)
        for key in dict.fromkeys((*keys, *sorted(avoided))):
            number = keys.index(key) if key in keys else 0
            if key in keys and key != ignored:
                marked += [(span, number, FREE) for span in self.given(key)]
                marked += [(span, number, FREE) for span in self.loose(key) if span in free]
            if key in avoided:
                marked += [(span, number, AVOIDED) for span in self.loose(key) if span not in free]
        marked += [(span, 0, AVOIDED) for key in shunned if key not in keys for span in self.given(key)]
        return self.row(marked, keys, (role, keys, ignored), height)

    def with_key(self, key: bytes, height: int = 0) -> MarkedRow:
        """Marks around all places of a key, and around no other."""
        name = key, height
        if name not in self._rows:
            self._rows[name] = self.row([(span, 0, FREE) for span in self.spans(key)], (key,), key, height)
        return self._rows[name]

    @cached_property
    def most(self) -> MarkedRow:
        """The row without marks."""
        return self.row([], (), ())

    def every(self, most: int, height: int = 0) -> MarkedRow | None:
        """Marks around all keys that may come twice; None where that are more than `most`."""
        keys = tuple(self.twins)
        if len(keys) > most or self.grid.marked_if_few(self.states, len(keys)) is None:
            return None
        return self.row(
            [(span, i, FREE) for i, key in enumerate(keys) for span in self.spans(key)], keys, "all", height
        )

    @cached_property
    def most_low(self) -> MarkedRow | None:
        """The same without completions that have many brackets open at once; None: there is no other, or none is looked for."""
        found = self.row([], (), (), self.grid.height) if self.can_be_low else None
        return found if found is not None and found.is_completable else None

    @cached_property
    def can_be_low(self) -> bool:
        return self.grid.marked_if_few(self.states, 1) is not None

    def classes_at(self, position: int) -> np.ndarray:
        """bool [K]: the classes that `most` allows at a position."""
        known = self._at.get(position)
        if known is None:
            known = self._at[position] = np.zeros(self.classes.count, bool)
            known[self.most.table.coarser(self.classes)[self.most.classes_at(position)]] = True
            known[NEVER] = False
        return known

    @cached_property
    def keys(self) -> frozenset[bytes]:
        return frozenset((*self._all_spans, *self.had))

    def _is_quote(self, position: int, quotes: np.ndarray) -> bool:
        """Is a masked token at the position a quote at one end, whatever else is filled in? `quotes`: the classes that are."""
        text = self.text
        if not 0 <= position < len(text) or text[position] != MASKED:
            return False
        if MASKED in text[max(0, position - 1) : position] or MASKED in text[position + 1 : position + 2]:
            return False  # another token beside it leaves it some choice
        low = self.most_low
        if low is not None:
            return not low.classes_at(position)[
                ~quotes[low.table.coarser(self.classes)] & (low.classes.sizes > 0)
            ].any()
        return not self.classes_at(position)[~quotes].any()

    def beside(self, position: int) -> tuple[Run, Run] | None:
        """The runs before and after a masked position; None behind a stop id."""
        return self._beside.get(position)

    @cached_property
    def _beside(self) -> dict[int, tuple[Run, Run]]:
        return {before.end: (before, after) for before, after in pairwise(self.runs)}
