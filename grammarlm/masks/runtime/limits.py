"""What a grammar may cost, and the clock that enforces it in every slow step."""

from __future__ import annotations

import time
from dataclasses import dataclass, fields
from numbers import Real

from grammarlm.cache import FILLING
from grammarlm.errors import LimitExceeded, suggesting


@dataclass(frozen=True)
class Limits:
    """Bounds for one compiled grammar. They are checked inside every loop, so a hostile grammar raises LimitExceeded
    instead of hanging.

        max_bytes   memory of the automaton and its masks; beyond it they are dropped and recomputed on demand
        max_states  number of states at one time
        max_ms      time of compile, and of each later call
        max_depth   nesting depth of repeats, alternatives and look-arounds
    """

    max_bytes: int = 256 << 20
    max_states: int = 65_536
    max_ms: float = 10_000.0
    max_depth: int = 100

    def __post_init__(self) -> None:
        for f in fields(self):
            value = getattr(self, f.name)
            if not is_positive(value):
                raise ValueError(f"Limits({f.name}={value!r:.60}): it takes a positive number")


Limits.__init__ = suggesting("Limits")(Limits.__init__)  # type: ignore[method-assign]


def is_positive(value: object) -> bool:
    """A number above 0 that a float can hold."""
    try:
        return isinstance(value, Real) and not isinstance(value, bool) and float(value) > 0
    except OverflowError:
        return False


class Clock:
    """Raises LimitExceeded when a call has taken too long; time spent compiling kernels does not count."""

    def __init__(self, limits: Limits):
        self._limits = limits
        self._deadline = 0.0
        self._ticks = 0
        self.restart()

    def restart(self) -> None:
        self._deadline = time.perf_counter() + self._limits.max_ms / 1e3 - FILLING.seconds

    def tick(self) -> None:
        """`check` once every 32 turns, for loops whose turns are shorter than reading the clock."""
        self._ticks += 1
        if not self._ticks & 31:
            self.check()

    def check(self) -> None:
        if time.perf_counter() - FILLING.seconds > self._deadline:
            raise LimitExceeded(
                f"the grammar took longer than limits.max_ms = {self._limits.max_ms:g} ms; simplify it or raise the limit"
            )
