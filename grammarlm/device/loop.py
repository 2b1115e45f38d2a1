"""The whole decoding loop on the device: forward, mask, sample, advance, as one CUDA graph where the automaton is complete.

    loop = DeviceLoop(forward, automaton.batch(64), temperature=0.8, seed=1)
    tokens = loop.run(first_tokens, steps=40)              # list of lists, without stop ids

`forward(tokens [B], position [1]) -> logits [B, V]` is the model's step over its own static cache; all that it needs must be on the
device. Nothing synchronises with the host between steps: tokens are written to a table on the device, and texts that have ended go
on with a stop id. Where edges can be missing the host computes them after each step, and the loop runs without a graph.

On the CPU the same loop runs with the CPU's kernels and draws the same tokens.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from grammarlm.decoding.arguments import check_integer
from grammarlm.decoding.logits.sampling import Sampling, draw
from grammarlm.layout.csr import FIRST
from grammarlm.masks.mask_array import as_integer

from .automaton import TextBatch

MOST_STEPS, LARGEST_K = 1 << 20, (1 << 31) - 1
NONE = -1  # in place of a token, after the end of a text
WARM_UP = 3  # steps before graph capture: kernels compile, caches are allocated

Forward = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]


class DeviceLoop:
    """Decodes a batch under a device automaton. A batch has at most one loop at a time."""

    def __init__(
        self,
        forward: Forward,
        texts: TextBatch,
        *,
        temperature: float = 0.0,
        top_k: int | None = None,
        top_p: float | None = None,
        min_p: float | None = None,
        seed: int = 0,
        longest: int = 1024,
    ):
        check_integer("longest", longest, 1, MOST_STEPS)
        check_integer("seed", seed, 0)
        self.forward, self.texts, self.longest = forward, texts, longest
        self.sampling = Sampling(temperature, top_k, top_p, min_p, seed=seed)
        size, device = len(texts), texts.states.device
        self.tokens = torch.zeros(size, dtype=torch.int64, device=device)
        self.position = torch.zeros(1, dtype=torch.int64, device=device)
        self.drawn = torch.full((size, longest), NONE, dtype=torch.int64, device=device)
        self.mask = torch.empty((size, texts.automaton.vocab.words), dtype=torch.int32, device=device)
        self._seeds = (torch.arange(size, device=device) + int(seed)).contiguous()
        self._settings = _tensors(self.sampling, size, device)
        self._graph: Any = None

    def __repr__(self) -> str:
        return f"<DeviceLoop of {len(self.texts)} texts, at most {self.longest} tokens each>"

    def run(self, first: torch.Tensor, steps: int) -> list[list[int]]:
        """Runs so many steps from the batch's states; each text's tokens without stop ids. `first`: forward's first tokens."""
        steps = as_integer(steps, "run(steps=) takes a number of steps")
        if not 1 <= steps <= self.longest:
            raise ValueError(
                f"run(steps={steps}): it takes 1 to {self.longest} steps; DeviceLoop(longest=...) has room for more"
            )
        self.tokens.copy_(first)
        self.position.zero_()
        self.drawn.fill_(NONE)
        is_complete = self.texts.automaton.is_complete
        if is_complete and self.texts.states.is_cuda and self._graph is None:
            self._capture()
        for _ in range(steps):
            if is_complete and self._graph is not None:
                self._graph.replay()
            else:
                self.step()
                if not is_complete:
                    self.texts.settle()
        stops = set(self.texts.automaton.vocab.stop_ids)
        return [[t for t in row if t != NONE and t not in stops] for row in self.drawn[:, :steps].tolist()]

    def step(self) -> None:
        """One token for each text. No host synchronisation on a CUDA device."""
        logits = self.forward(self.tokens, self.position)
        self.texts.fill_mask(self.mask)
        drawn = self._draw(logits)
        is_open = self.texts.states >= FIRST
        self.texts.advance_(drawn)
        self.drawn.index_copy_(1, self.position, torch.where(is_open, drawn, NONE)[:, None])
        self.tokens.copy_(drawn)
        self.position.add_(1)

    def _draw(self, logits: torch.Tensor) -> torch.Tensor:
        if logits.is_cuda:
            from grammarlm.kernels.gpu.sample import sample_gpu

            position = self.position.expand(len(self.texts)).contiguous()
            tokens, _ = sample_gpu(logits, self.mask, seed=self._seeds, position=position, **self._settings)
            return tokens
        return self._draw_on_cpu(logits)

    def _draw_on_cpu(self, logits: torch.Tensor) -> torch.Tensor:
        values = logits.detach().float().numpy()
        bits = np.unpackbits(self.mask.numpy().view(np.uint8), axis=1, bitorder="little")[:, : values.shape[1]]
        masked = np.where(bits, values, np.float32(-np.inf))
        position = int(self.position)
        settings = [replace(self.sampling, seed=seed) for seed in self._seeds.tolist()]
        tokens = [draw(row, own, position)[0] for row, own in zip(masked, settings, strict=True)]
        return torch.tensor(tokens, dtype=torch.int64)

    def _capture(self) -> None:
        """Records one step as a CUDA graph; states, tokens and position are restored afterwards."""
        saved = [t.clone() for t in (self.texts.states, self.tokens, self.position, self.drawn)]
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(min(WARM_UP, self.longest)):
                self.step()
                self.position.zero_()
        torch.cuda.current_stream().wait_stream(stream)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            self.step()
        self._graph = graph
        for tensor, value in zip((self.texts.states, self.tokens, self.position, self.drawn), saved, strict=True):
            tensor.copy_(value)


def _tensors(sampling: Sampling, size: int, device: torch.device) -> dict[str, torch.Tensor]:
    """Settings of the GPU's sampler: one value a row."""
    given = {
        "temperature": float(sampling.temperature),
        "top_k": sampling.top_k and min(sampling.top_k, LARGEST_K),
        "top_p": sampling.top_p,
        "min_p": sampling.min_p,
    }
    return {name: torch.full((size,), value, device=device) for name, value in given.items() if value is not None}
