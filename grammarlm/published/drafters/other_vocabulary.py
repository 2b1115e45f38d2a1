"""A draft model whose ids mean something else: its text is cut into the target's tokens (OmniDraft).

What it says is held to the grammar by bytes, token by token. Its tokens become the target's by what the target has used before:
a table of the draft's tokens that a target token was spelled by, the longest ones first; where the table has nothing, by the
target's own tokenizer, which need not cut a text as a model under a constraint does. `hit_rate` is the share of drafted tokens
from the table.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from grammarlm.decoding.speculative.drafters.contexts import Context, Contexts
from grammarlm.decoding.speculative.drafters.drafter import RunDrafter, Target
from grammarlm.decoding.speculative.drafters.follower import Follower
from grammarlm.errors import LimitExceeded, TokenizerError
from grammarlm.masks.filters import greedy
from grammarlm.vocab.vocabulary import Vocabulary

if TYPE_CHECKING:
    from grammarlm.decoding.loop.row import Row
    from grammarlm.decoding.speculative.draft_builder import DraftBuilder
    from grammarlm.masks.matcher import Matcher

MOST = 65_536  # entries of the table; the oldest go first
MOST_PIECES = 4.0  # tokens of the draft for each of the target's that is asked for
TRIED = 8  # of the draft's best tokens, until one may come
Spelling = tuple[int, ...]


class OtherVocabulary(RunDrafter):
    """`vocab` says what the draft model's ids mean; `context` of a prompt in the draft's ids: what it gets instead."""

    length = 6

    def __init__(self, model: Any, vocab: Vocabulary, cache: str | None = None, *, context: Context | None = None):
        self.model, self.vocab = model, vocab
        self._follower, self._contexts = Follower(model, cache), Contexts(context)
        self._target: Vocabulary | None = None
        self._token_of: dict[Spelling, int] = {}
        self._longest = 1
        self._spellings: dict[int, Spelling] = {}  # of the target's tokens
        self._said: dict[Row, list[int]] = {}  # the texts in the draft's ids, prompts included
        self._drafts: dict[DraftBuilder, list[int]] = {}
        self._learned, self._pieces = 1, 1  # tokens of the target that were drawn, and of the draft that spell them
        self.hits, self.misses = 0, 0

    @property
    def hit_rate(self) -> float:
        return self.hits / max(1, self.hits + self.misses)

    def begin(self, target: Target) -> None:
        if self._target is not None and self._target != target.vocab:
            self._token_of, self._spellings, self._longest = {}, {}, 1
        self._target, self._said = target.vocab, {}
        self._follower.begin()

    def learn(self, row: Row, tokens: Sequence[int]) -> None:
        """At first the prompt, which is spelled as a whole; then what was drawn, a token at a time."""
        assert self._target is not None
        said = self._said.get(row)
        if said is None:
            prompt = len(row.spec.prompt) or len(tokens)
            own = spelled(self.vocab, bytes_of(self._target, tokens[:prompt])) or []
            said, tokens = self._said.setdefault(row, self._contexts.prompt(own)), tokens[prompt:]
        for token in tokens:
            spelling = self.spelling(token)
            said.extend(spelling)
            if spelling:
                self._learned, self._pieces = self._learned + 1, self._pieces + len(spelling)
                self.remember(spelling, token)

    def spelling(self, token: int) -> Spelling:
        """A token of the target in the draft's."""
        assert self._target is not None
        known = self._spellings.get(token)
        if known is None:
            known = self._spellings[token] = tuple(spelled(self.vocab, bytes_of(self._target, [token])))
        return known

    def remember(self, spelling: Spelling, token: int) -> None:
        """The target spells these tokens of the draft by that one."""
        self._token_of.pop(spelling, None)  # the latest ones are the last to go
        self._token_of[spelling] = token
        self._longest = max(self._longest, len(spelling))
        if len(self._token_of) > MOST:
            del self._token_of[next(iter(self._token_of))]

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
        found = self.translated(self._drafts.get(growth, []))
        return [found[:length]] if found else []

    def translated(self, draft: list[int]) -> list[int]:
        """The target's tokens with the same bytes."""
        assert self._target is not None
        found, at = [], 0
        while at < len(draft):
            for end in range(min(len(draft), at + self._longest), at, -1):
                token = self._token_of.get(tuple(draft[at:end]))
                if token is not None:
                    found.append(token)
                    self.hits += 1
                    at = end
                    break
            else:
                rest = bytes_of(self.vocab, draft[at:])
                cut = spelled(self._target, rest)
                if not cut:
                    return found
                found.append(cut[0])
                self.misses += 1
                at = self._after(draft, at, len(bytes_of(self._target, cut[:1])))
                if at < 0:  # the token ends within one of the draft's: the rest goes the same way
                    self.misses += len(cut) - 1
                    return found + cut[1:]
        return found

    def _after(self, draft: list[int], at: int, count: int) -> int:
        """Where in the draft so many bytes more end; -1: within one of its tokens."""
        while count > 0:
            count -= len(bytes_of(self.vocab, draft[at : at + 1]))
            at += 1
        return at if count == 0 else -1


def bytes_of(vocab: Vocabulary, ids: Sequence[int]) -> bytes:
    return b"".join(
        b"" if token in vocab.special_ids else vocab.token_bytes(token) for token in ids if token < vocab.size
    )


def spelled(vocab: Vocabulary, data: bytes) -> list[int]:
    """The tokens that a tokenizer would use, where there is one and the bytes are a text; else the longest ones."""
    try:
        found = [int(token) for token in vocab.encode(data.decode()) if token not in vocab.special_ids]
    except (TokenizerError, UnicodeDecodeError):  # no tokenizer, or no text
        found = []
    return found if bytes_of(vocab, found) == data else greedy.cut(vocab, data) or []
