"""Can every stack of an LR parser be brought to its end, if any terminal may come next?

Yes where no conflict was resolved against a reduction and every nonterminal derives something: the parser then reads
exactly the texts of its grammar and stops at the first terminal that continues none of them. A conflict that lark
resolved removes texts, and with them perhaps the only way out of a state. So the ways out are computed again, without
the reductions that lost a terminal:

    ends(p)     what can happen to the top p of a stack: after some terminals, a reduction by a rule for A pops p and j
                symbols more; or p is the end of the text
    leaves(p, A)    the same where p is on top again and A has just been read

If none of these sets is empty, every stack loses its top symbol at some time, whatever it is, and so comes to its end.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from grammarlm.grammars.lark.tables import LrTables


class Reduced(NamedTuple):
    """A rule for `nonterminal` is complete, and `more` symbols are still to be popped."""

    more: int
    nonterminal: int


class Ended(NamedTuple):
    """The text has ended; `more` symbols are still to be popped."""

    more: int


Fact = Reduced | Ended
Goal = tuple[int, int]  # an LR state, and a nonterminal that has just been read, or -1
FRESH = -1


def always_ends(tables: LrTables, tick: Callable[[], None]) -> bool:
    if not tables.productive:
        return False
    if not tables.lost:
        return True
    return _Ends(tables, tick).all_end()


class _Ends:
    """A worklist over goals: each fact found for a goal passes to its users, one symbol further down."""

    def __init__(self, tables: LrTables, tick: Callable[[], None]):
        self.tick = tick
        self.goto = tables.goto.tolist()
        self.rules = tables.rule.tolist()
        action, lossy = tables.action, {state for state, _ in tables.lost}
        self.shifts = [sorted({a - 1 for a in row[:-1] if a > 0}) for row in action.tolist()]
        self.reductions = [
            [] if state in lossy else sorted({-a - 1 for a in row if a < 0})
            for state, row in enumerate(action.tolist())
        ]
        self.ends = (action[:, -1] > 0).tolist()
        self.found: dict[Goal, set[Fact]] = {}
        self.users: dict[Goal, list[Goal]] = {}
        self.linked: set[tuple[Goal, Goal]] = set()
        self.new: list[Goal] = []
        self.facts: list[tuple[Goal, Fact]] = []

    def all_end(self) -> bool:
        wanted: list[Goal] = [(state, FRESH) for state in range(len(self.goto))]
        for state, row in enumerate(self.goto):
            wanted += [(state, nonterminal) for nonterminal, target in enumerate(row) if target >= 0]
        for goal in wanted:
            self.want(goal)
        while self.new or self.facts:
            self.tick()
            if self.new:
                self.open(self.new.pop())
                continue
            goal, fact = self.facts.pop()
            for user in self.users[goal]:
                self.arrive(user, fact)
        return all(self.found[goal] for goal in wanted)

    def want(self, goal: Goal) -> None:
        if goal not in self.found:
            self.found[goal], self.users[goal] = set(), []
            self.new.append(goal)

    def open(self, goal: Goal) -> None:
        state, nonterminal = goal
        if nonterminal != FRESH:
            self.link(self.goto[state][nonterminal], goal)
            return
        if self.ends[state]:
            self.add(goal, Ended(1))
        for target in self.shifts[state]:
            self.link(target, goal)
        for rule in self.reductions[state]:
            length, reduced = self.rules[rule]
            if length:
                self.add(goal, Reduced(length - 1, reduced))
            elif self.goto[state][reduced] >= 0:
                self.link(self.goto[state][reduced], goal)

    def link(self, top: int, user: Goal) -> None:
        """`top` is pushed above the user's state."""
        goal = (top, FRESH)
        if (goal, user) not in self.linked:
            self.linked.add((goal, user))
            self.want(goal)
            self.users[goal].append(user)
            for fact in list(self.found[goal]):
                self.arrive(user, fact)

    def arrive(self, user: Goal, fact: Fact) -> None:
        """`fact` holds for what is above the user's state."""
        state = user[0]
        if isinstance(fact, Ended):
            self.add(user, Ended(0))
        elif fact.more:
            self.add(user, Reduced(fact.more - 1, fact.nonterminal))
        elif self.goto[state][fact.nonterminal] >= 0:
            self.link(self.goto[state][fact.nonterminal], user)

    def add(self, goal: Goal, fact: Fact) -> None:
        if fact not in self.found[goal]:
            self.found[goal].add(fact)
            self.facts.append((goal, fact))
