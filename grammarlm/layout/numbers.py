"""Row of a JSON number's shape: written by grammars/json_schema/numbers/rows.py, read by kernels/cpu/json/step/numbers.py; and the
two words x and y of a number that has begun."""

from .constants import Constants


class Number(Constants):
    """Columns."""

    FLAGS = 0
    DIGITS = 1
    ZEROS = 2  # most zeros after the point of 0
    LEAST = 3  # the power of ten of the first digit of the smallest numbers that are written without an exponent
    BELOW, ABOVE = 4, 5  # powers of ten of numbers written with an exponent: up to BELOW, from ABOVE on
    EXPONENT_DIGITS = 6
    FINEST = 7
    STEP = 8
    POWERS = 9
    MODULUS = 10
    EXCLUDED = 11
    EXCLUDED_AT = 12
    RUN = 13
    FARTHEST = 14
    POSITIVE = 15  # bounds of positive numbers: see Bound
    NEGATIVE = 21  # likewise
    LENGTH = 27


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
    STEPS = 8
    OPEN = 16  # no bound but 0, and no steps: any digits can be continued to a valid value
    SINGLE = 32  # one value: the offset and size of its text (see `number_ended`) in the blob precede the row
    TIDY = 64  # only as json.dumps writes numbers; with PLAIN: only integers


LEAST_TIDY, MOST_TIDY = -4, 15  # powers of ten that Python's repr writes without an exponent

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
REST_BITS = 10  # of each end of what may follow the digits of an exponent, see `_step_exponent` in the kernel
REST_MASK = (1 << REST_BITS) - 1
