"""Rows with holes, written as ids with -1 where one is missing, or as text pieces and `gl.Hole`s."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from grammarlm.decoding.arguments import check_integer, check_text, integers
from grammarlm.masks.canvas.canvas import LONGEST
from grammarlm.vocab.vocabulary import Vocabulary

MASKED = -1


@dataclass(frozen=True)
class Hole:
    """Missing tokens in a list of text pieces: exactly `n`, or with `most` that many or fewer.

    gl.infill(model, ["Say ", gl.Hole(3), "."], regex=r"Say [a-z ]+\\.")
    gl.infill(model, ["Say ", gl.Hole(most=8), "."], regex=r"Say (yes|no)\\.")
    """

    n: int | None = None
    most: int | None = None

    def __post_init__(self) -> None:
        if (self.n is None) == (self.most is None):
            raise TypeError("a Hole has a number of tokens, gl.Hole(3), or a bound on it, gl.Hole(most=8)")
        if self.most is None:
            check_integer("gl.Hole(n)", self.n, 0, LONGEST)
        else:
            check_integer("gl.Hole(most=)", self.most, 1, LONGEST)

    @property
    def size(self) -> int:
        """The tokens that it has room for."""
        return int(self.n if self.n is not None else self.most or 0)


@dataclass(frozen=True, eq=False)
class Holes:
    """A row, and the (first, end) of holes in it that may shrink."""

    row: np.ndarray  # int64, MASKED where an id is missing
    shrinking: tuple[tuple[int, int], ...] = ()


def read_holes(given: Any, vocab: Vocabulary) -> Holes:
    """From ids, or from texts, lists of ids and holes."""
    if isinstance(given, (str, Hole)):
        given = [given]
    check_length(length_of(given))
    if isinstance(given, Sequence) and any(isinstance(one, (str, Hole)) for one in given):
        return of_pieces(given, vocab)
    ids = ids_of(given, vocab)
    if not ids:
        raise ValueError("the row has no tokens; give some ids, -1 where one is missing")
    return Holes(np.array(ids, np.int64))


def of_pieces(pieces: Sequence[Any], vocab: Vocabulary) -> Holes:
    ids: list[int] = []
    shrinking = []
    for piece in pieces:
        if isinstance(piece, str):
            check_text(piece, f"the piece {piece!a:.40}")
            ids += vocab.encode(piece)
        elif isinstance(piece, Hole):
            check_length(len(ids) + piece.size)
            if piece.most is not None:
                shrinking.append((len(ids), len(ids) + piece.size))
            ids += [MASKED] * piece.size
        else:
            check_length(len(ids) + length_of(piece))
            ids += ids_of(piece, vocab)
        check_length(len(ids))
    if not ids:
        raise ValueError("the pieces have no tokens; give some text, or a gl.Hole")
    return Holes(np.array(ids, np.int64), tuple(shrinking))


def ids_of(given: Any, vocab: Vocabulary) -> list[int]:
    """Ids that the vocabulary has, and MASKED."""
    ids = listed(given)
    outside = next((token for token in ids if not MASKED <= token < vocab.size), None)
    if outside is not None:
        raise ValueError(
            f"holes has the id {outside!r:.30}; ids are from 0 to {vocab.size - 1}, and -1 where one is missing"
        )
    return ids


def length_of(given: Any) -> int:
    """How many it says that it has; 0 where it does not."""
    try:
        return len(given)
    except TypeError:
        return 0
    except OverflowError:  # a range may say more than an index holds
        return LONGEST + 1


def check_length(tokens: int) -> None:
    """Before a row of so many is made."""
    if tokens > LONGEST:
        raise ValueError(
            f"holes has {tokens:,} tokens or more; a row has at most {LONGEST:,}: fill in a part at a time"
        )


def listed(given: Any) -> list[int]:
    """A list, tuple, array or one-dimensional tensor of ids."""
    ids = integers(given)
    if ids is not None:
        return ids
    raise TypeError(
        f"holes is {type(given).__name__}: {given!s:.60}; it takes a list of ids with -1 where one is missing, or a list of text "
        "pieces and gl.Hole(n)"
    )
