"""Row of a JSON number's shape: written by grammars/json_schema/numbers/rows.py, read by kernels/cpu/json/step/numbers.py."""

from .constants import Constants


class Number(Constants):
    """Columns."""

    FLAGS = 0
    DIGITS = 1
    ZEROS = 2
    EXPONENT_DIGITS = 3
    FINEST = 4
    STEP = 5
    POWERS = 6
    MODULUS = 7
    EXCLUDED = 8
    EXCLUDED_AT = 9
    RUN = 10
    FARTHEST = 11
    POSITIVE = 12  # bounds of positive numbers: see Bound
    NEGATIVE = 18  # likewise
    EASY = 24
    COARSEST = 25
    FINEST_STEP = 26
    LARGEST_EXPONENT = 27
    LENGTH = 28


class Bound(Constants):
    """Columns of each sign."""

    LOW = 0
    LOW_LENGTH = 1
    LOW_AT = 2
    HIGH = 3
    HIGH_LENGTH = 4
    HIGH_AT = 5


class Flag(Constants):
    """Bits of FLAGS."""

    ZERO = 1
    PLAIN = 2
    SPELLED = 4
    SYMMETRIC = 8
    STEPS = 16
    OPEN = 32  # any digits can be continued to a valid value
    SINGLE = 64  # one value: the offset and size of its text (see `number_ended`) in the blob precede the row
    TIDY = 128  # only as json.dumps writes numbers; with PLAIN: only integers


LEAST_TIDY, MOST_TIDY = -4, 15  # powers of ten that are written without an exponent
NEVER_EASY = 1 << 20
