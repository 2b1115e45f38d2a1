"""The best completion in which no gap has too many blanks, where states do not count blanks: best first.

The best that states have is read by the machine. Where that refuses a gap, its blanks divide the completions that are left:

    of all:  "a": [60 blanks] [22 blanks] 1      82 between two tokens of JSON
    either   the first masked token has fewer than 30 blanks
    or       the second has fewer than 11
    or       both are text, of a string that begins before them

30 and 11 are 41 together, one too many, so no other completion is left out. Each part is as good as its own best completion, so the
first one found that the machine reads is the best of all.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Sequence
from itertools import count
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from grammarlm.masks.canvas.protocol import MASKED
from grammarlm.masks.canvas.scores import LOWEST, Scores
from grammarlm.masks.canvas.stack.best_of_parts import BestOfParts
from grammarlm.masks.machines.json.vocabulary.blanks import LONGEST_RUN

from .gaps import Blanks, blanks_of_tokens
from .texts import token_of

if TYPE_CHECKING:
    from .grid import JsonGrid
    from .residue import JsonPasses

MOST_TURNS = 128  # of the search; beyond, states that count blanks are asked
Limits = tuple[tuple[int, str, int], ...]  # at a position fewer blanks of a kind: (position, field of Blanks, blanks)
Texts = frozenset[int]  # boundaries


class Part(NamedTuple):
    """Some completions. Of equal parts the one that was made last comes first: where logits are equal, so are nearly all."""

    loss: float  # minus the score of the best that states have of them, or of the part that they are of
    age: int
    limits: Limits
    texts: Texts
    tokens: list[int] | None  # the best; None: not looked for yet, which takes as long as all else


def best_of(passes: JsonPasses, logits: Any, is_text: np.ndarray) -> list[int] | None:
    """`is_text`: bool by control: are blanks text there? None where that is not found soon. The machine does not read it where
    something else is wrong with it than blanks."""
    search, ages = Search(passes, logits, is_text), count(0, -1)
    waiting = [Part(-math.inf, next(ages), (), frozenset(), None)]
    for _ in range(MOST_TURNS):
        if not waiting:
            return None
        part = heapq.heappop(waiting)
        if part.tokens is None:
            found = search.best(part.limits, part.texts)
            if found is not None:
                heapq.heappush(waiting, part._replace(loss=-found[0], age=next(ages), tokens=found[1]))
        else:
            gap = None if passes.is_read(part.tokens) else search.overfull(part.tokens)
            if gap is None:
                return part.tokens
            for limit in gap.limits:
                heapq.heappush(waiting, Part(part.loss, next(ages), (*part.limits, limit), part.texts, None))
            heapq.heappush(waiting, Part(part.loss, next(ages), part.limits, part.texts | {gap.boundary}, None))
        passes.grid.check()
    return None


def overfull_gap(grid: JsonGrid, tokens: Sequence[int]) -> tuple[int, int] | None:
    """The gap that the machine refuses: from the token in whose end it begins to that which has too many. None where the machine
    refuses something else."""
    blanks, text = blanks_of_tokens(grid.vocab), grid.text(tokens)
    first, here = 0, grid.begun.blanks
    for i, token in enumerate(text):
        before, here = here, here + int(blanks.leading[token])
        if here > LONGEST_RUN and not grid.begins(text[: i + 1]):
            is_gap = before <= LONGEST_RUN and here > before and _are_too_many(grid, text[: i + 1], before)
            return (first, i) if is_gap else None
        if not blanks.is_whole[token]:
            first, here = i, int(blanks.trailing[token])
    return None


def _are_too_many(grid: JsonGrid, text: Sequence[int], before: int) -> bool:
    """Has a refused last token more blanks than a gap may have, `before` of which precede it? A string goes on behind as many, or
    has no room for them."""
    blank = token_of(grid.vocab, grid.vocab.token_bytes(text[-1])[:1])
    if blank is None:
        return grid.begins(text[:-1])
    most = [*text[:-1], *[blank] * (LONGEST_RUN - before)]
    return grid.begins(most) and not grid.begins([*most, blank])


class Overfull(NamedTuple):
    """A gap of a completion: what each masked token in it has, and the boundary behind its first token."""

    limits: list[tuple[int, str, int]]
    boundary: int


class Search:
    """The best completion of each part of a row's."""

    def __init__(self, passes: JsonPasses, logits: Any, is_text: np.ndarray):
        self._passes, self._is_text = passes, is_text
        self._scores = Scores(passes.classes, logits, np.array(passes.tokens))
        self._parts = BestOfParts(passes.inner, self._scores.maxima)
        self._blanks = blanks_of_tokens(passes.grid.vocab)
        self._limited: dict[Limits, tuple[np.ndarray, np.ndarray]] = {}

    def best(self, limits: Limits, texts: Texts) -> tuple[float, list[int]] | None:
        """Its score and its tokens."""
        scores, tokens = self._scores.maxima.copy(), list(self._passes.tokens)
        firsts: dict[int, np.ndarray] = {}
        for position in {limit[0] for limit in limits}:
            own = tuple(limit for limit in limits if limit[0] == position)
            if own not in self._limited:
                self._limited[own] = self._scores.without(position, self._forbidden(own))
            scores[position], firsts[position] = self._limited[own]
        chosen = self._parts.best(scores, dict.fromkeys(texts, self._is_text))
        if chosen is None:
            return None
        masked = [i for i, token in enumerate(tokens) if token == MASKED]
        for i in masked:
            kind = int(chosen[i])
            tokens[i] = int(firsts[i][kind]) if i in firsts else self._scores.best_token(i, kind)
        score = float(scores[masked, chosen[masked]].sum(dtype=np.float64))
        is_possible = all(tokens[i] >= 0 for i in masked) and score > LOWEST / 2
        return (score, tokens) if is_possible else None

    def _forbidden(self, limits: Limits) -> np.ndarray:
        found = np.zeros(len(self._blanks.leading), bool)
        for _, field, most in limits:
            numbers = getattr(self._blanks, field)
            is_it = self._blanks.is_whole if field == WHOLE else numbers > 0
            found |= is_it & ((self._blanks.leading if field == WHOLE else numbers) >= most)
        return np.flatnonzero(found)

    def overfull(self, tokens: Sequence[int]) -> Overfull | None:
        """The gap of a completion that the machine does not read; None where it is something else, or all of it is given."""
        gap, limits, text = overfull_gap(self._passes.grid, tokens), list[tuple[int, str, int]](), tokens
        if gap is None:
            return None
        first, last = gap
        goes_on = first == 0 and self._blanks.is_whole[text[0]]
        missing = LONGEST_RUN + 1 - (self._passes.grid.begun.blanks if goes_on else 0)
        for i in range(first, last + 1):
            field = WHOLE if self._blanks.is_whole[text[i]] else TRAILING if i == first else LEADING
            blanks = int((self._blanks.trailing if field == TRAILING else self._blanks.leading)[text[i]])
            if blanks and self._passes.tokens[i] == MASKED:
                limits.append((i, field, blanks))
            else:
                missing -= blanks
        of_all = sum(limit[2] for limit in limits)
        limits = [(i, field, max(1, -(-blanks * missing // of_all))) for i, field, blanks in limits]
        return Overfull(limits, first + 1) if limits and first < last else None


LEADING, TRAILING, WHOLE = Blanks._fields
MOST_DRAWS = 24


def drawn_of(passes: JsonPasses, choose: Callable[[], list[int]]) -> list[int] | None:
    """A completion that the machine reads, drawn as completions are until it reads one: as their law is. None where many are
    refused; one that is refused for something else as it is."""
    for _ in range(MOST_DRAWS):
        found = choose()
        if passes.is_read(found):
            return found
        if overfull_gap(passes.grid, found) is None:
            return found
        passes.grid.check()
    return None
