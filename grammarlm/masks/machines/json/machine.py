"""The JSON machine over the texts of one generation: configs, frames and keys in arenas, and the cached rows.

A kernel that is missing something says what (At.WANTED, At.MISSING); `_supply` makes it and the kernel is called again.
Arenas grow by doubling. An array is replaced within one kernel call: the kernel holds the GIL, and other threads' calls
may come between any two. When the arenas have reached their share of limits.max_bytes no more texts are taken (`is_full`).
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from functools import cached_property, lru_cache, partial
from itertools import count

import numpy as np

from grammarlm.collector import PATIENT
from grammarlm.errors import LimitExceeded
from grammarlm.kernels import entries
from grammarlm.layout.json import BARRIER, COUNT_BIT, TOO_MANY, WIDEST, At, Frame, Kind, Store, Want
from grammarlm.layout.json_calls import FILL, FORGET, KEY_WORDS, MISSING_MOST, MOVE, PLACE, READ, REHASH
from grammarlm.masks.machines.json.vocabulary.arena import CROSSED, NOTED, PENDING
from grammarlm.masks.machines.json.vocabulary.tables import SERIALS, JsonTables

from .languages import NO_STATES
from .program import SchemaProgram

LANGUAGES = (At.STATES, At.ACCEPTS, At.UNIVERSAL, At.LENGTHS, At.LENGTH_OF, At.COUNTS, At.TOTAL, At.LOOPS)
FIRST_STATE = 2  # of records; 0 is dead, 1 finished
SPARE_ENTRIES = 1  # in chains: entry 0 is the empty key
FIRST = {"frames": 64, "chains": 128, "records": 256}
WIDTH = {"frames": int(Frame.LENGTH), "chains": 2, "records": 5}
ARENAS = {
    "frames": (At.FRAMES, At.FRAME_COUNT, At.FRAME_CAPACITY),
    "chains": (At.CHAINS, At.CHAIN_COUNT, At.CHAIN_CAPACITY),
    "records": (At.RECORDS, At.RECORD_COUNT, At.RECORD_CAPACITY),
}
FIRST_ROWS, FIRST_POOL = 128, 64 << 10  # the pool's memory is touched only as it is used
TABLE_WIDTH, NO_ROW = KEY_WORDS + 1, -1
# Offsets within an epoch's first block of memory.
STORE_AT, TABLE_AT = int(At.LENGTH), int(At.LENGTH + Store.LENGTH)
FRAMES_AT = TABLE_AT + FIRST_ROWS * TABLE_WIDTH
CHAINS_AT = FRAMES_AT + FIRST["frames"] * WIDTH["frames"]
RECORDS_AT = CHAINS_AT + FIRST["chains"] * WIDTH["chains"]
MISSING_AT = RECORDS_AT + FIRST["records"] * WIDTH["records"]
BLOCK = MISSING_AT + 1 + MISSING_MOST
ARENAS_AT = {"frames": FRAMES_AT, "chains": CHAINS_AT, "records": RECORDS_AT}


@lru_cache(maxsize=8)
def _first_block(tables: JsonTables, version: int) -> array[int]:
    """An epoch's first block: the arena with the addresses of the vocabulary's tables, an empty store, frames, chains, records."""
    block = np.zeros(BLOCK, np.int64)
    block[:STORE_AT] = tables.shared.arena
    store = block[STORE_AT:TABLE_AT]
    store[Store.SIZE], store[Store.CAPACITY] = FIRST_ROWS, FIRST_POOL
    block[TABLE_AT:FRAMES_AT] = -1
    for name, (_, _, capacity) in ARENAS.items():
        block[capacity] = FIRST[name]
    block[At.FRAME_COUNT], block[At.CHAIN_COUNT], block[At.RECORD_COUNT] = BARRIER + 1, SPARE_ENTRIES, FIRST_STATE + 1
    for field, address in zip(LANGUAGES, NO_STATES.placed[1], strict=True):
        block[field] = address
    return array("q", block.tobytes())  # array.array is copied, read and written with less overhead than numpy's


class Machine:
    """Texts under a schema, and a kernel that reads them. A config is the number of a record."""

    def __init__(self, program: SchemaProgram):
        self.program = program
        self.is_full = False
        self._languages: tuple[np.ndarray, ...] = NO_STATES.placed[0]  # kept alive while kernels read them
        self._moving: object = None  # keeps arrays alive whose addresses kernels are being given
        self._room = max(program.limits.max_bytes // 4, 1 << 16)
        block = self.arena = _first_block(program.tables, program.tables.shared.version)[:]
        address = self.address = block.buffer_info()[0]
        self._pool = np.empty(FIRST_POOL, np.int32)
        rows, at = program.json, program.json.address
        block[STORE_AT + Store.TABLE] = address + 8 * TABLE_AT
        block[STORE_AT + Store.POOL] = self._pool.__array_interface__["data"][0]
        block[At.STORE], block[At.MODE], block[At.SERIAL] = address + 8 * STORE_AT, program.mode, next(SERIALS)
        self._followed = {"frames": 0, "chains": 0}  # how many entries are those of another machine
        self.kernel: Callable[..., int] = partial(entries.json_call, address)  # what matchers call twice a token
        block[At.FRAMES], block[At.CHAINS] = address + 8 * FRAMES_AT, address + 8 * CHAINS_AT
        block[At.MISSING] = address + 8 * MISSING_AT
        block[At.RECORDS], block[At.PROGRAM], block[At.BLOB] = address + 8 * RECORDS_AT, at, at + rows.blob_at
        if program.states is not NO_STATES:
            self._place_languages()
        self.start = FIRST_STATE
        block[RECORDS_AT + FIRST_STATE * WIDTH["records"]] = int(Kind.VALUE) | rows.start << 11
        block[RECORDS_AT + FIRST_STATE * WIDTH["records"] + 2] = program.tables.blanks.start

    # The block as numpy arrays, made on first use: most masks need none of them.

    @cached_property
    def _block(self) -> np.ndarray:
        return np.frombuffer(self.arena, np.int64)

    @cached_property
    def _missing(self) -> np.ndarray:
        return self._block[MISSING_AT:]

    @cached_property
    def store(self) -> np.ndarray:
        return self._block[STORE_AT:TABLE_AT]

    @cached_property
    def _table(self) -> np.ndarray:
        return self._block[TABLE_AT:FRAMES_AT].reshape(FIRST_ROWS, TABLE_WIDTH)

    @cached_property
    def arrays(self) -> dict[str, np.ndarray]:
        return {
            name: self._block[at : at + FIRST[name] * WIDTH[name]].reshape(FIRST[name], WIDTH[name])
            for name, at in ARENAS_AT.items()
        }

    # ------------------------------------------------------------------ arenas

    def update_languages(self) -> None:
        """Another epoch's texts may have made states of languages."""
        if self._languages is not self.program.states.placed[0]:
            self._place_languages()

    def _place_languages(self) -> None:
        arrays, addresses = self.program.states.placed
        pairs = np.array([*zip(LANGUAGES, addresses, strict=True)], np.int64)
        entries.json_call(self.address, PLACE, pairs.ctypes.data, len(pairs), 0)
        self._languages = arrays

    def _grow_store(self) -> None:
        """Doubles the room for rows, until they have their share of memory: then they are cleared and recomputed on
        demand.

        Rows that other threads' calls add meanwhile are lost, and made again.
        """
        slots, pool = len(self._table), len(self._pool)
        kept = self._table[self._table[:, KEY_WORDS] != NO_ROW]
        used = int(self.store[Store.USED])  # the end of all stored rows
        if 4 * pool + self._table.nbytes > self._room:
            self.forget_rows()
            return
        slots, pool = 2 * slots, max(2 * pool, used + 4 * self.program.vocab.words)
        table, rows = np.full((slots, KEY_WORDS + 1), NO_ROW, np.int64), np.zeros(pool, np.int32)
        rows[:used] = self._pool[:used]
        store = np.array([table.ctypes.data, slots, 0, rows.ctypes.data, used, pool], np.int64)
        entries.json_call(store.ctypes.data, REHASH, kept.ctypes.data, len(kept), 0)
        self._moving = table, rows  # kept alive before the kernel is given the addresses
        self.store[:] = store
        self._table, self._pool = table, rows

    def forget_rows(self) -> None:
        entries.json_call(int(self.store.ctypes.data), FORGET, 0, 0, 0)

    def _supply(self, times: int, anew: int) -> int:
        """Makes what a kernel is missing. `times`: interrupted calls so far; `anew`: how often it started over: then it
        gets more at once.

        1 if the kernel will start over, 0 if it resumes where it stopped.
        """
        arena, program = self.arena, self.program
        wanted = int(arena[At.WANTED])
        # What all schemas share is no work of this one: another may have made it already.
        program.clock.check(int(bool(self._missing[0] or wanted & (Want.FRAMES | Want.CHAINS | Want.RECORDS))))
        waits = bool(wanted & Want.WAITS)
        states = self._missing[1 : 1 + self._missing[0]].tolist()
        if states:
            with PATIENT:  # new states stay, so a garbage collection in the middle of a text would be wasted
                program.states.count([state & ~COUNT_BIT for state in states if state & COUNT_BIT])
                alone = [state for state in states if not state & COUNT_BIT]
                program.states.make(alone, anew, waits)
            self._place_languages()
        with program.tables.lock:
            if wanted & Want.SPOT:
                program.tables.white_space.make_spot(wanted >> 8 & 0xFFFFFF)
            elif wanted & Want.LIMITED:
                program.tables.strings.make_limited(wanted >> 8 & 0xFFFFFF)
            for bit, arrays in ((Want.CROSSED, [CROSSED]), (Want.PENDING, [PENDING]), (Want.NOTED, NOTED)):
                if wanted & bit:
                    program.tables.shared.grow_walks(arena, arrays)
        for bit, name in ((Want.FRAMES, "frames"), (Want.CHAINS, "chains"), (Want.RECORDS, "records")):
            if wanted & bit:
                self._grow(name)
        return 0 if waits else 1

    def _grow(self, name: str) -> None:
        old = self.arrays[name]
        if sum(a.nbytes for a in self.arrays.values()) + old.nbytes > self._room:
            self.is_full = True
            raise LimitExceeded(
                "the text has more keys and values open or remembered than limits.max_bytes has room for"
            )
        at, _, capacity = ARENAS[name]
        new = np.zeros((2 * len(old), WIDTH[name]), np.int64)
        self._moving = new  # kept alive before the kernel is given the address
        order = np.array([at, capacity, new.ctypes.data, len(new), 8 * WIDTH[name]], np.int64)
        entries.json_call(self.address, MOVE, order.ctypes.data, 0, 0)
        self.arrays[name] = new

    @property
    def _is_short(self) -> bool:
        """The last call was missing something."""
        return bool(self.arena[At.WANTED] or self._missing[0])

    def call(self, what: int, first: int, second: int = 0, third: int = 0) -> int:
        """json_call, supplied with what it is missing; first with what the call before this one was missing, usually the same."""
        arena, anew = self.arena, 0
        if self._is_short:
            anew = self._supply(0, 0)
        for times in count(anew):
            found: int = self.kernel(what, first, second, third)
            if found >= 0:
                if arena[At.FULL]:
                    self.make_room_for_rows()
                return found
            if found == TOO_MANY:
                raise LimitExceeded(
                    f"the text can be read in more than {WIDEST} ways at once; make the alternatives of the schema differ earlier"
                )
            anew += self._supply(times, anew)
        raise AssertionError("unreachable")

    def supplied(self, kernel: Callable[..., int], *arguments: int) -> int:
        """Another kernel over this arena, called until nothing is missing."""
        anew = 0
        for times in count():
            found = kernel(self.address, *arguments)
            if found >= 0 or not self._is_short:
                return found
            anew += self._supply(times, anew)
        raise AssertionError("unreachable")

    def make_room_for_rows(self) -> None:
        self.arena[At.FULL] = 0
        shared = self.program.tables.store
        if 2 * shared[Store.COUNT] >= shared[Store.SIZE] or shared[Store.USED] + (1 << 16) > shared[Store.CAPACITY]:
            self.program.tables.clear_rows()
        else:
            self._grow_store()

    def fill(self, state: int, out: np.ndarray) -> None:
        """Writes the mask into a contiguous row."""
        self.call(FILL, state, out.ctypes.data)

    def after_bytes(self, state: int, data: bytes) -> int:
        array = np.frombuffer(data, np.uint8) if data else np.zeros(1, np.uint8)
        return self.call(READ, state, int(array.ctypes.data), len(data))

    def put(self, name: str, words: Sequence[int]) -> int:
        """A new entry of an arena."""
        arena = self.arena
        _, count, capacity = ARENAS[name]
        if arena[count] + 1 >= arena[capacity]:
            self._grow(name)
        number = int(arena[count])
        self.arrays[name][number] = words
        arena[count] = number + 1
        return number

    def follow(self, other: Machine) -> None:
        """Takes over the frames and chains of another machine, which never change, under the same numbers. What was put here since
        is dropped."""
        for name in ("frames", "chains"):
            _, count, _ = ARENAS[name]
            known, wanted = min(self._followed[name], self.arena[count]), other.arena[count]
            while len(self.arrays[name]) <= wanted:
                self._grow(name)
            self.arrays[name][known:wanted] = other.arrays[name][known:wanted]
            self.arena[count] = self._followed[name] = wanted
