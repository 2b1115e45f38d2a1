"""Rows that are blended after masking: what a masked blend (methods/blends/blend.py) does at each choice of the loop.

The reader keeps the logits of all models of a forward. At a choice those of each model are masked by the same mask, and a
function makes one row of them, which the token is drawn from. Whatever it returns, a forbidden token stays forbidden; where it
leaves nothing the first model's masked row is drawn from.

The function is asked about choices alone: not about a token that is the only allowed one, and about a drafted token only where
all tokens before it were drawn. So what a row remembers never has to be taken back. It costs a masked copy of each model's
rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from grammarlm.decoding.failures import Ending, RowFailure, no_distribution, nothing_left
from grammarlm.decoding.logits.apply_mask import apply_mask_
from grammarlm.decoding.readers.blended import checked_rows

from .row import Row


@dataclass(frozen=True)
class BlendRow:
    """One answer, as a masked blend sees it: the handle that comes with its rows.

    tokens       its ids so far, forced ones included; not to be changed
    memory       what the blend remembers of this answer, its own. The n answers to a prompt begin with copies, which share their
                 values: replace a value rather than change it
    log          out.stats.log of the answer, to append to: a dict of figures
    max_tokens   of the answer
    warmth       the temperature that the blended row is divided by; 1 where the most probable token is taken
    """

    tokens: Sequence[int]
    memory: dict[str, Any]
    log: list[dict[str, float]]
    max_tokens: int
    warmth: float

    @classmethod
    def of(cls, row: Row) -> BlendRow:
        return cls(row.tokens, row.memory, row.stats.log, row.spec.settings.max_tokens, row.sampling.warmth)


class Blending:
    """A masked blend in one batch."""

    def __init__(
        self,
        function: Callable[..., torch.Tensor],
        name: str,
        sources: Sequence[str],
        memories: Sequence[dict[str, Any]],
    ):
        """`sources`: the other models, as messages call them; `memories`: what the rows of each prompt begin with."""
        self._function, self._name, self._sources, self._memories = function, name, sources, memories
        self._others: list[torch.Tensor] = []  # the logits of the other models of the last forward

    def begin(self, rows: Sequence[Row]) -> None:
        for row, memory in zip(rows, self._memories, strict=True):
            row.memory = dict(memory)

    def before_read(self, rows: Sequence[Row]) -> None:
        """A forward comes, over the texts of these rows."""

    def keep(self, first: torch.Tensor, *others: torch.Tensor) -> torch.Tensor:
        """A forward: the function of the reader made of several (readers/blended.py)."""
        self._others = list(others)
        return first

    def spread(self, indices: torch.Tensor) -> None:
        """Logits i are from now on a copy of what was `indices[i]`."""
        self._others = [one[indices] for one in self._others]

    def rows(
        self,
        rows: Sequence[Row],
        first: torch.Tensor,
        indices: Sequence[int],
        masks: np.ndarray | None,
        mask_rows: np.ndarray,
    ) -> torch.Tensor:
        """[rows, V]: what each row's next token is drawn from. Ends the rows of which that cannot be told.

        first     the masked logits of the first model; `indices` are their places among all logits of the forward
        """
        others = [one[torch.tensor(indices)] for one in self._others]
        self._end_without_distribution(rows, first, others, masks, mask_rows)
        going = [at for at, row in enumerate(rows) if not row.finish_reason]
        if not going:
            return first
        picked = torch.tensor(going)
        with torch.no_grad():
            blended = self._function(
                [BlendRow.of(rows[at]) for at in going], *(one[picked] for one in (first, *others))
            )
        blended = checked_rows(blended, (len(going), first.shape[1]), self._name)
        return self._held(rows, first, going, blended, masks, mask_rows)

    def _end_without_distribution(
        self,
        rows: Sequence[Row],
        first: torch.Tensor,
        others: Sequence[torch.Tensor],
        masks: np.ndarray | None,
        mask_rows: np.ndarray,
    ) -> None:
        """Masks the rows of the other models, and ends the answers of which a model has no distribution of allowed tokens."""
        for at in np.flatnonzero(first.amax(dim=1).numpy() == -math.inf).tolist():
            rows[at].end(Ending.of(nothing_left(len(rows[at].tokens), first.shape[1])))
        for source, logits in zip(self._sources, others, strict=True):
            for at in np.flatnonzero(~np.isfinite(logits.amax(dim=1).numpy())).tolist():
                found = no_distribution(len(rows[at].tokens), logits[at].numpy())
                rows[at].end(Ending.of(RowFailure(f"{source}: {found}")))
            hold(logits, rows[0].spec.vocab.size, masks, mask_rows)
            for at in np.flatnonzero(logits.amax(dim=1).numpy() == -math.inf).tolist():
                if not rows[at].finish_reason:
                    found = nothing_left(len(rows[at].tokens), logits.shape[1])
                    rows[at].end(Ending.of(RowFailure(f"{source}: {found}")))

    def _held(
        self,
        rows: Sequence[Row],
        first: torch.Tensor,
        going: Sequence[int],
        blended: torch.Tensor,
        masks: np.ndarray | None,
        mask_rows: np.ndarray,
    ) -> torch.Tensor:
        """All rows: the blended ones masked again, the first model's where they have nothing left."""
        hold(blended, rows[0].spec.vocab.size, masks, mask_rows[list(going)])
        made = first.clone()
        for at, own, top in zip(going, blended, blended.amax(dim=1).tolist(), strict=True):
            if math.isfinite(top):
                made[at] = own
            elif top != -math.inf:
                rows[at].end(Ending.of(self._no_row(len(rows[at].tokens), own.numpy())))
        return made

    def _no_row(self, count: int, row: np.ndarray) -> RowFailure:
        wrong = np.flatnonzero(np.isnan(row) | (row == math.inf))
        return RowFailure(
            f"ValueError: after {count} tokens the blend {self._name} made {row[wrong[0]]} of the logits of id {wrong[0]} (and of "
            f"{len(wrong) - 1} more); it makes finite numbers, and -inf of what may not be drawn"
        )


def hold(logits: torch.Tensor, size: int, masks: np.ndarray | None, mask_rows: np.ndarray) -> None:
    """Applies masks to rows, in place; ids beyond the vocabulary's size are forbidden."""
    logits[:, size:] = -math.inf
    if masks is not None:
        apply_mask_(logits, masks, rows=mask_rows)
