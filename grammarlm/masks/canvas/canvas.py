"""One partly filled row of tokens under a constraint: what may stand where, the best fill, an exact sample, commits.

    canvas = constraint.canvas(length)                        # -1: a token is missing
    canvas.allowed(row).row(position)                         # int32 mask words; .test(position, ids)
    canvas.fill(row, logits), canvas.sample(row, logits, seed=7)
    canvas.commit(row, positions, ids), canvas.is_completable(row), canvas.explain(row, position, id)

A row is the tokens of a text, then, unless these fill it, one stop id, and after the first stop id only stop ids. Logits are
[length, vocab.size], and the score of a completion is the sum of the logits at the masked positions. Logits on a GPU stay there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from grammarlm.errors import UnsupportedFeature, check_type
from grammarlm.masks.filters.matcher import FilteredMatcher
from grammarlm.masks.mask_array import as_integer
from grammarlm.masks.matcher import Matcher
from grammarlm.masks.runtime.limits import Clock
from grammarlm.masks.trail import Head, before

from .allowed import Allowed
from .classes import TokenClasses
from .device_scores import DeviceScores, scores_of
from .explain import explain
from .protocol import MASKED, Draw, Grid, Passes, TokenGrid, TokenPasses, Undecided, View
from .scores import Scores, SoftmaxDraw

if TYPE_CHECKING:
    from grammarlm.masks.compiled import Compiled

LONGEST = 1 << 16


class Canvas:
    """Exact answers about rows of one length. It keeps the passes of the last row, so rows that differ in little cost little."""

    def __init__(self, constraint: Compiled, view: View, length: int, after: Matcher | None = None, room: int = 0):
        length = _count(length, "canvas(length) takes a number of tokens", 1)
        room = _count(room, "canvas(room=) takes a number of tokens", 0)
        if after is not None:
            _check_matcher(after, constraint)
        self.vocab, self.length, self.room = constraint.vocab, length, room
        self._clock = Clock(constraint.report.limits)
        self._grid = view.grid(length, after, room, self._clock.check)
        self._reader = self._grid if isinstance(self._grid, TokenGrid) else None  # asked once: it takes a while
        self._classes = self._grid.classes
        self._last: Passes | None = None
        self._rows: dict[bytes, np.ndarray] = {}
        self._made_from = constraint, None if after is None else after.fork()

    def __reduce__(self) -> tuple[object, ...]:
        """Pickled as what it was made from: unpickling makes it again."""
        constraint, after = self._made_from
        return _made_again, (constraint, self.length, after, self.room)

    def __copy__(self) -> Canvas:
        """Another one with the passes that this one has made: they are replaced, and never changed."""
        made = object.__new__(type(self))
        vars(made).update(vars(self))
        return made

    # ------------------------------------------------------------------ answers

    def allowed(self, tokens: Sequence[int]) -> Allowed:
        """What may stand at each position, all other tokens as given; nothing where the row cannot be completed."""
        passes = self._passes(self._read(tokens))
        classes = self._classes_of(passes)
        rows = self._rows if classes is self._classes else {}
        return Allowed(passes, classes, self.length, rows, self._reader is not None, self._clock.begin_call)

    def is_completable(self, tokens: Sequence[int]) -> bool:
        """Is there a row of the language with these tokens?"""
        return self._passes(self._read(tokens)).is_completable

    def fill(self, tokens: Sequence[int], logits: Any) -> list[int]:
        """The completion with the highest score; of tokens that are equal in all, the first. ValueError where there is none."""
        return self._finished(tokens, logits, None)

    def sample(self, tokens: Sequence[int], logits: Any, seed: int | None = None) -> list[int]:
        """A completion drawn by the softmax of the scores; ValueError where there is none. Equal seeds, equal rows."""
        if seed is not None and (seed := as_integer(seed, "sample(seed=) takes 0 or more")) < 0:
            raise ValueError(f"sample(seed={seed}): it takes 0 or more, an integer")
        return self.drawn(tokens, logits, SoftmaxDraw(np.random.default_rng(seed)))

    def drawn(self, tokens: Sequence[int], logits: Any, draw: Draw) -> list[int]:
        """A completion made by choices: `draw(log weights)` returns an index. With draws by softmax it is a sample."""
        return self._finished(tokens, logits, draw)

    def explain(self, tokens: Sequence[int], position: int, token: int) -> str:
        """Why an id may not stand at a position, in at most 500 characters; "allowed" where it may."""
        row = self._read(tokens)
        position = self._position(position)
        token = as_integer(token, "explain(tokens, position, token) takes a token id")
        passes = self._passes(row)
        if isinstance(passes, TokenPasses) and token in passes.refused(position):
            return (
                f"the token {token} would make a second key like one that the object has already, or too long a string, whatever "
                "else is filled in"
            )
        return explain(self.vocab, self._classes_of(passes), passes, row, position, token)

    # ------------------------------------------------------------------ commits

    def commit(
        self, tokens: Sequence[int], positions: Iterable[int], ids: Iterable[int], partial: bool = False
    ) -> list[int]:
        """A new row with these ids at these positions; ValueError where it could not be completed.

        With `partial` an id is set only where the row can still be completed, in the order given: the longest prefix that can
        be set together, then all later ids but the first of them, or, if they don't fit, each. It is found by bisection, so that k
        ids of which one does not fit take at most 2 + log2 k questions, if what is asked last was about the row; but where ids
        take the place of others, by a question for each. An id is not set where it would lead to a row of which a canvas does not
        decide whether it can be completed (LimitExceeded otherwise).
        """
        row = self._read(tokens)
        places = [self._position(position) for position in positions]
        values = [as_integer(token, "commit(tokens, positions, ids) takes token ids") for token in ids]
        if len(places) != len(values) or len(set(places)) != len(places):
            raise ValueError(f"commit takes one id for each position, each position once: {places}, {values}"[:200])
        wrong = next((token for token in values if not 0 <= token < self.vocab.size), None)
        if wrong is not None:
            raise ValueError(f"commit: the id {wrong}; ids are 0 to {self.vocab.size - 1}")
        setting = list(zip(places, values, strict=True))
        if not partial:
            after = _with(row, setting)
            if not self._passes(after).is_completable:
                raise ValueError(f"with these ids at {brief_list(places)} the row cannot be completed")
            return after
        if not self._passes(row).is_completable:
            raise ValueError("the row cannot be completed, whatever is set")
        most = self._longest_prefix(row, setting)
        row, later = _with(row, setting[:most]), setting[most + 1 :]
        if len(later) > 1 and self._is_surely_completable(after := _with(row, later)):
            return after
        for one in later:
            after = _with(row, [one])
            if self._is_surely_completable(after):
                row = after
        return row

    def _is_surely_completable(self, row: list[int]) -> bool:
        """Of rows of which that is not decided, no: an id that leads to one is not set."""
        try:
            return self._passes(row).is_completable
        except Undecided:
            return False

    def _longest_prefix(self, row: list[int], setting: list[tuple[int, int]]) -> int:
        """How many of the settings can be made together, from the first on."""
        return longest_prefix(row, setting, lambda count: self._is_surely_completable(_with(row, setting[:count])))

    # ------------------------------------------------------------------ inside

    def _finished(self, tokens: Sequence[int], logits: Any, draw: Draw | None) -> list[int]:
        row = self._read(tokens)
        passes = self._passes(row)
        scores = scores_of(self._classes_of(passes), logits, np.array(row))
        while True:
            if not passes.is_completable:
                raise ValueError("the row cannot be completed; explain() says why a token may not stand somewhere")
            found = _chosen(passes, row, scores, draw)
            if self._reader is None or (read := cast("TokenPasses", passes)).is_read(found):
                return found
            passes = read.amended(found)
            scores = scores_of(self._classes_of(passes), logits, np.array(row))

    def _read(self, tokens: Sequence[int]) -> list[int]:
        """The caller's row, checked, as a new list."""
        row = list(tokens)
        if set(map(type, row)) != {int}:
            row = [as_integer(token, "a row has token ids, -1 where one is missing") for token in row]
        if len(row) != self.length:
            raise ValueError(f"the row has {len(row)} tokens; this canvas has {self.length}")
        wrong = next((i for i, token in enumerate(row) if not MASKED <= token < self.vocab.size), None)
        if wrong is not None:
            raise ValueError(
                f"the row has {row[wrong]} at position {wrong}; ids are 0 to {self.vocab.size - 1}, -1 is missing"
            )
        return row

    def _passes(self, row: list[int]) -> Passes:
        self._clock.begin_call()
        if self._reader is not None:
            self._last = passes = self._reader.token_passes(row, self._last)
            return passes
        given = np.array(row)
        classes = np.where(given == MASKED, MASKED, self._classes.of[given]).astype(np.int32)
        grid = cast("Grid", self._grid)
        self._last = passes = grid.passes(classes, self._last)
        return passes

    def _classes_of(self, passes: Passes) -> TokenClasses:
        """The classes that passes speak of."""
        return self._classes if self._reader is None else cast("TokenPasses", passes).classes

    def _position(self, position: int) -> int:
        position = as_integer(position, "a position of a row")
        if not 0 <= position < self.length:
            raise ValueError(f"the position {position}; this canvas has the positions 0 to {self.length - 1}")
        return position

    def __repr__(self) -> str:
        return f"<Canvas of {self.length} tokens, {self._classes.count} token classes>"


