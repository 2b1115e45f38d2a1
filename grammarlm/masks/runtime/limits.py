"""What a grammar may cost, and the clock that enforces it in every slow step."""

from __future__ import annotations

import math
import threading
import time
from dataclasses import dataclass, fields
from numbers import Real

from grammarlm.cache import FILLING
from grammarlm.errors import LimitExceeded, suggesting

INFINITE = math.inf
PAUSE, BETWEEN_PAUSES = 5e-5, 1e-3  # seconds


@dataclass(frozen=True)
class Limits:
    """Bounds for one compiled grammar. They are checked inside every loop, so a hostile grammar raises LimitExceeded
    instead of hanging.

        max_bytes      memory of the automaton and its masks; beyond it they are dropped and recomputed on demand
        max_states     number of states at one time
        max_ms         time of compile, and of each later call
        max_depth      nesting depth of repeats, alternatives and look-arounds
        max_mask_ms    time of each call after compile; None: max_ms
        max_work       work of compile; None: not bounded
        max_mask_work  work of each call after compile; None: not bounded

    Work is counted in steps of the engine's slow loops, 32 to a unit. Unlike time it is the same on every machine: processes that
    make the same calls in the same order stop at the same one, if their cache folders held the same (what is read is no work).
    """

    max_bytes: int = 256 << 20
    max_states: int = 65_536
    max_ms: float = 10_000.0
    max_depth: int = 100
    max_mask_ms: float | None = None
    max_work: int | None = None
    max_mask_work: int | None = None

    def __post_init__(self) -> None:
        for f in fields(self):
            value = getattr(self, f.name)
            if not (is_positive(value) or (value is None and f.default is None)):
                raise ValueError(f"Limits({f.name}={value!r:.60}): it takes a positive number")


Limits.__init__ = suggesting("Limits")(Limits.__init__)  # type: ignore[method-assign]


def is_positive(value: object) -> bool:
    """A number above 0 that a float can hold."""
    try:
        return isinstance(value, Real) and not isinstance(value, bool) and float(value) > 0
    except OverflowError:
        return False


class Clock:
    """Raises LimitExceeded when compile or a later call has taken too long, or too much work; time spent compiling
    kernels does not count."""

    def __init__(self, limits: Limits):
        self._limits = limits
        self.begin_compile()

    def begin_compile(self) -> None:
        self._begin("max_ms", self._limits.max_ms, "max_work", self._limits.max_work)

    def begin_call(self) -> None:
        """A call of a matcher begins."""
        limits = self._limits
        if limits.max_mask_ms is None:
            self._begin("max_ms", limits.max_ms, "max_mask_work", limits.max_mask_work)
        else:
            self._begin("max_mask_ms", limits.max_mask_ms, "max_mask_work", limits.max_mask_work)

    def _begin(self, time_limit: str, ms: float, work_limit: str, work: int | None) -> None:
        self._names, self._most_work = (time_limit, work_limit), INFINITE if work is None else work
        self._ticks = self.work = 0
        self._deadline = time.perf_counter() + ms / 1e3 - FILLING.seconds
        self._yields_at = 0.0 if POLITE.is_on else INFINITE

    def tick(self) -> None:
        """`check` once every 32 turns, for loops whose turns are shorter than reading the clock."""
        self._ticks += 1
        if not self._ticks & 31:
            self.check()

    def check(self, work: int = 1) -> None:
        self.work += work
        now = time.perf_counter()
        if now > self._yields_at:
            time.sleep(PAUSE)
            self._yields_at = time.perf_counter() + BETWEEN_PAUSES
        if now - FILLING.seconds > self._deadline:
            self._stop(self._names[0], " ms")
        if self.work > self._most_work:
            self._stop(self._names[1], " steps")

    def _stop(self, name: str, unit: str) -> None:
        raise LimitExceeded(
            f"the grammar took longer than limits.{name} = {getattr(self._limits, name):g}{unit}; simplify it or raise the limit"
        )


class Polite(threading.local):
    """`with POLITE:` - grammars that this thread compiles pause every millisecond, so that other threads come to run.

    Python hands over to a thread that waits only every 5 ms, and one that waits for a lock again and again, as a server's loop
    does between its calls of torch, waits each time. Letting go of the lock for an instant does not help: the thread that waits
    is not awake before it is taken again.
    """

    is_on = False

    def __enter__(self) -> None:
        self.is_on = True

    def __exit__(self, *_: object) -> None:
        self.is_on = False


POLITE = Polite()
