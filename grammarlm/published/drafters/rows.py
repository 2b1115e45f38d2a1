"""Clover, Chimera: tokens further on, by what a small network makes of the target's hidden states and of what was drafted since.

    gl.Draft(Rows(ahead), tree="fixed")

`ahead(seen, said [p, m]) -> [p, hidden]` gets what the target has seen, and p ways in which the text may have gone on since, m
ids each, all of which the grammar allows; of its rows the target's output (or `output=`) makes the logits of what follows each
way. It returns None where it cannot say so much ahead. So a row may depend on the last state and the ids drafted before it
(Clover), or on the states of the whole text (Chimera: `seen.states`). It costs the network and an output for each depth. Of no use
untrained.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from grammarlm.decoding.loop.row import Row
from grammarlm.decoding.speculative.draft_builder import DraftBuilder
from grammarlm.decoding.speculative.drafters.drafter import Candidates
from grammarlm.decoding.speculative.drafters.state_drafter import StateDrafter


@dataclass(frozen=True)
class Seen:
    """What the target has made of a text."""

    states: torch.Tensor  # [ids, hidden]: its last hidden states, the last one that of the last id it has read
    after: torch.Tensor | None = None  # [count, hidden]: of the positions beside the text after that id (positions.py)


Ahead = Callable[[Seen, torch.Tensor], "torch.Tensor | None"]


class Rows(StateDrafter):
    """`ahead`: see above; `output`: from states to logits, the target's own where it is left out."""

    def __init__(self, ahead: Ahead, *, output: Any = None):
        super().__init__(output)
        self.ahead = ahead

    def seen(self, row: Row) -> Seen | None:
        """None where there is nothing to draft from."""
        known = self.known.get(row)
        return None if known is None else Seen(known.states)

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
        seen = self.seen(growth.row)
        since = [] if seen is None else growth.ids[self.known[growth.row].end :]
        if seen is None or not since:
            return None
        said = torch.tensor([[*since, *growth.tree.tokens_to(node)] for node in nodes], device=seen.states.device)
        states = self.ahead(seen, said)
        return None if states is None else self.logits(states)