def _chosen(passes: Passes, row: list[int], scores: Scores | DeviceScores, draw: Draw | None) -> list[int]:
    """A completion as passes have it: the best, or one drawn."""
    found = list(row)
    chosen = passes.best(scores.maxima) if draw is None else passes.sample(scores.log_sums, draw)
    holes = [i for i, token in enumerate(row) if token == MASKED]
    for i, token in zip(holes, scores.tokens(chosen, draw), strict=True):
        found[i] = token
    return found


def longest_prefix(
    row: Sequence[int] | np.ndarray, setting: Sequence[tuple[int, int]], fits: Callable[[int], bool]
) -> int:
    """The most of the settings, from the first on, that fit together: found by bisection, since fewer fit if more do. That holds
    only from the last one on that takes the place of another token; of fewer each is asked."""
    replacing = [number for number, (place, token) in enumerate(setting, 1) if row[place] not in (MASKED, token)]
    alone = replacing[-1] - 1 if replacing else 0
    least, most = alone, len(setting)
    tried = most
    while least < most:
        if fits(tried):
            least = tried
        else:
            most = tried - 1
        tried = (least + most + 1) // 2
    return least if least > alone else next((count for count in range(alone, 0, -1) if fits(count)), 0)


def brief_list(places: list[int]) -> str:
    return f"{places[:8]}{' and more' if len(places) > 8 else ''}"


