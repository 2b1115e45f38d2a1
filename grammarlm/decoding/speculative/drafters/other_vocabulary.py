"""A draft model whose ids mean something else: its text is cut into the target's tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from grammarlm.errors import TokenizerError
from grammarlm.masks.filters import greedy
from grammarlm.vocab.vocabulary import Vocabulary

from .drafter import RunDrafter, Target

if TYPE_CHECKING:
    from grammarlm.decoding.speculative.growth import Growth

BYTES_A_TOKEN = 4  # of the target, about: how far to draft


class OtherVocabulary(RunDrafter):
    """`vocab` says what the draft model's ids mean."""

    length = 6

    def __init__(self, model: Any, vocab: Vocabulary):
        self.model, self.vocab = model, vocab
        self._target: Vocabulary | None = None

    def begin(self, target: Target) -> None:
        self._target = target.vocab

    def runs(self, growth: Growth, length: int, count: int) -> list[list[int]]:
        """One continuation: as many tokens of the draft model as asked for, their bytes in the target's tokens."""
        assert self._target is not None
        said = bytes_of(self._target, growth.ids)
        ids = spelled(self.vocab, said)
        if not ids:
            return []
        data = b""
        for _ in range(length):
            token = self._best(ids)
            if token in self.vocab.stop_ids:
                break
            ids.append(token)
            data += self.vocab.token_bytes(token)
        found = spelled(self._target, data)
        return [found[:length]] if found else []

    def _best(self, ids: list[int]) -> int:
        with torch.no_grad():
            logits = self.model(torch.tensor([ids]))
        logits = getattr(logits, "logits", logits)[0, -1].float().clone()
        special = [each for each in self.vocab.special_ids if each not in self.vocab.stop_ids and each < len(logits)]
        logits[special] = -torch.inf
        return int(logits[: self.vocab.size].argmax())


def bytes_of(vocab: Vocabulary, ids: list[int]) -> bytes:
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
