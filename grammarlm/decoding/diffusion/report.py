"""How a row came about: the row after each step of a trace, piece by piece.

for frame in frames(out, vocab):
    print("".join(piece.shown for piece in frame.pieces))
"""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from dataclasses import dataclass

from grammarlm.decoding.result import Result
from grammarlm.decoding.trace import TraceStep
from grammarlm.vocab.vocabulary import Vocabulary

KINDS = ("given", "known", "new", "masked", "refused")  # of a piece; refused: masked, and an id was refused there


@dataclass(frozen=True)
class Piece:
    """A position, and what of the text ends there: a character that is split over several tokens belongs to the last of them."""

    position: int
    text: str
    kind: str
    is_end: bool = False  # a stop id: the text's end, or behind it

    @property
    def shown(self) -> str:
        """The text, or what stands for it: ░ where an id is missing, · from the text's end on."""
        return "░" if self.kind in ("masked", "refused") else "·" if self.is_end else self.text


@dataclass(frozen=True)
class Frame:
    """The row after a step; before the first one `step` is None."""

    number: int
    step: TraceStep | None
    pieces: list[Piece]


def frames(result: Result, vocab: Vocabulary) -> Iterator[Frame]:
    """The row before the first step and after each; what a hole has shrunk by shows as nothing."""
    row = whole_row(result, vocab)
    trace = result.stats.trace
    masked = {position for step in trace for position in step.committed}
    kinds = ["masked" if position in masked else "given" for position in range(len(row))]
    yield Frame(0, None, pieces(row, kinds, vocab))
    for number, step in enumerate(trace, 1):
        kinds = ["known" if kind == "new" else "masked" if kind == "refused" else kind for kind in kinds]
        for position in step.rejected:
            kinds[position] = "refused"
        for position in step.committed:
            kinds[position] = "new"
        yield Frame(number, step, pieces(row, kinds, vocab))


def whole_row(result: Result, vocab: Vocabulary) -> list[int]:
    """With the positions that a hole has shrunk by, whose id is one beyond the vocabulary."""
    filled = {p: token for step in result.stats.trace for p, token in zip(step.committed, step.tokens, strict=True)}
    empty = {position for position, token in filled.items() if token == vocab.size}
    tokens = iter(result.tokens)
    return [vocab.size if p in empty else next(tokens) for p in range(len(result.tokens) + len(empty))]


def pieces(row: list[int], kinds: list[str], vocab: Vocabulary) -> list[Piece]:
    found = []
    decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
    for position, (token, kind) in enumerate(zip(row, kinds, strict=True)):
        if kind in ("masked", "refused"):
            decoder.reset()
            found.append(Piece(position, "", kind))
        else:
            hidden = token >= vocab.size or token in vocab.special_ids
            text = decoder.decode(b"" if hidden else vocab.token_bytes(token))
            found.append(Piece(position, text, kind, token in vocab.stop_ids))
    return found
