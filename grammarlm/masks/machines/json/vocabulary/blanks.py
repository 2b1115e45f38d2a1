"""White space between the tokens of a JSON text, as a small automaton.

    "flexible"   blanks, tabs and at most two line ends: at most 40 blanks and tabs in all
    "natural"    what json.dumps and pretty-printers write: an optional blank after a comma or colon, or a line end and
                 indentation after a comma, after the bracket before the first item, and before the bracket after the
                 last
    "spaced"     json.dumps' default: a blank after each comma and colon
    "compact"    none
    "any"        any
    a pattern    of blanks, tabs and line ends, in the syntax of Regex; it is what may stand between any two tokens

State 0 is where a run begins. Three states stand for every run that may end, by what may follow it: CAN_START for
anything, CLOSES for a closing bracket, GOES_ON for anything else. Natural and spaced white space depend on where they
stand: there each gap has a state of its own in place of 0 (kernels/cpu/json/step/blanks.py).
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np

from grammarlm.errors import GrammarError, LimitExceeded, brief
from grammarlm.grammars.regular.derivatives import Algebra
from grammarlm.grammars.regular.syntax import parse_regex
from grammarlm.grammars.regular.terms import NOTHING, Term, accepts_empty
from grammarlm.layout.json import BRACKET, FOLLOWS, Gap

BLANK_BYTES = b" \t\n\r"
LONGEST_RUN = 40  # blanks and tabs in one gap, where white space is flexible or natural
MOST_LINE_ENDS = 2  # in one gap, where white space is flexible
MOST_STATES = 4096
LONGEST_PATTERN = 1_000  # characters; a pattern is read once a process, under the same limit for all callers
ANYTHING = FOLLOWS | BRACKET


@dataclass(frozen=True, eq=False)
class Blanks:
    """The automaton: int16 [W, 5], the next state by blank, tab, newline and return (-1: refused), and what may follow."""

    table: np.ndarray
    description: str
    start: int = Gap.START  # before the first byte of a text
    has_gaps: bool = False  # has each gap a state of its own?
    comma: bytes = b","  # as completions write it, with the white space that must follow
    colon: bytes = b":"

    @functools.cached_property
    def distances(self) -> np.ndarray:
        """Of each state how many bytes must come before anything else may; the number of states where nothing ever may."""
        found = np.where(self.table[:, 4] != 0, 0, len(self.table))
        for _ in range(len(self.table)):
            nearest = np.where(self.table[:, :4] >= 0, found[self.table[:, :4]], len(self.table)).min(axis=1) + 1
            nearer = np.minimum(found, nearest)
            if (nearer == found).all():
                break
            found = nearer
        return found

    def rest(self, state: int) -> bytes:
        """White space that must come before anything else may."""
        text, distances = b"", self.distances
        while distances[state]:
            ways = ((i, int(to)) for i, to in enumerate(self.table[state, :4]) if to >= 0)
            i, state = next((i, to) for i, to in ways if distances[to] < distances[state])
            text += BLANK_BYTES[i : i + 1]
        return text


@functools.lru_cache(maxsize=64)
def blanks_of(whitespace: str) -> Blanks:
    if whitespace == "compact":
        return Blanks(_array([[-1, -1, -1, -1, ANYTHING]]), "no white space between tokens")
    if whitespace == "any":
        return Blanks(_array([[0, 0, 0, 0, ANYTHING]]), "any white space between tokens")
    if whitespace == "flexible":
        return Blanks(
            _flexible(),
            f"white space between tokens: [ \\t]*(\\r?\\n[ \\t]*){{0,{MOST_LINE_ENDS}}}, at most {LONGEST_RUN} blanks and tabs",
        )
    if whitespace == "natural":
        return Blanks(
            _natural(),
            "white space as json.dumps and pretty-printers write it: a blank after a comma or colon, or lines with "
            f"an indentation of at most {LONGEST_RUN} blanks or tabs",
            start=Gap.CAN_START,
            has_gaps=True,
        )
    if whitespace == "spaced":
        return Blanks(
            _spaced(),
            "white space as json.dumps writes it: a blank after each comma and colon",
            start=Gap.GOES_ON,
            has_gaps=True,
            comma=b", ",
            colon=b": ",
        )
    return Blanks(_of_pattern(whitespace), f"white space between tokens: {whitespace!r}")


def _array(rows: list[list[int]]) -> np.ndarray:
    """Inserts the states that runs end in; targets above 0 are row numbers and move up by GOES_ON."""
    moved = [[to + Gap.GOES_ON if to > 0 else to for to in row[:4]] + [row[4]] for row in rows]
    return np.array([moved[0], *_ENDED, *moved[1:]], np.int16)


_ENDED = [[-1, -1, -1, -1, follows] for follows in (ANYTHING, BRACKET, FOLLOWS)]  # CAN_START, CLOSES, GOES_ON


def _flexible() -> np.ndarray:
    """States by phase (before a line's end, between return and newline, after it, ...) and by the number of blanks read."""
    width = LONGEST_RUN + 1
    rows = []
    for phase in range(2 * MOST_LINE_ENDS + 1):
        for count in range(width):
            returned, last = phase % 2 == 1, phase == 2 * MOST_LINE_ENDS
            more = phase * width + count + 1 if count < LONGEST_RUN and not returned else -1
            newline = (phase + (1 if returned else 2)) * width + count if not last else -1
            back = (phase + 1) * width + count if not returned and not last else -1
            rows.append([more, more, newline, back, 0 if returned else ANYTHING])
    return _array(rows)


def _natural() -> np.ndarray:
    """The gaps by their numbers; then a line's end with its indentation, before a bracket and before anything else.

    Indentation is blanks or tabs, never both. Its states: none of it, n blanks, n tabs.
    """
    closing = Gap.AFTER_COLON + 1
    going_on = closing + 1 + 2 * LONGEST_RUN
    table = np.full((going_on + 1 + 2 * LONGEST_RUN, 5), -1, np.int16)
    table[: Gap.AFTER_COLON + 1, 4] = ANYTHING
    table[Gap.CAN_START : Gap.GOES_ON + 1] = _ENDED
    table[Gap.BEFORE_CLOSE, 2] = closing
    table[[Gap.AFTER_OPEN, Gap.AFTER_COMMA], 2] = going_on
    table[[Gap.AFTER_COMMA, Gap.AFTER_COLON], 0] = Gap.GOES_ON
    for first, follows in ((closing, BRACKET), (going_on, FOLLOWS)):
        blanks, tabs = first + 1, first + 1 + LONGEST_RUN
        table[first : tabs + LONGEST_RUN, 4] = follows
        table[first, :2] = blanks, tabs
        table[blanks : tabs - 1, 0] = np.arange(blanks + 1, tabs)
        table[tabs : tabs + LONGEST_RUN - 1, 1] = np.arange(tabs + 1, tabs + LONGEST_RUN)
    return table


def _spaced() -> np.ndarray:
    """The gaps by their numbers; those after a comma and a colon must have their blank."""
    table = np.full((Gap.AFTER_COLON + 1, 5), -1, np.int16)
    table[:, 4] = ANYTHING
    table[Gap.CAN_START : Gap.GOES_ON + 1] = _ENDED
    table[[Gap.AFTER_COMMA, Gap.AFTER_COLON]] = [Gap.GOES_ON, -1, -1, -1, 0]
    return table


def _of_pattern(pattern: str) -> np.ndarray:
    if len(pattern) > LONGEST_PATTERN:
        raise LimitExceeded(
            f"whitespace= takes a pattern of at most {LONGEST_PATTERN:,} characters, not {len(pattern):,}"
        )
    algebra = Algebra()
    try:
        start = parse_regex(pattern, algebra)
    except GrammarError as error:
        raise type(error)(f"whitespace={brief(pattern)}: {error}", position=error.position) from None
    states: dict[Term, int] = {start: 0}
    order, rows = [start], []
    for term in order:
        row = [-1] * 4
        for bits, after in algebra.edges(term):
            if bits & ~sum(1 << b for b in BLANK_BYTES):
                raise GrammarError(
                    f"whitespace={brief(pattern)} matches more than white space; use blanks, \\t, \\n and \\r, "
                    'or "flexible", "natural", "spaced", "compact", "any"'
                )
            for i, byte in enumerate(BLANK_BYTES):
                if bits >> byte & 1 and after is not NOTHING:
                    if after not in states:
                        states[after] = len(order)
                        order.append(after)
                        if len(order) > MOST_STATES:
                            raise LimitExceeded(f"whitespace={brief(pattern)} has more than {MOST_STATES} states")
                    row[i] = states[after]
        rows.append([*row, ANYTHING if accepts_empty(term) else 0])
    _prune(rows)
    if rows[0][4] == 0 and max(rows[0][:4]) < 0:
        raise GrammarError(f"whitespace={brief(pattern)} matches nothing")
    return _array(rows)


def _prune(rows: list[list[int]]) -> None:
    """Removes transitions into states from which no run can end."""
    useful = {i for i, row in enumerate(rows) if row[4]}
    grows = True
    while grows:
        more = {i for i, row in enumerate(rows) if i not in useful and any(to in useful for to in row[:4])}
        useful |= more
        grows = bool(more)
    for row in rows:
        row[:4] = [to if to in useful else -1 for to in row[:4]]
