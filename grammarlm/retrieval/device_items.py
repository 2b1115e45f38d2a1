"""Beam search over item sets, entirely on the device: from the logits of one level to the prefixes of the next without the host.

    items = DeviceItems(gl.Tokens(matrix), device="cuda")
    found = items.search(step, beams=20, batch=4)
    found.items, found.scores                    # tensors [4, 20] on the device: row numbers, log-probabilities
    found.results()                              # the same on the host, as `beam_search` returns it

`step(tokens, parents) -> logits` is that of `beam_search`, with tensors: the first call has tokens=None, parents = 0 .. batch - 1;
each later call has for every beam a token and its parent's row in the previous call, both [batch * beams]. Beams that have ended,
or do not exist, read token 0 after an arbitrary row; their logits are ignored. The number of calls is the length of the longest
item, plus one with `stop`, whatever is found: nothing synchronises with the device, so a search can be captured in a CUDA graph.

The items are a snapshot of the set: its rows sorted, 4 bytes for each token. Which beams are kept is defined in beam.py; groups,
values and sampling exist on the host only.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from grammarlm.decoding.arguments import check_integer
from grammarlm.errors import UnsupportedFeature
from grammarlm.vocab.vocabulary import Vocabulary

from .beam import normalised
from .bits import is_selected
from .item_set import Subset, item_set
from .levels import checked_logits
from .models import MOST_BEAMS, MOST_SEARCHES
from .result import BeamResult
from .search import Searched

Step = Callable[[Any, Any], torch.Tensor]


@dataclass(frozen=True, eq=False)
class DeviceFound:
    """The items found by a batch of searches, best first; tensors on the device."""

    items: torch.Tensor  # int64 [B, M]: row numbers, -1 where there is none
    scores: torch.Tensor  # float64 [B, M], -inf where there is none
    tokens: torch.Tensor  # int32 [B, M, L], -1 after an item's last token
    ids: np.ndarray | None  # names of the set's rows

    def results(self) -> list[BeamResult]:
        """The same on the host."""
        found = []
        for items, scores, tokens in zip(self.items.tolist(), self.scores.tolist(), self.tokens.tolist(), strict=True):
            rows = [row for row in items if row >= 0]
            named = None if self.ids is None else self.ids[rows]
            spelled = [tuple(token for token in item if token >= 0) for item in tokens[: len(rows)]]
            found.append(BeamResult(spelled, scores[: len(rows)], rows, named, len(items)))
        return found


@dataclass(frozen=True, eq=False)
class _Beams:
    """Beam entries of all searches, [B, E]: open prefixes and finished items; score -inf: an empty slot."""

    lows: torch.Tensor  # int32: the range of sorted rows with this prefix
    highs: torch.Tensor
    scores: torch.Tensor  # float64
    is_open: torch.Tensor


class DeviceItems:
    """An item set on a device. A snapshot: create another one when the set has changed."""

    def __init__(
        self, items: Any, device: Any = "cuda", *, subset: Subset | Any = None, vocab: Vocabulary | None = None
    ):
        """items, subset, vocab: as in `beam_search`; one subset for all searches."""
        self.device = torch.device(device)
        if self.device.type == "cpu" and not os.environ.get("TRITON_INTERPRET"):
            raise UnsupportedFeature("DeviceItems on the CPU: its kernels are a GPU's; beam_search is made for the CPU")
        known = item_set(items, None if vocab is None else vocab.encode)
        chosen = subset if subset is None or isinstance(subset, Subset) else known.subset(subset)
        rows, numbers = _sorted_rows(Searched.of(known, [chosen]), known.longest)
        self._ids, self._empty = known.ids, int((rows == -1).all(1).sum())
        cells = np.zeros((known.longest + 1, len(rows)), np.int32)  # the last level is all 0: no token
        np.add(rows.T, 1, out=cells[:-1])
        self.largest = int(rows.max(initial=-1))
        self._cells = torch.from_numpy(cells).to(self.device)
        self._numbers = torch.from_numpy(numbers).to(self.device)

    def __repr__(self) -> str:
        return f"<DeviceItems of {len(self):,} items on {self.device}>"

    def __len__(self) -> int:
        return len(self._numbers)

    def search(
        self, step: Step, beams: int = 20, stop: int | None = None, *, batch: int = 1, normalise: str = "full"
    ) -> DeviceFound:
        """The best `beams` items of each search. normalise: "full" or "allowed", as in `beam_search`."""
        check_integer("beams", beams, 1, MOST_BEAMS)
        check_integer("batch", batch, 1, MOST_SEARCHES)
        check_integer("stop", stop, 0, optional=True)
        normalised(normalise, seed=None)
        end = -1 if stop is None else stop
        entries = self._roots(batch, end)
        tokens: Any = None
        parents = torch.arange(batch, device=self.device)
        levels = len(self._cells) - 1 + (end >= 0)
        with torch.no_grad():
            for depth in range(levels if len(self) else 0):
                logits = checked_logits(step(tokens, parents), len(parents), max(self.largest, end))
                logits = logits if logits.stride(1) == 1 else logits.contiguous()
                if depth == 0:
                    logits = logits.repeat_interleave(entries.lows.shape[1], 0)  # a row for each entry
                entries, tokens, parents = self._next(entries, logits, depth, beams, end, normalise == "allowed")
        return self._found(entries, beams)

    def _roots(self, batch: int, stop: int) -> _Beams:
        """The entries of each search: the item without tokens, finished unless it needs `stop`, and an open one of all others."""
        ended = self._empty if stop < 0 else 0
        lows = torch.tensor([[0, ended]] * batch, dtype=torch.int32, device=self.device)
        highs = torch.tensor([[ended, len(self)]] * batch, dtype=torch.int32, device=self.device)
        scores = torch.where(lows < highs, 0.0, -torch.inf).double()
        is_open = torch.tensor([[False, True]] * batch, device=self.device) & (lows < highs)
        return _Beams(lows, highs, scores, is_open)

    def _next(
        self, beams: _Beams, logits: torch.Tensor, depth: int, width: int, stop: int, is_allowed: bool
    ) -> tuple[_Beams, torch.Tensor, torch.Tensor]:
        """The entries of the next level, and for each the token that was added and its parent's row."""
        from grammarlm.kernels.gpu.item_step import best_children, rows_and_logits, spans

        batch, count = beams.lows.shape
        ranges = torch.stack([beams.lows, beams.highs], 2) * beams.is_open[..., None]
        numbers, norms = best_children(
            self._cells, ranges.reshape(-1, 2).int().contiguous(), logits, depth, stop, width, is_allowed
        )
        starts, values = rows_and_logits(numbers[:, :width].contiguous())
        highs = beams.highs.reshape(-1, 1).expand_as(starts).contiguous()
        ends, opens = spans(self._cells, starts, highs, depth)
        cells = self._cells[depth][starts.long()]
        if stop >= 0:  # an end is a child of its own (cell 0): each child is either finished or open
            opens = torch.where(cells == 0, ends, starts)
        gains = values.double() - norms.double()[:, None]
        scores = beams.scores.reshape(-1, 1) + torch.where(gains.isnan(), -torch.inf, gains)

        def candidates(children: torch.Tensor, kept: torch.Tensor) -> torch.Tensor:
            return torch.cat([children.reshape(batch, -1), kept], 1)

        nothing = torch.full_like(scores, -torch.inf)
        kept = torch.where(beams.is_open, -torch.inf, beams.scores)
        lows = candidates(torch.stack([starts, opens]).movedim(0, 1), beams.lows)
        highs = candidates(torch.stack([opens, ends]).movedim(0, 1), beams.highs)
        after_scores = torch.stack(
            [torch.where(opens > starts, scores, nothing), torch.where(ends > opens, scores, nothing)]
        )
        after_scores = candidates(after_scores.movedim(0, 1), kept)
        is_open = torch.zeros((len(starts), 2, starts.shape[1]), dtype=torch.bool, device=self.device)
        is_open[:, 1] = True
        is_open = candidates(is_open, torch.zeros_like(beams.is_open))
        added = candidates(torch.stack([cells - 1] * 2).movedim(0, 1), torch.zeros_like(beams.lows))
        own = torch.arange(count, device=self.device)
        above = torch.cat([own.repeat_interleave(2 * starts.shape[1]), own]).expand(batch, -1)

        by_row = torch.argsort(lows, dim=1)  # ranges are disjoint and rows sorted: ties go to the smallest tokens
        best = torch.sort(after_scores.gather(1, by_row), dim=1, descending=True, stable=True).indices[:, :width]
        chosen = by_row.gather(1, best)
        missing = width - chosen.shape[1]
        lows, highs, after_scores, is_open, added, above = (
            torch.nn.functional.pad(t.gather(1, chosen), (0, missing), value=nowhere)
            for t, nowhere in (
                (lows, 0),
                (highs, 0),
                (after_scores, -torch.inf),
                (is_open, False),
                (added, 0),
                (above, 0),
            )
        )
        after = _Beams(lows, highs, after_scores, is_open & (after_scores > -torch.inf))
        base = torch.arange(batch, device=self.device)[:, None]
        parents = base.expand_as(above) if depth == 0 else base * count + above
        tokens = torch.where(after.is_open, added, 0)
        return after, tokens.reshape(-1).long(), parents.reshape(-1)

    def _found(self, beams: _Beams, width: int) -> DeviceFound:
        """All finished items; no entry is open any more."""
        missing = width - beams.lows.shape[1]
        scores = torch.nn.functional.pad(beams.scores, (0, max(missing, 0)), value=-torch.inf)[:, :width]
        lows = torch.nn.functional.pad(beams.lows, (0, max(missing, 0)))[:, :width].long()
        if not len(self):
            empty = torch.full((*lows.shape, len(self._cells) - 1), -1, dtype=torch.int32, device=self.device)
            return DeviceFound(torch.full_like(lows, -1), scores, empty, self._ids)
        is_there = scores > -torch.inf
        lows = torch.where(is_there, lows, 0)
        items = torch.where(is_there, self._numbers[lows], -1)
        tokens = (self._cells[:-1, lows] - 1).movedim(0, -1)
        return DeviceFound(items, scores, torch.where(is_there[..., None], tokens, -1), self._ids)


def _sorted_rows(searched: Searched, longest: int) -> tuple[np.ndarray, np.ndarray]:
    """int32 [N, L] the chosen rows, sorted, padded with -1, and int64 [N] their numbers."""
    matrices, numbers = [], []
    for segment, selection in zip(searched.segments, searched.sets.selections[0], strict=True):
        positions = np.flatnonzero(is_selected(selection, 0, len(segment)))
        rows = segment.index.matrix(positions)
        matrices.append(np.pad(rows, ((0, 0), (0, longest - rows.shape[1])), constant_values=-1))
        numbers.append(np.asarray(segment.index.numbers())[positions].astype(np.int64))
    if len(matrices) == 1:
        return matrices[0], numbers[0]
    rows, named = np.concatenate(matrices), np.concatenate(numbers)
    order = np.lexsort((named, *rows.T[::-1]))
    return rows[order], named[order]
