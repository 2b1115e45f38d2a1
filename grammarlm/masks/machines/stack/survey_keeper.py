"""When the surveys of an epoch are saved for later processes: at the next compile after the epoch is gone, or when the
process ends."""

from __future__ import annotations

import atexit
import collections
import contextlib
import sys
import weakref
from collections.abc import Callable

from grammarlm.layout.stack import Field

from . import survey_store
from .numbers import StackNumbers

WORTH_SAVING, LARGE_TRIE = 8, 20_000  # new surveys, nodes of a vocabulary's trie: with fewer, no file is written


class SurveyKeeper:
    """Saves the surveys of one epoch, where there are enough new ones."""

    def __init__(self, numbers: StackNumbers):
        self._numbers = numbers
        self._saved = numbers.surveys_read
        if numbers.path is not None:
            _KEEPERS.add(self)

    def save(self) -> None:
        if not self._has_news:
            return
        with self._numbers.program.lock:
            path, made = self._numbers.path, self._made
            if path is not None and made >= self._saved + WORTH_SAVING and survey_store.save(self._numbers, path):
                self._saved = made

    @property
    def _made(self) -> int:
        return int(self._numbers.arena.words[Field.SURVEY_COUNT])

    @property
    def _has_news(self) -> bool:
        """Asked without the lock: the count only grows."""
        if self._numbers.path is None or len(self._numbers.program.vocab.trie.byte) < LARGE_TRIE:
            return False
        return self._made >= self._saved + WORTH_SAVING

    def __del__(self, is_finalizing: Callable[[], bool] = sys.is_finalizing) -> None:
        """Runs wherever Python happens to collect, perhaps under a lock, so nothing is written here: save_left_surveys
        does that later. While the interpreter ends the names of this module are gone, and all has been saved."""
        if not is_finalizing() and getattr(self, "_saved", None) is not None and self._has_news:
            _LEFT.append(self)


_KEEPERS: weakref.WeakSet[SurveyKeeper] = weakref.WeakSet()
# Those of dropped epochs, whose surveys are not on disk yet.
_LEFT: collections.deque[SurveyKeeper] = collections.deque(maxlen=2)


def save_left_surveys() -> None:
    """Writes the surveys of epochs that are no longer used: at the next compile, or when the process ends."""
    while _LEFT:
        with contextlib.suppress(IndexError):  # another thread has taken it
            _LEFT.popleft().save()


@atexit.register
def _save_all() -> None:
    for keeper in list(_KEEPERS):
        keeper.save()
    save_left_surveys()
