"""What chooses the tokens: a transformers model, the embedded one among them. All engines stand before the same choice."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Protocol

import numpy as np


class Model(Protocol):
    """Writes one text at a time."""

    context: int | None  # most tokens of prompt and answer together

    def start(self, prompt: list[int], seed: list[int], answer: list[int] | None) -> None: ...  # `answer`: a script
    def choose(self, words: np.ndarray | None) -> int: ...  # a token that the mask allows
    def read(self, token: int) -> None: ...


class TransformersModel:
    """A causal model of transformers with its cache; `temperature` 0 is greedy."""

    def __init__(self, name: str, temperature: float = 0.0):
        import torch

        from grammarlm.decoding.readers.reader import open_reader

        torch.set_num_threads(1)  # as the engines; several children at a time would wait for each other's threads
        self._open_reader, self._temperature = open_reader, temperature
        self._model = load_model(name)
        self.context: int | None = getattr(self._model.config, "max_position_embeddings", None)

    def start(self, prompt: list[int], seed: list[int], answer: list[int] | None) -> None:
        self._random = np.random.default_rng(seed)
        self._reader = self._open_reader(self._model, [prompt], 0, "dynamic")
        self._forward(prompt)

    def read(self, token: int) -> None:
        self._forward([token])

    def _forward(self, tokens: list[int]) -> None:
        self._logits = self._reader.read([tokens], [1])[0].numpy()

    def choose(self, words: np.ndarray | None) -> int:
        logits = self._logits
        if words is not None:
            logits = np.where(allowed(words, len(logits)), logits, -np.inf)
        if not self._temperature:
            return int(logits.argmax())
        scaled = (logits - logits.max()) / self._temperature
        weights = np.cumsum(np.exp(scaled, dtype=np.float64))
        return int(np.searchsorted(weights, self._random.random() * weights[-1], side="right"))


def load_model(name: str) -> Any:
    if name == "tiny":
        from grammarlm.models.tiny import load_tiny

        return load_tiny()[0]
    from transformers import AutoModelForCausalLM

    if not Path(name).is_dir():
        raise FileNotFoundError(f"--model {name}: there is no such folder; give a model's, tiny, or scripted")
    return AutoModelForCausalLM.from_pretrained(name, local_files_only=True).eval()


def allowed(words: np.ndarray, size: int) -> np.ndarray:
    """The mask as booleans, one a token; tokens beyond the mask are not allowed."""
    bits = np.unpackbits(np.ascontiguousarray(words).view(np.uint8), bitorder="little")[:size].view(bool)
    return bits if len(bits) == size else np.pad(bits, (0, size - len(bits)))
