"""The arena of a regular automaton (layout/table.py) over any table, with rows that are missing until a kernel asks for them."""

from collections.abc import Callable

import numpy as np

import grammarlm as gl
from grammarlm.layout.table import MISS, Arena
from grammarlm.masks.token_facts import token_facts
from tests.oracles.table_walks import TableOracle

YES, NO, UNKNOWN = 1, 2, 0  # of `usable`


class TableArena:
    """Row 0 is the dead state's. `asked`: the answers of kernels that something is missing, in their order."""

    def __init__(self, vocab: gl.Vocabulary, oracle: TableOracle, asks_usable: bool):
        self.oracle, self.asked = oracle, list[int]()
        trie = vocab.trie
        self.table = np.full((len(oracle.rows), len(oracle.rows[0])), MISS, np.int32)
        self.table[0] = 0
        self.usable = np.full(len(oracle.rows), UNKNOWN, np.uint8)
        self._kept = {
            Arena.NEXT: self.table,
            Arena.USABLE: self.usable,
            Arena.CLASS_OF: np.array(oracle.class_of, np.uint8),
            Arena.BYTE: trie.byte,
            Arena.DEPTH: trie.depth,
            Arena.END: trie.end,
            Arena.TOKEN: trie.token,
            Arena.TWINS: trie.twins,
            Arena.OFFSETS: vocab.offsets,
            Arena.DATA: vocab.data,
            Arena.IS_TEXT: token_facts(vocab).is_text,
        }
        self._kept = {place: np.ascontiguousarray(array) for place, array in self._kept.items()}
        self.table, self.usable = self._kept[Arena.NEXT], self._kept[Arena.USABLE]
        self.arena = np.zeros(Arena.LENGTH, np.int64)
        for place, array in self._kept.items():
            self.arena[place] = array.ctypes.data
        self.arena[Arena.STATES], self.arena[Arena.CLASSES] = self.table.shape
        self.arena[Arena.NODES], self.arena[Arena.TWIN_COUNT] = len(trie.byte), len(trie.twins)
        self.arena[Arena.NOTHING], self.arena[Arena.SPELLS_ALL] = 32 * vocab.words, not asks_usable
        self.arena[Arena.VOCABULARY], self.arena[Arena.DATA_LENGTH] = len(vocab.offsets) - 1, len(vocab.data)
        self.address = int(self.arena.ctypes.data)

    def supply(self, missing: int) -> None:
        """Makes the row of state `missing`; of a negative one, whether it is usable. Nothing is asked for twice."""
        state = abs(missing)
        self.asked.append(missing)
        assert 0 < state < len(self.table), missing
        if missing > 0:
            assert self.table[state, 0] == MISS, f"the row of {state} is there"
            self.table[state] = self.oracle.rows[state]
        else:
            assert self.usable[state] == UNKNOWN, f"whether {state} is usable is known"
            self.usable[state] = YES if self.oracle.usable[state] else NO

    def walked(self, kernel: Callable[..., int], scratch: np.ndarray, output: int) -> None:
        """A walk from its beginning to its end, supplied with what it is missing."""
        while missing := kernel(self.address, int(scratch.ctypes.data), len(scratch), output):
            self.supply(missing)
