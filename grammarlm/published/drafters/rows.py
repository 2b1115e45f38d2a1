"""Clover, Chimera: tokens further on, by what a small network makes of the target's hidden states and of what was drafted since.

    gl.Draft(Rows(ahead), tree="fixed")

`ahead(seen, said [p, m]) -> [p, hidden]` gets what the target has seen, and p ways in which the text may have gone on since, m
ids each, all of which the grammar allows; of its rows the target's output (or `output=`) makes the logits of what follows each
way. It returns None where it cannot say so much ahead. So a row may depend on the last state and the ids drafted before it
(Clover), on the states of the whole text (Chimera: `seen.states`), or on positions that the target reads beside it (`seen.after`:
ahead.py). It costs the network and an output for each depth. Of no use untrained.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from grammarlm.decoding.loop.row import Row
from grammarlm.decoding.readers.cached import CachedReader
from grammarlm.decoding.readers.draft_tree import DraftTree
from grammarlm.decoding.readers.reader import Reader
from grammarlm.decoding.speculative.draft_builder import DraftBuilder
from grammarlm.decoding.speculative.drafters.drafter import Candidates, NodeDrafter, Target
from grammarlm.decoding.speculative.drafters.heads import output_of
from grammarlm.decoding.speculative.drafters.known_states import KnownStates
from grammarlm.decoding.speculative.draws import Shape
from grammarlm.published.readers.ephemeral import NEEDED, Ephemeral, open_positions
from grammarlm.published.trees.ranks import Path, ranks


@dataclass(frozen=True)
class Seen:
    """What the target has made of a text."""

    states: torch.Tensor  # [ids, hidden]: its last hidden states, the last one that of the last id it has read
    after: torch.Tensor | None  # [count, hidden]: of the ephemeral positions after that id; None where there are none


Ahead = Callable[[Seen, torch.Tensor], "torch.Tensor | None"]


class Rows(NodeDrafter):
    """`ahead`: see above; `ephemeral`: what the target is to read beside its texts; `tree`: of candidates (trees/ranks.py)."""

    needs_states = True

    def __init__(
        self, ahead: Ahead, *, output: Any = None, ephemeral: Ephemeral | None = None, tree: Sequence[Path] = ()
    ):
        self.ahead, self.ephemeral, self.tree = ahead, ephemeral, sorted(tree, key=len)
        if self.tree:
            self.length = len(self.tree[-1])
            self.own_shape = "tree"
        self.has_reader = self.adds_asides = ephemeral is not None
        self._given = self._output = output
        self._model: Any = None
        self._known = KnownStates()
        self._asides: list[int] = []
        self._beside: set[Row] = set()  # whose last tree has them
        self._after: dict[Row, torch.Tensor] = {}  # of the last read, for the last id and each node
        self._chosen: dict[Row, torch.Tensor] = {}  # the one after the last id that was kept

    def begin(self, target: Target) -> None:
        self._output, self._model = self._given or output_of(target, "rows"), target.model
        self._asides = [] if self.ephemeral is None else self.ephemeral.tokens(target.model)

    def reader(self, reader: Reader) -> Reader:
        if self.ephemeral is None:
            return reader
        if not isinstance(reader, CachedReader):
            raise ValueError(NEEDED)
        return open_positions(self._model, reader.beginnings, self.ephemeral)

    def finish(self, growth: DraftBuilder) -> None:
        if self._asides and growth.row.has_begun and growth.tree.add_asides(self._asides):
            self._beside.add(growth.row)

    def observe_states(self, row: Row, tree: DraftTree, states: torch.Tensor) -> None:
        self._known.observe(row, tree, states)
        if row in self._beside:
            self._beside.remove(row)
            count = len(self._asides)
            self._after[row] = states[len(states) - count * (1 + len(tree)) :].unflatten(0, (-1, count))

    def drawn(self, row: Row, tree: DraftTree, nodes: Sequence[int]) -> None:
        self._known.drawn(row, nodes)
        after = self._after.pop(row, None)
        if after is not None:
            self._chosen[row] = after[1 + nodes[-1] if nodes else 0]

    def drop(self, row: Row) -> None:
        self._known.drop(row)
        self._beside.discard(row)
        self._after.pop(row, None)
        self._chosen.pop(row, None)

    def after(self, asked: Sequence[tuple[DraftBuilder, int]], width: int) -> list[Candidates]:
        logits: dict[tuple[DraftBuilder, int], Any] = {}
        groups: dict[tuple[DraftBuilder, int], list[int]] = {}
        for growth, node in asked:
            groups.setdefault((growth, growth.depth(node)), []).append(node)
        for (growth, _), nodes in groups.items():
            rows = self._rows(growth, nodes)
            if rows is not None:
                logits.update(zip(((growth, node) for node in nodes), rows, strict=True))
        return [Candidates.of(growth, node, logits.get((growth, node))) for growth, node in asked]

    @torch.no_grad()
    def _rows(self, growth: DraftBuilder, nodes: Sequence[int]) -> Any:
        """Logits after these nodes, which are equally deep; None where there are none."""
        known = self._known.of(growth.row)
        if known is None or known.end >= len(growth.ids):
            return None
        seen = Seen(known.states, self._chosen.get(growth.row))
        if self.ephemeral is not None and seen.after is None:
            return None
        since = growth.ids[known.end :]
        said = torch.tensor([[*since, *growth.tree.tokens_to(node)] for node in nodes], device=known.states.device)
        states = self.ahead(seen, said)
        return None if states is None else self._output(states).float().cpu().numpy()

    def in_own_shape(self, shape: Shape, growths: Sequence[DraftBuilder]) -> None:
        ranks(shape, self, growths, self.tree)
