"""Where a config stands, in words: for `explain`.

    in pair < object < start; within STRING; next: COLON

It names the rules that are not finished, inner ones first; the terminals that the lexeme at hand may become; the
terminals or rules that may come next. Where the text has several parses, the rules are those of the deepest one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from grammarlm.grammars.cfg.left_recursion import call_bits
from grammarlm.grammars.lark.lexer import LexerState
from grammarlm.grammars.lark.tables import WHOLE
from grammarlm.grammars.regular.terms import Term
from grammarlm.layout.stack import EXIT, LR_BASE, STATES, UNION, Field
from grammarlm.layout.stack_calls import SHIFT

if TYPE_CHECKING:
    from .arena import StackArena
    from .numbers import StackNumbers
    from .program import StackProgram
    from .states import StateMaker

READINGS = 16  # threads looked at
DEEPEST = 6  # rules named
MOST = 8  # terminals or rules named as what comes next
KNOWN = 5_000  # states of rules whose rule is recorded


class RuleNames:
    """Which rule a state of a rule belongs to, found from the first KNOWN states."""

    def __init__(self, program: StackProgram):
        self._names: dict[object, str] = {}
        calls = program.rules.calls
        self.calls = [self._name(callee.key) for callee in calls]
        starts = [
            (callee.start, name)
            for callee, name in zip(calls, self.calls, strict=True)
            if isinstance(callee.start, Term)
        ]
        queue = [*sorted(starts, key=lambda start: start[1]), (program.start_state, "")]
        for term, name in queue:
            program.clock.check()
            if not isinstance(term, Term) or term in self._names or len(self._names) >= KNOWN:
                continue
            self._names[term] = name
            queue += [(target, name) for _, target in program.algebra.edges(term)]

    def of(self, state: object) -> str:
        return self._names.get(state, "")

    @staticmethod
    def _name(key: object) -> str:
        """A rule's name; empty for rules that the readers made up, which no user knows."""
        name = str(key[1]) if isinstance(key, tuple) and len(key) == 2 and key[0] != "lr" else ""
        return "" if name.startswith(("(", "$", "_")) else name


def describe(
    program: StackProgram, arena: StackArena, numbers: StackNumbers, maker: StateMaker, names: RuleNames, state: int
) -> str:
    """One line of at most 300 characters; empty where there is nothing to say."""
    chains: set[tuple[str, ...]] = set()
    within: set[str] = set()
    following: set[str] = set()
    for q, stack, _ in arena.threads_of(state)[:READINGS]:
        if q <= EXIT:
            continue
        top = numbers.objects[q]
        if isinstance(top, Term):
            found = {names.calls[k] for bits, _ in program.algebra.edges(top) for k in call_bits(bits)}
            following |= found - {""}
            chains.add(_rules(program, arena, numbers, names, names.of(top), stack))
            continue
        assert isinstance(top, LexerState)
        terminals = top.lexer.terminals
        if top.start and top.lexer.shifts:
            following |= _shiftable(program, maker, top, stack)
        elif top.start:
            following |= {_called(top, t) for t in top.terminals if not terminals[t].ignored}
        else:
            live = top.lexer.live(top)
            within |= {_called(top, t) for t in range(len(terminals)) if live >> t & 1 and not terminals[t].ignored}
        chains.add(_rules(program, arena, numbers, names, "", stack))
    parts = []
    if chain := max(sorted(chains), key=len, default=()):
        parts.append("in " + " < ".join(chain[:DEEPEST]) + (" < ..." if len(chain) > DEEPEST else ""))
    if within:
        parts.append("within " + _some(within))
    if following:
        parts.append("next: " + _some(following))
    line = "; ".join(parts)
    return line if len(line) <= 300 else line[:297] + "..."


def _called(state: LexerState, terminal: int) -> str:
    """A terminal's name, or its pattern where lark made the name up."""
    found = state.lexer.terminals[terminal]
    return f"/{found.pattern.regex:.20}/" if found.name.startswith("__") else found.name


def _shiftable(program: StackProgram, maker: StateMaker, top: LexerState, stack: int) -> set[str]:
    assert program.lr is not None
    ignored, offset = program.lr.ignored, top.lexer.offset
    return {_called(top, t) for t in top.terminals if not ignored[t + offset] and maker.made(SHIFT, stack, t + offset)}


def _rules(
    program: StackProgram, arena: StackArena, numbers: StackNumbers, names: RuleNames, inner: str, stack: int
) -> tuple[str, ...]:
    """The names of the rules from the top of the stack down, without repetitions in a row."""
    parents, symbols = arena.array(Field.S_PARENT), arena.array(Field.S_SYMBOL)
    lr = program.lr
    found = [inner]
    state = -1
    while stack and len(found) <= 4 * DEEPEST:
        symbol = int(symbols[stack])
        if UNION <= symbol < LR_BASE:
            stack = int(parents[stack])
            continue
        if symbol < LR_BASE:
            found.append(names.of(numbers.objects[symbol]))
            stack, state = int(parents[stack]), -1
            continue
        assert lr is not None
        state = (symbol - LR_BASE) & (STATES - 1) if state < 0 else state
        item = min(
            lr.items[state], key=lambda item: (len(item.rest), lr.names[item.origin] if item.origin != WHOLE else "")
        )
        if item.origin == WHOLE:
            stack, state = int(parents[stack]) if not item.read else int(parents[parents[stack]]), -1
            continue
        found.append("" if lr.names[item.origin].startswith("__") else lr.names[item.origin])
        below = int(parents[stack])
        for _ in range(item.read - 1):
            below = int(parents[below])
        # The nonterminal goes on top of `below`; the rest of the stack is read as if it ended there.
        state = int(lr.goto[(int(symbols[below]) - LR_BASE) & (STATES - 1), item.origin])
        stack = _child(stack, below, parents)
    named = [name for name in found if name]
    return tuple(name for at, name in enumerate(named) if not at or named[at - 1] != name)


def _child(stack: int, below: int, parents: np.ndarray) -> int:
    """The stack right above `below`."""
    while int(parents[stack]) != below:
        stack = int(parents[stack])
    return stack


def _some(names: set[str]) -> str:
    shown = sorted(names)
    return ", ".join(shown[:MOST]) + (f" and {len(shown) - MOST} more" if len(shown) > MOST else "")
