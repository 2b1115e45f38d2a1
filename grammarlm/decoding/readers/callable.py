"""Reader of a bare callable, without a cache: all texts are read again for each token."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Any

import torch

from .draft_tree import DraftTree
from .model_facts import checked_logits, device_of, width_of


class CallableReader:
    """Reader of a callable from ids [B, T] to logits [B, T, V], or of a model without a usable cache."""

    keeps_states = False
    gives_copies = True
    states: list[torch.Tensor] | None = None

    can_be_kept = False  # does it hold what can be gone on from (kept.py)?

    @property
    def nbytes(self) -> int:
        return 0

    @property
    def unequal_is_cheap(self) -> bool:
        return True

    @property
    def rollback_is_cheap(self) -> bool:
        return True

    @property
    def reads_trees(self) -> bool:
        return False

    def __init__(self, model: Any, prompts: Sequence[Sequence[int]]):
        self._model, self._device, self.width = model, device_of(model), width_of(model)
        self.beginnings = [list(prompt) for prompt in prompts]
        self._texts: list[list[int]] = [[] for _ in prompts]
        self._trees: list[DraftTree] = []

    def ids(self, text: int) -> list[int]:
        """What has been read of a text."""
        return list(self._texts[text])

    def read(self, chunks: Sequence[Sequence[int]], scored: Sequence[int]) -> torch.Tensor:
        for text, chunk in zip(self._texts, chunks, strict=True):
            text.extend(chunk)
        logits = self._logits(self._texts, list(range(len(self._texts))))
        return rows_of(logits, [len(text) for text in self._texts], scored)

    def read_trees(
        self, chunks: Sequence[Sequence[int]], scored: Sequence[int], trees: Sequence[DraftTree]
    ) -> torch.Tensor:
        """All texts again, each as often as its tree has leaves."""
        for text, chunk in zip(self._texts, chunks, strict=True):
            text.extend(chunk)
        self._trees = list(trees)
        branches = TreeRows(self._texts, self._trees)
        logits = self._logits(branches.rows, branches.texts)
        return picked(logits, branches.places(scored))

    def keep(self, paths: Sequence[Sequence[int]]) -> None:
        for text, tree, path in zip(self._texts, self._trees, paths, strict=True):
            text.extend(tree.tokens[node] for node in path)

    def _logits(self, rows: list[list[int]], texts: list[int]) -> torch.Tensor:
        """[rows, length, V] of rows of ids, padded on the right; row i goes on from text `texts[i]`."""
        length = max(map(len, rows))
        padded = [row + [row[-1]] * (length - len(row)) for row in rows]
        with torch.no_grad():
            logits = self._call(torch.tensor(padded, device=self._device))
        return checked_logits(logits, (len(padded), length))

    def _call(self, ids: torch.Tensor) -> torch.Tensor:
        logits: torch.Tensor = self._model(ids)
        return logits

    def select(self, texts: Sequence[int]) -> None:
        self._texts = [list(self._texts[i]) for i in texts]

    def taken(self, texts: Sequence[int]) -> CallableReader:
        other = copy(self)
        other._texts, other._trees = [list(self._texts[i]) for i in texts], []
        return other

    def join(self, other: CallableReader) -> None:
        self._texts += other._texts

    def rollback(self, counts: Sequence[int]) -> None:
        for text, count in zip(self._texts, counts, strict=True):
            del text[len(text) - count :]


class TreeRows:
    """Draft trees as rows of a batch: each text with the tokens on the way to one leaf of its tree."""

    def __init__(self, texts: Sequence[Sequence[int]], trees: Sequence[DraftTree]):
        self.rows: list[list[int]] = []
        self.texts: list[int] = []
        self._lengths = [len(text) for text in texts]
        self._first: list[int] = []
        self._of_node: list[dict[int, tuple[int, int]]] = []  # node -> (row, place in it)
        for number, (text, tree) in enumerate(zip(texts, trees, strict=True)):
            self._first.append(len(self.rows))
            of_node: dict[int, tuple[int, int]] = {}
            for path in [tree.path(leaf) for leaf in tree.leaves] or [[]]:
                for depth, node in enumerate(path):
                    of_node.setdefault(node, (len(self.rows), len(text) + depth))
                self.rows.append([*text, *(tree.tokens[node] for node in path)])
                self.texts.append(number)
            self._of_node.append(of_node)

    def places(self, scored: Sequence[int]) -> list[tuple[int, int]]:
        """(row, place) of the logits that `read_trees` returns, in order."""
        found = []
        for first, length, count, of_node in zip(self._first, self._lengths, scored, self._of_node, strict=True):
            found += [(first, at) for at in range(length - count, length)]
            found += [of_node[node] for node in range(len(of_node))]
        return found


def picked(logits: torch.Tensor, places: Sequence[tuple[int, int]]) -> torch.Tensor:
    """float32 [places, V], a copy on the CPU: of each (row, place) its logits."""
    rows, at = torch.tensor(places, dtype=torch.long, device=logits.device).reshape(-1, 2).T
    return logits.detach()[rows, at].to("cpu", torch.float32)


def rows_of(logits: torch.Tensor, ends: Sequence[int], scored: Sequence[int], copy: bool = True) -> torch.Tensor:
    """float32 [sum of scored, V]: for each text the `scored` rows before its end.

    A copy, because masks are written into it: a callable may return a view of its own table. Made outside of inference
    mode, whose tensors cannot be written to later. `copy=False`: where they need not be written to.
    """
    count, length, width = logits.shape
    flat = logits.detach().reshape(count * length, width)
    indices = [
        text * length + at
        for text, (end, last) in enumerate(zip(ends, scored, strict=True))
        for at in range(end - last, end)
    ]
    if len(indices) == len(flat):  # every row, in order
        return flat.to("cpu", torch.float32, copy=copy)
    chosen = flat[torch.tensor(indices, dtype=torch.long, device=flat.device)]
    return chosen.to("cpu", torch.float32)
