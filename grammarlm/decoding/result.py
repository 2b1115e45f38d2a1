"""What generate() returns."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ..errors import brief

COMPLETE = ("stop", "closed")  # the finish reasons of answers that are whole texts of what was asked for


@dataclass
class Stats:
    """What an answer cost, and how far the constraint went against the model.

    Times are those of the batch while this answer was part of it: divide by the answers to see what one costs.
    """

    forwards: int = 0  # calls of the model that this answer took part in
    tokens: int = 0  # of the answer, without its stop id
    forced_tokens: int = (
        0  # of these, tokens that the constraint left no choice for, and that no forward of their own was spent on
    )
    draft_tokens: int = (
        0  # tokens that were proposed, because their bytes are forced, and read by a forward beside others
    )
    accepted_tokens: int = 0  # of these, tokens that were then drawn, and that no forward of their own was spent on
    seed: int | None = None  # what the random numbers hang on; None where nothing was drawn (temperature 0)
    # for each token the probability, at temperature 1, that the model gave to what the constraint forbade there
    mass_removed: list[float] = field(default_factory=list, repr=False)
    checks: int = 0  # questions to where= that this answer took part in; only methods that ask it in batches count them
    cache_hit: bool = False  # was the constraint compiled before?
    closes: bool = False  # is the answer held to the budget, so that it always ends within max_tokens?
    compile_seconds: float = 0.0  # the vocabulary and the constraints; next to nothing where they were there already
    model_seconds: float = 0.0
    mask_seconds: float = 0.0
    sampling_seconds: float = 0.0


@dataclass(frozen=True, repr=False)
class Population:
    """What sequential Monte Carlo found: texts with weights that sum to 1, which follow the model's law given the constraint.

    `texts`, `tokens`, `weights`   one entry for each sequence of tokens that was found, the heaviest first: two of
                     them may spell one text
    `log_evidence`   log of the probability that the model by itself writes a text that the constraint accepts: an estimate,
                     unbiased before the logarithm
    `ess`            after each step how many particles of equal weight would be worth as much
    `resampled`      the steps, from 0, after which particles were resampled
    """

    texts: list[str]
    tokens: list[list[int]]
    weights: list[float]
    log_evidence: float
    ess: list[float]
    resampled: list[int]

    def __repr__(self) -> str:
        best = brief(self.texts[0]) if self.texts else "nothing"
        return f"<Population of {len(self.texts)} texts, the heaviest {best}, log_evidence {self.log_evidence:.4g}>"


@dataclass(frozen=True, repr=False)
class Result:
    """One answer.

    `text`            the answer. Cut in the middle of a character it ends with U+FFFD
    `value`           what the text says: under a schema its JSON value (an instance where the schema is a Python type), elsewhere
                      the text (its bytes where they are no UTF-8). None where the answer is not complete (its finish reason is
                      neither "stop" nor "closed"), and where `error` says so
    `tokens`          its ids, without the stop id
    `logprobs`        for each token the log-probability in softmax(masked logits / temperature), at temperature 1 where
                      decoding is greedy. Top-k, top-p, min-p, typical-p and `where=` change which tokens can be drawn, not these
                      figures
    `model_logprobs`  for each token the log-probability that the model itself gave it: no constraint, temperature 1
    `finish_reason`   "stop": the model ended the text where it may end, or nothing but the end was left; "closed": the budget
                      of max_tokens ended it, or had a say in it; "length": it was cut; "unsatisfied": `where=` refused all that
                      could come next; "error": it failed, alone of its batch
    `log_weight`      method="awrs": log of the answer's importance weight, the model's mass that the constraint left on the way
    `population`      method="smc": all texts that were found, with their weights
    `score`           method="beam", "best_of": what the answer was chosen for
    `error`           why a complete text has no value: a validator of the Python type that the schema cannot express, a number or a
                      nesting beyond what Python reads. Where it is not complete: where the predicate refused everything, or what
                      raised, the type and the message
    """

    text: str
    value: Any
    tokens: list[int]
    logprobs: list[float]
    stats: Stats
    finish_reason: str
    model_logprobs: list[float] = field(default_factory=list)
    error: str | None = None
    log_weight: float | None = None
    population: Population | None = None
    score: float | None = None

    def __repr__(self) -> str:
        own = {"text": self.text, "value": self.value, "error": self.error}
        shown = [f"{name}={brief(value, 80)}" for name, value in own.items() if value is not None]
        return f"Result({', '.join(shown)}, finish_reason={self.finish_reason!r}, {len(self.tokens)} tokens)"
