"""Locks that stay usable after a fork of the process.

A child of fork() has none of its parent's threads, but the locks that they held stay held for ever: its first mask
would hang. So before a fork all these locks are acquired, and both processes release them afterwards: nothing shared is
half changed.
"""

from __future__ import annotations

import itertools
import os
import threading
import time
import weakref
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    Lock = threading.Lock | threading.RLock

# Seconds that a fork waits for calls of other threads; where one takes longer, the child cannot use what it locks.
PATIENCE = 2.0
# Lock order: while a lock is held, only locks of a later kind may be acquired.
PARTS, PROGRAM, TABLES, MOMENT = range(4)

_made = itertools.count()
_shared: weakref.WeakKeyDictionary[Lock, tuple[int, int]] = weakref.WeakKeyDictionary()
_held: list[Lock] = []


def shared_lock(kind: int) -> Lock:
    """An RLock; for short critical sections, MOMENT, a Lock."""
    lock: Lock = threading.Lock() if kind == MOMENT else threading.RLock()
    _shared[lock] = kind, next(_made)
    return lock


def _take_all() -> None:
    end = time.monotonic() + PATIENCE
    # Other threads may make new ones meanwhile.
    locks = [lock for ref in _shared.keyrefs() if (lock := ref()) is not None]
    locks.sort(key=_shared.__getitem__)
    _held.extend(lock for lock in locks if lock.acquire(timeout=max(0.0, end - time.monotonic())))


def _give_back() -> None:
    while _held:
        _held.pop().release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_take_all, after_in_parent=_give_back, after_in_child=_give_back)
