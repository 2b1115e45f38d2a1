"""Single tokens with more blanks than a gap has room for beside given ones, where states do not count blanks.

Given blanks beside a masked token belong to its gap, or are text as it is. So such a token may stand there if it does from states
within text alone; one whose blanks come last is tried alone, and may stand there if it ends in text.

    ... ": " [40 blanks] 12 ...    41 between two tokens of JSON: refused        "a [40 blanks] b"    text: allowed
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

from grammarlm.masks.canvas.classes import STOP
from grammarlm.masks.canvas.protocol import MASKED
from grammarlm.masks.machines.json.vocabulary.blanks import LONGEST_RUN
from grammarlm.vocab.vocabulary import Vocabulary

from .sizes import sizes_of

if TYPE_CHECKING:
    from grammarlm.masks.canvas.stack.passes import StackPasses
    from grammarlm.masks.canvas.stack.table import StackTable

    from .answers import PlainRow
    from .doubts import Gap
    from .marked_row import MarkedRow

NO_TOKENS = np.zeros(0, np.int64)


class Blanks(NamedTuple):
    """By id: blanks at a token's two ends, and is it nothing else?"""

    leading: np.ndarray
    trailing: np.ndarray
    is_whole: np.ndarray


@lru_cache(maxsize=4)
def blanks_of_tokens(vocab: Vocabulary) -> Blanks:
    edges = sizes_of(vocab).blanks
    leading, trailing = np.array(edges.leading, np.int64), np.array(edges.trailing, np.int64)
    return Blanks(leading, trailing, np.array(edges.is_whole, bool))


@lru_cache(maxsize=1024)
def too_many(vocab: Vocabulary, before: int, after: int) -> tuple[np.ndarray, np.ndarray]:
    """The ids whose blanks are too many at their beginning (or all of them), and at their end, with those given on both sides."""
    leading, trailing, is_whole = blanks_of_tokens(vocab)
    first = (leading > 0) & (leading + before + np.where(is_whole, after, 0) > LONGEST_RUN)
    last = (trailing > 0) & (trailing + after > LONGEST_RUN) & ~is_whole
    return np.flatnonzero(first), np.flatnonzero(last) if after else NO_TOKENS


class GapRow(Protocol):
    """A row as some states have it."""

    @property
    def stack_table(self) -> StackTable: ...
    @property
    def is_text(self) -> np.ndarray | None:
        """bool by control: are blanks text there?"""

    def classes_at(self, position: int) -> np.ndarray:
        """bool [K] of a masked position."""

    def stays(self, first: int, end: int, controls: np.ndarray) -> bool:
        """As StackPasses.stays."""


class Gaps:
    """The masked positions of a row beside given blanks."""

    def __init__(
        self,
        tokens: Sequence[int],
        passes: Callable[[], StackPasses],
        vocab: Vocabulary,
        begun: int,
        is_text: np.ndarray,
    ):
        """`is_text`: bool by control: are blanks text there?"""
        self._passes, self._is_text = passes, is_text
        self._tokens, self._vocab, self._begun = tokens, vocab, begun
        self._known: dict[int, tuple[int, int]] = {}

    def others(self, before: Gaps) -> set[int]:
        """The masked positions beside which other blanks are given than in a row with less tokens."""
        here, there = self._tokens, before._tokens
        if len(here) != len(there):
            near = {*range(len(there))}
        else:
            near = set()
            for new in (i for i, (token, old) in enumerate(zip(here, there, strict=True)) if token != old):
                for step in (-1, 1):
                    at = new + step
                    while 0 <= at < len(here) and here[at] != MASKED:
                        at += step
                    near.add(at)
        return {at for at in near if at >= 0 and self._beside(at) != before._beside(at)}

    def are_beside(self, position: int) -> bool:
        return self._beside(position) != (0, 0)

    def _beside(self, position: int) -> tuple[int, int]:
        """The given blanks right before a position and right after it, to the next masked token."""
        known = self._known.get(position)
        if known is None:
            known = self._known[position] = self._found_beside(position)
        return known

    def _found_beside(self, position: int) -> tuple[int, int]:
        tokens, edges, before, after = self._tokens, sizes_of(self._vocab).blanks, 0, 0
        if position >= len(tokens):
            return 0, 0
        for at in range(position - 1, -1, -1):
            if tokens[at] == MASKED:
                break
            before += edges.trailing[tokens[at]]
            if not edges.is_whole[tokens[at]]:
                break
        else:
            before += self._begun
        for at in range(position + 1, len(tokens)):
            if tokens[at] == MASKED:
                break
            after += edges.leading[tokens[at]]
            if not edges.is_whole[tokens[at]]:
                break
        return before, after

    def refused(
        self,
        position: int,
        allowed: np.ndarray,
        class_of: np.ndarray,
        known: np.ndarray,
        bound: MarkedRow | PlainRow | None,
    ) -> tuple[np.ndarray, bool]:
        """Those refused, and whether `bound`, all of whose completions are some, shows that the others are not. `allowed`: the
        classes at a masked position; `known`: tokens that are refused in any case."""
        before, after = self._beside(position)
        if not before + after:
            return NO_TOKENS, True
        first, last = (some[allowed[class_of[some]]] for some in too_many(self._vocab, before, after))
        if len(known):
            first, last = np.setdiff1d(first, known), np.setdiff1d(last, known)
        if not len(first) + len(last):
            return NO_TOKENS, True
        if bound is not None:
            is_text = bound.is_text
            if is_text is not None:
                first, last = (bound.not_beside(position, some, is_text, i) for i, some in enumerate((first, last)))
        doubted = len(first) + len(last)
        if len(first):
            first = first[~self._passes().classes_from(position, self._is_text)[class_of[first]]]
        if len(last):
            classes = [
                c for c in np.unique(class_of[last]).tolist() if not self._passes().leads_to(position, c, self._is_text)
            ]
            last = last[np.isin(class_of[last], classes)]
        return np.union1d(first, last), doubted == len(first) + len(last)


def may_be_broken(gap: Gap, tokens: Sequence[int], is_open: bool, row: GapRow) -> bool:
    """May each completion of a row have too many blanks in a gap that has room for as many? `is_open`: no stop id is given.

    It may not where the gap's inner tokens can all be text of one string, or the text can end before it has as many.
    """
    room = max(0, LONGEST_RUN - gap.given)
    last = gap.first + room
    may_end = is_open and gap.end == len(tokens) and last < gap.end and tokens[last] == MASKED
    if may_end and row.classes_at(last)[STOP]:
        return False
    first, end = gap.first + room // 2, gap.end - room // 2
    if row.is_text is None or first >= end or any(token != MASKED for token in tokens[first:end]):
        return True
    controls = np.zeros(len(row.is_text), bool)
    controls[loops_of(row.stack_table)] = True
    return not row.stays(first, end, controls & row.is_text)


def loops_of(table: StackTable) -> np.ndarray:
    """The controls at which some token leaves everything as it is."""
    found: np.ndarray = table.edge_control[table.edge_control == table.edge_point]
    return found
