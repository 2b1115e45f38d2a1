"""Delays Python's cyclic garbage collector while a tokenizer is read or a grammar compiled, and while states of lexers and
languages are made.

All make thousands of small objects, most of which stay. That triggers full collections of all objects of the process:
200 ms and more where torch and a tokenizer are loaded, twenty times the compile itself. What a compile drops is in no
cycles, so nothing is lost by waiting. The collector is not switched off but gets a much higher threshold, so that the
objects of a hostile grammar are still collected; and at the end the new objects are.
"""

from __future__ import annotations

import gc
import threading

FEW = 64  # new objects; fewer are not worth a collection
PATIENCE = 200_000  # the threshold: objects made and not yet dropped


class PatientCollector:
    """`with PATIENT:` raises the collector's threshold to PATIENCE objects, unless the process has set it higher or
    switched it off.

    A server has its own rules for its collector: it sets `is_enabled = False`, and nothing is changed.
    """

    def __init__(self) -> None:
        self.is_enabled = True
        self._lock = threading.Lock()
        self._inside = 0  # blocks that are running, in all threads
        self._usual = (0, 0, 0)
        self._before = 0  # new objects at the beginning

    def __enter__(self) -> None:
        with self._lock:
            if not self._inside:
                self._usual = gc.get_threshold()
                self._before = gc.get_count()[0]
                if self.is_enabled and 0 < self._usual[0] < PATIENCE:
                    gc.set_threshold(PATIENCE, *self._usual[1:])
            self._inside += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._inside -= 1
            if not self._inside and gc.get_threshold()[0] == PATIENCE:  # otherwise somebody else has set it meanwhile
                if self._usual[0] > 0 and gc.get_count()[0] - self._before > FEW:
                    # The youngest generation only; otherwise Python would soon collect all that it has put off before.
                    gc.collect(0)
                gc.set_threshold(*self._usual)


PATIENT = PatientCollector()
