"""How the JSON machine is unrolled for canvases (kernels/cpu/json/canvas/explore.py): a thread without its text is a state.

A state is a thread whose frames are cut at the barrier: BARRIER is around the object or array that a pushing step opened. Keys of
open objects are left out of it, so states are finite in number, and say less than the thread in one respect only: which free keys
were read before. Some of those are tracked: a bit for each in TEXT of the object's frame, and while a key is read the range of
tracked keys that begin like it. The same bits say which items an array has that must differ.

Or a row says itself where a key is that is tracked, whatever its text: by marks around it, bytes that no text has. Those have the
next bits of TEXT, and while a key is read, MARK of the range says how far it is one of them; a key with escapes is none.
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
    FOLD = 18  # int16 [W]: the white space state that stands for each
    WORDS = 19  # offset of a table of tracked keys in the program, as of an object's keys
    WORD_COUNT = 20
    ITEMS = 21  # int64 [count, 3]: row of an array whose items must differ, a value, its bit
    ITEM_COUNT = 22
    SHORT = 23  # digits after which an exponent is followed where a number has bounds or steps; zeros after the point
    OPEN_ZEROS = 24  # zeros after the point that are followed where it has neither
    LARGEST_EXPONENT = 25  # that is followed; up to OPEN_EXPONENT, any is valid where a number has neither
    IS_STRICT = 26  # not 0: loose numbers, see below, are left out
    LEFT_OUT = 27  # not 0: there are loose numbers
    MARKS = 28  # keys that marks in the row stand around, see below
    IS_PLAIN = 29  # not 0: all strings are there in plain spelling alone
    ARE_LANGUAGES_PLAIN = 30  # not 0: strings of a language are
    LENGTH = 31


# Marks: bytes of a row that are no text. A state stays as it is where nothing else is said.
BEGIN = 0xF8  # and 3 more: where nothing of a key is read, it may be that of mark 0 to 3
END = 0xC0  # where it has begun like that: if the key ends here, it is this key
AVOID = 0xC1  # then the key may not end here
ONLY = 0xFE  # all others are left out
NEED = 0xFF  # and those of objects that have not had the key before; others have it twice, and go on without the mark
MOST_MARKS = 4
MARKS_BEHIND = (END, AVOID, *range(BEGIN, BEGIN + MOST_MARKS))  # may stand between stop ids, too
MARKS = (*MARKS_BEHIND, ONLY, NEED)
MARK = 56  # bit offset in the range of tracked keys: 0, FRESH: nothing is read, BEGUN + 2 m, ENDED + 2 m, AVOIDED
FRESH, BEGUN, ENDED = 1, 2, 3
AVOIDED = ENDED + 2 * MOST_MARKS
RANGE = (1 << MARK) - 1

STATE_WORDS = 7  # c, x and y as compared, frame, range of tracked keys; x and y
NONE, SPECIAL = -1, -2
STEP, PUSH, POP = range(3)  # operations
COMPLETE, TOO_MANY_STATES, NO_ROOM = range(3)  # STOPPED
DIGITS_AHEAD, EXPONENT_AHEAD = 2000, 8  # more than any number has: equal keys are equal futures

# A number whose exponent is beyond what is followed, or comes after long digits where bounds or steps depend on them, is loose:
# only its form is followed, in states whose x is one of these. What only loose numbers allow is decided by matchers.
LOOSE_DIGITS, LOOSE_ZEROS, LOOSE_E, LOOSE_SIGN, LOOSE_POWER = -7, -8, -9, -10, -11  # ZEROS and POWER may be the end
LOOSE = LOOSE_DIGITS  # and below
OPEN_EXPONENT = (
    99  # exponents up to it are valid after any digits that are followed, where a number has neither bounds nor steps
)
FAR = 200  # powers of ten that such numbers do not reach
