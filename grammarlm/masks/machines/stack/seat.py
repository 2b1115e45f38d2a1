"""A seat: where a thread makes rows of a grammar with a stack in parallel with other threads.

Stacks and configs are interned, so making them writes tables, and a constraint has one lock. A seat has such tables of
its own, copied from the epoch's; it reads the epoch's states, borders and surveys in place. What it finds for all
(surveys, signatures and classes of stacks) its kernels write to the epoch themselves, one at a time
(kernels/cpu/stack/turns.py). Where Python must make something for the epoch, a state or more room, the seat asks under the
lock and then reads the epoch's addresses again.

An array that the epoch replaces meanwhile lives as long as a seat holds it; rows added to one are beyond the counts
that the seat has copied.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from grammarlm.kernels.cpu.stack import calls as walk
from grammarlm.kernels.cpu.stack.unions import FULL_UNIONS
from grammarlm.layout import stack as layout
from grammarlm.layout.stack import Place
from grammarlm.layout.stack_arena import ARRAYS, OF_SEATS
from grammarlm.masks.beside import NotNow

from .arena import BLOCKS, CLASSES, LENT, STACKS, StackArena
from .survey_scratch import GROWING as SCRATCH
from .survey_scratch import PLACES as SCRATCH_PLACES
from .survey_scratch import SIZES as SCRATCH_SIZES
from .survey_scratch import SurveyScratch

if TYPE_CHECKING:
    from grammarlm.grammars.lark.tables import LrTables

    from .epoch import StackEpoch

# What a seat copies, again when the epoch has new entries: a hash table, its count, the other arrays, sizes.
COPIED = (
    (Place.S_HASH, Place.S_COUNT, (*STACKS, *BLOCKS), (Place.S_CAPACITY, Place.S_HASH_SIZE)),
    (Place.K_HASH, Place.K_COUNT, CLASSES, (Place.K_CAPACITY, Place.K_HASH_SIZE)),
)
OWN = {
    *(
        place
        for array in ARRAYS
        if array.group in OF_SEATS
        for place in (array.place, array.size, array.used)
        if place is not None
    ),
    *(Place.WORK, Place.KEPT, Place.PAIR, Place.STEPS, Place.PATH, Place.CHAIN, Place.UNITS, Place.UNITS_ON),
    *(Place.NEEDED, Place.NEEDED_COUNT, Place.READ_ONLY, Place.LINE_STACK, Place.LINE_AFTER),
    *(Place.UNITING, Place.UNITED, Place.UNIONS, Place.UNION_ROUND, Place.UNION_TURNS),
    *(*SCRATCH_PLACES, *SCRATCH_SIZES.values()),
    *(Place.TURN, Place.REPLACED, Place.REPLACED_SEEN, Place.EPOCH),
    *(Place.MARK_S, Place.MARK_C, Place.MARK_T, Place.MARK_R, Place.SIGNATURE_END, Place.DRAFTS_COUNT),
}
SHARED = np.array([place for place in Place if place not in OWN and place != Place.LENGTH])
GROWING = np.array([Place.S_COUNT, Place.C_COUNT, Place.REPLACED])
CONFIG = 2  # the seat's number of the config whose row is made
FOR_OTHERS = {
    (layout.NEED_LOCK, layout.FOR_LOCK): NotNow.UNDER_THE_LOCK,
    (layout.NEED_LOCK, layout.FOR_ANOTHER): NotNow.SOON,
}


class StackSeat(StackArena):
    """One thread's own tables over those of an epoch."""

    def __init__(self, epoch: StackEpoch):
        super().__init__(epoch.program)
        self._epoch = epoch
        self.arena[Place.READ_ONLY] = 1
        self.arena[Place.EPOCH] = epoch.address
        self.arena[Place.REPLACED_SEEN] = -1
        self._copied: dict[Place, tuple[int, int]] = {}
        self._seen: tuple[int, ...] = ()
        self._held: dict[Place, np.ndarray] = {}
        self._rows = np.zeros((2, len(epoch.program.facts.stop_row) + 1), np.int32)  # one to fill, and scratch
        self._rows_at = self._rows.ctypes.data

    def _surveys_at_first(self) -> str:
        return LENT

    def _take_tables(self, lr: LrTables) -> None:
        """Nothing: they are the epoch's."""

    def row(self, state: int, scratch: SurveyScratch) -> np.ndarray | NotNow:
        """The row of the epoch's config, or why it is not made now."""
        epoch, lock = self._epoch, self.program.lock
        if not self._is_current():
            with lock:
                if epoch.is_full:
                    return NotNow.UNDER_THE_LOCK
                self._look()
        scratch.lend(self.arena)
        self._place(state)
        goes_on = 0
        while True:
            found: int = walk.ask(walk.SIGN, self.address, CONFIG, goes_on, 0)
            reason, index = -found & 7, -found >> 3
            goes_on = 1  # continue; what was interned so far is rolled back at the end, or below
            if reason == layout.FULL and index in SCRATCH:
                if self.only_inside:  # more remainders than a survey is worth
                    walk.forget(self.address)
                    return NotNow.UNDER_THE_LOCK
                scratch.grow(index, self.program.limits.max_bytes, self.arena)
            elif reason == layout.FULL and index in (0, 2, 3, FULL_UNIONS):  # stacks, configs, rows, unions: its own
                self._grow_full(index)
            elif found >= 0:
                return self._signed(found)
            elif reason == layout.NEED_LOCK and index == layout.FOR_SIGNATURE:
                with lock:
                    if epoch.is_full:
                        return NotNow.UNDER_THE_LOCK
                    signature = epoch.take_signature(scratch, int(self.arena[Place.SIGNATURE_END]))
                    self._look()
                return self._signed(signature)
            elif reason in (layout.FULL, layout.TOO_WIDE) or (reason, index) in FOR_OTHERS:
                walk.forget(self.address)
                return FOR_OTHERS.get((reason, index), NotNow.UNDER_THE_LOCK)
            else:
                with lock:
                    if epoch.is_full:
                        walk.forget(self.address)
                        return NotNow.UNDER_THE_LOCK
                    self._hand_over(reason, index, scratch)
                    goes_on = int(self._stacks_are_known())
                    if not goes_on:
                        walk.forget(self.address)
                    self._look()
                if not goes_on:
                    self._place(state)

    def _hand_over(self, reason: int, index: int, scratch: SurveyScratch) -> None:
        """Gives the epoch what the seat has found, or has it made what the seat is missing. Under the lock."""
        epoch = self._epoch
        if reason != layout.NEED_LOCK:
            epoch.supply_to(self, -(8 * index + reason))
        elif index == layout.FOR_SURVEY:
            epoch.take_survey(scratch, self.arena)
        elif index == layout.FOR_CLASS:
            epoch.take_class(self)
        else:
            epoch.take_first_bytes(scratch, int(self.array(Place.PAIR)[0]))

    def _signed(self, signature: int) -> np.ndarray:
        """The row of a signature."""
        known = self._epoch.signed_row(signature)
        if known is None:
            rows, at = self._rows, self._rows_at
            rows[0, :-1] = self.program.facts.stop_row if self._arrays[Place.C_ACCEPTS][CONFIG] else 0
            walk.fill_signed(self.address, signature, at)
            with self.program.lock:
                known = self._epoch.keep_signed_row(signature, rows[0, :-1], at)
        return known

    def _is_current(self) -> bool:
        """Does the seat know all states, configs and arrays of the epoch? A stale seat asks for what it does not see,
        which costs more."""
        return tuple(self._epoch.arena[GROWING].tolist()) == self._seen

    def _stacks_are_known(self) -> bool:
        """Has the epoch interned no stacks since the seat copied them? Then the seat's own stacks above them stay valid."""
        table, count, _, _ = COPIED[0]
        return self._copied.get(table) == (int(self._epoch.arena[count]), id(self._epoch.arrays[table]))

    def _look(self) -> None:
        """Reads the epoch's arrays and counts as they are now. Under the lock."""
        epoch = self._epoch
        with epoch.in_turn():
            self.arena[SHARED] = epoch.arena[SHARED]
            self._held = dict(epoch.arrays)
            self.arena[Place.REPLACED_SEEN] = epoch.arena[Place.REPLACED]
            self._seen = tuple(epoch.arena[GROWING].tolist())
            for table, count, others, sizes in COPIED:
                copied = int(epoch.arena[count]), id(self._held[table])
                if copied != self._copied.get(table):
                    for place in others:
                        self._fixed(place, self._held[place].copy())
                    for place in (count, *sizes):
                        self.arena[place] = epoch.arena[place]
                    self._copied[table] = copied

    def _place(self, state: int) -> None:
        """Copies one of the epoch's configs into the seat, under a number of its own."""
        mine, theirs = self._arrays, self._held
        offset, length = int(theirs[Place.C_OFFSET][state]), int(theirs[Place.C_LENGTH][state])
        while len(mine[Place.THREADS]) < length + 1:
            self._grow(Place.THREADS)
        mine[Place.THREADS][:length] = theirs[Place.THREADS][offset : offset + length]
        mine[Place.C_OFFSET][CONFIG], mine[Place.C_LENGTH][CONFIG] = 0, length
        mine[Place.C_ACCEPTS][CONFIG], mine[Place.C_ROW][CONFIG] = theirs[Place.C_ACCEPTS][state], -1
        self.arena[Place.C_COUNT], self.arena[Place.T_COUNT], self.arena[Place.R_COUNT] = CONFIG + 1, length, 0
