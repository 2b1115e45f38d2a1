"""Python's cycle collector waits while a grammar is compiled, and while states of lexers and languages are made.

Both make thousands of small objects, most of which stay. Python takes that for a reason to look through everything that the
process has: 200 ms and more where torch and a tokenizer are loaded, twenty times what the compile takes itself. What a compile
drops hangs on no cycles, so nothing is lost by waiting. The collector is not switched off but asked to wait for many more
objects than usual, so that what a hostile grammar makes is still looked through; and at the end it looks through the new objects.
"""

from __future__ import annotations

import gc
import threading

FEW = 64  # new objects that are not worth a look
PATIENCE = 200_000  # objects made and not yet dropped before the collector looks


class PatientCollector:
    """`with PATIENT:` the collector waits for PATIENCE objects, or longer or for ever where the process has set it so."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside = 0  # compiles that are running, in all threads
        self._usual = (0, 0, 0)
        self._before = 0  # new objects that there were

    def __enter__(self) -> None:
        with self._lock:
            if not self._inside:
                self._usual = gc.get_threshold()
                self._before = gc.get_count()[0]
                if 0 < self._usual[0] < PATIENCE:
                    gc.set_threshold(PATIENCE, *self._usual[1:])
            self._inside += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._inside -= 1
            if not self._inside and gc.get_threshold()[0] == PATIENCE:  # else somebody has set it meanwhile
                if self._usual[0] > 0 and gc.get_count()[0] - self._before > FEW:
                    # The new objects alone; else Python would soon look at all that it has put off before.
                    gc.collect(0)
                gc.set_threshold(*self._usual)


PATIENT = PatientCollector()
