"""Micro points: what remains of a token where the stack must be looked at, and what follows by the symbol on top.

A micro point is a move (needs.py) and a **rest**: what the bytes that remain do to each state that the symbols lead to. Rests that
do the same after a move are one, so micro points are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from grammarlm.errors import LimitExceeded
from grammarlm.masks.canvas.stack.operations import Operations

from .borders import FREE, Border
from .bytewise import Bytewise, Need, Thread
from .needs import BELOW, DROP, LOOK, REDUCE, RETURN, SHIFT, Local, Move
from .network import Network
from .program_states import LEXER
from .vectors import NOWHERE, SELF, TokenVectors

ENDED = -1  # in place of a vector: the text ends
DEAD_POINT = -1
NO_OPERATION = -1


class Outcome(NamedTuple):
    """What reading something leads to: threads (a control, and what it pushed), and micro points."""

    threads: frozenset[Thread] = frozenset()
    micros: frozenset[int] = frozenset()


NOTHING = Outcome()


class Rule(NamedTuple):
    """On any of the symbols (bit n = symbol n), or after an operation."""

    symbols: int
    pops: bool  # or they stay
    pushes: Local
    control: int  # DEAD_POINT: goes on in the micro point
    micro: int
    operation: int = NO_OPERATION


class Micro(NamedTuple):
    move: Move
    into: int  # the state to go on in after a shift
    vector: int
    left: Border  # what is left of borders after the vector's bytes


Shift = tuple[int, Local, bool]  # on any of these symbols, what is pushed, whether they are popped


class Shifts(NamedTuple):
    moves: list[tuple[int, Move]]  # these symbols are popped, and then the move
    shifts: dict[int, list[Shift]]  # by the state to go on in


class Points:
    """All micro points, and their rules on demand."""

    def __init__(self, machine: Bytewise, vectors: TokenVectors, most: int, check: Callable[[], None]):
        self.machine, self._vectors, self._most, self.check = machine, vectors, most, check
        self.micros: list[Micro] = []
        self._numbers: dict[object, int] = {}
        self._raw: dict[Micro, int] = {}
        self._outcomes: dict[tuple[int, int, Border], Outcome] = {}
        self._rules: dict[int, tuple[Rule, ...]] = {}
        self._rests: dict[object, int] = {}
        self._plans: dict[tuple[Move, int], Shifts] = {}
        self._taken: dict[tuple[Move, int, int], list[Shift]] = {}
        self.operations: Operations | None = None
        if isinstance(machine.parser, Network) and machine.parser.calls_late:
            self.operations = Operations()

    # ------------------------------------------------------------------ outcomes

    def outcome(self, effect: int, vector: int, left: Border) -> Outcome:
        """What an effect in a vector comes to, with what is left of a border besides."""
        key = effect, vector if self._vectors.waits_here(effect) else SELF, left
        known = self._outcomes.get(key)
        if known is None:
            here = self._vectors.effects[effect]
            threads = {(c, local) for control, local in here.threads if (c := self._bound(control, left)) is not None}
            micros = set[int]()
            for need, v in here.waits:
                self._add(need, self._vectors.narrowed(vector, need) if v == SELF else v, left, threads, micros)
            known = self._outcomes[key] = Outcome(frozenset(threads), frozenset(micros))
        return known

    def _add(self, need: Need, vector: int, left: Border, threads: set[Thread], micros: set[int]) -> None:
        """Adds what a wait comes to."""
        raw = self._left(need, vector, left)
        if raw is not None and (micro := self._micro(raw)) != DEAD_POINT:
            micros.add(micro)

    def _bound(self, control: int, left: Border) -> int | None:
        """A control with what is left of a border."""
        if not left:
            return control
        state, border = self.machine.controls[control]
        both = border | left
        return self.machine.control(state, both) if len(both) < 2 or self.machine.borders.is_alive(both) else None

    def ends_of(self, control: int) -> frozenset[int]:
        """The micro points of the end of the text."""
        threads, micros = set[Thread](), set[int]()
        for need in self.machine.closure((control, ())).needs:
            self._add(need, ENDED, FREE, threads, micros)
        return frozenset(micros)

    # ------------------------------------------------------------------ micro points

    def _left(self, need: Need, vector: int, left: Border) -> Micro | None:
        """A need with what is left of its border and of another; None where nothing satisfies both."""
        if vector == ENDED:
            return Micro(need.move, need.into, vector, FREE) if self.machine.borders.may_end(need.border) else None
        rest = need.border | left
        if vector == NOWHERE or (len(rest) > 1 and not self.machine.borders.is_alive(rest)):
            return None
        return Micro(need.move, need.into, vector, rest)

    def _micro(self, raw: Micro) -> int:
        """The number of a micro point, DEAD_POINT where nothing goes on after it."""
        number = self._raw.get(raw)
        if number is None:
            if raw.move == (DROP, 0):
                return self._micro(raw._replace(move=(RETURN,)))
            rest = self._rest(raw)
            number = DEAD_POINT
            if rest != DEAD_POINT:
                move = raw.move[:1] if raw.move[0] == LOOK else raw.move
                number = self._numbers.setdefault((move, rest), len(self.micros))
                if number == len(self.micros):
                    self.micros.append(raw)
                    if number > self._most:
                        raise LimitExceeded(
                            f"a canvas: the grammar's tokens do more than {self._most:,} different things; simplify it"
                        )
            self._raw[raw] = number
        return number

    def _rest(self, raw: Micro) -> int:
        """The number of what remains, for the states that may read on after the move; DEAD_POINT where none does."""
        states = self.machine.states_after(raw.move, raw.into)
        if raw.vector == ENDED:
            return self._rests.setdefault((states, ENDED), len(self._rests))
        if raw.into != LEXER:
            outcome = self._on(raw, raw.into)
            return self._rests.setdefault(outcome, len(self._rests)) if outcome != NOTHING else DEAD_POINT
        some = False
        found: list[tuple[Outcome, object]] = []  # and what else it needs
        for effect in (self._vectors.effect(raw.vector, state) for state in self._vectors.closed(states)):
            here = self._vectors.effects[effect]
            own = [need for need, v in here.waits if v == SELF]
            if own:  # they lead to this very rest again, so they are compared by what they need
                left = frozenset(self._left(need, raw.vector, raw.left) for need in own)
                threads = {
                    (c, local) for control, local in here.threads if (c := self._bound(control, raw.left)) is not None
                }
                micros = set[int]()
                for need, v in here.waits:
                    if v != SELF:
                        self._add(need, v, raw.left, threads, micros)
                others = Outcome(frozenset(threads), frozenset(micros))
                found.append((others, frozenset(m and (m.move, m.into, m.left) for m in left)))
            else:
                others = self.outcome(effect, raw.vector, raw.left)
                found.append((others, None))
            some = some or others != NOTHING
        return self._rests.setdefault((states, tuple(found)), len(self._rests)) if some else DEAD_POINT

    # ------------------------------------------------------------------ rules

    def ends(self, micro: int) -> bool:
        """May the text end where nothing is below?"""
        return self.micros[micro].move == (RETURN,) and self.micros[micro].vector == ENDED

    def rules(self, micro: int) -> tuple[Rule, ...]:
        known = self._rules.get(micro)
        if known is None:
            self.check()
            self._rules[micro] = ()  # where it leads to itself without popping anything, that adds nothing
            found: dict[Rule, int] = {}
            for rule in self._found_rules(micro):
                what = rule._replace(symbols=0)
                found[what] = found.get(what, 0) | rule.symbols
            known = self._rules[micro] = tuple(what._replace(symbols=symbols) for what, symbols in found.items())
        return known

    def _found_rules(self, number: int) -> list[Rule]:
        here, found = self.micros[number], list[Rule]()
        machine, move = self.machine, here.move
        if move[0] == RETURN:
            for symbol, state in self.machine.returns:
                outcome = self._on(here, state)
                found += [Rule(1 << symbol, True, local, control, DEAD_POINT) for control, local in outcome.threads]
                found += [Rule(1 << symbol, True, (), DEAD_POINT, m) for m in outcome.micros]
            return found
        parser = machine.parser
        assert parser is not None
        every = (1 << 1 + parser.states) - 2
        if move[0] == DROP or (move[0] == REDUCE and move[1] > 0):
            self._pop(every, (move[0], move[1] - 1, *move[2:]), here, found)
        elif move[0] == LOOK:
            for state, symbols in self.machine.lexers.items():
                if state in self.machine.states_after(move, LEXER):
                    if self.operations:
                        self._operate([(symbols, (), False)], self._on(here, state), found)
                    else:
                        self._emit(symbols, (), self._on(here, state), found)
        elif self.operations:
            plan = self._plan(move, here.into)
            for symbols, after in plan.moves:
                micro = self._micro(here._replace(move=after))
                if micro != DEAD_POINT:
                    self._operate([(symbols, (), True)], Outcome(micros=frozenset([micro])), found)
            for state, shifts in plan.shifts.items():
                self._operate(shifts, self._on(here, state), found)
        else:
            plan = self._plan(move, here.into)
            for symbols, after in plan.moves:
                self._pop(symbols, after, here, found)
            for state, shifts in plan.shifts.items():
                outcome = self._on(here, state)
                for control, local in outcome.threads:
                    found += [
                        Rule(symbols, pops, pushed + local, control, DEAD_POINT) for symbols, pushed, pops in shifts
                    ]
                for other in outcome.micros:
                    point = self.micros[other]
                    for symbols, pushed, pops in self._taking(move, here.into, state, point.move):
                        self._settle(symbols, pushed, point, other, found, pops)
        return found

    def _operate(self, entries: list[Shift], outcome: Outcome, found: list[Rule]) -> None:
        """Rules for what an outcome comes to after an operation."""
        assert self.operations is not None
        number = self.operations.number(entries)
        found += [Rule(0, True, local, control, DEAD_POINT, number) for control, local in outcome.threads]
        found += [Rule(0, True, (), DEAD_POINT, micro, number) for micro in outcome.micros]

    def _plan(self, move: Move, into: int) -> Shifts:
        """A parser's plan by the state to go on in."""
        key = move, into if into == LEXER else 0
        known = self._plans.get(key)
        if known is None:
            assert self.machine.parser is not None
            known = self._plans[key] = Shifts([], {})
            for after, pushed, symbols, pops in self.machine.parser.plan(move):
                if after is None:
                    state = self.machine.lexer_state(pushed[-1]) if into == LEXER else 0
                    known.shifts.setdefault(state, []).append((symbols, pushed, pops))
                else:
                    known.moves.append((symbols, after))
        return known if into == LEXER else Shifts(known.moves, {into: known.shifts[0]} if known.shifts else {})

    def _taking(self, move: Move, into: int, state: int, then: Move) -> list[Shift]:
        """Those of a plan's shifts after which another move may come."""
        shifts = self._plan(move, into).shifts[state]
        if then[0] != SHIFT:
            return shifts
        key = move, state if into == LEXER else LEXER, then[1]
        known = self._taken.get(key)
        if known is None:
            parser = self.machine.parser
            assert parser is not None
            known = self._taken[key] = [shift for shift in shifts if parser.shifted(shift[1], then[1])]
        return known

    def _pop(self, symbols: int, move: Move, here: Micro, found: list[Rule]) -> None:
        after = self._micro(here._replace(move=move))
        if after != DEAD_POINT:
            found.append(Rule(symbols, True, (), DEAD_POINT, after))

    def _after(self, micro: Micro, pushed: Local) -> Outcome:
        """What remains, after the shift that pushed the last of these."""
        return self._on(micro, self.machine.lexer_state(pushed[-1]) if micro.into == LEXER else micro.into)

    def _on(self, micro: Micro, state: int) -> Outcome:
        """What remains, read from a state."""
        if micro.vector == ENDED:
            return Outcome(frozenset(), self.ends_of(self.machine.control(state)))
        effect = self._vectors.effect(micro.vector, state)
        return self.outcome(effect, micro.vector, micro.left)

    def _emit(self, symbols: int, pushed: Local, outcome: Outcome, found: list[Rule], pops: bool = False) -> None:
        """Rules for what an outcome comes to on symbols that stay, or are popped, with others pushed then."""
        found += [Rule(symbols, pops, pushed + local, control, DEAD_POINT) for control, local in outcome.threads]
        for micro in outcome.micros:
            self._settle(symbols, pushed, self.micros[micro], micro, found, pops)

    def _settle(
        self, symbols: int, pushed: Local, here: Micro, micro: int, found: list[Rule], pops: bool = False
    ) -> None:
        """What a micro point does on symbols that are known, and what is below."""
        if not pushed and pops:
            found.append(Rule(symbols, True, (), DEAD_POINT, micro))
            return
        if not pushed:
            found += [
                rule._replace(symbols=rule.symbols & symbols) for rule in self.rules(micro) if rule.symbols & symbols
            ]
            return
        machine, kind = self.machine, here.move[0]
        if kind == RETURN:
            state = machine.return_state(pushed[-1])
            if state is not None:
                self._emit(symbols, pushed[:-1], self._on(here, state), found, pops)
        elif kind == LOOK:
            self._emit(symbols, pushed, self._on(here, machine.lexer_state(pushed[-1])), found, pops)
        else:
            assert machine.parser is not None
            assert kind == SHIFT, "reductions are those of symbols that are known, or of none"
            for after, local in machine.parser.shifted(pushed, here.move[1]):
                if after is None:
                    self._emit(symbols, local, self._after(here, local), found, pops)
                elif after == (DROP, 0):
                    self._settle_micro(symbols, local, (RETURN,), here, found, pops)
                elif after[0] == BELOW or (after[0] == REDUCE and after[1] == 0):
                    self._settle_micro(symbols, (), after, here, found, pops)
                else:
                    assert not pops
                    self._pop(symbols, (after[0], after[1] - 1, *after[2:]), here, found)

    def _settle_micro(
        self, symbols: int, pushed: Local, move: Move, here: Micro, found: list[Rule], pops: bool
    ) -> None:
        micro = self._micro(here._replace(move=move))
        if micro != DEAD_POINT:
            self._settle(symbols, pushed, self.micros[micro], micro, found, pops)