def _with(row: list[int], setting: list[tuple[int, int]]) -> list[int]:
    after = list(row)
    for place, token in setting:
        after[place] = token
    return after


def _made_again(constraint: Any, length: int, after: Matcher | None, room: int) -> Canvas:
    return constraint.canvas(length, after=after, room=room)


def _count(value: int, what: str, least: int) -> int:
    number = as_integer(value, what)
    if not least <= number <= LONGEST:
        raise ValueError(f"{what}, {least} to {LONGEST}, not {number}")
    return number


def read_again(after: Matcher, constraint: Compiled, filled: Compiled) -> Matcher:
    """A matcher of the texts that canvases fill in, which has read what one of the constraint has."""
    _check_matcher(after, constraint)
    found, steps = Matcher(filled), list[Any]()
    head: Head | None = after._head
    while head is not None:
        steps.append(head[3])
        head = before(head)
    for step in reversed(steps[:-1]):
        if not (found.advance_bytes(step) if isinstance(step, bytes) else found.advance(step)):
            raise UnsupportedFeature(
                "canvas(after=) with a matcher that has read JSON in another spelling than canvases fill in: characters without "
                "needless escapes, numbers as json.dumps writes them; give it such a text"
            )
    return found


def _check_matcher(after: Matcher, constraint: Compiled) -> None:
    check_type(after, Matcher, "canvas(after=) takes a matcher of this constraint")
    if after._automaton is not constraint._automaton:
        raise ValueError("canvas(after=) takes a matcher of this constraint; this one is of another")
    if isinstance(after, FilteredMatcher):
        raise UnsupportedFeature(
            "canvas(after=) with a matcher that has max_tokens: the canvas has a length of its own"
        )
