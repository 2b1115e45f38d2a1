"""Which tokens would make an object have a key twice, whatever else is filled in.

What the states of a row do not know are the free keys of its objects. A row spells some of them (spans.py); whether two equal ones
are in one object is followed by marks around them (marks.py). That takes a lattice a key, so bounds come first:

    most     the row without marks: every completion, and those that have a key twice
    least    every place that may be a key like another, with a masked token beside it, is no such key; keys that are given twice,
             with their quotes, and can meet have marks. All of this are completions.

Where both allow the same, that is what is allowed (bounds.py). What is between them is looked at with marks around the keys beside
it.

Rows are asked of completions first that have few brackets open at once: nearly all that may stand somewhere does in one of these,
and the states of a row hardly hang on how many tokens are left of a position, or right of it.

A place counts as given, too, where a masked token beside it is alone between given ones, and can be nothing but its quote.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, cast

import numpy as np

from grammarlm.layout.json_canvas import MOST_MARKS
from grammarlm.masks.canvas.classes import NEVER
from grammarlm.masks.canvas.json.tables.explored import States
from grammarlm.masks.canvas.protocol import MASKED

from .answers import BOUND, EVERY, MOST, PLAIN
from .given_twice import GivenTwice, is_outer
from .marked_row import AVOIDED, FREE, Marked, MarkedRow
from .spans import Run, Span, all_spans

if TYPE_CHECKING:
    from grammarlm.masks.canvas.classes import TokenClasses
    from grammarlm.masks.canvas.json.grid import JsonGrid

# In longer rows no more keys are followed at once to decide about tokens: states of two or three take seconds.
SHORT_ROW = 16


class Repeats:
    """The keys of one row that may come twice."""

    def __init__(
        self,
        grid: JsonGrid,
        tokens: list[int],
        states: States,
        classes: TokenClasses,
        like: Repeats | None = None,
    ):
        """`classes` without marks; `like`: of a row with the same tokens, but some of them masked."""
        self.grid, self.tokens, self.states, self.vocab = grid, tokens, states, grid.vocab
        self.classes = classes
        self.had = grid.begun.keys
        self.text = grid.text(tokens)
        self.runs = grid.runs_of(tokens)
        self._all_spans: dict[bytes, list[Span]] = {}
        for span in all_spans(self.runs):
            self._all_spans.setdefault(span.key, []).append(span)
        self._spans: dict[bytes, list[Span]] = {}
        self._tight: dict[Span, bool] = {}
        self._tight_before = {} if like is None else like._tight
        self.twice: GivenTwice = GivenTwice(self, None if like is None else like.twice, without_outer=False)
        self._inner_twice: GivenTwice = GivenTwice(
            self, None if like is None else like._inner_twice, without_outer=True
        )
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
            table = self.grid.marked(self.states, count)
            self._rows[name] = table.marked_row(self.tokens, marked, keys, role, height)
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
        return self.row([], (), ())

    @property
    def together(self) -> tuple[bytes, ...] | None:
        """Keys given twice that are followed at once, so that no completion of `least` has any key twice; None: too many."""
        return self._inner_twice.together if self.shunned else self.twice.together

    @property
    def enough(self) -> tuple[bytes, ...] | None:
        """The same of `wider`."""
        return self.twice.enough

    @cached_property
    def least(self) -> MarkedRow | None:
        return None if self.together is None else self.least_with(self.together, self.twins)

    @cached_property
    def low(self) -> MarkedRow | None:
        """`least`, without completions that have many brackets open at once; None: there is no other, or none is looked for."""
        if not self._can_be_low or self.together is None:
            return None
        if self._shunning is not None:
            return self._shunning
        found = self.least_with(self.together, self.twins, height=self.grid.height)
        return found if found.is_completable else None

    @cached_property
    def _shunning(self) -> MarkedRow | None:
        """`low`, where keys that may stand between strings have no given places; None: they must have, or there are none."""
        if not self._can_be_low or self._inner_twice.together is None:
            return None
        outer = [key for key in self.twins if is_outer(key)]
        if not any(self.given(key) for key in outer):
            return None
        together, height = self._inner_twice.together, self.grid.height
        found = self.least_with(together, self.twins, height=height, shunned=outer)
        return found if found.is_completable else None

    @property
    def shunned(self) -> list[bytes]:
        """Keys that have no given places in `low`."""
        return [] if self._shunning is None else [key for key in self.twins if is_outer(key)]

    @cached_property
    def _most_low(self) -> MarkedRow | None:
        """The row without marks, as `low`."""
        found = self.row([], (), (), self.grid.height) if self._can_be_low else None
        return found if found is not None and found.is_completable else None

    @cached_property
    def _can_be_low(self) -> bool:
        return self.grid.marked_if_few(self.states, 1) is not None

    @cached_property
    def bound(self) -> MarkedRow | None:
        """What it allows is allowed."""
        return self.least if self.low is None else self.low

    @cached_property
    def wider(self) -> MarkedRow | None:
        """`least`, where only those keys are avoided that two places can be of in one object."""
        if self.enough is None:
            return None
        others = [key for key in self.twins if key not in self.enough and self.loose(key)]
        avoided = {key for key in others if self.twice.can_meet(key, self.enough, self.spans(key))}
        return self.least_with(self.enough, avoided | set(self.enough))

    @cached_property
    def is_completable(self) -> bool | None:
        """None: that is not decided."""
        if self.bound is not None and self.bound.is_completable:
            return True
        if not all(self.with_key(key).is_completable for key in self.twins):
            return False
        if self.shown is not None:
            return True
        return None if self.every(MOST_MARKS) is None else False

    @cached_property
    def shown(self) -> MarkedRow | None:
        """A row some of whose completions are those of the row, and have none of the keys that may come twice in one object; None:
        none is known."""
        rows: tuple[Callable[[], MarkedRow | None], ...] = (
            lambda: self.bound,
            lambda: self.with_key(self.twins[0]) if len(self.twins) == 1 else self.wider,
            lambda: self.every(MOST_MARKS),
        )
        return next((row for made in rows if (row := made()) is not None and row.is_completable), None)

    def every(self, most: int, height: int = 0) -> MarkedRow | None:
        """Marks around all keys that may come twice; None where that are more than `most`."""
        keys = tuple(self.twins)
        if len(keys) > most or self.grid.marked_if_few(self.states, len(keys)) is None:
            return None
        return self.row(
            [(span, i, FREE) for i, key in enumerate(keys) for span in self.spans(key)], keys, "all", height
        )

    @property
    def most_marks(self) -> int:
        """How many keys are followed at once to decide about single tokens."""
        return MOST_MARKS if len(self.tokens) <= SHORT_ROW else max(1, len(self.together or ()))

    def classes_at(self, position: int) -> np.ndarray:
        """bool [K]: the classes that `most` allows at a position."""
        known = self._at.get(position)
        if known is None:
            known = self._at[position] = np.zeros(self.classes.count, bool)
            known[self.most.table.coarser(self.classes)[self.most.classes_at(position)]] = True
            known[NEVER] = False
        return known

    def named(self, name: object) -> MarkedRow | None:
        """Rows that show what is allowed: `bound`, or with marks around one key (a tuple), no key or all, of as few open
        brackets."""
        if name == BOUND:
            return self.bound
        if name == PLAIN:
            return None
        height = 0 if self.low is None else self.grid.height
        if name == EVERY:
            return self.every(self.most_marks, height)
        return self.row([], (), (), height) if name == MOST else self.with_key(cast("tuple[bytes]", name)[0], height)

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
        low = self._most_low
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
