"""Goals of the proof that a thread can end, and their outcomes (liveness.py)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from grammarlm.grammars.lark.lexer import LexerState
from grammarlm.grammars.regular.terms import Term


@dataclass(frozen=True, eq=False, slots=True)
class At:
    """Where the lexer stands: its state, its context (the start state), the border, and which terminals may not come
    next (as bits). Equal ones are one object, whose hash costs nothing."""

    state: LexerState
    start: LexerState
    border: Term
    forbidden: int


class Reduced(NamedTuple):
    """A rule for `nonterminal` is complete, and `more` LR states are still to be popped."""

    more: int
    nonterminal: int
    at: At


class Ended(NamedTuple):
    """The LR parser's text has ended; its first state is still on the stack."""

    border: Term


class Alive(NamedTuple):
    """It can be finished on every stack: the rest of the text is under a trusted border."""


class InRule(NamedTuple):
    """A state of a rule, or of a lexeme that is a frame of its own, or the entrance of an LR parser. Outcomes: borders."""

    state: object
    border: Term


class OnTop(NamedTuple):
    """An LR state on top of the stack. Outcomes: Reduced, Ended; of a parser's first state: borders."""

    state: int
    at: At


class Under(NamedTuple):
    """An LR state that an outcome from above has reached."""

    state: int
    outcome: Outcome


ALIVE = Alive()
Goal = InRule | OnTop | Under
Outcome = Any  # by the kind of goal


class Found:
    """The outcomes of a goal so far, and to which goals they pass, and how."""

    __slots__ = ("goal", "outcomes", "users")

    def __init__(self, goal: Goal):
        self.goal, self.outcomes = goal, set[Outcome]()
        self.users: list[tuple[Found, object]] = []
