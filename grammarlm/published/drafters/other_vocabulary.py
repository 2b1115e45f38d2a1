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
from grammarlm.decoding.speculative.drafters.contexts import Context, Contexts
from grammarlm.decoding.speculative.drafters.drafter import RunDrafter, Target
from grammarlm.decoding.speculative.drafters.follower import Follower
from grammarlm.errors import LimitExceeded
from grammarlm.masks.matcher import Matcher
from grammarlm.vocab.vocabulary import Vocabulary

from .spellings import Spellings, bytes_of, spelled

MOST_PIECES = 4.0  # tokens of the draft for each of the target's that is asked for
TRIED = 8  # of the draft's best tokens, until one may come


class OtherVocabulary(RunDrafter):
    """`vocab` says what the draft model's ids mean; `context` of a prompt in the draft's ids: what it gets instead."""

    length, table = 6, Spellings

    def __init__(self, model: Any, vocab: Vocabulary, cache: str | None = None, *, context: Context | None = None):
        self.model, self.vocab = model, vocab
        self._follower, self._contexts = Follower(model, cache), Contexts(context)
        self._spellings: Spellings | None = None
        self._said: dict[Row, list[int]] = {}  # the texts in the draft's ids, prompts included
        self._drafts: dict[DraftBuilder, list[int]] = {}
        self._learned, self._pieces = 1, 1  # tokens of the target that were drawn, and of the draft that spell them

    @property
    def hit_rate(self) -> float:
        return 0.0 if self._spellings is None else self._spellings.hit_rate

    def begin(self, target: Target) -> None:
        if self._spellings is None or self._spellings.target != target.vocab:
            self._spellings = self.table(self.vocab, target.vocab)
        self._said = {}
        self._follower.begin()

    def learn(self, row: Row, tokens: Sequence[int]) -> None:
        """At first the prompt, which is spelled as a whole; then what was drawn, a token at a time."""
        assert self._spellings is not None
        said = self._said.get(row)
        if said is None:
            prompt = len(row.spec.prompt) or len(tokens)
            own = spelled(self.vocab, bytes_of(self._spellings.target, tokens[:prompt])) or []
            said, tokens = self._said.setdefault(row, self._contexts.prompt(own)), tokens[prompt:]
        for token in tokens:
            spelling = self._spellings.of(token)
            said.extend(spelling)
            if spelling:
                self._learned, self._pieces = self._learned + 1, self._pieces + len(spelling)
                self._spellings.remember(spelling, token)

    def drop(self, row: Row) -> None:
        self._said.pop(row, None)
        self._follower.drop(row)

    def open(self, growths: Sequence[DraftBuilder]) -> None:
        """One continuation of each text, in the draft's tokens."""
        rows = [growth.row for growth in growths if self._said.get(growth.row)]
        texts = {row: list(self._said[row]) for row in rows}
        # Of the texts that still go on; the others stay in the reader's batch.
        matchers = {row: row.grammar.matcher and row.grammar.matcher.fork() for row in rows}
        self._drafts = {growth: [] for growth in growths}
        drafts = {growth.row: self._drafts[growth] for growth in growths}
        a_token = min(MOST_PIECES, self._pieces / self._learned)
        for _ in range(math.ceil(a_token * max((growth.room for growth in growths), default=0))):
            if not matchers:
                return
            logits = self._follower.read(rows, [texts[row] for row in rows]).numpy()
            for row, own in zip(rows, logits, strict=True):
                token = self._best(own, matchers[row]) if row in matchers else None
                if token is None:
                    matchers.pop(row, None)
                else:
                    texts[row].append(token)
                    drafts[row].append(token)

    def _best(self, logits: np.ndarray, matcher: Matcher | None) -> int | None:
        """The best token whose bytes the grammar reads next; None where the text would end, or nothing likely may come."""
        logits = logits[: self.vocab.size]
        count = min(TRIED + len(self.vocab.special_ids), len(logits))
        best = np.argpartition(-logits, count - 1)[:count]
        for token in best[np.argsort(-logits[best], kind="stable")].tolist():
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
        found = [] if self._spellings is None else self._spellings.translated(self._drafts.get(growth, []))
        return [found[:length]] if found else []
