"""Can what has been read still be finished? Exact, for any program with a stack.

A thread has a state, a border and a stack. What it can reach before its frame ends does not depend on the stack below
the frame, so the answer is composed of **outcomes**, computed once for all stacks:

    of a rule's state under a border     the borders under which the rule may end
    of an LR state on top of a stack     the reductions that pop it, each with the position of the lexer then and the
                                         terminals that may not come next; or the end of the text, with its border

Outcomes are a least fixpoint over goals: an outcome of a goal passes to its users, after the return state or one LR
state further down. Goals are opened on demand, so what no thread leads to costs nothing.

An LR parser reduces when it sees the next terminal. Here it reduces first and reads afterwards, which is the same
wherever the tables reduce on the next terminal. Where a conflict was resolved against a reduction, that terminal is
forbidden until another is read.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from functools import cached_property
from typing import Protocol, TypeVar

from grammarlm.errors import UnsupportedFeature
from grammarlm.grammars.cfg.pushdown import Entrance
from grammarlm.grammars.lark.lexer import LexerState
from grammarlm.grammars.lark.tables import LrTables
from grammarlm.grammars.regular.terms import ANYTHING, NOTHING, Term
from grammarlm.layout.stack import CALL, ENTER, POP
from grammarlm.masks.machines.stack.language import StackLanguage, Thread

from .goals import ALIVE, At, Ended, Found, Goal, InRule, OnTop, Outcome, Reduced, Under
from .lexing import UNDECIDED, AnyLexeme, Lexing

Stack = TypeVar("Stack", bound=Hashable)  # any representation of stacks


class Trusting(Protocol):
    """What is proved of borders (trust.py)."""

    def trusts(self, border: Term) -> bool: ...
    def trusts_at(self, lexer: LexerState, border: Term) -> bool: ...
    def is_between(self, state: object) -> bool: ...


class StackLiveness:
    """Outcomes and answers, memoised until `forget`."""

    def __init__(self, program: StackLanguage, lexing: Lexing | AnyLexeme, trust: Trusting | None):
        """`trust`: a thread under a border that it trusts counts as alive without a search."""
        self.program, self.lexing, self.trust = program, lexing, trust
        self.forget()

    @property
    def _lr(self) -> LrTables:
        assert self.program.lr is not None
        return self.program.lr

    # The LR tables as lists, made when a thread is first asked about: for most grammars never.

    @cached_property
    def _action(self) -> list[list[int]]:
        return self._lr.action.tolist()

    @cached_property
    def _goto(self) -> list[list[int]]:
        return self._lr.goto.tolist()

    @cached_property
    def _rules(self) -> list[list[int]]:
        return self._lr.rule.tolist()

    @cached_property
    def _reductions(self) -> list[dict[int, int]]:
        """Of each state: its reductions, each with its lookaheads as bits."""
        found: list[dict[int, int]] = []
        for row in self._action:
            reductions: dict[int, int] = {}
            for terminal, action in enumerate(row):
                if action < 0:
                    reductions[-action - 1] = reductions.get(-action - 1, 0) | 1 << terminal
            found.append(reductions)
        return found

    def forget(self) -> None:
        self._found: dict[Goal, Found] = {}
        self._linked: set[tuple[Found, Found, object]] = set()
        self._unopened: list[Found] = []
        self._facts: list[tuple[Found, Outcome]] = []
        self._positions: list[Goal] = []  # goals to check besides those on stacks: see all_live
        self._before: dict[tuple[int, Term], Found] = {}  # LR states before a lexeme, by border
        self._after: dict[
            tuple[int, int, At], Found | None
        ] = {}  # by LR state, what is on top of it after a nonterminal
        self._places: dict[tuple[LexerState, LexerState, Term, int], At] = {}

    def _at(self, state: LexerState, start: LexerState, border: Term, forbidden: int) -> At:
        key = state, start, border, forbidden
        known = self._places.get(key)
        if known is None:
            known = self._places[key] = At(*key)
        return known

    # ------------------------------------------------------------------ threads

    def alive(self, thread: Thread) -> bool:
        """Can a text be read from this thread up to a point where it may end?"""
        stack: tuple | None = None
        for symbol in reversed(thread.stack):
            stack = symbol, stack
        return self.alive_on(thread.state, thread.border, stack, lambda at: [at or (None, None)], {})

    def alive_on(
        self,
        state: object,
        border: Term,
        stack: Stack,
        look: Callable[[Stack], list[tuple[object, Stack]]],
        known: dict[tuple[Stack, Outcome], bool],
    ) -> bool:
        """`alive` for any representation of stacks; one may stand for several: `look` returns (top, stack below) of
        each, top None for an empty one. `known` is a memo."""
        if isinstance(state, LexerState) and state.lexer.shifts:
            ((top, stack),) = look(stack)
            assert isinstance(top, int)
            start = self.lexing.start_in(self._lr.lexers[top])
            outcomes = self.outcomes(OnTop(top, self._at(state, start, border, 0)))
        else:
            outcomes = self.outcomes(InRule(state, border))
        return any(self._comes_to_end(outcome, stack, look, known) for outcome in outcomes)

    def _comes_to_end(
        self,
        outcome: Outcome,
        stack: Stack,
        look: Callable[[Stack], list[tuple[object, Stack]]],
        known: dict[tuple[Stack, Outcome], bool],
    ) -> bool:
        """Depth-first search down the stack, which is finite."""
        path: list[tuple[tuple[Stack, Outcome], Iterator[tuple[Stack, Outcome]]]] = []
        key = stack, outcome
        while True:
            self.program.clock.tick()
            answer = True if key[1] == ALIVE else known.get(key)
            if answer is None:
                ways = look(key[0])
                if any(top is None for top, _ in ways) and isinstance(key[1], Term) and key[1].nullable:
                    answer = True
                else:
                    path.append((key, self._onward(ways, key[1])))
            if answer:
                known.update((above, True) for above, _ in path)
                return True
            if answer is not None:
                known[key] = answer
            while path:
                above, more = path[-1]
                following = next(more, None)
                if following is not None:
                    key = following
                    break
                known[above] = False
                path.pop()
            else:
                return False

    def _onward(self, ways: list[tuple[object, Stack]], outcome: Outcome) -> Iterator[tuple[Stack, Outcome]]:
        for top, below in ways:
            if top is not None:
                for following in self._through(top, outcome):
                    yield below, following

    def _through(self, symbol: object, outcome: Outcome) -> set[Outcome]:
        """The outcomes after one more symbol of the stack, given an outcome of the frames above."""
        if isinstance(symbol, int):
            return self.outcomes(Under(symbol, outcome))
        return self.outcomes(InRule(symbol, outcome))

    def all_live(self, threads: Iterable[Thread], most: int) -> bool:
        """Is every thread alive that these threads can lead to? False also after more than `most` links.

        If every goal has an outcome, each frame of any stack can end, and then the one below, down to the bottom, where
        every outcome must let the text end. Also checked: the positions after something ignored, and what a nonterminal
        that was read leaves to its stack.
        """
        bottom = [self._want(InRule(thread.state, thread.border)) for thread in threads]
        asked = 0
        while self._unopened or self._facts or asked < len(self._positions):
            if len(self._linked) > most:
                return False
            if self._unopened or self._facts:
                self._go_on()
            else:
                positions = self._positions[asked:]
                asked += len(positions)
                for position in positions:
                    self._want(position)
        return all(found.outcomes for found in self._found.values()) and all(
            outcome == ALIVE or outcome.nullable for found in bottom for outcome in found.outcomes
        )

    # ------------------------------------------------------------------ the fixpoint

    def outcomes(self, goal: Goal) -> set[Outcome]:
        found = self._want(goal)
        while self._unopened or self._facts:
            self._go_on()
        return found.outcomes

    def _go_on(self) -> None:
        self.program.clock.tick()
        if self._unopened:
            self._open(self._unopened.pop())
            return
        of, outcome = self._facts.pop()
        for user, how in list(of.users):
            self._arrive(user, how, outcome)

    def _want(self, goal: Goal) -> Found:
        found = self._found.get(goal)
        if found is None:
            if len(self._found) >= self.program.limits.max_states:
                raise UnsupportedFeature(UNDECIDED.format("too many states under too many borders"))
            found = self._found[goal] = Found(goal)
            self._unopened.append(found)
        return found

    def _add(self, found: Found, outcome: Outcome) -> None:
        if outcome not in found.outcomes:
            found.outcomes.add(outcome)
            self._facts.append((found, outcome))

    def _link(self, found: Found, user: Found, how: object) -> None:
        """An outcome passes to a user: directly (None), after an LR state (int), or after a return state."""
        if (found, user, how) in self._linked:
            return
        self._linked.add((found, user, how))
        found.users.append((user, how))
        for outcome in list(found.outcomes):
            self._arrive(user, how, outcome)

    def _arrive(self, user: Found, how: object, outcome: Outcome) -> None:
        if how is None or outcome == ALIVE:
            self._add(user, outcome)
        elif not isinstance(how, int):
            self._link(self._want(InRule(how, outcome)), user, None)
        elif isinstance(outcome, Ended):
            self._add(user, outcome.border)
        elif outcome.more:
            self._add(user, Reduced(outcome.more - 1, outcome.nonterminal, outcome.at))
        else:
            self._push(user, how, outcome.nonterminal, outcome.at)

    def _push(self, user: Found, state: int, nonterminal: int, at: At) -> None:
        """The nonterminal has been read on top of the LR state."""
        key = state, nonterminal, at
        if key not in self._after:
            target = self._goto[state][nonterminal]
            self._after[key] = self._want(OnTop(target, at)) if target >= 0 else None
            if self.trust is None:
                self._positions.append(Under(state, Reduced(0, nonterminal, at)))
        found = self._after[key]
        if found is not None:
            self._link(found, user, state)

    def _open(self, found: Found) -> None:
        goal = found.goal
        if isinstance(goal, OnTop):
            self._open_lr(found, goal)
        elif isinstance(goal, Under):
            self._arrive(found, goal.state, goal.outcome)
        else:
            self._open_rule(found, goal)

    # ------------------------------------------------------------------ LR states

    def _open_lr(self, found: Found, goal: OnTop) -> None:
        lr, state, at = self._lr, goal.state, goal.at
        row = self._action[state]
        if self._is_trusted(at):
            self._add(found, ALIVE)
            return
        read, ends = self.lexing.next(at.state, at.start, at.border)
        if self.program.lr_alone:  # nothing comes after the parser's text
            ends = frozenset(border for border in ends if border.nullable)
        following = 1 << len(row) - 1 if ends else 0
        for terminal, border in read:
            following |= 1 << terminal
            if row[terminal] > 0 and not at.forbidden >> terminal & 1:
                target = row[terminal] - 1
                self._link(self._begun(target, border), found, state)
        for rule, lookaheads in self._reductions[state].items():
            if not lookaheads & following & ~at.forbidden:
                continue
            length, nonterminal = self._rules[rule]
            after = self._at(at.state, at.start, at.border, at.forbidden | lr.lost.get((state, rule), 0))
            if length:
                self._add(found, Reduced(length - 1, nonterminal, after))
            else:
                self._push(found, state, nonterminal, after)
        if row[-1] > 0 and not at.forbidden >> (len(row) - 1) & 1:
            for border in ends:
                self._add(found, Ended(border))

    def _begun(self, state: int, border: Term) -> Found:
        """The LR state before a lexeme; the positions after ignored lexemes are goals of their own."""
        found = self._before.get((state, border))
        if found is None:
            start = self.lexing.start_in(self._lr.lexers[state])
            found = self._before[state, border] = self._want(OnTop(state, self._at(start, start, border, 0)))
            if self.trust is None:
                _, borders = self.lexing.next(start, start, border)
                self._positions += [OnTop(state, self._at(start, start, left, 0)) for left in borders]
        return found

    def _is_trusted(self, at: At) -> bool:
        is_between = at.state is at.start and not at.forbidden
        return self.trust is not None and is_between and self.trust.trusts_at(at.start, at.border)

    # ------------------------------------------------------------------ rules and lexemes that are frames

    def _open_rule(self, found: Found, goal: InRule) -> None:
        program, algebra = self.program, self.lexing.algebra
        state, border = goal
        if isinstance(state, Entrance):
            self._link(self._begun(state.lr_state, border), found, None)
            return
        if self.trust is not None and self.trust.is_between(state) and self.trust.trusts(border):
            self._add(found, ALIVE)
            return
        edges, moves, tokens = program.expand(state)
        for kind, operand, other in moves:
            if kind == POP:
                assert isinstance(other, Term)
                left = algebra.both((border, other))
                if left is not NOTHING and program.is_alive(left):
                    self._add(found, left)
            elif kind == CALL:
                self._link(self._want(InRule(operand, border)), found, other)
            else:
                assert kind == ENTER
        for bits, target in edges:
            if border is ANYTHING:
                self._link(self._want(InRule(target, ANYTHING)), found, None)
                continue
            for more, left in algebra.edges(border):
                if bits & more and program.is_alive(left):
                    self._link(self._want(InRule(target, left)), found, None)
        if program.border_reads_on or border.nullable:
            after = border if program.border_reads_on else ANYTHING
            for _, target in tokens:
                self._link(self._want(InRule(target, after)), found, None)
