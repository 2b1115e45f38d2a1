"""The corpus of the library's grammars through the engine: every text, by bytes and by tokens, and the masks on the way."""

import functools
from typing import Any

import numpy as np
import pytest

import grammarlm as gl
from tests.grammars.library.library_texts import CASES, NAMES, dead_texts

PIECES = [
    b"  ",
    b"    ",
    b"\n    ",
    b"==",
    b"SELECT",
    b" FROM",
    b"def ",
    b"):\n",
    b'","',
    b'":',
    b"</",
    b"/>",
    b"10",
    b"int ",
    b"name",
    b"else",
    b" = ",
]
STOP = 256 + len(PIECES)


@functools.cache
def vocabulary() -> gl.Vocabulary:
    tokens = [bytes([b]) for b in range(256)] + PIECES + [b"</s>"]
    return gl.Vocabulary(tokens, stop_ids=[STOP], special_ids=[STOP])


@functools.cache
def constraint(grammar: str) -> gl.Constraint:
    return gl.compile(gl.Lark.library(grammar), vocabulary())


def tokens_of(data: bytes) -> list[int]:
    """The longest token first."""
    out = []
    while data:
        piece = max((p for p in PIECES if data.startswith(p)), key=len, default=data[:1])
        out.append(256 + PIECES.index(piece) if piece in PIECES else data[0])
        data = data[len(piece) :]
    return out


@pytest.mark.parametrize("case", CASES, ids=NAMES)
def test_texts_by_tokens(case: dict[str, Any]) -> None:
    """Each token of a good text is in the mask before it, the stop id only at an end; dead texts meet a refusal."""
    matcher = constraint(case["grammar"]).matcher()
    mask = gl.allocate_mask(1, vocabulary().size)
    for text in [*case["accepts"], *(text + rest for text, rest in case.get("unfinished", []))]:
        matcher.reset()
        for token in tokens_of(text.encode()):
            matcher.fill_mask(mask)
            assert allowed(mask, token), (text, token)
            assert allowed(mask, STOP) == matcher.is_accepting, text
            assert matcher.advance(token), (text, token)
        assert matcher.is_accepting, text
    for text in dead_texts(case):
        matcher.reset()
        tokens = tokens_of(text.encode())
        count = matcher.validate(tokens)
        assert count < len(tokens), text
        for token in tokens[:count]:
            matcher.advance(token)
        matcher.fill_mask(mask)
        assert not allowed(mask, tokens[count]), text


def allowed(mask: np.ndarray, token: int) -> bool:
    return bool(mask[0, token >> 5] >> (token & 31) & 1)
