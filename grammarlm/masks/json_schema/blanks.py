"""White space between the tokens of a JSON text, as a small automaton.

    "flexible"   blanks and tabs, then perhaps one line's end, then blanks and tabs: at most 40 blanks and tabs in all
    "compact"    none
    "any"        any
    a pattern    of blanks, tabs and line ends, as Regex has it; it is what may stand at each place

State 0 is where a run begins, state 1 stands behind every run that may end: what follows comes from there.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np

from ...errors import GrammarError, LimitExceeded
from ...grammars.regex_syntax import parse_regex
from ...grammars.regular import Algebra
from ...grammars.terms import NOTHING, Term, accepts_empty

BLANK_BYTES = b" \t\n\r"
LONGEST_RUN = 40  # blanks and tabs at one place, where white space is flexible
MOST_STATES = 4096


@dataclass(frozen=True)
class Blanks:
    """The automaton: int16 [W, 5], the next state by blank, tab, newline and return (-1: refused), and whether a run may end."""

    table: np.ndarray
    description: str


@functools.lru_cache(maxsize=64)
def blanks_of(whitespace: str) -> Blanks:
    if whitespace == "compact":
        return Blanks(_array([[-1, -1, -1, -1, 1]]), "no white space between tokens")
    if whitespace == "any":
        return Blanks(_array([[0, 0, 0, 0, 1]]), "any white space between tokens")
    if whitespace == "flexible":
        return Blanks(
            _flexible(), f"white space between tokens: [ \\t]*(\\r?\\n)?[ \\t]*, at most {LONGEST_RUN} blanks and tabs"
        )
    return Blanks(_of_pattern(whitespace), f"white space between tokens: {whitespace!r}")


def _array(rows: list[list[int]]) -> np.ndarray:
    """State 1 is put in its place: the rows count from 0 and 2 on."""
    moved = [[to + 1 if to > 0 else to for to in row[:4]] + [row[4]] for row in rows]
    return np.array([moved[0], [-1, -1, -1, -1, 1], *moved[1:]], np.int16)


def _flexible() -> np.ndarray:
    """Three runs of states, by how many blanks were read: before a line's end, between return and newline, behind it."""
    width = LONGEST_RUN + 1
    rows = []
    for phase in range(3):
        for count in range(width):
            more = phase * width + count + 1 if count < LONGEST_RUN and phase != 1 else -1
            newline = 2 * width + count if phase < 2 else -1
            rows.append([more, more, newline, width + count if phase == 0 else -1, int(phase != 1)])
    return _array(rows)


def _of_pattern(pattern: str) -> np.ndarray:
    algebra = Algebra()
    start = parse_regex(pattern, algebra)
    states: dict[Term, int] = {start: 0}
    order, rows = [start], []
    for term in order:
        row = [-1] * 4
        for bits, after in algebra.edges(term):
            if bits & ~sum(1 << b for b in BLANK_BYTES):
                raise GrammarError(
                    f"whitespace={pattern!r} matches more than white space; use blanks, \\t, \\n and \\r, "
                    'or "flexible", "compact", "any"'
                )
            for i, byte in enumerate(BLANK_BYTES):
                if bits >> byte & 1 and after is not NOTHING:
                    if after not in states:
                        states[after] = len(order)
                        order.append(after)
                        if len(order) > MOST_STATES:
                            raise LimitExceeded(f"whitespace={pattern!r} has more than {MOST_STATES} states")
                    row[i] = states[after]
        rows.append([*row, int(accepts_empty(term))])
    _prune(rows)
    if rows[0][4] == 0 and max(rows[0][:4]) < 0:
        raise GrammarError(f"whitespace={pattern!r} matches nothing")
    return _array(rows)


def _prune(rows: list[list[int]]) -> None:
    """Takes out the ways into states from where no run can end."""
    useful = {i for i, row in enumerate(rows) if row[4]}
    grows = True
    while grows:
        more = {i for i, row in enumerate(rows) if i not in useful and any(to in useful for to in row[:4])}
        useful |= more
        grows = bool(more)
    for row in rows:
        row[:4] = [to if to in useful else -1 for to in row[:4]]
