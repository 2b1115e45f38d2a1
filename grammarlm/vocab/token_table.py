"""The table that every tokenizer is read into: the bytes of each id, the special ids, the ids that end a text."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from grammarlm.errors import TokenizerError

# A file that claims an id of 10^9 would make the table as large; no model has rows for it.
LARGEST_ID = 2**24


@dataclass(frozen=True, eq=False)
class TokenTable:
    """`data[offsets[i] : offsets[i + 1]]` are the bytes of id i; an id without a token has none."""

    offsets: np.ndarray  # int64 [n + 1], from 0, non-decreasing
    data: np.ndarray  # uint8 [offsets[n]]
    special_ids: tuple[int, ...]  # sorted; their bytes are their own text
    end_ids: tuple[int, ...]  # sorted; the tokenizer's own end of text, () where it has none

    @classmethod
    def from_tokens(
        cls, tokens: Sequence[bytes], special_ids: Iterable[int] = (), end_ids: Iterable[int] = ()
    ) -> "TokenTable":
        offsets: np.ndarray = np.zeros(len(tokens) + 1, np.int64)
        np.cumsum(np.fromiter(map(len, tokens), np.int64, len(tokens)), out=offsets[1:])
        data = np.frombuffer(b"".join(tokens), np.uint8)
        return cls(offsets, data, tuple(sorted(set(special_ids))), tuple(sorted(set(end_ids))))

    @classmethod
    def from_ids(
        cls, tokens: Mapping[int, bytes], special_ids: Iterable[int] = (), end_ids: Iterable[int] = ()
    ) -> "TokenTable":
        """From {id: bytes}, whose ids may have holes."""
        if not tokens:
            raise TokenizerError("the tokenizer has no tokens: nothing can be generated with it")
        low, high = min(tokens), max(tokens)
        if low < 0 or high >= LARGEST_ID:
            raise TokenizerError(f"the tokenizer has the id {low if low < 0 else high}: ids are 0 to {LARGEST_ID - 1}")
        return cls.from_tokens([tokens.get(i, b"") for i in range(high + 1)], special_ids, end_ids)

    @property
    def count(self) -> int:
        return len(self.offsets) - 1

    def token(self, token_id: int) -> bytes:
        return self.data[self.offsets[token_id] : self.offsets[token_id + 1]].tobytes()


def is_utf8(data: bytes) -> bool:
    """Are the bytes valid UTF-8 on their own? A token may end inside a character."""
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True
