"""The operations of the stack machine's kernel as functions; each returns a missing code where something has to be made first."""

from grammarlm.kernels import entries
from grammarlm.layout.stack_calls import (
    ADVANCE,
    ADVANCE_BYTES,
    ADVANCE_COLUMN,
    FILL_NEXT,
    FILL_ROW,
    FILL_SIGNED,
    FILL_TARGETS,
    FORGET,
    MAKE_CONFIG,
    NEXT_LINE,
    PUSH,
    SHIFT,
    SIGN,
    UNITE,
)


def fill_row(address: int, scratch_address: int, scratch_length: int, row_address: int) -> int:
    return entries.ask(FILL_ROW, address, scratch_address, scratch_length, row_address)


def sign(address: int, config: int, goes_on: int) -> int:
    """The number of a config's signature (kernels/cpu/surveys/masks.py); `goes_on`: resumes a call that returned a missing code."""
    return entries.ask(SIGN, address, config, goes_on, 0)


def fill_signed(address: int, signature: int, row_address: int) -> int:
    return entries.ask(FILL_SIGNED, address, signature, row_address, 0)


def forget(address: int) -> int:
    """Rolls back what was added since the marks were set."""
    return entries.ask(FORGET, address, 0, 0, 0)


def advance(address: int, config: int, token: int) -> int:
    return entries.ask(ADVANCE, address, config, token, 0)


def advance_bytes(address: int, config: int, data_address: int, length: int) -> int:
    return entries.ask(ADVANCE_BYTES, address, config, data_address, length)


def advance_column(address: int, config: int, column: int) -> int:
    """The config after a symbol that is no byte: a special token."""
    return entries.ask(ADVANCE_COLUMN, address, config, column, 0)


def push_symbol(address: int, parent: int, symbol: int) -> int:
    """Interns the stack with one more symbol."""
    return entries.ask(PUSH, address, parent, symbol, 0)


def unite_stacks(address: int, first: int, second: int) -> int:
    """The union of two stacks."""
    return entries.ask(UNITE, address, first, second, 0)


def make_config(address: int, count: int) -> int:
    """The config of the closure of the first `count` threads of PENDING."""
    return entries.ask(MAKE_CONFIG, address, count, 0, 0)


def fill_targets(address: int, scratch_address: int, scratch_length: int, targets_address: int) -> int:
    return entries.ask(FILL_TARGETS, address, scratch_address, scratch_length, targets_address)


def fill_next(address: int, config: int) -> int:
    return entries.ask(FILL_NEXT, address, config, 0, 0)


def shift_terminal(address: int, stack: int, terminal: int) -> int:
    """The LR stack after a terminal, 0 if the parser rejects it."""
    return entries.ask(SHIFT, address, stack, terminal, 0)


def begin_line(address: int, stack: int, width: int) -> int:
    """The LR stack after the end of a line, if the next line begins in column `width`; 0 if that is not allowed."""
    return entries.ask(NEXT_LINE, address, stack, width, 0)
