"""Which threads need no proof, and the proof for the others.

Three levels, the cheapest that is sufficient:

    UNCHECKED   every thread that the machine keeps can be finished: there are no borders, as in grammars without a
                lexer
    DOUBTS      between lexemes a thread under a trusted border can be finished: a theorem about the lexer, proved once
                (samples.py). Within a lexeme it depends on the terminals that it may become. Only where the border
                after them is not trusted is the thread itself asked about
    EVERYTHING  nothing was proved: each thread is asked about (liveness.py)

A **verdict** of a state under a border gives two sets of terminals: those that surely lead on, and those that may.
"""

from __future__ import annotations

import sys
import weakref
from functools import cached_property
from typing import NamedTuple

import numpy as np

from grammarlm.grammars.cfg.pushdown import Entrance
from grammarlm.grammars.lark.lalr_states import bits
from grammarlm.grammars.lark.lexer import LexerState, Terminal
from grammarlm.grammars.lark.tables import LrTables
from grammarlm.grammars.regular.terms import ANYTHING, NOTHING, Term
from grammarlm.layout.stack import DOUBTS, EVERYTHING, UNCHECKED
from grammarlm.masks.machines.stack.language import StackLanguage, Thread

from .lexing import AnyLexeme, Lexing
from .liveness import StackLiveness
from .samples import Samples, find_samples

MOST_LINKS = 20_000  # limit of links between goals, when proving that there are no dead ends at all
LONGEST_SEARCH = 60_000  # states of a large terminal, searched to decide whether its lexemes can be finished
UNKNOWN_END = "whether its lexemes can be finished is not known without a look at each of its positions"
ALL = -1  # every terminal, as bits


def _as_bits(rows: np.ndarray) -> list[int]:
    return [int.from_bytes(row.tobytes(), "little") for row in np.packbits(rows, axis=1, bitorder="little")]


class Verdict(NamedTuple):
    surely: int
    maybe: int


