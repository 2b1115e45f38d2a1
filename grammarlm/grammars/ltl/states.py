"""What is left of a formula after some actions: the states of a rule over time.

A **clause** is (is_open, formulas): the formulas hold from the next action on, and there is one (`is_open`), or, if there is one. A
**state** is a set of clauses of which one must hold, without those that imply another: the minimal disjunctive normal form. As
formulas are monotone in what they say of the next action, it is unique, so that there are finitely many states, and few.

    F a & G b     before any action           {(open, {F a, G b})}
                  after an action with b      {(open, {F a, G b})}
                  after one with a and b      {(not open, {G b})}         the text may end here

Whether a state can be satisfied, and how, is found by a search over clauses: an action's propositions lead from a clause to others.
What is known of a clause holds of all that ask for less.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from itertools import combinations, count

from grammarlm.errors import LimitExceeded

from .formulas import AND, FALSE, IS, ISNT, NEXT, OR, TRUE, UNTIL, WEAK_NEXT, Formula, Formulas

Clause = tuple[bool, frozenset[Formula]]
State = frozenset[Clause]
Letter = frozenset[str]  # the propositions of an action
MOST_CLAUSES = 500  # of a state
MOST_SEARCHED = 1 << 16  # clauses
MOST_KNOWN = 1 << 17  # steps that are kept
SOON = 256  # clauses that are looked at before pairs of formulas are
ANY: Clause = (False, frozenset())  # asks for nothing
ALWAYS: State = frozenset([ANY])
NEVER: State = frozenset()
Plan = tuple[int, ...]  # letters, by their numbers


class States:
    """The states of formulas over some letters."""

    def __init__(self, formulas: Formulas, letters: Sequence[Letter], tick: Callable[[], None]):
        self._formulas, self.letters, self._tick = formulas, letters, tick
        self._steps: dict[tuple[Formula, int], State] = {}
        self._clause_steps: dict[tuple[frozenset[Formula], int], State] = {}
        self._after: dict[tuple[State, int], State] = {}
        self._plans: dict[State, Plan] = {}
        self._dead: set[frozenset[Formula]] = set()
        self._alive: dict[
            frozenset[Formula], tuple[int, frozenset[Formula] | None]
        ] = {}  # a letter, and the clause after it
        self._recent: deque[frozenset[Formula]] = deque(maxlen=SOON)  # of those, the last ones

    def begin(self, formula: Formula) -> State:
        """Before the first action, which there must be."""
        return self._next(formula, True)

    def accepts(self, state: State) -> bool:
        """May the actions end here?"""
        return any(not is_open for is_open, _ in state)

    def after(self, state: State, letter: int) -> State:
        """After one more action."""
        found = self._after.get((state, letter))
        if found is None:
            if len(self._after) > MOST_KNOWN:
                self._after.clear()
                self._clause_steps.clear()
                self._plans.clear()
            found = self._either([self._clause_after(formulas, letter) for _, formulas in state])
            self._after[state, letter] = found
        return found

    # ------------------------------------------------------------------ one action

    def _next(self, formula: Formula, is_open: bool) -> State:
        """What a formula about the next action asks for."""
        parts = frozenset(formula.parts if formula.kind == AND else (formula,)) - {self._formulas.true}
        return self._of(is_open, parts)

    def _of(self, is_open: bool, parts: frozenset[Formula]) -> State:
        opposite = self._formulas.negated
        if self._formulas.false in parts or any(part.kind == IS and opposite(part) in parts for part in parts):
            return NEVER if is_open else frozenset([(False, frozenset([self._formulas.false]))])
        return frozenset([(is_open, parts)])

    def _clause_after(self, formulas: frozenset[Formula], letter: int) -> State:
        found = self._clause_steps.get((formulas, letter))
        if found is None:
            found = self._clause_steps[formulas, letter] = self._both(
                [self._step(formula, letter) for formula in sorted(formulas)]
            )
        return found

    def _step(self, formula: Formula, letter: int) -> State:
        """What is left of a formula after an action."""
        known = self._steps.get((formula, letter))
        if known is None:
            known = self._steps[formula, letter] = self._made(formula, letter)
        return known

    def _made(self, formula: Formula, letter: int) -> State:
        kind, parts = formula.kind, formula.parts
        if kind in (TRUE, FALSE):
            return ALWAYS if kind == TRUE else NEVER
        if kind in (IS, ISNT):
            return ALWAYS if (formula.name in self.letters[letter]) is (kind == IS) else NEVER
        if kind in (NEXT, WEAK_NEXT):
            return self._next(parts[0], kind == NEXT)
        left = [self._step(part, letter) for part in parts]
        if kind in (AND, OR):
            return self._both(left) if kind == AND else self._either(left)
        if kind == UNTIL:
            return self._either([left[1], self._both([left[0], self._next(formula, True)])])
        return self._both([left[1], self._either([left[0], self._next(formula, False)])])

    # ------------------------------------------------------------------ sets of clauses

    def _either(self, states: Iterable[State]) -> State:
        return _minimal(clause for state in states for clause in state)

    def _both(self, states: Iterable[State]) -> State:
        found = ALWAYS
        for state in states:
            if state is ALWAYS or state == ALWAYS:
                continue
            self._tick()
            if found == ALWAYS:
                found = state
                continue
            joined: set[Clause] = set()
            for (is_open, formulas), (other_open, others) in ((a, b) for a in found for b in state):
                self._tick()
                joined |= self._of(is_open or other_open, formulas | others)
            found = _minimal(joined)
        return found

    # ------------------------------------------------------------------ can it be satisfied?

    def goes_on(self, state: State) -> bool:
        """Can one or more further actions satisfy it?"""
        return any(self._is_alive(formulas) for _, formulas in state)

    def plan(self, state: State) -> Plan:
        """One or more letters that satisfy a state that goes on. What is left of a plan is that of the state behind its first
        letter, or longer."""
        known = self._plans.get(state)
        if known is not None:
            return known
        found = min((self._plan_of(f) for _, f in state if self._is_alive(f)), key=lambda plan: (len(plan), plan))
        path = [state]
        for at, letter in enumerate(found):
            after = self.after(path[-1], letter)
            if self.accepts(after):
                found = found[: at + 1]
                break
            path.append(after)
        for at, each in enumerate(path):
            if len(self._plans.get(each, found)) >= len(found) - at:
                self._plans[each] = found[at:]
        return found

    def _plan_of(self, formulas: frozenset[Formula]) -> Plan:
        if formulas not in self._alive:  # that of one that asks for more may be too long
            self._search(formulas)
        letters: list[int] = []
        here: frozenset[Formula] | None = formulas
        while here is not None:
            letter, here = self._alive[here]
            letters.append(letter)
        return tuple(letters)

    def _is_alive(self, formulas: frozenset[Formula]) -> bool:
        if formulas in self._dead:
            return False
        return self._witness(formulas) is not None or self._search(formulas)

    def _witness(self, formulas: frozenset[Formula]) -> frozenset[Formula] | None:
        """A clause with a plan that asks for as much, or more."""
        if formulas in self._alive:
            return formulas
        return next((other for other in self._recent if formulas <= other), None)

    def _search(self, start: frozenset[Formula]) -> bool:
        """Best first: the actions so far, and the formulas that are still to come true. Notes the plan of all clauses on its way,
        or that none that was met has one."""
        before: dict[frozenset[Formula], tuple[frozenset[Formula], int]] = {}
        serial, seen = count(), {start}
        queue = [(_wanted(start), _wanted(start), next(serial), 0, start)]
        while queue:
            _, _, _, depth, here = heapq.heappop(queue)
            for letter in range(len(self.letters)):
                self._tick()
                for is_open, after in self._clause_after(here, letter):
                    if not is_open:
                        self._note(start, here, (letter, None), before)
                        return True
                    if after in seen or after in self._dead:
                        continue
                    if after in self._alive:
                        self._note(start, here, (letter, after), before)
                        return True
                    seen.add(after)
                    before[after] = here, letter
                    wanted = _wanted(after)
                    heapq.heappush(queue, (depth + 1 + wanted, wanted, next(serial), depth + 1, after))
            if len(seen) > MOST_SEARCHED:
                raise LimitExceeded(
                    f"whether the formula can be satisfied is not known after {MOST_SEARCHED:,} states; make it smaller"
                )
            if len(seen) > SOON and len(start) > 2 and self._has_conflict(start):
                self._dead.add(start)
                return False
        self._dead |= seen
        return False

    def _note(
        self,
        start: frozenset[Formula],
        last: frozenset[Formula],
        step: tuple[int, frozenset[Formula] | None],
        before: dict[frozenset[Formula], tuple[frozenset[Formula], int]],
    ) -> None:
        while True:
            self._alive.setdefault(last, step)  # one that is known by now has a plan that does not come back here
            self._recent.append(last)
            if last == start:
                return
            above, letter = before[last]
            step, last = (letter, last), above

    def _has_conflict(self, formulas: frozenset[Formula]) -> bool:
        """Are there two formulas that cannot both come true?"""
        return any(not self._is_alive(frozenset(pair)) for pair in combinations(sorted(formulas), 2))


def _wanted(formulas: frozenset[Formula]) -> int:
    return sum(formula.kind in (UNTIL, NEXT, OR) for formula in formulas)


def _minimal(clauses: Iterable[Clause]) -> State:
    """Without those that imply another."""
    found = set(clauses)
    if ANY in found:
        return ALWAYS
    if len(found) > MOST_CLAUSES:
        raise LimitExceeded(
            f"a state of the formula has more than {MOST_CLAUSES:,} clauses; make it smaller, or use `&` of several Ltl"
        )
    if len(found) < 2:
        return frozenset(found)
    return frozenset(
        clause for clause in found if not any(other is not clause and _implies(clause, other) for other in found)
    )


def _implies(clause: Clause, other: Clause) -> bool:
    (is_open, formulas), (other_open, others) = clause, other
    if other_open and not is_open:
        return False
    return others <= formulas or (not is_open and any(formula.kind == FALSE for formula in formulas))
