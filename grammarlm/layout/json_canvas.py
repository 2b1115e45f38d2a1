"""How the JSON machine is unrolled for canvases (kernels/cpu/json/canvas/explore.py): a thread without its text is a state.

A state is a thread whose frames are cut at the barrier: BARRIER is around the object or array that a pushing step opened. Keys of
open objects are left out of it, so states are finite in number, and say less than the thread in one respect only: which free keys
were read before. Some of those are tracked: a bit for each in TEXT of the object's frame, and while a key is read the range of
tracked keys that begin like it. The same bits say which items an array has that must differ.

Or a row says itself where a key is that is tracked, whatever its text: by marks around it, bytes that no text has. Those have the
next bits of TEXT, and while a key is read, MARK of the range says how far it is one of them.
"""

from .constants import Constants


class Explore(Constants):
    """Indices into the array that is the argument `work`."""

    STATES = 0  # int64 [capacity, STATE_WORDS]
    STATE_COUNT = 1
    STATE_CAPACITY = 2
    STATE_TABLE = 3  # int32 [size]: hash table of states, counted from 1
    STATE_SIZE = 4
    NEXT = 5  # int32 [capacity, 256]: the state after a byte; NONE; SPECIAL - n: see SPECIALS
    SPECIALS = 6  # int32 [capacity, 4]: operation, symbol, state after it, the next one of the same byte or NONE
    SPECIAL_COUNT = 7
    SPECIAL_CAPACITY = 8
    FRAME_TABLE = 9  # int32 [size]: hash table of frames that are kept, counted from 1
    FRAME_SIZE = 10
    KEPT_FRAMES = 11  # their number; they are the first of the arena's
    SCRATCH_FRAMES = 12  # the first frame of a step's own
    DONE = 13  # states whose steps are known
    PUSHES = 14  # uint8 [program rows]: opening this object or array pushes
    MOST_STATES = 15
    STOPPED = 16  # why exploring stopped, see below
    ACCEPTS = 17  # int8 [capacity]: may a text end in the state?
    WORDS = 18  # offset of a table of tracked keys in the program, as of an object's keys
    WORD_COUNT = 19
    ITEMS = 20  # int64 [count, 3]: row of an array whose items must differ, a value, its bit
    ITEM_COUNT = 21
    MARKS = 22  # keys that marks in the row stand around, see below
    LENGTH = 23


# Marks: bytes of a row that are no text. A state stays as it is where nothing else is said.
BEGIN = 0xF8  # and 3 more: where nothing of a key is read, it may be that of mark 0 to 3
END = 0xC0  # where it has begun like that: if the key ends here, it is this key
NEED = 0xFF  # and all others are left out, those of objects that have not had the key before, too
MOST_MARKS = 4
MARKS_BEHIND = (END, *range(BEGIN, BEGIN + MOST_MARKS))  # may stand between stop ids, too
MARKS = (*MARKS_BEHIND, NEED)
MARK = 56  # bit offset in the range of tracked keys: 0, FRESH: nothing is read, BEGUN + 2 m, ENDED + 2 m
FRESH, BEGUN, ENDED = 1, 2, 3
RANGE = (1 << MARK) - 1

STATE_WORDS = 7  # c, x and y as compared, frame, range of tracked keys; x and y
NONE, SPECIAL = -1, -2
STEP, PUSH, POP = range(3)  # operations
COMPLETE, TOO_MANY_STATES, NO_ROOM = range(3)  # STOPPED
DIGITS_AHEAD, EXPONENT_AHEAD = 2000, 8  # more than any number has: equal keys are equal futures
