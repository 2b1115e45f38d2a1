"""The loop: read, mask, draw, until the text ends.

    decoding = start(model, "Ada, 36.\\n", tokenizer=tokenizer, grammar=gl.Regex("[0-9]+"))     # in generate.py
    for step in decoding:
        print(step.token, step.logprob)
    result = decoding.result()

`generate` runs it to its end at once; whoever wants to watch takes it step by step.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from time import perf_counter

import numpy as np
import torch

from ..masks.constraint import Constraint
from ..masks.mask_array import allocate_mask
from ..masks.token_facts import pack_ids
from ..vocab.vocabulary import Vocabulary
from .apply_mask import apply_mask_
from .model_steps import ModelSteps
from .result import Result, Stats
from .sampling import Sampling, draw


@dataclass(frozen=True)
class Step:
    """A token and what it was drawn from."""

    token: int
    logprob: float
    mass_removed: float
    logits: np.ndarray  # float32 [V]: the model's, -inf where the constraint forbids


class Decoding:
    """One text on its way from a model, a step at a time. Not to be shared between threads."""

    def __init__(
        self,
        model: ModelSteps,
        prompt: list[int],
        vocab: Vocabulary,
        *,
        constraint: Constraint | None,
        sampling: Sampling,
        max_tokens: int,
        stats: Stats,
        logits: torch.Tensor | None = None,
    ):
        """`logits`: the row after the prompt, where the model has read it already."""
        self.vocab, self.stats = vocab, stats
        self.tokens: list[int] = []
        self.logprobs: list[float] = []
        self.finish_reason: str | None = None
        self._model, self._unread, self._logits = model, prompt, logits
        self._matcher = constraint.matcher() if constraint else None
        self._mask = allocate_mask(1, vocab.size)
        self._stops = frozenset(vocab.stop_ids)
        self._stop_row = pack_ids(vocab.stop_ids, vocab.words)
        self._sampling, self._max_tokens = sampling, max_tokens
        stats.seed = sampling.seed if sampling.temperature else None

    def __iter__(self) -> Iterator[Step]:
        while self.finish_reason is None:
            step = self._step()
            if step:
                yield step

    def _step(self) -> Step | None:
        """One token more, or the reason why there is none."""
        with timed(self.stats, "mask_seconds"):
            only_the_end = self._fill()
        if only_the_end or len(self.tokens) == self._max_tokens:
            self.finish_reason = "stop" if only_the_end else "length"
            return None
        logits = self._read()
        with timed(self.stats, "sampling_seconds"):
            before = self._mass_before(logits.numpy())
        with timed(self.stats, "mask_seconds"):
            self._apply(logits)
        with timed(self.stats, "sampling_seconds"):
            removed = self._mass_removed(before, logits.numpy())
            token, logprob = draw(logits.numpy(), self._sampling, len(self.tokens))
        if token in self._stops:
            self.finish_reason = "stop"
            return None
        self._accept(token, logprob, removed)
        return Step(token, logprob, removed, logits.numpy())

    # ------------------------------------------------------------------ the parts of a step

    def _fill(self) -> bool:
        """Writes the mask; True where the text is complete and nothing can follow: the model need not be asked."""
        if self._matcher is None:
            return False
        self._matcher.fill_mask(self._mask)
        return self._matcher.is_accepting and np.array_equal(self._mask[0], self._stop_row)

    def _read(self) -> torch.Tensor:
        if self._logits is None:
            with timed(self.stats, "model_seconds"):
                self._logits = self._model.read(self._unread)
            self.stats.forwards += 1
        logits, self._logits = self._logits, None
        return logits

    def _apply(self, logits: torch.Tensor) -> None:
        if self._matcher is not None:
            apply_mask_(logits, self._mask)
        else:
            logits[self.vocab.size :] = -math.inf  # ids that do not exist cannot be decoded

    def _mass_before(self, logits: np.ndarray) -> float:
        mass = log_mass(logits)
        if not math.isfinite(mass):
            wrong = np.flatnonzero(np.isnan(logits) | (logits == math.inf))
            found = (
                f"{logits[wrong[0]]} at id {wrong[0]} (and {len(wrong) - 1} more)" if len(wrong) else "-inf everywhere"
            )
            raise ValueError(
                f"{self._place()} the model's logits are no distribution: {found}; "
                "check its weights and dtype (float16 overflows where bfloat16 and float32 do not)"
            )
        return mass

    def _mass_removed(self, before: float, logits: np.ndarray) -> float:
        after = log_mass(logits)
        if after == -math.inf:
            raise ValueError(
                f"{self._place()} each token that the grammar allows has the logit -inf, or lies beyond "
                f"the {len(logits)} logits; "
                "check that the tokenizer (or vocab=) is this model's"
            )
        return max(0.0, -math.expm1(after - before))

    def _accept(self, token: int, logprob: float, removed: float) -> None:
        with timed(self.stats, "mask_seconds"):
            if self._matcher is not None and not self._matcher.advance(token):
                raise RuntimeError(f"{self._place()} the mask allowed the token {token}, which the matcher refused")
        self.tokens.append(token)
        self.logprobs.append(logprob)
        self.stats.mass_removed.append(removed)
        self.stats.tokens += 1
        self._unread = [token]

    def _place(self) -> str:
        return f"after {len(self.tokens)} tokens"

    # ------------------------------------------------------------------ the outcome

    def result(self) -> Result:
        """The answer; what is left of it is decoded first."""
        for _ in self:
            pass
        special = frozenset(self.vocab.special_ids)  # only without a grammar can there be any, and they are no text
        data = b"".join(self.vocab.token_bytes(token) for token in self.tokens if token not in special)
        text = data.decode(errors="replace")
        value = text if text.encode() == data else data
        assert self.finish_reason
        return Result(
            text=text,
            value=value if self.finish_reason == "stop" else None,
            tokens=self.tokens,
            logprobs=self.logprobs,
            stats=self.stats,
            finish_reason=self.finish_reason,
        )


def log_mass(logits: np.ndarray) -> float:
    """The logarithm of the sum of exp(logits); nan and inf as they come."""
    top = float(logits.max())
    return top + math.log(np.exp(logits - np.float32(top)).sum()) if math.isfinite(top) else top


@contextmanager
def timed(stats: Stats, part: str) -> Iterator[None]:
    """Adds the time that the block takes to a field of the stats."""
    start = perf_counter()
    yield
    setattr(stats, part, getattr(stats, part) + perf_counter() - start)
