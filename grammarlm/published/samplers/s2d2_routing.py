"""When S2D2 verifies what it drafts: by the run of masked positions, by what is expected of it, or by what it brought so far.

verify    "always", "never"   in never the sampler's own steps are all there is
          "span"              where the run has `least` positions or more
          "auto"              and where more than `on` ids a call are expected to be gained
          "hysteresis"        as "auto"; once it verifies, until the gain is `off` or less
          "bandit"            what has brought more ids a call so far, by an upper confidence bound (UCB1); `explore` says how much
                              what was tried seldom is worth trying

The gain is how many more ids a call are expected of drafting and verifying, which takes two calls, than of the sampler.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from grammarlm.decoding.arguments import check_choice
from grammarlm.decoding.diffusion.look import Choice, Logits, Look, Rule
from grammarlm.decoding.diffusion.run import Run, StepPlan, chosen_by, read_choice

ROUTES = ("auto", "always", "never", "span", "hysteresis", "bandit")


@dataclass
class Router:
    """Of one row: what it said before counts for hysteresis, what happened for the bandit."""

    verify: str
    least: int
    on: float
    off: float
    explore: float
    is_on: bool = False
    # What verifying, and not verifying, has brought so far: steps, ids, calls.
    arms: dict[bool, list[int]] = field(default_factory=lambda: {True: [0, 0, 0], False: [0, 0, 0]})

    def __post_init__(self) -> None:
        check_choice("verify", self.verify, ROUTES)
        if self.verify == "hysteresis" and self.off > self.on:
            raise ValueError(f"off={self.off} is above on={self.on}: verification ends at a lower gain than it begins")

    def decide(self, span: int, gain: Callable[[], float]) -> tuple[bool, dict[str, float]]:
        """Whether a run of so many positions is verified, and what to note of that; the gain is asked for only where it counts."""
        if self.verify in ("always", "never"):
            return self.verify == "always", {}
        if span < self.least:
            self.is_on = False
            return False, {}
        if self.verify in ("span", "bandit"):
            return self.verify == "span" or self._is_better(), {}
        found = gain()
        self.is_on = found > (self.off if self.is_on and self.verify == "hysteresis" else self.on)
        return self.is_on, {"gain": found}

    def _is_better(self) -> bool:
        """Has verifying the higher bound? Each is tried once, verification first."""
        total = sum(steps for steps, _, _ in self.arms.values())
        bounds = {
            arm: ids / calls + self.explore * math.sqrt(math.log(total) / steps) if steps else math.inf
            for arm, (steps, ids, calls) in self.arms.items()
        }
        return bounds[True] >= bounds[False]

    def learn(self, is_verified: bool, ids: int, calls: int) -> None:
        """What a step has brought."""
        self.arms[is_verified] = [sum(pair) for pair in zip(self.arms[is_verified], (1, ids, calls), strict=True)]


def gain_of(
    run: Run, logits: Logits, places: np.ndarray, masked: np.ndarray, schedule: StepPlan, choose: Rule
) -> float:
    """Each place of the draft counts with its confidence and those before it."""
    expected = run.look(run.state, logits, places, schedule).reading.confidence.cumprod().sum()
    look = run.look(run.state, logits, masked, schedule)
    choice = chosen_by(choose, look)
    return float(expected / 2 - len(choice.positions if choice.fill else read_choice(look, choice)[0]))


def noting(choose: Rule, notes: dict[str, float]) -> Rule:
    """The sampler, with notes on why it is asked."""

    def rule(look: Look) -> Choice:
        choice = chosen_by(choose, look)
        return replace(choice, notes={**choice.notes, **notes})

    return rule
