"""Which tokens of a draft's vocabulary spell a target's token, as the target has used them: the table of OmniDraft.

The longest entries come first; where the table has nothing, the target's own tokenizer cuts, which need not cut a text as a model
under a constraint does.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

from grammarlm.errors import TokenizerError
from grammarlm.masks.filters import greedy
from grammarlm.vocab.vocabulary import Vocabulary

MOST = 65_536  # entries of the table; the oldest go first
Spelling = tuple[int, ...]


class Spellings:
    def __init__(self, own: Vocabulary, target: Vocabulary):
        self.own, self.target = own, target
        self._token_of: dict[Spelling, int] = {}
        self._longest = 1
        self._of: dict[int, Spelling] = {}  # of the target's tokens
        self.hits, self.misses = 0, 0
        self.tokens, self.pieces = 1, 1  # of the target that were learned, and of the draft that spell them

    @property
    def hit_rate(self) -> float:
        """The share of drafted tokens from the table."""
        return self.hits / max(1, self.hits + self.misses)

    def of(self, token: int) -> Spelling:
        """A token of the target in the draft's."""
        if token not in self._of:
            self._of[token] = tuple(spelled(self.own, bytes_of(self.target, [token])))
        return self._of[token]

    def learned(self, token: int) -> Spelling:
        """How a token is spelled that the target has used."""
        spelling = self.of(token)
        if spelling:
            self.tokens, self.pieces = self.tokens + 1, self.pieces + len(spelling)
            self.remember(spelling, token)
        return spelling

    def remember(self, spelling: Spelling, token: int) -> None:
        """The target spells these tokens of the draft by that one."""
        self._token_of.pop(spelling, None)  # the latest ones are the last to go
        self._token_of[spelling] = token
        self._longest = max(self._longest, len(spelling))
        if len(self._token_of) > MOST:
            del self._token_of[next(iter(self._token_of))]

    def translated(self, draft: list[int]) -> list[int]:
        """The target's tokens with the same bytes."""
        found: list[int] = []
        at = 0
        while at < len(draft):
            sizes = range(min(self._longest, len(draft) - at), 0, -1)
            size = next((size for size in sizes if tuple(draft[at : at + size]) in self._token_of), 0)
            if size:
                found.append(self._token_of[tuple(draft[at : at + size])])
                self.hits, at = self.hits + 1, at + size
                continue
            cut = spelled(self.target, bytes_of(self.own, draft[at:]))
            first = len(bytes_of(self.target, cut[:1]))
            ends = list(accumulate(len(bytes_of(self.own, [token])) for token in draft[at:]))
            if first not in ends:  # the token ends within one of the draft's: the rest goes the same way
                self.misses += len(cut)
                return found + cut
            found.append(cut[0])
            self.misses, at = self.misses + 1, at + ends.index(first) + 1
        return found


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
