"""How a text can end from a config: the shortest completion of any of its threads.

A thread still needs the rest of its frame, then the rest of each frame below. These texts are computed without borders
(spelling.py), summed along the stack, and memoised by stack, so that a config after a token costs one or two lookups.
The candidate is then spelled and *read* by the machine itself: only what it accepts counts. Where it accepts none, A*
searches the configs around (`_search`), those with the shortest candidates first.

    JSON within '{"a": [1, '      b'1]}'            C-like after 'int'      b' a;'

Without a lexer this is the shortest text, the first in byte order among equals, so its suffix after the first byte is
the completion there. The completion depends on the config only, never on earlier questions.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from functools import cached_property
from itertools import count
from typing import TYPE_CHECKING

import numpy as np

from grammarlm.errors import LimitExceeded
from grammarlm.grammars.lark.lexer import LexerState
from grammarlm.grammars.lark.tables import WHOLE
from grammarlm.grammars.regular.terms import ANYTHING, Term
from grammarlm.layout.stack import ACCEPT, LR_BASE, STATES, Field
from grammarlm.layout.stack_calls import FILL_NEXT, NEXT_LINE, SHIFT
from grammarlm.masks.machines.regular.completion import LONGEST

from .refutation import Refutation
from .spelling import SPECIAL, Spelling, order

if TYPE_CHECKING:
    from grammarlm.masks.machines.stack.arena import StackArena
    from grammarlm.masks.machines.stack.numbers import StackNumbers
    from grammarlm.masks.machines.stack.program import StackProgram
    from grammarlm.masks.machines.stack.states import StateMaker

SEARCHED = 500  # configs searched around one of which no candidate is accepted
SPACE = ord(" ")
TRIED = 4  # candidates tried for one config
# A linked list: the number of letters that a stack still needs, the first piece, and the rest likewise (None at the
# end).
Rope = tuple[int, str, "Rope | None"]
Key = int | tuple[int, int]  # a stack's number; or (stack, LR state) for a stack with that state on top
NONE: Rope = (0, "", None)


@dataclass(frozen=True)
class Candidate:
    """A text that may end a thread: the end of its lexeme, the border after that, and what the stack then needs."""

    first: str
    after: Term
    stack: int
    rest: Rope

    @property
    def length(self) -> int:
        return len(self.first) + self.rest[0]


class StackEnds:
    """The completions of one epoch's configs; used under the automaton's lock."""

    def __init__(self, program: StackProgram, arena: StackArena, numbers: StackNumbers, maker: StateMaker):
        self._program, self._arena, self._numbers, self._maker = program, arena, numbers, maker
        self._spelling: Spelling = program.spelling
        self._refutation = (
            Refutation(program, arena, numbers, maker, self._widths) if program.has_doubtful_blocks else None
        )
        self._frames = self._spelling.frames()
        self._reads_spaces = bool(self._spelling.usable >> SPACE & 1)
        self._ropes: dict[Key, Rope | None] = {}
        self._threads: dict[tuple[int, int], list[Candidate]] = {}
        self._direct: dict[int, str | None] = {}
        self._found: dict[int, str | None] = {}
        self.nbytes = 0  # approximate size of the texts

    def of(self, config: int, most: int = SEARCHED) -> str | None:
        """Letters without marks that end the text; None where none are known after a search of so many configs."""
        if config not in self._found or (self._found[config] is None and most > SEARCHED):
            direct = self.direct(config)
            self._remember(self._found, config, self._search(config, most) if direct is None else direct)
        return self._found[config]

    def is_usable(self, config: int) -> bool:
        """Can tokens of single bytes, and special ones, end the text from here? LimitExceeded where that is not decided."""
        if self._refutation is None:
            return self.of(config, max(self._program.limits.max_states, SEARCHED + 1)) is not None
        # Many configs lead to one by a space, and what ends that ends them.
        later = self._maker.after_column(config, self._program.byte_sets.class_of[SPACE]) if self._reads_spaces else 0
        if later and self.direct(later) is not None:
            return True
        if self.direct(config) is None and self._refutation.refutes(config):
            return False
        return self.of(config, max(self._program.limits.max_states // 64, SEARCHED + 1)) is not None

    def _remember(self, texts: dict[int, str | None], config: int, text: str | None) -> None:
        """Caches a text. All are dropped when they take too much, and recomputed on demand."""
        self.nbytes += 300 + len(text or "")
        if self.nbytes > self._program.limits.max_bytes // 4:
            for known in (self._found, self._direct, self._ropes, self._threads):
                known.clear()  # type: ignore[attr-defined]
            if self._refutation is not None:
                self._refutation.forget()
            self.nbytes = 0
        texts[config] = text

    # ------------------------------------------------------------------ candidates

    def direct(self, config: int) -> str | None:
        """The first candidate that the machine accepts."""
        if config not in self._direct:
            self._remember(self._direct, config, self._choose(config))
        return self._direct[config]

    def _choose(self, config: int) -> str | None:
        if self._arena.accepting[config]:
            return ""
        found = [(c, border) for q, s, border in self._arena.threads_of(config) for c in self._candidates(q, s)]
        if not found:
            return None
        lengths = sorted(c.length for c, _ in found)
        enough = min(lengths[min(TRIED, len(lengths)) - 1], LONGEST)
        near: dict[tuple, tuple[Candidate, int, str]] = {}
        for candidate, border in found:
            if candidate.length <= enough:
                rest = _flat(candidate.rest)
                near.setdefault((order(candidate.first + rest), candidate.first), (candidate, border, rest))
        tried = set()
        for key in sorted(near)[:TRIED]:
            candidate, border, rest = near[key]
            widths = self._widths(candidate.stack)
            for separate in (False, True):
                text = self._spelling.spell(
                    candidate.first, self._numbers.border_terms[border], candidate.after, rest, widths, separate
                )
                if text not in tried and self._is_end(config, text):
                    return text
                tried.add(text)
        return None

    def _promise(self, config: int) -> float:
        """About the number of letters to the nearest end, for A*; infinite where there is none."""
        if self._arena.accepting[config]:
            return 0
        candidates = [c.length for q, s, _ in self._arena.threads_of(config) for c in self._candidates(q, s)]
        return min((length for length in candidates if length <= LONGEST), default=float("inf"))

    def _is_end(self, config: int, text: str) -> bool:
        for part in parts(text):
            if isinstance(part, int):
                config = self._maker.after_column(config, self._program.token_columns[part])
            else:
                config = self._maker.after_text(config, part)
            if not config:
                return False
        return bool(self._arena.accepting[config])

    def _candidates(self, q: int, s: int) -> list[Candidate]:
        known = self._threads.get((q, s))
        if known is None:
            ropes = [(first, after, stack, self._rope(stack)) for first, after, stack in self._ways(q, s)]
            known = [Candidate(f, b, s, r) for f, b, s, r in ropes if r is not None]
            state = self._numbers.objects[q]
            if isinstance(state, Term) or (isinstance(state, LexerState) and state in self._spelling.begins):
                begin = self._frames.of(state) if isinstance(state, Term) else self._spelling.begins[state]
                rest = self._rope(s)
                if begin is not None and rest is not None:
                    known.append(Candidate("", ANYTHING, s, _tied(begin, rest)))
            self._threads[q, s] = known
        return known

    def _ways(self, q: int, s: int) -> list[tuple[str, Term, int]]:
        """How a lexeme at hand can end: its remaining text, the border after it, and the stack then."""
        state = self._numbers.objects[q]
        if q <= ACCEPT or not isinstance(state, LexerState) or state in self._spelling.begins:
            return []
        if not state.lexer.shifts:
            return [(lexeme.text, lexeme.border, s) for lexeme in self._spelling.lexemes(state).values()]
        if state.start:
            return [("", ANYTHING, s)]
        found = []
        for terminal, lexeme in self._spelling.lexemes(state).items():
            number = terminal + state.lexer.offset
            if self._program.lr.ignored[number]:  # type: ignore[union-attr]
                found.append((lexeme.text, lexeme.border, s))
            elif terminal == state.lexer.newline:
                found += self._lines(lexeme.text, lexeme.border, max(lexeme.state.column or 0, 0), s)
                if lexeme.state.column and (empty := self._spelling.empty_line(state)):  # from the line's begin again
                    found += self._lines(empty.text, empty.border, 0, s)
            elif after := self._maker.made(SHIFT, s, number):
                found.append((lexeme.text, lexeme.border, after))
        return found

    def _lines(self, text: str, border: Term, column: int, s: int) -> list[tuple[str, Term, int]]:
        """How a line can end: the next line begins in the column of an open block, or of a new one."""
        if int(self._arena.array(Field.S_BRACKETS)[s]) > 0:
            return [(text, border, s)]
        widths = self._widths(s)
        targets = {w for w in widths if w >= column} | {max(column, widths[-1] + 1)}
        ways = [(w, self._maker.made(NEXT_LINE, s, w)) for w in sorted(targets)]
        return [(text + " " * (w - column), border, after) for w, after in ways if after]

    def _widths(self, s: int) -> list[int]:
        """The widths of the open blocks, outer ones first."""
        if not self._spelling.blocks:
            return [0]
        array = self._arena.array
        widths = []
        while opener := int(array(Field.S_OPENER)[s]):
            widths.append(int(array(Field.S_INDENT)[s]))
            s = int(array(Field.S_PARENT)[opener])
        return [0, *reversed(widths)]

    # ------------------------------------------------------------------ rests of stacks

    def _rope(self, stack: int) -> Rope | None:
        """What a stack needs, from its top to its bottom: lower stacks first, each once (memoised)."""
        ropes = self._ropes
        key = self._named(stack)
        waiting = [key]
        ways: dict[Key, list[tuple[str, Key]]] = {}
        while waiting:
            here = waiting[-1]
            if here in ropes:
                waiting.pop()
                continue
            if here == 0:
                ropes[here] = NONE
                continue
            if here not in ways:
                self._program.clock.check()
                ways[here] = self._below(here)
            missing = [below for _, below in ways[here] if below not in ropes]
            if missing:
                waiting += missing
                continue
            tied = [_tied(text, rope) for text, below in ways[here] if (rope := ropes[below]) is not None]
            ropes[here] = _first(tied)
            self.nbytes += 300
        return ropes[key]

    def _named(self, stack: int) -> Key:
        """The key of a stack. With an LR state on top it is (stack below, state), so that such a stack need not be interned."""
        symbol = int(self._arena.array(Field.S_SYMBOL)[stack])
        if stack == 0 or symbol < LR_BASE:
            return stack
        return int(self._arena.array(Field.S_PARENT)[stack]), (symbol - LR_BASE) & (STATES - 1)

    def _below(self, key: Key) -> list[tuple[str, Key]]:
        """The texts that lead to lower stacks."""
        parents, symbols = self._arena.array(Field.S_PARENT), self._arena.array(Field.S_SYMBOL)
        if not isinstance(key, tuple):
            if len(ways := self._arena.members_of(key)) > 1:
                return [("", self._named(one)) for one in ways]
            text = self._frames.of(self._numbers.objects[int(symbols[key])])  # type: ignore[arg-type]
            return [] if text is None else [(text, self._named(int(parents[key])))]
        under, state = key
        top = int(symbols[under]) - LR_BASE
        found = []
        for read, origin, text in self._spelling.exits(top & (STATES - 1) if top >= 0 else -1, state):
            if origin == WHOLE:
                found.append((text, self._named(int(parents[under]) if read else under)))
                continue
            base = under
            for _ in range(read - 1):
                base = int(parents[base])
            goto = self._program.lr.goto  # type: ignore[union-attr]
            found.append((text, (base, int(goto[(int(symbols[base]) - LR_BASE) & (STATES - 1), origin]))))
        return found

    # ------------------------------------------------------------------ searching

    def _search(self, config: int, most: int) -> str | None:
        """A* search for the nearest config whose own candidate is accepted; None where there is none among `most`
        configs.

        With more than SEARCHED None is a proof: it raises LimitExceeded where it has not seen all.
        """
        if self._promise(config) == float("inf"):
            return None
        serials = count()
        before: dict[int, tuple[int, str]] = {}
        reached = {config: 0}
        queue = [(self._promise(config), 0, 0, config)]
        done = set()
        while queue:
            _, _, _, here = heapq.heappop(queue)
            if here in done:
                continue
            done.add(here)
            self._program.clock.check()
            end = self.direct(here)
            if end is not None:
                way = []
                while here != config:
                    here, letter = before[here]
                    way.append(letter)
                return "".join(reversed(way)) + end
            if len(done) > most:
                if most == SEARCHED:
                    return None
                raise LimitExceeded(
                    f"whether tokens can end the text is not decided after {most} states; raise limits.max_states"
                )
            g = reached[here] + 1
            for letter, target in self._successors(here):
                if g < reached.get(target, LONGEST) and (promise := self._promise(target)) < float("inf"):
                    reached[target], before[target] = g, (here, letter)
                    heapq.heappush(queue, (g + promise, -g, next(serials), target))
        return None

    def _successors(self, config: int) -> list[tuple[str, int]]:
        """The letters that can be read, and the configs after them: one letter for each config."""
        row = self._maker.made(FILL_NEXT, config)
        after = self._arena.array(Field.C_NEXT)[row]
        letters = self._letters
        found: dict[int, str] = {}
        for column in np.flatnonzero(after).tolist():
            if (letter := letters[column]) is not None:
                target = int(after[column])
                found[target] = min(letter, found.get(target, letter))
        return sorted((letter, target) for target, letter in found.items())

    @cached_property
    def _letters(self) -> list[str | None]:
        """The letter of each column, None where no token spells one."""
        program, usable = self._program, self._spelling.usable
        letters: list[str | None] = [None] * program.columns
        for byte in range(255, -1, -1):
            if usable >> byte & 1:
                letters[program.byte_sets.class_of[byte]] = chr(byte)
        for token, column in program.token_columns.items():
            letters[column] = chr(SPECIAL + token)
        return letters


def parts(letters: str) -> list[bytes | int]:
    """Bytes, and the ids of the special tokens between them."""
    found: list[bytes | int] = []
    start = 0
    for at, letter in enumerate(letters):
        if ord(letter) >= SPECIAL:
            found += [letters[start:at].encode("latin-1"), ord(letter) - SPECIAL]
            start = at + 1
    return [part for part in [*found, letters[start:].encode("latin-1")] if part != b""]


def _tied(text: str, rope: Rope) -> Rope:
    return (len(text) + rope[0], text, rope) if text else rope


def _flat(rope: Rope | None) -> str:
    pieces = []
    while rope is not None:
        pieces.append(rope[1])
        rope = rope[2]
    return "".join(pieces)


def _first(ropes: list[Rope]) -> Rope | None:
    """The shortest; among equals the first in order of letters."""
    if not ropes:
        return None
    shortest = min(rope[0] for rope in ropes)
    near = [rope for rope in ropes if rope[0] == shortest]
    return near[0] if len(near) == 1 else min(near, key=_flat)
