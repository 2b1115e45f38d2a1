"""Which tokens of a draft's vocabulary spell a target's token, as the target has used them: the table of OmniDraft.

The longest entries come first; where the table has nothing, the target's own tokenizer cuts, which need not cut a text as a model
under a constraint does.
"""

from __future__ import annotations

from collections.abc import Sequence

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

    @property
    def hit_rate(self) -> float:
        """The share of drafted tokens from the table."""
        return self.hits / max(1, self.hits + self.misses)

    def of(self, token: int) -> Spelling:
        """A token of the target in the draft's."""
        known = self._of.get(token)
        if known is None:
            known = self._of[token] = tuple(spelled(self.own, bytes_of(self.target, [token])))
        return known

    def remember(self, spelling: Spelling, token: int) -> None:
        """The target spells these tokens of the draft by that one."""
        self._token_of.pop(spelling, None)  # the latest ones are the last to go
        self._token_of[spelling] = token
        self._longest = max(self._longest, len(spelling))
        if len(self._token_of) > MOST:
            del self._token_of[next(iter(self._token_of))]

    def translated(self, draft: list[int]) -> list[int]:
        """The target's tokens with the same bytes."""
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
                rest = bytes_of(self.own, draft[at:])
                cut = spelled(self.target, rest)
                if not cut:
                    return found
                found.append(cut[0])
                self.misses += 1
                at = self._after(draft, at, len(bytes_of(self.target, cut[:1])))
                if at < 0:  # the token ends within one of the draft's: the rest goes the same way
                    self.misses += len(cut) - 1
                    return found + cut[1:]
        return found

    def _after(self, draft: list[int], at: int, count: int) -> int:
        """Where in the draft so many bytes more end; -1: within one of its tokens."""
        while count > 0:
            count -= len(bytes_of(self.own, draft[at : at + 1]))
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
