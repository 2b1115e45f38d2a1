"""Models of random weights over vocabularies of bytes and pieces, some of which may be special tokens."""

from collections.abc import Callable, Sequence
from typing import Any

import torch

import grammarlm as gl
from tests.laws.json_laws import WALKED

LETTERS = [WALKED.token_bytes(token) for token in range(WALKED.size) if token not in WALKED.stop_ids]


def vocabulary(pieces: Sequence[str], marks: Sequence[str] = ()) -> gl.Vocabulary:
    """All bytes, beginnings of JSON, pieces, and marks: special tokens."""
    tokens = [*LETTERS, *(piece.encode() for piece in pieces), *(mark.encode() for mark in marks)]
    size = len(tokens)
    return gl.Vocabulary([*tokens, b"</s>"], stop_ids=[size], special_ids=range(size - len(marks), size + 1))


def babbling(seed: int, vocab: gl.Vocabulary) -> Callable[[Any], Any]:
    """Logits that depend on the last three ids, at random; pieces are somewhat likelier than letters."""
    tables = torch.randn(3, vocab.size, vocab.size, generator=torch.Generator().manual_seed(seed))
    tables[0, :, 256:] += 1.5

    def logits(ids: Any) -> Any:
        found = tables[0][ids]
        for back in (1, 2):
            found[:, back:] += tables[back][ids[:, : ids.shape[1] - back]]
        return found

    return logits
