"""The masks of one step: rows of a buffer, and which row of logits each belongs to."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from grammarlm.decoding.logits.apply_mask import apply_mask_
from grammarlm.integrations.serving.served_row import ServedRow, fill_rows
from grammarlm.masks.mask_array import allocate_mask
from grammarlm.vocab.vocabulary import Vocabulary

UNTOUCHED = -1


class StepMask:
    """A buffer that grows; on a GPU's host its memory is pinned."""

    def __init__(self, vocab: Vocabulary):
        self._vocab = vocab
        self._array = allocate_mask(0, vocab.size)
        self._tensor = torch.from_numpy(self._array)
        self._rows = np.empty(0, np.int64)
        self._used = 0
        self._alone: list[ServedRow] = []  # without drafts
        self._places: list[int] = []  # of these
        self._drafted: list[tuple[ServedRow, int, Sequence[int]]] = []
        self._doubtful: list[int] = []

    def begin(self, logits: int) -> None:
        """A step with so many rows of logits."""
        if logits > len(self._array):
            size = (max(16, 2 * len(self._array), logits), self._vocab.words)
            pinned = torch.cuda.is_available()
            self._tensor = torch.empty(size, dtype=torch.int32, pin_memory=pinned)
            self._array = self._tensor.numpy()
        self._rows = np.full(logits, UNTOUCHED, np.int64)
        self._used, self._doubtful = 0, []
        self._alone, self._places, self._drafted = [], [], []

    def add(self, row: ServedRow, at: int, drafts: Sequence[int] = (), *, may_be_silenced: bool = False) -> None:
        """The rows of logits of a request: from `at` on, one for the next token and one after each draft."""
        if drafts:
            self._drafted.append((row, at, drafts))
        else:
            self._alone.append(row)
            self._places.append(at)
        if may_be_silenced:
            self._doubtful += range(at, at + 1 + len(drafts))

    def fill(self) -> None:
        """Writes the rows of the buffer: first those of requests without drafts, in one call."""
        fill_rows(self._alone, self._array)
        self._used = len(self._alone)
        self._rows[self._places] = np.arange(self._used)
        for row, at, drafts in self._drafted:
            row.fill_drafts(drafts, self._array, self._used)
            count = 1 + len(drafts)
            self._rows[at : at + count] = range(self._used, self._used + count)
            self._used += count

    def apply(self, logits: torch.Tensor) -> torch.Tensor:
        """Forbidden logits become -inf, in place."""
        if not self._used:
            return logits
        mask, rows = self._array[: self._used], self._rows
        if logits.is_cpu:
            apply_mask_(logits, mask, rows=rows)
        else:
            on_device = self._tensor[: self._used].to(logits.device, non_blocking=True)
            apply_mask_(logits, on_device, rows=torch.from_numpy(rows).to(logits.device))
        if self._doubtful:
            self._revive(logits, np.array(self._doubtful))
        return logits

    def _revive(self, logits: torch.Tensor, doubtful: np.ndarray) -> None:
        """Rows that are -inf everywhere: the tokens that their mask allows get equal scores."""
        at = torch.from_numpy(doubtful).to(logits.device)
        here = logits[at]
        silenced = here.amax(dim=1, keepdim=True) == -torch.inf
        mask = self._array[self._rows[doubtful]]
        allowed = apply_mask_(torch.zeros_like(here), mask)
        logits[at] = torch.where(silenced, allowed, here)
