"""lark's lexer (stock tokenisation) as a lazy automaton.

Where several terminals may come, lark's lexer joins their patterns in its order, A|B|..., and takes what `re.match` finds: the
first terminal that matches at all, with its own first match. A **state** is the ordered list of the matches still tried:

    ((terminal, continuation, condition), ...)       the one with priority first

On a byte each entry is replaced by the targets of its heads. Where an entry ends without a condition, later entries are cut: they
can no longer win. Where an entry ends, the lexeme may end here: a **commit** of its terminal, under a border, which says that no
entry before it ever matches and that its own look-ahead holds. The automaton does not choose between commit and continuing, it
follows both; the borders leave only what lark does.

Keywords: a string terminal whose whole text is matched by a regular expression of the same priority is not a pattern of its own
there; lark compares the lexeme afterwards. Here the keyword is matched in parallel with the list (`typing`), and the commit is
renamed where the keyword has just ended.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterable
from functools import cached_property
from typing import Any

from grammarlm.grammars.cfg.indent import EMPTY_LINE, LINE_END, SPACE, TAB, WIDEST, column_after
from grammarlm.grammars.regular import utf8
from grammarlm.grammars.regular.derivatives import Algebra
from grammarlm.grammars.regular.ordered import CHAR, MATCH, PLAIN, TEXT_START, UNESCAPED, UNKNOWN, Head, Pattern, Rest
from grammarlm.grammars.regular.terms import ANYTHING, NOTHING, Term

from .byte_partition import Piece, split

Entry = tuple[int, Rest, Term, "int | None"]  # terminal, continuation, condition, look-behind bits
Typing = tuple[int, int, Rest]  # lexeme's terminal, the keyword's, rest of the keyword
MOST_PARTITIONS = 2000  # size of the cache


@functools.cache
def single_character(character: str) -> utf8.Edges:
    return utf8.encode(((ord(character), ord(character)),))


class Terminal:
    """A terminal as lark has it; its pattern is parsed on first use."""

    def __init__(
        self, name: str, regex: str, ignored: bool, is_first: bool, algebra: Algebra, tick: Callable[[], None]
    ):
        """`is_first`: nothing comes before its lexemes in a text."""
        self.name, self.regex, self.ignored, self.is_first = name, regex, ignored, is_first
        self._algebra, self._tick = algebra, tick

    @cached_property
    def pattern(self) -> Pattern:
        return Pattern(self.regex, 0, self._algebra, self._tick, self.name, self.is_first)

    @cached_property
    def text(self) -> str | None:
        """Its only text, where the pattern is a plain string: then it is parsed when a text comes to it."""
        return UNESCAPED.sub(r"\1", self.regex) if PLAIN.fullmatch(self.regex) else None

    def characters(self) -> list[utf8.Edges]:
        return self.pattern.characters() if self.text is None else [*map(single_character, dict.fromkeys(self.text))]

    @property
    def looks_back(self) -> bool:
        return self.text is None and self.pattern.start.looks_back


class LexerState:
    """A list of entries, interned. `edges` and `commits` are computed on first use."""

    __slots__ = ("_candidates", "_made", "_terminals", "column", "entries", "lexer", "typing")
    start = False  # is it a state before a lexeme?

    def __init__(self, lexer: Lexer, entries: tuple[Entry, ...], typing: tuple[Typing, ...], column: int | None):
        self.lexer, self.entries, self.typing = lexer, entries, typing
        self.column = column  # of the next line, where the lexeme may be a line end
        self._made: tuple | None = None
        self._terminals: frozenset[int] | None = None
        self._candidates = -1

    @property
    def edges(self) -> list[tuple[int, LexerState]]:
        """Disjoint byte sets, each with its target state."""
        if self._made is None:
            self._made = self.lexer.expand(self)
        return self._made[0]

    @property
    def commits(self) -> list[tuple[int, Term]]:
        """The terminals that may end here, each with the border that the rest must satisfy."""
        if self._made is None:
            self._made = self.lexer.expand(self)
        return self._made[1]

    @property
    def terminals(self) -> frozenset[int]:
        """Terminals that a lexeme may still become (an upper bound; `Lexer.live` is exact)."""
        if self._terminals is None:
            self._terminals = frozenset([e[0] for e in self.entries] + [keyword for _, keyword, _ in self.typing])
        return self._terminals

    @property
    def candidates(self) -> int:
        """`terminals`, as bits."""
        if self._candidates < 0:
            self._candidates = sum(1 << terminal for terminal in self.terminals)
        return self._candidates


class LexerStart(LexerState):
    """The state before a lexeme. It lists the terminals that may come; their patterns are parsed on first use."""

    __slots__ = ("before", "keywords", "ordered")
    start = True

    def __init__(
        self, lexer: Lexer, ordered: tuple[int, ...], keywords: tuple[tuple[int, int], ...], before: int | None
    ):
        """`before`: what is known of the character before the lexeme (ordered.py)."""
        self.lexer, self.ordered, self.keywords, self.before = lexer, ordered, keywords, before
        self.column = EMPTY_LINE if lexer.newline in ordered else None
        self._made = None

    def __getattr__(self, name: str) -> Any:
        """Computes `entries` and `typing` once: Python calls this only for an empty slot."""
        patterns = self.lexer.terminals
        if name == "entries":
            starts = [(t, patterns[t].pattern.start) for t in self.ordered]
            self.entries = tuple((t, s, ANYTHING, self.before if s.looks_back else UNKNOWN) for t, s in starts)
        elif name == "typing":
            self.typing = tuple((of, word, patterns[word].pattern.start) for of, word in self.keywords)
        else:
            raise AttributeError(name)
        return getattr(self, name)

    @property
    def terminals(self) -> frozenset[int]:
        return frozenset([*self.ordered, *(keyword for _, keyword in self.keywords)])

    @property
    def candidates(self) -> int:
        return sum(1 << terminal for terminal in self.terminals)


class Lexer:
    """The terminals of one grammar and the lexer states of all its contexts."""

    def __init__(self, terminals: list[Terminal], algebra: Algebra, tick: Callable[[], None], shifts: bool = True):
        """`shifts`: an LR parser reads the lexemes, so a commit names its terminal; else the lexeme's frame ends."""
        self.terminals, self.algebra, self.tick, self.shifts = terminals, algebra, tick, shifts
        self.newline: int | None = None  # the terminal whose lexemes end lines (indent.py)
        self.tab = 8
        self.offset = 0  # number of its first terminal among those of all parsers
        self._states: dict = {}
        self._steps: dict[tuple[LexerState, int], LexerState | None] = {}
        self._starts: dict[tuple, LexerStart] = {}
        self._live: dict[LexerState, int] = {}
        self._surely: dict[LexerState, int] = {}  # lower bound of `_live`: terminals already found for a state
        self._parts: dict[tuple[int, ...], list[Piece]] = {}

    def state(self, entries: tuple[Entry, ...], typing: tuple[Typing, ...], column: int) -> LexerState | None:
        """The interned state; None where the list can yield no lexeme."""
        if column > WIDEST:
            entries = tuple(entry for entry in entries if entry[0] != self.newline)
        if not entries:
            return None
        at = None
        if self.newline is not None:
            for entry in entries:
                if entry[0] == self.newline:
                    at = column
                    break
        key = (entries, typing, at)
        found = self._states.get(key)
        if found is None:
            self.tick()
            found = self._states[key] = LexerState(self, entries, typing, at)
        return found

    def start(
        self, ordered: Iterable[int], keywords: Iterable[tuple[int, int]], before: int | None = UNKNOWN
    ) -> LexerStart:
        """The state before a lexeme, where these terminals may come, in lark's order; `keywords` are (lexeme's, keyword's)."""
        key = tuple(ordered), tuple(keywords), before
        found = self._starts.get(key)
        if found is None:
            self.tick()
            found = self._starts[key] = LexerStart(self, *key)
        return found

    def begins(self, terminal: int) -> int:
        """The bytes that the terminal, alone at the start of a text, may begin with."""
        return functools.reduce(operator.or_, (bits for bits, _ in self._alone(terminal).edges), 0)

    def _alone(self, terminal: int) -> LexerStart:
        return self.start([terminal], [], TEXT_START if self.terminals[terminal].looks_back else UNKNOWN)

    def step(self, state: LexerState, byte: int) -> LexerState | None:
        """The state after a byte, remembered."""
        key = state, byte
        if key not in self._steps:
            self._steps[key] = next((target for bits, target in state.edges if bits >> byte & 1), None)
        return self._steps[key]

    def takes_whole(self, terminal: int, text: str) -> bool:
        """Would the terminal, alone, match all of this text?"""
        state: LexerState | None = self._alone(terminal)
        for byte in text.encode(errors="surrogatepass"):  # lone surrogates match nothing
            state = None if state is None else self.step(state, byte)
        return state is not None and any(border.nullable for _, border in state.commits)

    def check_first_characters(self, terminals: Iterable[int], before: int | None = UNKNOWN) -> None:
        """Raises where a terminal tests the character before a lexeme: at compile time, not in the middle of a text."""
        for terminal in terminals:
            if self.terminals[terminal].text is None:
                pattern = self.terminals[terminal].pattern
                pattern.heads(pattern.start, before)

    def characters(self) -> list[utf8.Edges]:
        """The character automata of all patterns: they say which bytes are distinguished."""
        nodes = [node for terminal in self.terminals for node in terminal.characters()]
        return nodes if self.newline is None else [*nodes, ((SPACE, None), (TAB, None), (LINE_END, None))]

    # ------------------------------------------------------------------ one byte

    def expand(self, state: LexerState) -> tuple[list[tuple[int, LexerState]], list[tuple[int, Term]]]:
        if len(state.entries) == 1 and not state.typing and self.newline is None:
            ((terminal, rest, condition, _),) = state.entries
            if condition is ANYTHING and self.terminals[terminal].text is not None:  # within a string, as most are
                if rest.kind == MATCH:
                    return [], [(terminal, ANYTHING)]
                code = rest.data[0][0] if rest.kind == CHAR else 128
                if code < 128:
                    target = self.state(((terminal, rest.then, ANYTHING, None),), (), 0)
                    assert target is not None
                    return [(1 << code, target)], []
        algebra = self.algebra
        moves: list[tuple[int, Entry]] = []  # byte set and target, in order
        commits: list[tuple[int, Term]] = []
        earlier: list[tuple[Term, Pattern, Head]] = []  # heads that may still win, with their conditions
        doubt = ANYTHING  # the condition that no earlier entry has ended here
        for terminal, rest, condition, before in state.entries:
            pattern = self.terminals[terminal].pattern
            wins = False
            for head in pattern.heads(rest, before):
                self.tick()
                here = condition  # mostly no condition
                if doubt is not ANYTHING or head.condition is not ANYTHING:
                    here = algebra.both((condition, head.condition, doubt))
                    if here is NOTHING:
                        continue
                if head.edges is None:
                    border = algebra.both((here, *(self._never(*one) for one in earlier))) if earlier else here
                    name = self._name(state, terminal)
                    if border is not NOTHING and name is not None:
                        commits.append((name, border))
                    if here is ANYTHING:
                        wins = True
                        break
                    doubt = algebra.both((doubt, algebra.without(here)))
                    continue
                before_next = head.before
                moves += [(bits, (terminal, then, here, before_next)) for bits, then in pattern.moves(head)]
                earlier.append((here, pattern, head))
            if wins:
                break
        return (self._edges(state, moves) if moves else []), commits

    def _never(self, condition: Term, pattern: Pattern, head: Head) -> Term:
        """The texts on which an earlier head never reaches a match."""
        assert head.edges is not None
        assert head.then is not None
        texts = self.algebra.cat(self.algebra.chars(head.edges), pattern.texts(head.then, head.before))
        return self.algebra.without(self.algebra.both((condition, texts)))

    def _name(self, state: LexerState, terminal: int) -> int | None:
        """The terminal reported to the parser; None where it is one that the parser cannot take."""
        if terminal == self.newline and state.column == EMPTY_LINE:
            return None
        if self.terminals[terminal].ignored:  # no renaming: keywords do not matter here
            return terminal
        for of, keyword, rest in state.typing:
            if of == terminal and any(h.edges is None for h in self.terminals[keyword].pattern.heads(rest, None)):
                return None if self.terminals[keyword].ignored else keyword
        return terminal

    def _edges(self, state: LexerState, moves: list[tuple[int, Entry]]) -> list[tuple[int, LexerState]]:
        typing: list[tuple[int, Typing]] = []
        for of, keyword, rest in state.typing:
            pattern = self.terminals[keyword].pattern
            for head in pattern.heads(rest, None):
                typing += [(bits, (of, keyword, then)) for bits, then in pattern.moves(head)]
        column, count = state.column, len(moves)
        if count == 1 and not typing and column is None and moves[0][1][2] is ANYTHING:  # most states
            only = self.state((moves[0][1],), (), EMPTY_LINE)
            return [] if only is None else [(moves[0][0], only)]
        conditions = {entry[2] for _, entry in moves}
        conditions.discard(ANYTHING)
        sets = [bits for bits, _ in moves] + [bits for bits, _ in typing]
        for condition in dict.fromkeys(entry[2] for _, entry in moves) if conditions else ():
            sets += [bits for bits, _ in self.algebra.edges(condition)] if condition is not ANYTHING else []
        if column is not None:
            sets += [SPACE, TAB, LINE_END]
        grouped: dict[LexerState, int] = {}
        for part, members in self._split(tuple(sets)):
            self.tick()
            if members[0] >= count:  # no entry continues with these bytes
                continue
            after = EMPTY_LINE if column is None else column_after(column, part, self.tab)
            if len(members) == 1 and not conditions:
                target = self.state((moves[members[0]][1],), (), after)
            else:
                target = self.state(*self._following(part, members, moves, typing, bool(conditions)), after)
            if target is not None:
                grouped[target] = grouped.get(target, 0) | part
        return [(bits, target) for target, bits in grouped.items()]

    def _following(
        self,
        part: int,
        members: tuple[int, ...],
        moves: list[tuple[int, Entry]],
        typing: list[tuple[int, Typing]],
        are_bound: bool,
    ) -> tuple[tuple[Entry, ...], tuple[Typing, ...]]:
        """The lists after these bytes. `members`: indices of the moves, then of the keywords, whose sets contain them."""
        count = len(moves)
        entries: dict[Entry, None] = {}
        for member in members:
            if member >= count:
                break
            entry = moves[member][1]
            condition = entry[2]
            if are_bound and condition is not ANYTHING:
                after = self.after(condition, part)
                if after is NOTHING:
                    continue
                entry = (entry[0], entry[1], after, entry[3])
            entries[entry] = None
        if not typing or members[-1] < count:
            return tuple(entries), ()
        alive, end = {entry[0] for entry in entries}, count + len(typing)
        words = [typing[member - count][1] for member in members if count <= member < end]
        return tuple(entries), tuple(dict.fromkeys(word for word in words if word[0] in alive))

    def _split(self, sets: tuple[int, ...]) -> list[Piece]:
        """Memoised `split`: many states have the same sets, such as the bytes of a letter."""
        known = self._parts.get(sets)
        if known is None:
            if len(self._parts) >= MOST_PARTITIONS:
                self._parts.clear()
            known = self._parts[sets] = split(sets)
        return known

    def after(self, condition: Term, part: int) -> Term:
        for bits, target in self.algebra.edges(condition):
            if bits & part:
                return target
        return NOTHING

    # ------------------------------------------------------------------ reachable terminals

    def live(self, state: LexerState) -> int:
        """Terminals that some text leads to from this state, as bits: breadth-first search until each candidate is found.

        Results are stored in all states on the path, so that they need not search again.
        """
        known = self._live.get(state)
        if known is not None:
            return known
        surely = self._surely
        found = surely.get(state, 0)
        wanted = state.candidates & ~found
        came_from: dict[LexerState, LexerState | None] = {state: None}
        queue = [state] if wanted else []
        for here in queue:
            self.tick()
            known = self._live.get(here)
            ends = surely.get(here, 0) if known is None else known
            for terminal, _ in here.commits if known is None else ():
                ends |= 1 << terminal
            if ends & wanted:
                at: LexerState | None = here
                while at is not None:
                    surely[at] = surely.get(at, 0) | ends
                    at = came_from[at]
                found |= ends
                wanted &= ~ends
                if not wanted:
                    break
            for _, target in here.edges if known is None else ():
                if target not in came_from and target.candidates & wanted:
                    came_from[target] = here
                    queue.append(target)
        self._live[state] = found
        return found
