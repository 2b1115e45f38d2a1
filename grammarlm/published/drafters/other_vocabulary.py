"""OmniDraft (A Cross-Vocabulary, Online Adaptive Drafter): a draft model whose ids mean something else.

What it says is held to the grammar by bytes, token by token; its tokens become the target's by what the target has used before
(spellings.py). It costs a forward for each of the draft's tokens, one after another. Of no use where the draft's tokens are much
shorter.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from grammarlm.decoding.loop.row import Row
from grammarlm.decoding.speculative.draft_builder import DraftBuilder
from grammarlm.decoding.speculative.drafters.contexts import Context
from grammarlm.decoding.speculative.drafters.drafter import RunDrafter, Target
from grammarlm.decoding.speculative.drafters.follower import Following
from grammarlm.decoding.speculative.draws import best_ids
from grammarlm.errors import LimitExceeded
from grammarlm.masks.matcher import Matcher
from grammarlm.vocab.vocabulary import Vocabulary

from .spellings import Spellings, bytes_of, spelled

MOST_PIECES = 4.0  # tokens of the draft for each of the target's that is asked for
TRIED = 8  # of the draft's best tokens, until one may come


class OtherVocabulary(Following, RunDrafter):
    """`vocab` says what the draft model's ids mean; `context` of a prompt in the draft's ids: what it gets instead."""

    length, table = 6, Spellings
    spellings: Spellings  # once a call has begun

    def __init__(self, model: Any, vocab: Vocabulary, cache: str | None = None, *, context: Context | None = None):
        super().__init__(model, cache, context)
        self.vocab = vocab
        self._said, self._drafts = self.by_row(), self.by_row()  # in the draft's ids; what was said includes prompts

    def begin(self, target: Target) -> None:
        super().begin(target)
        known = getattr(self, "spellings", None)
        if known is None or known.target != target.vocab:
            self.spellings = self.table(self.vocab, target.vocab)

    def learn(self, row: Row, tokens: Sequence[int]) -> None:
        """At first the prompt, which is spelled as a whole; then what was drawn, a token at a time."""
        if row not in self._said:
            prompt = len(row.spec.prompt) or len(tokens)
            own = spelled(self.vocab, bytes_of(self.spellings.target, tokens[:prompt]))
            self._said[row], tokens = self._contexts.prompt(own), tokens[prompt:]
        for token in tokens:
            self._said[row].extend(self.spellings.learned(token))

    def open(self, growths: Sequence[DraftBuilder]) -> None:
        """One continuation of each text, in the draft's tokens."""
        rows = [growth.row for growth in growths if self._said.get(growth.row)]
        self._drafts.update({row: [] for row in rows})
        # Of the texts that still go on; the others stay in the reader's batch.
        matchers = {row: row.grammar.matcher and row.grammar.matcher.fork() for row in rows}
        a_token = min(MOST_PIECES, self.spellings.pieces / self.spellings.tokens)
        for _ in range(math.ceil(a_token * max(growth.room for growth in growths))):
            if not matchers:
                return
            logits = self._follower.read(rows, [[*self._said[row], *self._drafts[row]] for row in rows]).numpy()
            for row, own in zip(rows, logits, strict=True):
                token = self._best(own, matchers[row]) if row in matchers else None
                if token is None:
                    matchers.pop(row, None)
                else:
                    self._drafts[row].append(token)

    def _best(self, logits: np.ndarray, matcher: Matcher | None) -> int | None:
        """The best token whose bytes the grammar reads next; None where the text would end, or nothing likely may come."""
        for token in best_ids(logits[: self.vocab.size], TRIED + len(self.vocab.special_ids)).tolist():
            if token in self.vocab.stop_ids:
                return None
            data = bytes_of(self.vocab, [token])
            try:
                if data and (matcher is None or matcher.advance_bytes(data)):
                    return int(token)
            except LimitExceeded:
                return None
        return None

    def runs(self, growth: DraftBuilder, length: int, count: int) -> list[list[int]]:
        return [self.spellings.translated(self._drafts.get(growth.row, []))[:length]]
