"""A model without weights that knows an answer: its distribution puts most on the next token of a labelled instance.

90 % on that token, the rest as seeded noise on all tokens. A greedy text is therefore the instance, unless an engine forbids one of
its tokens: with a valid instance this shows what an engine rejects wrongly, with an invalid one what it lets through. Once it has
been forced off its script, the model takes it up again where what it had to write agrees with the script, and skips a token of it
where that does not happen; at the end of the script it prefers to stop, then to close what is open.
"""

from __future__ import annotations

from typing import Any

import numpy as np

SHARE = 0.9  # of the probability, for the script's token
PATIENCE = 8  # tokens off the script until one of it is skipped
STRIDE = 7919  # of the noise, a step
CHUNK = 512
CLOSERS = '"}]:,0'


class ScriptedModel:
    context: int | None = None

    def __init__(self, tokenizer: Any, stops: list[int], temperature: float = 0.0):
        self._tokenizer, self._stops, self._greedy = tokenizer, stops, not temperature
        self._size = len(tokenizer)
        self._by_noise = np.random.default_rng(0).permutation(self._size)
        single = [tokenizer.encode(char, add_special_tokens=False) for char in CLOSERS]
        self._closers = np.array([tokens[0] for tokens in single if len(tokens) == 1])

    def start(self, prompt: list[int], seed: list[int], answer: list[int] | None) -> None:
        self._script, self._at, self._off, self._step = list(answer or ()), 0, 0, 0
        self._random = np.random.default_rng(seed)

    def choose(self, words: np.ndarray | None) -> int:
        is_over = self._at == len(self._script)
        favourite = self._stops[0] if is_over else self._script[self._at]
        keeps = self._greedy or self._random.random() < SHARE
        if keeps and (words is None or _has(words, favourite)):
            return favourite
        if is_over:
            for token in np.roll(self._closers, self._step):
                if words is None or _has(words, token):
                    return int(token)
        return self._noisiest(words)

    def _noisiest(self, words: np.ndarray | None) -> int:
        """The allowed token with the most noise at this step, which is the same for every engine: the order of all tokens by
        noise, shifted step by step, is read until one is allowed.
        """
        for begin in range(0, self._size, CHUNK):
            ids = (self._by_noise[begin : begin + CHUNK] - self._step * STRIDE) % self._size
            if words is None:
                return int(ids[0])
            within = np.minimum(ids >> 5, len(words) - 1)
            found = (words[within] >> (ids & 31) & 1).astype(bool) & (ids >> 5 < len(words))
            if found.any():
                return int(ids[found.argmax()])
        raise AssertionError("the mask allows nothing")

    def read(self, token: int) -> None:
        self._step += 1
        if self._at < len(self._script) and token == self._script[self._at]:
            self._at, self._off = self._at + 1, 0
            return
        written = self._tokenizer.decode([token])
        rest = self._tokenizer.decode(self._script[self._at :])
        if written and rest.startswith(written):
            self._script = self._tokenizer.encode(rest[len(written) :], add_special_tokens=False)
            self._at = self._off = 0
            return
        self._off += 1
        if self._off >= PATIENCE and self._at < len(self._script):
            self._at, self._off = self._at + 1, 0


def _has(words: np.ndarray, token: int) -> bool:
    return token >> 5 < len(words) and bool(int(words[token >> 5]) >> (token & 31) & 1)
