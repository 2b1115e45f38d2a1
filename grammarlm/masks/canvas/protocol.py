"""What a canvas asks of a machine.

A machine offers a **view**: its token classes, and for each length a **grid**. A grid makes **passes** over a row of classes
(MASKED where the token is missing). Everything here is about classes; tokens, logits of tokens and mask words are the
canvas's. The law of `tests/masks/canvas/canvas_law.py` holds every view to this, by enumeration.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol, runtime_checkable

import numpy as np

from grammarlm.errors import LimitExceeded

if TYPE_CHECKING:
    from grammarlm.masks.matcher_like import MatcherLike

    from .classes import TokenClasses

MASKED = -1  # in place of a token or a class: missing
Draw = Callable[[np.ndarray], int]  # log weights, none of them NaN, not all -inf -> an index, by their softmax


class Undecided(LimitExceeded):
    """What states leave out could complete the row; another row of the same canvas may be decided."""


class Passes(Protocol):
    """What is known of one partly filled row. Never changes."""

    @property
    def is_completable(self) -> bool: ...

    def classes_at(self, position: int) -> np.ndarray:
        """bool [K]: which classes may stand at the position, whatever stands there now, all other tokens as given."""

    def reads(self, position: int, token_class: int) -> bool:
        """Can the class be read at the position after what precedes it, whatever follows?"""

    def best(self, scores: np.ndarray) -> np.ndarray:
        """int32 [L]: the classes of a completion whose sum of `scores` [L, K] at masked positions is highest."""

    def sample(self, scores: np.ndarray, draw: Draw) -> np.ndarray:
        """int32 [L]: the classes of a completion, drawn by softmax of its sum of `scores` [L, K] at masked positions."""


@runtime_checkable
class TokenPasses(Passes, Protocol):
    """Passes of a machine that tells more tokens apart in some rows than in others, and some tokens of a class."""

    classes: TokenClasses  # that these passes speak of

    def refused(self, position: int) -> np.ndarray:
        """int64: ids that may not stand at the position though their class may."""

    def is_read(self, row: Sequence[int]) -> bool:
        """Is a completion in the language?"""

    def amended(self, row: Sequence[int]) -> Passes:
        """Passes that know why a completion is not in the language."""


class Grid(Protocol):
    """A view over rows of one length."""

    classes: TokenClasses

    def passes(self, classes: np.ndarray, before: Passes | None) -> Passes:
        """The passes over a row, int32 [L]; `before`: those of another row, of which what is equal may be taken."""


@runtime_checkable
class TokenGrid(Protocol):
    """A grid that reads the tokens themselves."""

    classes: TokenClasses

    def token_passes(self, tokens: Sequence[int], before: Passes | None) -> Passes:
        """As Grid.passes, over tokens."""


class View(Protocol):
    """A machine as canvases see it. Made once for a constraint, shared by its canvases; safe to use from any thread."""

    def grid(self, length: int, after: MatcherLike | None, room: int, check: Callable[[], None]) -> Grid | TokenGrid:
        """Rows of this length, at the beginning of a text or after what a matcher has read; up to `room` tokens may follow.
        `check` raises where time is up."""
