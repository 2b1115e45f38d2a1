"""Tokens further on from the target's hidden states: what a small network makes of them, and of what has been drafted since.

    gl.Draft(Rows(ahead), tree="fixed")

`ahead(seen, said [p, m]) -> [p, hidden]` gets what the target has seen, and p ways in which the text may have gone on since, m
ids each, all of which the grammar allows; of its rows the target's output (or `output=`) makes the logits of what follows each
way. It returns None where it cannot say so much ahead. So a row may depend

    on the last state alone               heads, as Medusa's (heads.py, which asks each head once)
    and on the ids drafted before it      sequential heads (Clover)
    on the states of the whole text       `seen.states` (Chimera)
    on ephemeral positions                `seen.after`: the target itself reads ahead, in the forward that verifies (ephemeral.py)

Of the last kind are `prompt_tokens` (PPD: trained embeddings) and `hidden_transfer` (a map of the state at a layer), whose rows
are the target's own states at these positions, and networks that look at what ephemeral ids have become (ConFu).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from grammarlm.decoding.readers.draft_tree import ROOT, DraftTree
from grammarlm.decoding.readers.ephemeral import Ephemeral, EphemeralReader
from grammarlm.decoding.speculative.draws import Shape, goes_on, taken

from .drafter import Candidates, NodeDrafter, Target
from .heads import output_of
from .known_states import KnownStates

if TYPE_CHECKING:
    from grammarlm.decoding.loop.row import Row
    from grammarlm.decoding.readers.reader import Reader
    from grammarlm.decoding.speculative.growth import Growth


@dataclass(frozen=True)
class Seen:
    """What the target has made of a text."""

    states: torch.Tensor  # [ids, hidden]: its last hidden states, the last one that of the last id it has read
    after: torch.Tensor | None  # [count, hidden]: of the ephemeral positions after that id; None where there are none


Ahead = Callable[[Seen, torch.Tensor], "torch.Tensor | None"]
Path = tuple[int, ...]


class Rows(NodeDrafter):
    """`ahead`: see above; `ephemeral`: what the target is to read beside its texts.

    tree   which candidates are drafted, instead of a chain: for each node the ranks on the way to it (tree_tuner.py)
    """

    needs_states = True

    def __init__(
        self, ahead: Ahead, *, output: Any = None, ephemeral: Ephemeral | None = None, tree: Sequence[Path] = ()
    ):
        self.ahead, self.ephemeral, self.tree = ahead, ephemeral, sorted(tree, key=len)
        if self.tree:
            self.length = len(self.tree[-1])
        self._given = output
        self._output: Any = output
        self._model: Any = None
        self._known = KnownStates()
        self._reader: EphemeralReader | None = None
        self._after: dict[Row, torch.Tensor] = {}  # of the last read, for each id and node
        self._chosen: dict[Row, torch.Tensor] = {}  # the one after the last id that was kept

    def begin(self, target: Target) -> None:
        self._output, self._model = self._given or output_of(target, "rows"), target.model

    @property
    def has_reader(self) -> bool:
        return self.ephemeral is not None

    def reader(self, reader: Reader) -> Reader:
        if self.ephemeral is None:
            return reader
        self._reader = EphemeralReader(reader, self.ephemeral, self._model)
        return self._reader

    def reading(self, rows: Sequence[Row]) -> None:
        if self._reader is not None and self._reader.after is not None:
            self._after = dict(zip(rows, self._reader.after, strict=True))

    def observe_states(self, row: Row, tree: DraftTree, states: torch.Tensor) -> None:
        self._known.observe(row, tree, states)

    def drawn(self, row: Row, tree: DraftTree, nodes: Sequence[int]) -> None:
        self._known.drawn(row, nodes)
        after = self._after.pop(row, None)
        if after is not None and len(after) > len(tree):
            self._chosen[row] = after[len(after) - len(tree) + (nodes[-1] if nodes else ROOT)]

    def drop(self, row: Row) -> None:
        self._known.drop(row)
        self._chosen.pop(row, None)

    def after(self, asked: Sequence[tuple[Growth, int]], width: int) -> list[Candidates]:
        logits: dict[tuple[Growth, int], Any] = {}
        groups: dict[tuple[Growth, int], list[int]] = {}
        for growth, node in asked:
            groups.setdefault((growth, growth.depth(node)), []).append(node)
        for (growth, _), nodes in groups.items():
            rows = self._rows(growth, nodes)
            if rows is not None:
                logits.update(zip(((growth, node) for node in nodes), rows, strict=True))
        found = []
        for growth, node in asked:
            row = logits.get((growth, node))
            masked = None if row is None else growth.masked(row, node)
            found.append(Candidates((), ()) if masked is None else Candidates((), (), masked))
        return found

    @torch.no_grad()
    def _rows(self, growth: Growth, nodes: Sequence[int]) -> Any:
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

    @property
    def own_shape(self) -> str | None:  # type: ignore[override]
        return "tree" if self.tree else None

    def in_own_shape(self, shape: Shape, growths: Sequence[Growth]) -> None:
        """The tree of ranks."""
        for growth in growths:
            open_nodes: dict[Path, int] = {(): ROOT}
            found: dict[Path, Candidates] = {}
            tokens: dict[Path, Sequence[int]] = {}
            for *above, rank in self.tree:
                parent = tuple(above)
                if parent not in open_nodes:
                    continue
                at = open_nodes[parent]
                if parent not in found:
                    (found[parent],) = self.after([(growth, at)], 1)
                    width = 1 + max(each[-1] for each in self.tree if each[:-1] == parent)
                    tokens[parent] = taken(shape, growth, at, found[parent], width)
                node = growth.add(tokens[parent][rank], at) if rank < len(tokens[parent]) else None
                if node is not None and goes_on(shape, growth, node, found[parent]):
                    open_nodes[(*parent, rank)] = node


def of_positions(seen: Seen, said: torch.Tensor) -> torch.Tensor | None:
    """The state of the m-th ephemeral position: the target's own guess at what follows m ids more."""
    ways, ahead = said.shape
    if seen.after is None or ahead > len(seen.after):
        return None
    return seen.after[ahead - 1].expand(ways, -1)


def prompt_tokens(embedded: torch.Tensor, **options: Any) -> Rows:
    """Embeddings [count, hidden] that have been trained to guess ahead, read after each id (PPD)."""
    ephemeral = Ephemeral(enter=lambda states: embedded.expand(len(states), -1, -1), count=len(embedded))
    return Rows(of_positions, ephemeral=ephemeral, **options)


def hidden_transfer(layer: int, maps: Sequence[Callable[[torch.Tensor], torch.Tensor]], **options: Any) -> Rows:
    """Maps of the state that enters a layer to the states that the next places would have there (Hidden Transfer)."""
    ephemeral = Ephemeral(
        enter=lambda states: torch.stack([each(states) for each in maps], 1), count=len(maps), layer=layer
    )
    return Rows(of_positions, ephemeral=ephemeral, **options)
