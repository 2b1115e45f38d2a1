"""The kernel of the pushdown machine: a single one, so that shared parts are compiled once, not once per entry."""

from numba import int64

from grammarlm.kernels.cpu.jit import kernel
from grammarlm.kernels.cpu.surveys.masks import fill_row as _fill_row
from grammarlm.kernels.cpu.surveys.masks import fill_signed as _fill_signed
from grammarlm.kernels.cpu.surveys.masks import forget_to_marks
from grammarlm.kernels.cpu.surveys.masks import sign as _sign
from grammarlm.layout.stack import MOST_UNIONS, Field
from grammarlm.layout.stack_calls import (
    ADVANCE,
    ADVANCE_BYTES,
    ADVANCE_COLUMN,
    FILL_NEXT,
    FILL_ROW,
    FILL_SIGNED,
    FILL_TARGETS,
    FORGET,
    NEXT_LINE,
    PUSH,
    SHIFT,
    SIGN,
    UNITE,
)

from .arena import arena_of
from .configs import close, step
from .stacks import next_line, push, shift
from .steps import advance as _advance
from .steps import advance_bytes as _advance_bytes
from .targets import fill_next as _fill_next
from .targets import fill_targets as _fill_targets
from .unions import unite


@kernel("int64(int64, int64, int64, int64, int64)", seconds=30)
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
