"""Models whose answers are known beforehand: what methods and drafts are tried on where weights would prove nothing.

Each is a callable from ids [B, T] to logits [B, T, V], as `generate` takes it with `vocab=`. Those that wrap a model keep its own
logits, random ones included, and lift what is planted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, TypeAlias

import torch
from torch import Tensor

Ids: TypeAlias = Sequence[int]
Model: TypeAlias = Callable[[Tensor], Tensor]


def noise(width: int, seed: int = 0, deviation: float = 1.0) -> Model:
    """Logits drawn for each text once and for all: those after an id depend on the ids up to it."""

    @lru_cache(maxsize=1024)  # a model is asked for the same beginning at each of its forwards
    def drawn(state: int) -> Tensor:
        return torch.randn(width, generator=torch.Generator().manual_seed(state))

    def logits(ids: Tensor) -> Tensor:
        rows = []
        for row in ids.tolist():
            state, after = seed, []
            for token in row:
                state = (state * 6364136223846793005 + token + 1442695040888963407) % 2**63
                after.append(drawn(state))
            rows.append(torch.stack(after))
        return deviation * torch.stack(rows)

    return logits


def writing(ids: Ids, width: int) -> Model:
    """Writes these ids, whatever it is asked, and then the last one again and again."""
    rows = 20.0 * torch.eye(width)[list(ids)]

    def logits(read: Tensor) -> Tensor:
        places = torch.arange(read.shape[1]).clamp(max=len(ids) - 1)
        return rows[places].expand(len(read), -1, -1)

    return logits


def writing_bytes(text: str) -> Model:
    """Over the vocabulary of bytes (tests/texts.py)."""
    return writing([*text.encode(), 256], 257)


def logits_of(model: Any, ids: Tensor) -> Tensor:
    """Of a transformers model or a bare callable; a copy that may be written to."""
    logits = model(ids)
    return getattr(logits, "logits", logits).detach().clone()


class Planted:
    """Lifts the next token of a given text, where an answer to its prompt has followed it so far, by `lift`.

    With a share below 1 it fails to do so at as many positions of each text, drawn by the seed: a draft model that is right in
    that share of its tokens.
    """

    def __init__(
        self, model: Any, texts: dict[tuple[int, ...], Ids], *, lift: float = 20.0, share: float = 1.0, seed: int = 0
    ):
        self.model, self.texts, self.lift, self.share, self.seed = model, texts, lift, share, seed
        self.forwards = 0

    def __call__(self, ids: Tensor) -> Tensor:
        self.forwards += 1
        logits = logits_of(self.model, ids)
        for row, (prompt, text) in ((row, found) for row in range(len(ids)) if (found := self._of(ids[row].tolist()))):
            said = ids[row, len(prompt) :].tolist()
            for at, token in enumerate(text):
                if at > len(said) or list(text[:at]) != said[:at]:
                    break
                if self._is_right(prompt, at):
                    logits[row, len(prompt) + at - 1, token] += self.lift
        return logits

    def _of(self, row: list[int]) -> tuple[tuple[int, ...], Ids] | None:
        """The longest prompt that the row begins with, and its text."""
        found = [prompt for prompt in self.texts if tuple(row[: len(prompt)]) == prompt]
        return max(((prompt, self.texts[prompt]) for prompt in found), key=lambda pair: len(pair[0]), default=None)

    def _is_right(self, prompt: tuple[int, ...], at: int) -> bool:
        draw = torch.Generator().manual_seed(hash((self.seed, prompt, at)) % 2**63)
        return float(torch.rand((), generator=draw)) < self.share


class JointLaw:
    """A known law over whole texts of ids: log P(next id | ids so far) from left to right, or log P(id | fixed ids) on a canvas.

    Without `mask_id` the logits after an id are those of what follows it, with it those of each position given all that are not
    masked. An id that no text of the law has there gets -inf; where no text is left, every id gets 0.
    """

    def __init__(self, law: dict[tuple[int, ...], float], width: int, *, prompt: Ids = (), mask_id: int | None = None):
        self.law, self.width, self.prompt, self.mask_id = law, width, list(prompt), mask_id

    def __call__(self, ids: Tensor) -> Tensor:
        of_row = self._after_each if self.mask_id is None else self._at_each
        return torch.stack([of_row(row) for row in ids.tolist()])

    def _logs(self, masses: Tensor) -> Tensor:
        return (masses / masses.sum()).log() if masses.sum() > 0 else torch.zeros(self.width)

    def _after_each(self, row: list[int]) -> Tensor:
        rows = []
        for end in range(1, len(row) + 1):
            masses = torch.zeros(self.width, dtype=torch.float64)
            said = row[len(self.prompt) : end]
            if end >= len(self.prompt):
                for text, mass in self.law.items():
                    if len(text) > len(said) and list(text[: len(said)]) == said:
                        masses[text[len(said)]] += mass
            rows.append(self._logs(masses))
        return torch.stack(rows)

    def _at_each(self, row: list[int]) -> Tensor:
        masses = torch.zeros(len(row), self.width, dtype=torch.float64)
        for text, mass in self.law.items():
            whole = [*self.prompt, *text]
            if len(whole) == len(row) and all(a in (b, self.mask_id) for a, b in zip(row, whole, strict=True)):
                masses[range(len(row)), whole] += mass
        return torch.stack([self._logs(each) for each in masses])
