"""What generate() returns."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class Stats:
    """What a generation cost, and how far the constraint went against the model."""

    forwards: int = 0  # calls of the model
    tokens: int = 0  # of the answer, without its stop id
    seed: int | None = None  # what the random numbers hang on; None where nothing was drawn (temperature 0)
    # for each token the probability, at temperature 1, that the model gave to what the constraint forbade there
    mass_removed: list[float] = field(default_factory=list)
    compile_seconds: float = 0.0  # the vocabulary and the constraint; next to nothing where both were there already
    model_seconds: float = 0.0
    mask_seconds: float = 0.0
    sampling_seconds: float = 0.0


@dataclass(frozen=True)
class Result:
    """One answer.

    `text`           the answer. Cut in the middle of a character it ends with U+FFFD
    `value`          the text where it is complete (its bytes where they are no UTF-8 text), None where it was cut
    `tokens`         its ids, without the stop id
    `logprobs`       for each token the log-probability in softmax(masked logits / temperature), at temperature 1 where
                     decoding is greedy. Top-k, top-p and min-p change which tokens can be drawn, not these figures
    `finish_reason`  "stop": the model ended the text where it may end, or nothing but the end was left; "length": cut
    """

    text: str
    value: str | bytes | None
    tokens: list[int]
    logprobs: list[float]
    stats: Stats
    finish_reason: str
