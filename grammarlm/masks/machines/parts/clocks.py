"""The clock of a text of parts: with each call of a matcher those of the parts begin anew, too."""

from __future__ import annotations

from grammarlm.masks.runtime.limits import Clock, Limits


class Clocks(Clock):
    """The program's clock. A part's clock joins a call when the part is first asked for something in it: most are not."""

    def __init__(self, limits: Limits):
        self._call = 0
        self._joined: dict[int, int] = {}  # the call that each part's clock joined last
        super().__init__(limits)

    def begin_call(self) -> None:
        super().begin_call()
        self._call += 1

    def join(self, clock: Clock) -> None:
        if self._joined.get(id(clock)) != self._call:
            self._joined[id(clock)] = self._call
            clock.begin_call()
