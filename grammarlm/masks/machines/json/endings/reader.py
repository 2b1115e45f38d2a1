"""What reads completions: a machine of its own, which follows that of the epoch: frames and keys have the same numbers in both."""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np

from grammarlm.errors import LimitExceeded
from grammarlm.kernels import entries
from grammarlm.layout.json import At, Frame, Key
from grammarlm.layout.json_calls import ENDS, READ
from grammarlm.masks.filters import greedy
from grammarlm.masks.machines.json.configs import chain_of, put_record, threads_of, words_of_seen
from grammarlm.masks.machines.json.machine import Machine
from grammarlm.masks.machines.json.vocabulary.tables import SERIALS

from .texts import Thread

AFTER, OPEN, COMMA = 0, 1, 2  # where a text stands in a frame: after a value, after its opening bracket, after a comma
RECORD_COUNT = int(At.RECORD_COUNT)
SHORT = 100  # bytes; shorter texts are read often, so their arrays are cached


class Tail:
    """What ends a frame and those around it: bytes, and the rest (`more`), whose tokens are counted separately."""

    __slots__ = ("cost", "more", "text")

    def __init__(self, text: bytes, more: Tail | None, cost: int):
        self.text, self.more, self.cost = text, more, cost  # `cost`: tokens of `more` and all after it


NO_TAIL = Tail(b"", None, 0)


class Reader:
    """Reads texts from the threads of one epoch, and keeps what is known of their completions."""

    def __init__(self, machine: Machine):
        self._source, self.program = machine, machine.program
        self.nbytes = 0  # approximate size of the texts
        # Texts are read and rolled back here, while other threads go on in the epoch.
        self.machine = Machine(self.program)
        self.tails: dict[int, Tail | None] = {0: NO_TAIL}  # by frame
        self.stable = 0  # frames below are the epoch's
        self._vocab = self.program.vocab
        self.rows = memoryview(self.program.json.rows)
        self._blob = self.rows.cast("B")[self.program.json.blob_at :]
        self.ordered = self.program.mode == 1
        self.rests: dict[Hashable, bytes | None] = {}
        self.strings: dict[Hashable, bytes | None] = {}
        self._costs: dict[bytes, int] = {}
        self._placed: dict[bytes, tuple[np.ndarray, int]] = {}  # bytes that kernels read, and their addresses

    def scratch(self) -> Scratch:
        """What is interned within is rolled back at its end."""
        return Scratch(self)

    def tokens(self, text: bytes) -> int:
        """How many tokens the bytes take."""
        known = self._costs.get(text)
        if known is None:
            known = greedy.cost(self._vocab, text)
            self.note(len(text))
            self._costs[text] = known
        return known

    def measure(self, text: bytes) -> tuple[int, int]:
        return self.tokens(text), len(text)

    def note(self, size: int) -> None:
        """Counts the memory of a cached text; the caches are cleared when they take too much, and refilled on demand."""
        self.nbytes += size + 200
        if self.nbytes > self.program.limits.max_bytes // 8:
            for known in (self._costs, self.rests, self.strings, self._placed):
                known.clear()  # type: ignore[attr-defined]
            self.tails = {0: NO_TAIL}
            self.nbytes = 0

    def threads_of(self, state: int) -> list[Thread]:
        """The threads of a config of the epoch, whose frames and keys have the same numbers here. To be called before `scratch`."""
        if self.machine.is_full:
            self.machine = Machine(self.program)
        self.machine.update_languages()
        try:
            self.machine.follow(self._source)
        except LimitExceeded:
            self._source.is_full = True  # the text moves to an epoch that has nothing else
            raise
        return threads_of(self._source, state)

    def threads(self, record: int) -> list[Thread]:
        return threads_of(self.machine, record)

    def record(self, c: int, x: int, y: int, f: int) -> int:
        """A config of one thread."""
        machine = self.machine
        number = int(machine.arena[RECORD_COUNT])
        records = machine.arrays["records"]
        if number + 1 >= len(records):
            return put_record(machine, [(c, x, y, f)])
        records[number] = (c, x, y, f, 0)
        machine.arena[RECORD_COUNT] = number + 1
        return number

    def read(self, record: int, data: bytes) -> int:
        """The config after some bytes, 0 where they are refused."""
        known = self._placed.get(data)
        if known is None:
            if not data or len(data) > SHORT:
                return self.machine.after_bytes(record, data)
            self.note(len(data))
            array = np.frombuffer(data, np.uint8)
            known = self._placed[data] = array, int(array.ctypes.data)
        return self.machine.call(READ, record, known[1], len(data))

    def ends(self, record: int) -> bool:
        return bool(entries.json_call(self.machine.address, ENDS, record, 0, 0))

    def frame(self, f: int) -> list[int]:
        found: list[int] = self.machine.arrays["frames"][f].tolist()
        return found

    def alone(self, words: list[int]) -> int:
        """The frame with nothing around it."""
        return self.machine.put("frames", [0, *words[1:]])

    def shapes(self, node: int) -> list[tuple[int, int]]:
        """The alternatives of a node: a kind and a row each."""
        rows = self.rows
        return [(rows[node + 2 + i], rows[node + 3 + i]) for i in range(0, 2 * rows[node], 2)]

    def name(self, key: int) -> bytes:
        start, size = self.rows[key + Key.BYTES], self.rows[key + Key.SIZE]
        return bytes(self._blob[start : start + size])

    def many_seen(self, words: list[int]) -> tuple[int, ...]:
        """Which keys were read, for an object of many."""
        if not words[Frame.SEEN]:
            return ()
        count, chains = words_of_seen(self.machine, words[Frame.ROW]), self.machine.arrays["chains"].reshape(-1)
        return tuple(chains[2 * words[Frame.SEEN] : 2 * words[Frame.SEEN] + count].tolist())

    def other_names(self, words: list[int]) -> tuple[bytes, ...]:
        """The keys of a frame that have no entry in the schema."""
        found, entry = [], words[Frame.OTHERS]
        while entry:
            entry, chain = self.machine.arrays["chains"][entry].tolist()
            found.append(chain_of(self.machine, chain))
        return tuple(found)


class Scratch:
    """A scope after which the arenas are rolled back to their counts."""

    __slots__ = ("_counts", "_reader", "_stable")

    def __init__(self, reader: Reader):
        self._reader = reader

    def __enter__(self) -> None:
        arena = self._reader.machine.arena
        self._counts = arena[At.FRAME_COUNT], arena[At.CHAIN_COUNT], arena[At.RECORD_COUNT]
        self._stable = self._reader.stable
        if not self._stable:  # frames from before the outermost scope stay
            self._reader.stable = int(self._counts[0])

    def __exit__(self, *_: object) -> None:
        arena = self._reader.machine.arena
        arena[At.FRAME_COUNT], arena[At.CHAIN_COUNT], arena[At.RECORD_COUNT] = self._counts
        arena[At.SERIAL] = next(SERIALS)  # record numbers are reused: cached masks of the old ones must not be found
        self._reader.stable = self._stable
