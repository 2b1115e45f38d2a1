"""Where the tokens of a trie lead from one thread: the tokens by class, a class being the state that they lead to."""

from __future__ import annotations

import numpy as np

from grammarlm.layout.json_calls import CLASS_WORDS, SURVEY
from grammarlm.layout.json_calls import Survey as SurveyWords
from grammarlm.masks.machines.json.endings.reader import Reader
from grammarlm.masks.machines.json.endings.texts import Thread

MOST_CLASSES = 1024  # tokens of further classes are forbidden: only near the end, where many keys or items must differ
TABLE = 4096
VOCABULARY = 0  # the number of the vocabulary's trie


class Survey:
    """The kernel's survey of one thread, and its buffers. To be used within a scratch of the reader."""

    def __init__(self, reader: Reader):
        self._reader = reader
        self.classes = np.zeros((MOST_CLASSES, CLASS_WORDS), np.int64)
        self.table = np.zeros(TABLE, np.int32)
        self.words = words = np.zeros(SurveyWords.LENGTH, np.int64)
        words[SurveyWords.CLASSES], words[SurveyWords.CAPACITY] = self.classes.ctypes.data, MOST_CLASSES
        words[SurveyWords.TABLE], words[SurveyWords.SIZE] = self.table.ctypes.data, TABLE
        self._address = int(words.ctypes.data)
        self.make_room(1 << 14)

    def make_room(self, count: int) -> None:
        self.pairs = np.zeros((count, 2), np.int32)
        self.words[SurveyWords.PAIRS], self.words[SurveyWords.PAIR_CAPACITY] = self.pairs.ctypes.data, count

    def of(self, thread: Thread, which: int = VOCABULARY, ordinary: bool = False) -> tuple[list[Thread], np.ndarray]:
        """A thread of each class; pairs (token, class). They are valid until the caller's scratch ends."""
        self.words[SurveyWords.C : SurveyWords.ORDINARY + 1] = [*thread, which, ordinary]
        count = self._reader.machine.call(SURVEY, self._address)
        if count > len(self.pairs):
            self.make_room(2 * count)
            count = self._reader.machine.call(SURVEY, self._address)
        return self.classes[: int(self.words[SurveyWords.COUNT]), :4].tolist(), self.pairs[:count]
