"""The JSON machine unrolled: all states that bytes lead to, what each byte does to each, and which may end a text.

A state is a thread without the keys it has read (kernels/cpu/json/canvas/explore.py). Objects and arrays that can contain
themselves push; all others are part of the state.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from grammarlm.kernels import entries
from grammarlm.layout.json import ANY_STRING, ARRAY_BIT, BARRIER, DEAD, ESCAPE, NO_FRAME, ROW, At, Frame, Kind
from grammarlm.layout.json_canvas import (
    BEGUN,
    FRESH,
    MARK,
    NO_ROOM,
    NONE,
    STATE_WORDS,
    TOO_MANY_STATES,
    Explore,
)
from grammarlm.layout.json_strings import BODY
from grammarlm.masks.canvas.json.begun import CHARACTERS
from grammarlm.masks.canvas.json.texts import spelled
from grammarlm.masks.canvas.protocol import Undecided
from grammarlm.masks.kernel_words import KernelWords
from grammarlm.masks.machines.json.compile.compile import JsonSchemaProgram
from grammarlm.masks.machines.json.configs import Config, FrameContent
from grammarlm.masks.machines.json.epoch import JsonEpoch

from .places import Places
from .scales import WHOLE, Scale
from .tracked import MOST_COUNTED, long_strings, tracked_program

Thread = tuple[int, int, int, int]  # c, x, y, frame
MOST_STATES = 1 << 18
MANY_STATES = 1 << 16  # beyond which the next scale is tried
SCRATCH = 4096  # frames that steps make and drop
FIRST_STATES, FIRST_SPECIALS, FIRST_FRAMES = 1 << 14, 1 << 14, 1 << 12  # memory that is not used costs nothing


class States(NamedTuple):
    """What states know beside what every state of the schema does."""

    keys: tuple[bytes, ...] = ()  # free keys of which no object may have two, sorted
    counted: int = MOST_COUNTED  # characters of strings that can't have more, whatever language they are of
    marks: int = 0  # keys that marks in a row stand around, whatever their texts (duplicate_keys/marked_row.py)


@dataclass(frozen=True, eq=False)
class Explored:
    """S states; see layout/json_canvas.py for the entries of `next`."""

    states: np.ndarray  # int64 [S, STATE_WORDS]
    next: np.ndarray  # int32 [S, 256]
    specials: np.ndarray  # int32 [N, 4]
    accepts: np.ndarray  # bool [S]
    start: int


class Explorer(KernelWords):
    """Buffers of the kernel, doubled where they are too small."""

    def __init__(
        self, program: JsonSchemaProgram, states: States, most_states: int = MOST_STATES, scale: Scale = WHOLE
    ):
        entries.load("json_canvas")
        self.program, self.epoch, self.states = program, JsonEpoch(program), states
        super().__init__(Explore.LENGTH)
        places = Places(program.json.rows, program.json.start)
        uncounted = long_strings(program.json.rows, places.strings, states.counted)
        self._rows = rows = tracked_program(program.json, states.keys, places.unique, uncounted)
        address = rows.rows.ctypes.data
        self.epoch.arena[At.PROGRAM], self.epoch.arena[At.BLOB] = address, address + rows.blob_at
        pushes = self.put(Explore.PUSHES, np.zeros(rows.words + 1, np.uint8))
        pushes[list(scale.pushing(places))] = 1
        self.put(Explore.ITEMS, rows.items)
        self.words[Explore.WORDS], self.words[Explore.WORD_COUNT] = rows.words, rows.word_count
        self.words[Explore.ITEM_COUNT] = len(rows.items)
        self.words[Explore.MOST_STATES], self.words[Explore.MARKS] = most_states, states.marks
        self._states(FIRST_STATES)
        self._specials(FIRST_SPECIALS)
        self.grow_frames(FIRST_FRAMES)

    def _states(self, capacity: int) -> None:
        used = int(self.words[Explore.STATE_CAPACITY])
        self.grow(Explore.STATES, (capacity, STATE_WORDS), np.int64, used)
        self.grow(Explore.NEXT, (capacity, 256), np.int32, used)
        self.grow(Explore.ACCEPTS, capacity, np.uint8, used)
        self.words[Explore.STATE_CAPACITY] = capacity
        self.words[Explore.STATE_SIZE] = 4 * capacity
        table = self.put(Explore.STATE_TABLE, np.zeros(4 * capacity, np.int32))
        count = int(self.words[Explore.STATE_COUNT])
        _rehash(table, _mixed(self.arrays[Explore.STATES][:count, :5]), np.arange(1, count + 1))

    def _specials(self, capacity: int) -> None:
        self.grow(Explore.SPECIALS, (capacity, 4), np.int32, int(self.words[Explore.SPECIAL_CAPACITY]))
        self.words[Explore.SPECIAL_CAPACITY] = capacity

    def grow_frames(self, capacity: int) -> None:
        """Kept frames first, then those of steps."""
        arena, old = self.epoch.arena, self.epoch.arrays["frames"]
        kept = int(self.words[Explore.KEPT_FRAMES]) or BARRIER + 1
        frames = np.zeros((capacity + SCRATCH, Frame.LENGTH), np.int64)
        frames[:kept] = old[:kept]
        self.epoch.arrays["frames"] = frames
        arena[At.FRAMES], arena[At.FRAME_CAPACITY] = frames.ctypes.data, len(frames)
        arena[At.FRAME_COUNT] = capacity
        self.words[Explore.KEPT_FRAMES], self.words[Explore.SCRATCH_FRAMES] = kept, capacity
        self.words[Explore.FRAME_SIZE] = 4 * capacity
        table = self.put(Explore.FRAME_TABLE, np.zeros(4 * capacity, np.int32))
        words = [Frame.PARENT, Frame.ROW, Frame.SEEN, Frame.COUNT, Frame.LAST, Frame.NEEDED, Frame.TEXT]
        _rehash(table, _mixed(frames[BARRIER + 1 : kept][:, words]), np.arange(BARRIER + 1, kept))

    def run(self, start: Thread) -> Explored:
        """All states that bytes lead to from a thread, and from where else texts have begun."""
        self.program.clock.begin_call()
        first = self._begin(start)
        while True:
            self.epoch.supplied(entries.explore_json, self.address, 0)
            if self.words[Explore.DONE] == self.words[Explore.STATE_COUNT]:
                break
            self._make_room()
        count, specials = int(self.words[Explore.STATE_COUNT]), int(self.words[Explore.SPECIAL_COUNT])
        return Explored(
            self.arrays[Explore.STATES][:count],  # later ones come behind them
            self.arrays[Explore.NEXT][:count],
            self.arrays[Explore.SPECIALS][:specials],
            self.arrays[Explore.ACCEPTS][:count] != 0,
            first,
        )

    def starts_of(
        self, config: Config, marked: Sequence[bytes] = (), begun: int = -1
    ) -> list[tuple[int, tuple[int, ...]]]:
        """(state, states to return to, the top last) of each thread of a config. `marked`: the keys of marks as they are spelled;
        `begun`: the mark of the key that a thread is in."""
        found = []
        for kind, x, in_text, frames, key in config:
            c, y = self._as_counted(kind, in_text)
            around, stack = int(NO_FRAME), []
            for content in reversed(frames):
                around, pushed = self._begin_frame(content, around, marked)
                stack += pushed
            is_key = c & 31 == Kind.KEY
            track = _range_of(self._rows.keys, key) if is_key else 0
            if is_key and self.states.marks:
                is_new = not key and c >> 5 & 63 == BODY
                track |= (BEGUN + 2 * begun if begun >= 0 else FRESH if is_new else 0) << MARK
            found.append((self._begin((c, x, y & ESCAPE if is_key else y, around), track), tuple(stack)))
        return found

    def _begin_frame(self, content: FrameContent, around: int, marked: Sequence[bytes]) -> tuple[int, list[int]]:
        """The kept frame of a matcher's frame, and the state to return to if it pushes."""
        words, others = content[:2]
        row = words[Frame.ROW]
        pushed = [self._begin((int(Kind.AFTER), 0, 0, around))] if self.arrays[Explore.PUSHES][row & ~ARRAY_BIT] else []
        kept = list(words)
        kept[Frame.PARENT], kept[Frame.OTHERS] = BARRIER if pushed else around, 0
        bits = (
            self._rows.bits.get(row & ~ARRAY_BIT, {})
            if row & ARRAY_BIT
            else {k: i for i, k in enumerate(self._rows.keys)}
        )
        kept[Frame.TEXT] = sum(1 << bits[other] for other in others if other in bits)
        if not row & ARRAY_BIT:
            had = set(map(spelled, others))
            kept[Frame.TEXT] += sum(1 << i for i, key in enumerate(marked, len(self._rows.keys)) if key in had)
        return self._begin((DEAD, 0, 0, int(NO_FRAME)), frame=kept), pushed

    def _as_counted(self, c: int, y: int) -> tuple[int, int]:
        """c and y of a thread as these states have it: in a string it knows nothing of what they do not count."""
        if c & 31 != Kind.STRING:
            return c, y
        row, count = c >> 11 & ROW, y >> CHARACTERS
        least, most, _, lengths = (int(word) for word in self._rows.rows[row : row + 4])
        if most < 0:
            count = min(count, max(least, 0))
        if least <= 0 and most < 0 and lengths == 0:
            c = c & ~(ROW << 11) | ANY_STRING << 11
        return c, count << CHARACTERS | y & ESCAPE

    @property
    def count(self) -> int:
        return int(self.words[Explore.STATE_COUNT])

    def _begin(self, thread: Thread, track: int = 0, frame: Sequence[int] | None = None) -> int:
        """The number of a thread's state, or of the kept frame that is equal to `frame`: then the thread is DEAD."""
        words = np.array([*thread, track], np.int64)
        while True:
            if frame is not None:  # before each try: room is made by moving what is not kept
                words[3] = self.words[Explore.SCRATCH_FRAMES]
                self.epoch.arrays["frames"][words[3]] = frame
            found = int(entries.explore_json(self.epoch.address, self.address, int(words.ctypes.data)))
            if found != NONE:
                return found
            self._make_room()

    def _make_room(self) -> None:
        work, stopped = self.words, int(self.words[Explore.STOPPED])
        if stopped == TOO_MANY_STATES:
            raise Undecided(
                f"a canvas over this schema needs more than {int(work[Explore.MOST_STATES]):,} states; fewer do where keys have "
                'the schema\'s order (property_order="schema")'
            )
        assert stopped == NO_ROOM
        self.program.clock.check()
        if work[Explore.STATE_COUNT] >= work[Explore.STATE_CAPACITY]:
            self._states(2 * int(work[Explore.STATE_CAPACITY]))
        if work[Explore.SPECIAL_COUNT] + 256 >= work[Explore.SPECIAL_CAPACITY]:
            self._specials(2 * int(work[Explore.SPECIAL_CAPACITY]))
        if 2 * (work[Explore.KEPT_FRAMES] + 2) >= work[Explore.SCRATCH_FRAMES]:
            self.grow_frames(2 * int(work[Explore.SCRATCH_FRAMES]))


def _range_of(keys: Sequence[bytes], begun: bytes) -> int:
    """The range of tracked keys that begin like this, as the kernel has it."""
    inside = [i for i, key in enumerate(keys) if key.startswith(begun)]
    return inside[0] | (inside[-1] + 1) << 21 | len(begun) << 42 if inside else 0


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


def start_thread(program: JsonSchemaProgram) -> Thread:
    return int(Kind.VALUE) | program.json.start << 11, 0, program.tables.blanks.start, NO_FRAME
