"""The tables of an LR parser, as kernels read them."""

from __future__ import annotations

import numpy as np

from grammarlm.grammars.lark.tables import LrTables
from grammarlm.layout.stack import Field

BLOCK = 512  # states


def terminal_words(lr: LrTables | None) -> int:
    """64-bit words of a set of terminals; the end of the text, and ends of lines, have a bit after those of the terminals."""
    return -(-(len(lr.ignored) + 2) // 64) if lr is not None else 0


def parser_arrays(lr: LrTables) -> dict[Field, np.ndarray]:
    words = terminal_words(lr)
    ignored = np.zeros((1, 64 * words), bool)
    ignored[0, : len(lr.ignored)] = lr.ignored
    shifts, begins, rules, reduce_on = _rows_of_bits(lr.action, words)
    return {
        Field.LR_ACTION: lr.action,
        Field.LR_GOTO: lr.goto,
        Field.LR_RULE: lr.rule,
        Field.LR_ACCESS: lr.access,
        Field.IGNORED: lr.ignored,
        Field.IGNORED_BITS: _bits(ignored)[0],
        Field.LR_SHIFTS: shifts,
        Field.LR_REDUCES: begins,
        Field.REDUCE_RULE: rules,
        Field.REDUCE_ON: reduce_on,
    }


def parser_numbers(lr: LrTables) -> dict[Field, int]:
    found = {
        Field.LR_TERMINALS: len(lr.ignored),
        Field.LR_NONTERMINALS: lr.goto.shape[1],
        Field.LR_STATES: len(lr.action),
        Field.LR_RULES: len(lr.rule),
    }
    if lr.blocks:
        newline, indent, dedent = lr.blocks
        found |= {Field.INDENTS: 1, Field.T_NEWLINE: newline, Field.T_INDENT: indent, Field.T_DEDENT: dedent}
    return found


def _rows_of_bits(action: np.ndarray, words: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """An LR table as sets of terminals: the shifts of each state; where its reductions begin, their rules, and their lookaheads."""
    blocks = [_rows_of_block(action[first : first + BLOCK], words) for first in range(0, len(action), BLOCK)]
    shifts, counts, rules, on = (np.concatenate(parts) for parts in zip(*blocks, strict=True))
    return shifts, np.concatenate([[0], np.cumsum(counts)]).astype(np.int32), rules, on


def _rows_of_block(action: np.ndarray, words: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """The same of a few states, which bounds the memory of what is sorted; the reductions of each state are counted."""
    padded = np.zeros((len(action), words * 64), np.int32)
    padded[:, : action.shape[1]] = action
    states, columns = np.nonzero(padded < 0)
    rules = -padded[states, columns] - 1
    most = int(rules.max(initial=0)) + 1
    keys = states * most + rules  # of the reductions, nearly sorted already, which a stable sort uses
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    is_first = np.diff(ordered, prepend=-1) > 0
    pairs = ordered[is_first]
    on = np.zeros((len(pairs), words * 64), bool)
    on[np.cumsum(is_first) - 1, columns[order]] = True
    counts = np.bincount(pairs // most, minlength=len(action))
    return _bits(padded > 0), counts, (pairs % most).astype(np.int32), _bits(on)


def _bits(rows: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(np.packbits(rows, axis=1, bitorder="little")).view(np.uint64)
