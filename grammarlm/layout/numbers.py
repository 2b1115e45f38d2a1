"""Row of a JSON number's shape: written by grammars/json_schema/numbers/rows.py, read by kernels/cpu/json/step/numbers.py; and the
two words x and y of a number that has begun."""

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

# Phases: the low four bits of x. Up to NOUGHTS only zeros were read.
START, MINUS, NOUGHT, NOUGHT_POINT, NOUGHTS, INTEGER, POINT, FRACTION, EXPONENT, SIGNED, POWER = range(11)
SIGN = 16  # the bit of a negative number
LOW_ORDER, HIGH_ORDER, COUNT, TRAILING, PLACE = 5, 7, 9, 21, 33  # bit offsets of the other fields of x
COUNT_MASK = 0xFFF
AT_ZERO = 8192  # bias of the power of ten of the first digit; for zeros: how many are after the point
EQUAL, LESS, GREATER = 0, 1, 2  # order of the digits so far against as many of a bound
EXPONENT_BITS = 18
EXPONENT_BIAS = 1 << 17
EXPONENT_MASK = (1 << EXPONENT_BITS) - 1
