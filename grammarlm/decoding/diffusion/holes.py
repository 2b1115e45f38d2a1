"""Rows with holes, written as ids with -1 where one is missing, or as text pieces and `gl.Hole`s."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from grammarlm.decoding.arguments import check_integer, check_text
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
        check_integer("n" if self.most is None else "most", self.size, 0 if self.most is None else 1)

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
    if isinstance(given, Sequence) and any(isinstance(one, (str, Hole)) for one in given):
        return of_pieces(given, vocab)
    row = np.array(listed(given), np.int64)
    if not len(row):
        raise ValueError("the row has no tokens; give some ids, -1 where one is missing")
    outside = [int(token) for token in row if token < MASKED or token >= vocab.size]
    if outside:
        raise ValueError(
            f"holes has the id {outside[0]}; ids are from 0 to {vocab.size - 1}, and -1 where one is missing"
        )
    return Holes(row)


def of_pieces(pieces: Sequence[Any], vocab: Vocabulary) -> Holes:
    ids: list[int] = []
    shrinking = []
    for piece in pieces:
        if isinstance(piece, str):
            check_text(piece, f"the piece {piece!a:.40}")
            ids += vocab.encode(piece)
        elif isinstance(piece, Hole):
            if piece.most is not None:
                shrinking.append((len(ids), len(ids) + piece.size))
            ids += [MASKED] * piece.size
        else:
            ids += read_holes(piece, vocab).row.tolist()
    if not ids:
        raise ValueError("the pieces have no tokens; give some text, or a gl.Hole")
    return Holes(np.array(ids, np.int64), tuple(shrinking))


def listed(given: Any) -> list[int]:
    """A list, tuple, array or one-dimensional tensor of ids."""
    try:
        ids = [operator.index(token) for token in given if not isinstance(token, (bool, bytes, str))]
        if len(ids) == len(given):
            return ids
    except TypeError:
        pass
    raise TypeError(
        f"holes is {type(given).__name__}: {given!s:.60}; it takes a list of ids with -1 where one is missing, or a list of text "
        "pieces and gl.Hole(n)"
    )