class Trust:
    """What is proved of a program, and what proves the rest."""

    def __init__(self, program: StackLanguage):
        self.program, self.whole = program, program.whole
        lr = program.lr
        ignored = [bool(i) for i in lr.ignored] if lr is not None else []
        self.lexing = Lexing(program.algebra, program.liveness.is_alive, ignored, program.limits, program.clock)
        self.liveness = StackLiveness(program, self.lexing, weakref.proxy(self))
        self.samples: Samples | None = None
        self.all_live = False  # proved: there are no dead ends at all
        self._verdicts: dict[tuple[object, Term, object], Verdict] = {}
        self._within: dict[LexerState, Verdict] = {}  # of states in a lexeme, under no border
        self._surely: dict[LexerState, int] = {}  # terminals known to be sure of such a state, perhaps not all
        self.needs_walks = False  # surveys know no stacks, so they cannot ask about threads
        self.level = self._find_level()
        self.needs_walks = self.level == EVERYTHING
        self._refuse_what_is_too_large()

    def _find_level(self) -> int:
        program, lr = self.program, self.program.lr
        has_lexer = lr is not None or any(isinstance(callee.start, LexerState) for callee in program.rules.calls)
        if not has_lexer or (lr is not None and lr.blocks is not None):
            return UNCHECKED if self.program.is_free or self.program.has_doubtful_blocks else DOUBTS
        self.all_live = not self._proves_lexer() and self._has_no_dead_end()
        return DOUBTS if self.all_live or self.samples is not None else EVERYTHING

    def _has_no_dead_end(self) -> bool:
        """Shown by exhaustive search, up to MOST_LINKS? Not tried with a border from the start, or with a terminal too large."""
        if not self.program.is_free or self._large_terminal() is not None:
            return False
        liveness = StackLiveness(self.program, self.lexing, None)
        return liveness.all_live(self.program.start, MOST_LINKS)

    def _large_terminal(self) -> Terminal | None:
        """One whose states cannot all be visited."""
        terminals = [terminal for parser in self.program.parsers for terminal in parser.lexer.terminals]
        return next((terminal for terminal in terminals if terminal.pattern.is_large), None)

    def _refuse_what_is_too_large(self) -> None:
        """Now, and not in the middle of a text."""
        large = self._large_terminal() if self.level == EVERYTHING else None
        if large is not None:
            raise large.pattern.too_large(UNKNOWN_END)

    def _refuse_long_search(self, state: LexerState, visited: int) -> None:
        if visited > LONGEST_SEARCH and self.lexing.is_large(state):
            terminals = [state.lexer.terminals[terminal] for terminal in sorted(state.terminals)]
            raise next(t for t in terminals if t.pattern.is_large).pattern.too_large(UNKNOWN_END)

    def _proves_lexer(self) -> bool:
        """Looks for a theorem about the lexer; False where there is none, or one that leaves some positions out."""
        lr = self.program.lr
        if self.whole is None or (lr is not None and not self._parser_ends(lr)):
            return False
        tick, following = self.program.clock.tick, self._following
        self.samples = find_samples(self.whole, self._used(), self._rivals(), self._pairs(), tick, following)
        return self.samples is not None

    def _parser_ends(self, lr: LrTables) -> bool:
        """Can every stack be brought to its end, if any terminal may come next?

        Yes where no conflict was resolved against a reduction and every nonterminal derives something: the parser then reads
        exactly the texts of its grammar and stops at the first terminal that continues none of them. A resolved conflict
        removes texts, and with them perhaps the only way out of a state.
        """
        if not lr.productive or not lr.lost:
            return lr.productive
        lexing = AnyLexeme(self.program.algebra, self.lexing.ignored)
        whole = Thread(self.program.start_state, (), ANYTHING)
        return StackLiveness(self.program, lexing, None).all_live([whole], sys.maxsize)

    @cached_property
    def _takes(self) -> np.ndarray:
        """Of each LR state the terminals that rules ask for there, and the end of the text."""
        assert self.program.lr is not None
        takes = self.program.lr.action != 0
        takes[:, :-1] &= self.program.lr.ignored == 0
        return takes

    @cached_property
    def _following(self) -> list[int] | None:
        """Of each terminal what the LR states after it take, as bits."""
        lr = self.program.lr
        if lr is None:
            return None
        found, takes = [0] * len(lr.ignored), _as_bits(self._takes)
        states, terminals = np.nonzero(lr.action[:, :-1] > 0)
        entered = zip((lr.action[states, terminals] - 1).tolist(), terminals.tolist(), strict=True)
        for state, terminal in dict(entered).items():  # a state is entered by one symbol
            found[terminal] |= takes[state]
        return found

    @cached_property
    def _in_context(self) -> dict[LexerState, int]:
        """Of each lexer what the LR states that ask it take, as bits."""
        assert self.program.lr is not None
        found: dict[LexerState, int] = {}
        for lexer, takes in zip(self.program.lr.lexers, _as_bits(self._takes), strict=True):
            found[lexer] = found.get(lexer, 0) | takes
        return found

    def _used(self) -> list[int]:
        """The terminals that rules ask for."""
        assert self.whole is not None
        lr = self.program.lr
        asked = None if lr is None else (lr.action != 0).any(axis=0)
        terminals = self.whole.terminals
        return [t for t, known in enumerate(terminals) if not known.ignored and (asked is None or asked[t])]

    def _rivals(self) -> list[int] | None:
        """The terminals that occur with each in some context, as bits; None where lexemes are read alone."""
        lr = self.program.lr
        if lr is None:
            return None
        states = (lr.action[:, :-1] != 0) | (lr.ignored != 0)
        found = [0] * len(lr.ignored)
        for context in set(_as_bits(states)):
            for terminal in bits(context):
                found[terminal] |= context
        return found

    def _pairs(self) -> set[tuple[int, int]]:
        if self.program.lr is None:
            return set()
        return {pair for start in set(self.program.lr.lexers) for pair in start.keywords}

    def forget(self) -> None:
        self._verdicts.clear()
        self._within.clear()
        self._surely.clear()
        self.lexing.forget()
        self.liveness.forget()
        if self.samples is not None:
            self.samples.forget()

    # ------------------------------------------------------------------ borders and states

    def trusts(self, border: Term) -> bool:
        """Can a thread between lexemes be finished under this border, whatever its stack?"""
        if self.all_live or border is ANYTHING:
            return self.level != EVERYTHING
        return self.samples is not None and self.samples.trusts(border)

    def trusts_at(self, lexer: LexerState, border: Term) -> bool:
        """The same where lexemes of this lexer begin."""
        if self.trusts(border):
            return True
        here = self._in_context.get(lexer) if self._is_without_gaps else None
        return here is not None and self.samples is not None and self.samples.trusts_before(here, border)

    def _trusts_after(self, terminal: int, border: Term) -> bool:
        if self.trusts(border):
            return True
        if self.samples is None or self.samples.after is None or self.lexing.ignored[terminal]:
            return False
        return self.samples.trusts_before(self.samples.after.following[terminal], border)

    @property
    def _is_without_gaps(self) -> bool:
        return self.samples is not None and self.samples.after is not None

    def is_between(self, state: object) -> bool:
        """Does the state stand between lexemes?"""
        if isinstance(state, LexerState):
            return state.start or (self.all_live and not state.lexer.shifts)
        return self.all_live or self.whole is not None

    def is_doubtful(self, state: object) -> bool:
        """Must a thread in this state be asked about even if its border is ANYTHING? Not called for states without a lexer."""
        if self.level == EVERYTHING:
            return True
        if not isinstance(state, LexerState) or (self.all_live and not state.lexer.shifts):
            return False
        verdict = self.verdict(state, ANYTHING)
        return verdict.surely != verdict.maybe

    def may_become(self, state: LexerState) -> int:
        """The terminals that a lexeme of the state may be, as bits."""
        if self.level == DOUBTS:
            return self.verdict(state, ANYTHING).maybe
        return state.lexer.live(state) << state.lexer.offset

    def verdict(self, state: object, border: Term, context: object = None) -> Verdict:
        """`context`: where the lexer goes on after something ignored, None where that is not known."""
        key = state, border, context
        known = self._verdicts.get(key)
        if known is None:
            known = self._verdicts[key] = self._find_verdict(state, border, context)
        return known

    def _find_verdict(self, state: object, border: Term, context: object) -> Verdict:
        if self.level == EVERYTHING:
            return Verdict(0, ALL)
        if isinstance(state, LexerState):
            return self._lexer_verdict(state, border, context)
        if border is ANYTHING or (self.whole is not None and self.trusts(border)):
            return Verdict(ALL, ALL)
        if not isinstance(state, Entrance) and self._gets_rid(state, border):
            return Verdict(ALL, ALL)
        return Verdict(0, ALL)

    def _gets_rid(self, state: object, border: Term) -> bool:
        """Does the state read some byte after which the border accepts everything?"""
        edges, _, _ = self.program.expand(state)
        freeing = 0
        for read, left in self.program.algebra.edges(border):
            if left is ANYTHING:
                freeing |= read
        return any(read & freeing for read, _ in edges)

    def _lexer_verdict(self, state: LexerState, border: Term, context: object) -> Verdict:
        """Breadth-first search until every terminal that the state may become is sure, or all is seen."""
        program, lexing = self.program, self.lexing
        if state.start and self.trusts_at(state, border):
            return Verdict(ALL, ALL)
        if border is ANYTHING and context is None and not state.start:
            surely, maybe = self._verdict_within(state)
            return Verdict(surely, maybe) if state.lexer.shifts else Verdict(surely and ALL, maybe and ALL)
        ends = 1 << len(lexing.ignored)
        surely = maybe = ends if state.start and state.lexer.shifts and border.nullable else 0
        wanted = set(state.terminals)
        queue, seen = [(state, border)], {(state, border)}
        for here in queue:
            program.clock.tick()
            at, rest = here
            for own_number, demanded in at.commits:
                left = program.algebra.both((rest, demanded))
                if left is NOTHING or not program.is_alive(left):
                    continue
                terminal = own_number + at.lexer.offset
                is_frame = not at.lexer.shifts
                if (
                    not is_frame
                    and lexing.ignored[terminal]
                    and isinstance(context, LexerState)
                    and not self.trusts(left)
                ):
                    if (context, left) not in seen:
                        seen.add((context, left))
                        queue.append((context, left))
                        wanted |= context.terminals
                        found = ends if left.nullable else 0
                        surely, maybe = surely | found, maybe | found
                    continue
                maybe |= 1 << terminal
                if not surely >> terminal & 1 and (
                    self.trusts(left) if is_frame else self._trusts_after(terminal, left)
                ):
                    surely |= 1 << terminal
                    wanted.discard(own_number)
            if not wanted:
                break
            self._refuse_long_search(state, len(queue))
            for step in lexing.steps(at, rest):
                if step not in seen and step[0].terminals & wanted:
                    seen.add(step)
                    queue.append(step)
        if not state.lexer.shifts:  # a frame of its own: which terminal it is does not matter
            return Verdict(ALL if surely else 0, ALL if maybe else 0)
        return Verdict(surely, maybe | surely)

    def _verdict_within(self, state: LexerState) -> Verdict:
        """The same within a lexeme, under no border: terminals found sure are recorded for all states on the way there."""
        offset, known = state.lexer.offset, self._surely
        surely, maybe = known.get(state, 0), 0
        wanted = state.candidates << offset & ~surely
        came_from: dict[LexerState, LexerState | None] = {state: None}
        queue = [state] if wanted else []
        for here in queue:
            self.program.clock.tick()
            whole = self._within.get(here)
            found, possible = self._verdict_here(here) if whole is None else whole
            found |= known.get(here, 0)
            maybe |= possible
            if found & wanted:
                surely, wanted = surely | found, wanted & ~found
                at: LexerState | None = here
                while at is not None:
                    known[at] = known.get(at, 0) | found
                    at = came_from[at]
                if not wanted:
                    break
            self._refuse_long_search(state, len(queue))
            for _, target in here.edges if whole is None else ():
                if target not in came_from and target.candidates << offset & wanted:
                    came_from[target] = here
                    queue.append(target)
        verdict = self._within[state] = Verdict(surely, maybe | surely)
        return verdict

    def _verdict_here(self, state: LexerState) -> Verdict:
        """The terminals that end in this very state."""
        surely = maybe = 0
        for own_number, border in state.commits:
            if border is NOTHING or not self.program.is_alive(border):
                continue
            terminal = own_number + state.lexer.offset
            maybe |= 1 << terminal
            is_sure = self._trusts_after(terminal, border) if state.lexer.shifts else self.trusts(border)
            surely |= is_sure << terminal
        return Verdict(surely, maybe)
