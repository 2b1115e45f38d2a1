"""What a grammar may cost, and the clock that holds every slow step to it."""

from __future__ import annotations

import time
from dataclasses import dataclass, fields
from numbers import Real

from ..cache import FILLING
from ..errors import LimitExceeded, suggesting


@dataclass(frozen=True)
class Limits:
    """Bounds for one compiled grammar. They hold inside every loop, so a hostile grammar raises LimitExceeded instead of hanging.

    max_bytes   what the automaton and its masks may take; beyond it they are dropped and made again on demand
    max_states  how many states may exist at one time
    max_ms      how long compile, and each later call, may take
    max_depth   how deep repeats, alternatives and look-arounds may be nested in each other
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
    """A number above 0, and one that a float can hold."""
    try:
        return isinstance(value, Real) and not isinstance(value, bool) and float(value) > 0
    except OverflowError:
        return False


class Clock:
    """Raises LimitExceeded when a call has taken too long; kernels that are compiled meanwhile do not count."""

    def __init__(self, limits: Limits):
        self._limits = limits
        self._deadline = 0.0
        self._ticks = 0
        self.restart()

    def restart(self) -> None:
        self._deadline = time.perf_counter() + self._limits.max_ms / 1e3 - FILLING.seconds

    def tick(self) -> None:
        """`check`, for loops whose turns take less time than a look at the clock: asks it every 32 turns."""
        self._ticks += 1
        if not self._ticks & 31:
            self.check()

    def check(self) -> None:
        if time.perf_counter() - FILLING.seconds > self._deadline:
            raise LimitExceeded(
                f"the grammar took longer than limits.max_ms = {self._limits.max_ms:g} ms; simplify it or raise the limit"
            )
