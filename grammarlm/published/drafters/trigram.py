"""ADED (Adaptive Draft-Verification for Efficient Large Language Model Decoding): trigrams of all texts so far, and of this one.

The most frequent next tokens after the last two, as a chain or tree; tree="best_first" stands for its search, which visits nodes by
PUCT and found less (docs/decisions/drafts.md). It costs a dictionary. Of no use before some answers are written, or where "suffix"
runs, which knows longer matches.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from grammarlm.decoding.loop.row import Row
from grammarlm.decoding.speculative.draft_builder import DraftBuilder
from grammarlm.decoding.speculative.drafters.drafter import Candidates, NodeDrafter

MOST = 200_000  # pairs of tokens that are remembered
KEPT = 8  # successors of a pair


class Trigram(NodeDrafter):
    length = 6

    def __init__(self) -> None:
        self._counts: dict[tuple[int, int], dict[int, float]] = {}
        self._last = self.by_row()  # two tokens of each

    def learn(self, row: Row, tokens: Sequence[int]) -> None:
        last: list[int] = self._last.setdefault(row, [])
        is_prompt = not last
        for token in tokens:
            if len(last) == 2 and not is_prompt:
                self._count((last[0], last[1]), token)
            last.append(token)
            del last[:-2]

    def _count(self, pair: tuple[int, int], token: int) -> None:
        after = self._counts.get(pair)
        if after is None:
            if len(self._counts) == MOST:
                del self._counts[next(iter(self._counts))]
            after = self._counts[pair] = {}
        after[token] = after.get(token, 0.0) + 1.0
        if len(after) > KEPT:
            del after[min(after, key=after.__getitem__)]

    def after_node(self, growth: DraftBuilder, node: int) -> Candidates:
        said = growth.ids[-2:] + growth.tree.tokens_to(node)
        counts = self._counts.get((said[-2], said[-1]), {}) if len(said) > 1 else {}
        tokens = sorted(counts, key=lambda token: (-counts[token], token))
        total = sum(counts.values())
        return Candidates(tokens, [math.log(counts[token] / total) for token in tokens])
