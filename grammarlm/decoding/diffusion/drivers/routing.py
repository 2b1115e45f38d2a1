"""When S2D2 verifies what it drafts: by the run of masked positions, by what is expected of it, or by what it brought so far.

A step's gain is how many more ids a call are expected of drafting and verifying, which takes two calls, than of the sampler.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

from grammarlm.decoding.arguments import check_choice

ROUTES = ("auto", "always", "never", "span", "hysteresis", "bandit")


@dataclass
class Arm:
    """What verifying, or not verifying, has brought so far."""

    steps: int = 0
    ids: int = 0
    calls: int = 0

    def bound(self, steps: int, explore: float) -> float:
        """Ids a call, and what they might be (an upper confidence bound)."""
        return self.ids / self.calls + explore * math.sqrt(math.log(steps) / self.steps)


@dataclass
class Router:
    """Of one row: what it said before counts for hysteresis, what happened for the bandit."""

    verify: str
    least: int
    on: float
    off: float
    explore: float
    is_on: bool = False
    arms: dict[bool, Arm] = field(default_factory=lambda: {True: Arm(), False: Arm()})

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
        if self.verify == "span":
            return True, {}
        if self.verify == "bandit":
            return self.better_arm(), {}
        found = gain()
        self.is_on = found > (self.off if self.is_on and self.verify == "hysteresis" else self.on)
        return self.is_on, {"gain": found}

    def better_arm(self) -> bool:
        """Each is tried once, verification first."""
        for arm in (True, False):
            if not self.arms[arm].steps:
                return arm
        steps = sum(arm.steps for arm in self.arms.values())
        return self.arms[True].bound(steps, self.explore) >= self.arms[False].bound(steps, self.explore)

    def learn(self, is_verified: bool, ids: int, calls: int) -> None:
        """What a step has brought."""
        arm = self.arms[is_verified]
        arm.steps, arm.ids, arm.calls = arm.steps + 1, arm.ids + ids, arm.calls + calls
