"""Several independent answers to each prompt, which a pool chooses among."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import torch

from grammarlm.decoding.arguments import MOST_ANSWERS, check_integer
from grammarlm.decoding.loop.row import Row
from grammarlm.decoding.methods.masked import masked
from grammarlm.decoding.readers.draft_tree import DraftTree
from grammarlm.decoding.request import Request
from grammarlm.decoding.result import COMPLETE, Result

ROWS = 32  # about so many texts a batch: whole prompts with all their candidates


class NoDrafts:
    """Drafts nothing, forced text either: which texts end first, and how much a forward writes, depends on the seed alone."""

    needs_states = False

    def propose(self, rows: Sequence[Row]) -> Sequence[DraftTree]:
        return [DraftTree() for _ in rows]

    def observe(
        self, rows: Sequence[Row], logits: torch.Tensor, scored: Sequence[int], states: Sequence[torch.Tensor] | None
    ) -> None:
        pass

    def drop(self, row: Row) -> None:
        pass


def warmed(request: Request, candidates: int) -> Request:
    """The request for so many draws; temperature 0 is taken as 1. ValueError where they are too few."""
    check_integer("candidates", candidates, 1, MOST_ANSWERS)
    if request.n > candidates:
        raise ValueError(f"n={request.n} with candidates={candidates}; the n best of at least so many are taken")
    specs = [replace(spec, settings=spec.settings.warm()) for spec in request.specs]
    return replace(request, n=candidates, specs=specs)


def drawn(request: Request, candidates: int) -> list[list[Result]]:
    """For each prompt so many masked draws."""
    asked, found = warmed(request, candidates), list[Result]()
    for batch in asked.batches(max(1, ROWS // candidates)):
        found += masked(batch)
    return [found[first : first + candidates] for first in range(0, len(found), candidates)]


def is_complete(result: Result) -> bool:
    """Has it a value? (Under a schema None is one, too: that of "null".)"""
    has_value = result.value is not None or result.text.strip() == "null"
    return has_value and result.finish_reason in COMPLETE
