"""PPD, Hidden Transfer, ConFu: the target itself reads ahead, at positions beside its text, in the forward that verifies.

PPD (Parallel Prompt Decoding) reads trained embeddings after each id, Hidden Transfer maps of the state at a layer; the target's
own states there are its guesses. ConFu reads ids, and says what it makes of the states there:

    gl.Draft(Positions(Ephemeral(ids=[7, 8]), ahead))

It costs as many ids more for each token read. Of no use untrained, or for models whose attention takes no masks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from grammarlm.decoding.loop.row import Row
from grammarlm.decoding.readers.draft_tree import DraftTree
from grammarlm.decoding.readers.reader import Reader
from grammarlm.decoding.speculative.draft_builder import DraftBuilder
from grammarlm.decoding.speculative.drafters.drafter import Target
from grammarlm.published.readers.ephemeral import Ephemeral, PositionsReader

from .rows import Ahead, Rows, Seen


def of_positions(seen: Seen, said: torch.Tensor) -> torch.Tensor | None:
    """The state of the m-th ephemeral position: the target's own guess at what follows m ids more."""
    ways, ahead = said.shape
    if seen.after is None or ahead > len(seen.after):
        return None
    return seen.after[ahead - 1].expand(ways, -1)


class Positions(Rows):
    """Rows that know the states of ephemeral positions after the last id: `seen.after`."""

    has_reader = adds_asides = True

    def __init__(self, ephemeral: Ephemeral, ahead: Ahead = of_positions, *, output: Any = None):
        super().__init__(ahead, output=output)
        self.ephemeral = ephemeral
        self._model: Any = None
        self._asides: list[int] = []
        self._beside = self.by_row()  # of which the last tree has them
        self._read = self.by_row()  # states after the last id and each node, of the last read
        self._after = self.by_row()  # those after the last id that was kept

    def begin(self, target: Target) -> None:
        super().begin(target)
        self._model, self._asides = target.model, self.ephemeral.tokens(target.model)

    def reader(self, reader: Reader) -> Reader:
        return PositionsReader.around(reader, self._model, self.ephemeral)

    def finish(self, growth: DraftBuilder) -> None:
        if growth.row.has_begun and growth.tree.add_asides(self._asides):
            self._beside[growth.row] = True

    def observe_states(
        self, row: Row, tree: DraftTree, text: torch.Tensor, nodes: torch.Tensor, asides: torch.Tensor
    ) -> None:
        super().observe_states(row, tree, text, nodes, asides)
        if self._beside.pop(row, False):
            self._read[row] = asides.unflatten(0, (-1, len(self._asides)))

    def drawn(self, row: Row, tree: DraftTree, nodes: Sequence[int]) -> None:
        super().drawn(row, tree, nodes)
        if row in self._read:
            self._after[row] = self._read.pop(row)[1 + nodes[-1] if nodes else 0]

    def seen(self, row: Row) -> Seen | None:
        known, after = super().seen(row), self._after.get(row)
        return None if known is None or after is None else Seen(known.states, after)


def prompt_tokens(embedded: torch.Tensor, **options: Any) -> Positions:
    """Embeddings [count, hidden] that have been trained to guess ahead, read after each id (PPD)."""
    ephemeral = Ephemeral(enter=lambda states: embedded.expand(len(states), -1, -1), count=len(embedded))
    return Positions(ephemeral, **options)


def hidden_transfer(layer: int, maps: Sequence[Callable[[torch.Tensor], torch.Tensor]], **options: Any) -> Positions:
    """Maps of the state that enters a layer to the states that the next places would have there (Hidden Transfer)."""
    ephemeral = Ephemeral(
        enter=lambda states: torch.stack([each(states) for each in maps], 1), count=len(maps), layer=layer
    )
    return Positions(ephemeral, **options)
