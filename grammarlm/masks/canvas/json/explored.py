"""The JSON machine unrolled: all states that bytes lead to, what each byte does to each, and which may end a text.

A state is a thread without the keys it has read (kernels/cpu/json/canvas/explore.py). Objects and arrays that can contain
themselves push; all others are part of the state.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from grammarlm.errors import LimitExceeded
from grammarlm.kernels import entries
from grammarlm.layout.json import BARRIER, NO_FRAME, At, Frame, Kind
from grammarlm.layout.json_canvas import NO_ROOM, NONE, STATE_WORDS, TOO_MANY_STATES, Explore
from grammarlm.masks.machines.json.compile.compile import JsonSchemaProgram
from grammarlm.masks.machines.json.epoch import JsonEpoch

from .places import pushing_rows

MOST_STATES = 1 << 16
SCRATCH = 4096  # frames that steps make and drop
FIRST_STATES, FIRST_SPECIALS, FIRST_FRAMES = 4096, 4096, 1024


@dataclass(frozen=True, eq=False)
class Explored:
    """S states; see layout/json_canvas.py for the entries of `next`."""

    states: np.ndarray  # int64 [S, STATE_WORDS]
    next: np.ndarray  # int32 [S, 256]
    specials: np.ndarray  # int32 [N, 4]
    frames: np.ndarray  # int64 [F, Frame.LENGTH]
    starts: list[int]


class Explorer:
    """Buffers of the kernel, doubled where they are too small."""

    def __init__(self, program: JsonSchemaProgram, most: int = MOST_STATES):
        entries.load("json_canvas")
        self.program, self.epoch = program, JsonEpoch(program)
        self.work = np.zeros(Explore.LENGTH, np.int64)
        self._kept: dict[int, np.ndarray] = {}
        rows = program.json.rows
        size = program.json.blob_at // 8
        self._place(Explore.PUSHES, pushing_rows(rows, program.json.start, size))
        self.work[Explore.MOST_STATES] = most
        self._states(FIRST_STATES)
        self._specials(FIRST_SPECIALS)
        self._frames(FIRST_FRAMES)

    def _place(self, field: int, array: np.ndarray) -> np.ndarray:
        self._kept[field] = array
        self.work[field] = array.ctypes.data
        return array

    def _states(self, capacity: int) -> None:
        for field, width, kind in ((Explore.STATES, STATE_WORDS, np.int64), (Explore.NEXT, 256, np.int32)):
            array = np.empty((capacity, width), kind)
            if field in self._kept:
                array[: len(self._kept[field])] = self._kept[field]
            self._place(field, array)
        self.work[Explore.STATE_CAPACITY] = capacity
        self.work[Explore.STATE_SIZE] = 4 * capacity
        table = self._place(Explore.STATE_TABLE, np.zeros(4 * capacity, np.int32))
        count = int(self.work[Explore.STATE_COUNT])
        _rehash(table, _mixed(self._kept[Explore.STATES][:count, :4]), np.arange(1, count + 1))

    def _specials(self, capacity: int) -> None:
        array = np.empty((capacity, 4), np.int32)
        if Explore.SPECIALS in self._kept:
            array[: len(self._kept[Explore.SPECIALS])] = self._kept[Explore.SPECIALS]
        self._place(Explore.SPECIALS, array)
        self.work[Explore.SPECIAL_CAPACITY] = capacity

    def _frames(self, capacity: int) -> None:
        """Kept frames first, then those of steps."""
        arena, old = self.epoch.arena, self.epoch.arrays["frames"]
        kept = int(self.work[Explore.KEPT_FRAMES]) or BARRIER + 1
        frames = np.zeros((capacity + SCRATCH, Frame.LENGTH), np.int64)
        frames[:kept] = old[:kept]
        self.epoch.arrays["frames"] = frames
        arena[At.FRAMES], arena[At.FRAME_CAPACITY] = frames.ctypes.data, len(frames)
        arena[At.FRAME_COUNT] = capacity
        self.work[Explore.KEPT_FRAMES], self.work[Explore.SCRATCH_FRAMES] = kept, capacity
        self.work[Explore.FRAME_SIZE] = 4 * capacity
        table = self._place(Explore.FRAME_TABLE, np.zeros(4 * capacity, np.int32))
        words = [Frame.PARENT, Frame.ROW, Frame.SEEN, Frame.COUNT, Frame.LAST, Frame.NEEDED]
        _rehash(table, _mixed(frames[BARRIER + 1 : kept][:, words]), np.arange(BARRIER + 1, kept))

    def run(self, threads: list[tuple[int, int, int, int]]) -> Explored:
        """All states that bytes lead to from some threads."""
        starts = [self._begin(thread) for thread in threads]
        while True:
            self.epoch.supplied(entries.explore_json, int(self.work.ctypes.data), 0)
            if self.work[Explore.DONE] == self.work[Explore.STATE_COUNT]:
                break
            self._make_room()
        count, specials = int(self.work[Explore.STATE_COUNT]), int(self.work[Explore.SPECIAL_COUNT])
        return Explored(
            self._kept[Explore.STATES][:count].copy(),
            self._kept[Explore.NEXT][:count].copy(),
            self._kept[Explore.SPECIALS][:specials].copy(),
            self.epoch.arrays["frames"][: int(self.work[Explore.KEPT_FRAMES])].copy(),
            starts,
        )

    def _begin(self, thread: tuple[int, int, int, int]) -> int:
        words = np.array(thread, np.int64)
        while True:
            found = int(entries.explore_json(self.epoch.address, int(self.work.ctypes.data), int(words.ctypes.data)))
            if found != NONE:
                return found
            self._make_room()

    def _make_room(self) -> None:
        work, stopped = self.work, int(self.work[Explore.STOPPED])
        if stopped == TOO_MANY_STATES:
            raise LimitExceeded(f"a canvas over this schema needs more than {int(work[Explore.MOST_STATES]):,} states")
        assert stopped == NO_ROOM
        self.program.clock.check()
        if work[Explore.STATE_COUNT] >= work[Explore.STATE_CAPACITY]:
            self._states(2 * int(work[Explore.STATE_CAPACITY]))
        if work[Explore.SPECIAL_COUNT] + 256 >= work[Explore.SPECIAL_CAPACITY]:
            self._specials(2 * int(work[Explore.SPECIAL_CAPACITY]))
        if 2 * (work[Explore.KEPT_FRAMES] + 2) >= work[Explore.SCRATCH_FRAMES]:
            self._frames(2 * int(work[Explore.SCRATCH_FRAMES]))


def _mixed(words: np.ndarray) -> np.ndarray:
    """The hash of rows of words, as the kernel's `mixed`."""
    found = np.zeros(len(words), np.uint64)
    with np.errstate(over="ignore"):
        for column in words.T.astype(np.uint64):
            found = (found ^ column) * np.uint64(0x9E3779B97F4A7C15)
            found ^= found >> np.uint64(29)
    return found


def _rehash(table: np.ndarray, hashes: np.ndarray, numbers: np.ndarray) -> None:
    mask = len(table) - 1
    for hashed, number in zip(hashes.tolist(), numbers.tolist(), strict=True):
        slot = hashed & mask
        while table[slot]:
            slot = (slot + 1) & mask
        table[slot] = number


def start_thread(program: JsonSchemaProgram) -> tuple[int, int, int, int]:
    return int(Kind.VALUE) | program.json.start << 11, 0, program.tables.blanks.start, NO_FRAME
