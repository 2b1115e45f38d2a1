"""The kernel of the JSON machine over a schema, byte by byte and row by row."""

import functools
import random
from typing import Any

import numpy as np

import grammarlm as gl
from grammarlm.layout.json_calls import ADVANCE, ENDS, FILL, READ
from tests.internals import current_epoch
from tests.kernels.guarded import Guarded
from tests.kernels.token_lists import ids_in

BYTES = [bytes([byte]) for byte in range(256)]


class Machine:
    """A new epoch. Places in a text are numbers of records; 0 is refused."""

    def __init__(self, schema: Any, vocab: gl.Vocabulary, **options: Any):
        constraint = gl.compile(gl.JsonSchema(schema, **options), vocab)
        self.epoch = current_epoch(constraint)
        self.vocab, self.start = vocab, self.epoch.start

    def read(self, record: int, data: bytes) -> int:
        array = np.frombuffer(data + b"\0", np.uint8)
        found: int = self.epoch.call(READ, record, int(array.ctypes.data), len(data))
        return found

    def advance(self, record: int, token: int) -> int:
        found: int = self.epoch.call(ADVANCE, record, token)
        return found

    def may_end(self, record: int) -> bool:
        return bool(self.epoch.call(ENDS, record))

    def row(self, record: int) -> set[int]:
        """The tokens of the mask, which is written over what was there."""
        row = Guarded(self.vocab.words, np.int32, -1)
        self.epoch.call(FILL, record, row.address)
        row.assert_intact()
        return ids_in(row.inner, self.vocab.words)


@functools.cache
def plain_vocabulary() -> gl.Vocabulary:
    """All bytes and a stop token."""
    return gl.Vocabulary([*BYTES, b"</s>"], stop_ids=[256])


def vocabulary_of_texts(texts: list[bytes], rng: random.Random, count: int) -> tuple[gl.Vocabulary, list[bytes]]:
    """All bytes, pieces of the texts, and pieces with a byte that is wrong; some twice."""
    tokens = list(BYTES)
    for _ in range(count):
        text = rng.choice(texts)
        begin = rng.randrange(len(text))
        piece = bytearray(text[begin : begin + rng.randint(2, 9)])
        if rng.random() < 0.3:
            piece[rng.randrange(len(piece))] = rng.choice(b'",:]}[{ 1\\u0atn')
        tokens.append(bytes(piece))
    tokens += rng.sample(tokens, 9)
    return gl.Vocabulary([*tokens, b"</s>"], stop_ids=[len(tokens)]), tokens
