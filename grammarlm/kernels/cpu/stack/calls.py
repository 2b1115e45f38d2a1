"""Entry points of the pushdown machine for Python: a single kernel, so that shared parts are compiled once, not once per entry.

Each function below the kernel takes the arguments of the part that it calls.
"""

from numba import int64

from grammarlm.kernels.cpu.jit import kernel
from grammarlm.kernels.cpu.surveys.masks import fill_signed as _fill_signed
from grammarlm.kernels.cpu.surveys.masks import forget_to_marks
from grammarlm.kernels.cpu.surveys.masks import sign as _sign
from grammarlm.layout.stack import MOST_UNIONS, Field

from .arena import arena_of
from .configs import close, step
from .stacks import next_line, push, shift
from .targets import fill_next as _fill_next
from .targets import fill_targets as _fill_targets
from .unions import unite
from .walk import advance as _advance
from .walk import advance_bytes as _advance_bytes
from .walk import fill_row as _fill_row

FILL_ROW, SIGN, ADVANCE, ADVANCE_BYTES, ADVANCE_COLUMN, PUSH, MAKE_CONFIG = range(7)
FILL_TARGETS, FILL_NEXT, SHIFT, NEXT_LINE, FILL_SIGNED, FORGET, UNITE = range(7, 14)


@kernel("int64(int64, int64, int64, int64, int64)", large=True, seconds=30)
def ask(question, address, a, b, c):
    arena_of(address)[Field.UNIONS_LEFT] = MOST_UNIONS
    if question == ADVANCE:
        return _advance(address, a, b)
    if question == SIGN:
        return _sign(address, a, b)
    if question == FILL_ROW:
        return _fill_row(address, a, b, c)
    if question == ADVANCE_BYTES:
        return _advance_bytes(address, a, b, c)
    if question == ADVANCE_COLUMN:
        return step(address, a, b)
    if question == PUSH:
        return push(address, a, b)
    if question == FILL_TARGETS:
        return _fill_targets(address, a, b, c)
    if question == FILL_NEXT:
        return _fill_next(address, a)
    if question == SHIFT:
        return shift(address, a, b, 0)
    if question == NEXT_LINE:
        return next_line(address, a, b)
    if question == FILL_SIGNED:
        return _fill_signed(address, a, b)
    if question == FORGET:
        forget_to_marks(address)
        return int64(0)
    if question == UNITE:
        return unite(address, a, b)
    return int64(close(address, a))


def fill_row(address: int, scratch_address: int, scratch_length: int, row_address: int) -> int:
    return ask(FILL_ROW, address, scratch_address, scratch_length, row_address)


def sign(address: int, config: int, goes_on: int) -> int:
    """The number of a config's signature (kernels/cpu/surveys/masks.py); `goes_on`: resumes a call that returned a missing code."""
    return ask(SIGN, address, config, goes_on, 0)


def fill_signed(address: int, signature: int, row_address: int) -> int:
    return ask(FILL_SIGNED, address, signature, row_address, 0)


def forget(address: int) -> int:
    """Rolls back what was added since the marks were set."""
    return ask(FORGET, address, 0, 0, 0)


def advance(address: int, config: int, token: int) -> int:
    return ask(ADVANCE, address, config, token, 0)


def advance_bytes(address: int, config: int, data_address: int, length: int) -> int:
    return ask(ADVANCE_BYTES, address, config, data_address, length)


def advance_column(address: int, config: int, column: int) -> int:
    """The config after a symbol that is no byte: a special token."""
    return ask(ADVANCE_COLUMN, address, config, column, 0)


def push_symbol(address: int, parent: int, symbol: int) -> int:
    """Interns the stack with one more symbol."""
    return ask(PUSH, address, parent, symbol, 0)


def unite_stacks(address: int, first: int, second: int) -> int:
    """The union of two stacks."""
    return ask(UNITE, address, first, second, 0)


def make_config(address: int, count: int) -> int:
    """The config of the closure of the first `count` threads of PENDING."""
    return ask(MAKE_CONFIG, address, count, 0, 0)


def fill_targets(address: int, scratch_address: int, scratch_length: int, targets_address: int) -> int:
    return ask(FILL_TARGETS, address, scratch_address, scratch_length, targets_address)


def fill_next(address: int, config: int) -> int:
    return ask(FILL_NEXT, address, config, 0, 0)


def shift_terminal(address: int, stack: int, terminal: int) -> int:
    """The LR stack after a terminal, 0 if the parser rejects it."""
    return ask(SHIFT, address, stack, terminal, 0)


def begin_line(address: int, stack: int, width: int) -> int:
    """The LR stack after the end of a line, if the next line begins in column `width`; 0 if that is not allowed."""
    return ask(NEXT_LINE, address, stack, width, 0)
