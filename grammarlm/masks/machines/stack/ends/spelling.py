"""The shortest texts of the parts of a grammar with a stack: lexemes, rules, and what LR states still wait for.

A text is a str of **letters**: bytes, special tokens, and marks.

    chr(b)               byte b
    chr(MARK + t)        here begins a lexeme of terminal t, which the following bytes spell
    chr(SPECIAL + id)    a special token

A mark counts as one letter, so of two texts with equally many bytes the one with fewer lexemes is the shorter. Among
equally short ones the first in the order of code points counts. Such a text ignores borders: `int` and `x` without a
space are one lexeme. `spell` removes the marks, and puts an ignored lexeme between two that would not be cut there.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from dataclasses import dataclass

from grammarlm.grammars.cfg.left_recursion import call_bits
from grammarlm.grammars.cfg.pushdown import Entrance
from grammarlm.grammars.lark.lexer import LexerState
from grammarlm.grammars.lark.tables import WHOLE
from grammarlm.grammars.regular.byte_classes import EVERY_BYTE
from grammarlm.grammars.regular.terms import ANYTHING, LAZY, NOTHING, Term
from grammarlm.masks.machines.regular.completion import Completions
from grammarlm.masks.machines.stack.language import StackLanguage

MARK = 0x100
SPECIAL = 0x10000
EMPTY_LINE_LENGTH = 3  # bytes
LONGEST_RULE = 1 << 16  # letters; a rule whose shortest text is longer counts as one that cannot be spelled


def order(text: str) -> tuple[int, str]:
    """Shorter texts first, equally long ones by their letters."""
    return len(text), text


class FrameTexts(Completions):
    """The shortest texts of rules' states; a call is spelled as the shortest text of its callee."""

    empty = ""

    def __init__(self, program: StackLanguage, letters: list[str | None], usable: int):
        super().__init__(program.algebra, program.limits.max_states, program.clock.check)
        self._letters, self._usable = letters, usable

    def _letter(self, bits: int) -> str | None:
        found = [text for k in call_bits(bits) if (text := self._letters[k]) is not None]
        if usable := bits & self._usable:
            found.append(chr((usable & -usable).bit_length() - 1))
        return min(found, key=order, default=None)

    def _is_searched(self, term: Term) -> bool:
        return super()._is_searched(term) or (term.kind == LAZY and self._usable != EVERY_BYTE)

    def _end(self, term: Term) -> str:
        end: bytes = super()._end(term)
        return end.decode("latin-1")

    def _word(self, term: Term) -> str | None:
        if self._usable == EVERY_BYTE:
            word: bytes = super()._word(term)
            return word.decode("latin-1")
        words, low, high, depth = term.data
        spelled = [w[depth:] for w in words.value[low:high] if all(self._usable >> b & 1 for b in w[depth:])]
        return min((w.decode("latin-1") for w in spelled), key=order, default=None)


@dataclass(frozen=True)
class Lexeme:
    """The shortest end of a lexeme: its text, the border after it, and the lexer's state there."""

    text: str
    border: Term
    state: LexerState


@dataclass(frozen=True)
class Mark:
    """A lexeme's terminal: the border after its shortest text, and a lexeme that may stand before it."""

    border: Term
    separator: Lexeme | None


class Spelling:
    """The shortest texts of a program, shared by all epochs."""

    def __init__(self, program: StackLanguage):
        self.program = program
        self.usable = EVERY_BYTE if program.tokens_spell_all else program.facts.single_bytes
        self.lr = program.lr
        self.blocks = program.lr.blocks if program.lr else None
        self.marks: dict[int, Mark] = {}
        self.begins: dict[LexerState, str] = {}  # of lexemes that no LR parser reads: the mark and the shortest text
        self._lexemes: dict[LexerState, dict[int, Lexeme]] = {}
        self._empty_lines: dict[LexerState, Lexeme | None] = {}
        self._exits: dict[tuple[int, int], list[tuple[int, int, str]]] = {}
        self._after: dict[tuple[Term, str], Term] = {}
        self._nonterminals: dict[int, str] = {}
        self._terminals: dict[int, str] = {}
        if self.lr is not None:
            self._spell_terminals()
            self._spell_nonterminals()
        self.letters = self._spell_calls()

    def frames(self) -> FrameTexts:
        return FrameTexts(self.program, self.letters, self.usable)

    def forget(self) -> None:
        """Drops what grows with the texts that are asked about."""
        self._lexemes.clear()
        self._empty_lines.clear()
        self._exits.clear()
        self._after.clear()

    # ------------------------------------------------------------------ lexemes

    def lexemes(self, state: LexerState) -> dict[int, Lexeme]:
        """For each terminal that the state can become, the shortest way: breadth first, smaller bytes before greater ones."""
        known = self._lexemes.get(state)
        if known is not None:
            return known
        found: dict[int, Lexeme] = {}
        live = state.lexer.live(state)
        wanted = {t for t in range(live.bit_length()) if live >> t & 1}
        texts = {state: ""}
        for here in (queue := [state]):
            self.program.clock.check()
            for terminal, border in here.commits:
                if terminal not in found and self.program.is_alive(border):
                    found[terminal] = Lexeme(texts[here], border, here)
            if wanted <= found.keys():
                break
            ways = [(bits & self.usable, target) for bits, target in here.edges if bits & self.usable]
            for bits, target in sorted(ways, key=lambda way: way[0] & -way[0]):
                if target not in texts:
                    texts[target] = texts[here] + chr((bits & -bits).bit_length() - 1)
                    queue.append(target)
        self._lexemes[state] = found
        return found

    def empty_line(self, state: LexerState) -> Lexeme | None:
        """The shortest way on within a line end until the next line has no column yet; None where a few bytes show none."""
        if state not in self._empty_lines:
            texts = {state: ""}
            found = None
            for here in (queue := [state]):
                self.program.clock.check()
                border = next((b for t, b in here.commits if t == here.lexer.newline and here.column == 0), NOTHING)
                if border is not NOTHING and self.program.is_alive(border):
                    found = Lexeme(texts[here], border, here)
                    break
                for bits, target in here.edges if len(texts[here]) < EMPTY_LINE_LENGTH else ():
                    if bits & self.usable and target.column is not None and target not in texts:
                        texts[target] = texts[here] + chr((bits & self.usable & -(bits & self.usable)).bit_length() - 1)
                        queue.append(target)
            self._empty_lines[state] = found
        return self._empty_lines[state]

    def _spell_terminals(self) -> None:
        """Spells each terminal in the context with the most others: what is cut there is cut the same way elsewhere, too."""
        assert self.lr is not None
        ignored = self.lr.ignored
        order_of = {s: (s.lexer.offset, -len(s.terminals), sorted(s.terminals)) for s in self.lr.lexers}
        for context in sorted(order_of, key=order_of.__getitem__):
            offset = context.lexer.offset
            if {t + offset for t in context.terminals} <= self._terminals.keys():
                continue
            found = {t + offset: lexeme for t, lexeme in self.lexemes(context).items()}
            blanks = [found[t] for t in found if ignored[t]]
            separator = min(blanks, key=lambda lexeme: order(lexeme.text), default=None)
            for terminal, lexeme in found.items():
                if terminal not in self._terminals:
                    self._terminals[terminal] = chr(MARK + terminal) + lexeme.text
                    self.marks[MARK + terminal] = Mark(lexeme.border, separator)
        if self.blocks:
            for terminal in self.blocks[1:]:
                self._terminals[terminal] = chr(MARK + terminal)

    # ------------------------------------------------------------------ rules

    def _spell_nonterminals(self) -> None:
        """Knuth's algorithm, with a heap of the shortest texts: a rule is spelled when all of its symbols are."""
        assert self.lr is not None
        rules = self.lr.expansions
        users: dict[int, list[int]] = {}
        missing = []
        ready: list[tuple[int, str, int]] = []
        for index, (origin, symbols) in enumerate(rules):
            self.program.clock.check()
            missing.append(sum(s < 0 for s in symbols))
            if any(s >= 0 and s not in self._terminals for s in symbols):
                missing[-1] = -1
                continue
            for symbol in symbols:
                if symbol < 0:
                    users.setdefault(~symbol, []).append(index)
            if not missing[-1]:
                text = self.symbols(symbols) or ""
                heapq.heappush(ready, (*order(text), origin))
        while ready:
            self.program.clock.check()
            length, text, origin = heapq.heappop(ready)
            if origin in self._nonterminals or length > LONGEST_RULE:
                continue
            self._nonterminals[origin] = text
            for index in users.get(origin, ()):
                missing[index] -= 1
                if not missing[index]:
                    whole = self.symbols(rules[index][1]) or ""
                    heapq.heappush(ready, (*order(whole), rules[index][0]))

    def symbols(self, symbols: Iterable[int]) -> str | None:
        """The text of a sequence of symbols, None where one of them cannot be spelled."""
        texts = [self._nonterminals.get(~s) if s < 0 else self._terminals.get(s) for s in symbols]
        return None if None in texts else "".join(t for t in texts if t is not None)

    def _spell_calls(self) -> list[str | None]:
        """What each call of a rule spells: improved until nothing gets shorter."""
        calls = self.program.rules.calls
        letters: list[str | None] = [None] * len(calls)
        for index in sorted(
            range(len(calls)), key=lambda index: repr(calls[index].key)
        ):  # marks get their numbers here
            callee, start = calls[index], calls[index].start
            if isinstance(callee.key, tuple) and callee.key[0] == "token":
                letters[index] = chr(SPECIAL + callee.key[1])
            elif isinstance(start, Entrance):
                assert self.lr is not None
                letters[index] = self.symbols(self.lr.items[start.lr_state][0].rest)
            elif isinstance(start, LexerState):
                letters[index] = self._spell_lexeme(start)
        is_better = True
        while is_better:
            is_better = False
            frames = FrameTexts(self.program, letters, self.usable)
            for index, callee in enumerate(calls):
                if isinstance(callee.start, Term):
                    text, known = frames.of(callee.start), letters[index]
                    if text is not None and len(text) <= LONGEST_RULE and (known is None or order(text) < order(known)):
                        letters[index], is_better = text, True
        return letters

    def _spell_lexeme(self, start: LexerState) -> str | None:
        found = self.lexemes(start)
        if not found:
            return None
        lexer = start.lexer
        blanks = [
            lexeme
            for index, terminal in enumerate(lexer.terminals)
            if terminal.ignored
            for lexeme in self.lexemes(lexer.start([index], [])).values()
        ]
        code = MARK + (len(self.lr.ignored) if self.lr else 0) + len(self.begins)
        lexeme = min(found.values(), key=lambda lexeme: order(lexeme.text))
        self.marks[code] = Mark(lexeme.border, min(blanks, key=lambda blank: order(blank.text), default=None))
        self.begins[start] = chr(code) + lexeme.text
        return self.begins[start]

    # ------------------------------------------------------------------ what LR states wait for

    def exits(self, below: int, state: int) -> list[tuple[int, int, str]]:
        """Ways to finish the rules that a state on top of state `below` is in the middle of, until a lower stack is
        reached.

        (symbols to pop, the nonterminal to put there, the text). A rule of which one symbol has been read puts another
        state on top of `below`, which is in the middle of rules again: Dijkstra's algorithm finds the shortest way
        through those.
        """
        known = self._exits.get((below, state))
        if known is not None:
            return known
        assert self.lr is not None
        found: dict[tuple[int, int], str] = {}
        done = set()
        queue = [(0, "", state)]
        while queue:
            self.program.clock.check()
            _, text, here = heapq.heappop(queue)
            if here in done:
                continue
            done.add(here)
            for item in self.lr.items[here]:
                rest = self.symbols(item.rest)
                if rest is None:
                    continue
                whole, key = text + rest, (item.read, item.origin)
                if item.read == 1 and item.origin != WHOLE:
                    heapq.heappush(queue, (*order(whole), int(self.lr.goto[below, item.origin])))
                elif key not in found or order(whole) < order(found[key]):
                    found[key] = whole
        self._exits[below, state] = [(read, origin, text) for (read, origin), text in found.items()]
        return self._exits[below, state]

    # ------------------------------------------------------------------ from marks to bytes

    def spell(self, first: str, border: Term, after: Term, rest: str, widths: list[int], separate: bool) -> str:
        """The letters without marks.

        `first` ends the lexeme at hand, whose rest must satisfy `border` and after which `after` must hold; `widths`
        are those of the open blocks. Ignored lexemes stand where a border asks for one, with `separate` before each
        lexeme.
        """
        out = [first]
        here = self._both(self._read(border, first), after)
        begins_line = False
        for code, text in _pieces(rest):
            mark = self.marks.get(code)
            if self.blocks and code == MARK + self.blocks[1]:
                widths = [*widths, widths[-1] + 1]
                continue
            if self.blocks and code == MARK + self.blocks[2]:
                widths = widths[:-1] or [0]
                continue
            if begins_line:
                out.append(" " * widths[-1])
                here, begins_line = self._read(here, out[-1]), False
            if mark and mark.separator and (separate or not self.program.is_alive(self._read(here, text))):
                blank = mark.separator
                after = self._both(self._read(here, blank.text), blank.border)
                if self.program.is_alive(after):
                    out.append(blank.text)
                    here = after
            out.append(text)
            here = self._read(here, text)
            if mark:
                here = self._both(here, mark.border)
                begins_line = self.blocks is not None and code == MARK + self.blocks[0]
        return "".join(out)

    def _both(self, a: Term, b: Term) -> Term:
        return a if b is ANYTHING else b if a is ANYTHING else self.program.algebra.both((a, b))

    def _read(self, border: Term, text: str) -> Term:
        """What remains of a border after a text."""
        for letter in text:
            if border is ANYTHING or border is NOTHING:
                break
            after = self._after.get((border, letter))
            if after is None:
                after = self._after[border, letter] = self._step(border, letter)
            border = after
        return border

    def _step(self, border: Term, letter: str) -> Term:
        if ord(letter) >= SPECIAL:  # not text: what the border is about has ended
            return ANYTHING if border.nullable else NOTHING
        bit = 1 << ord(letter)
        return next((target for bits, target in self.program.algebra.edges(border) if bits & bit), NOTHING)


def _pieces(text: str) -> list[tuple[int, str]]:
    """The text after each mark, with the mark; 0 for the text before the first."""
    found: list[tuple[int, str]] = []
    code, start = 0, 0
    for at, letter in enumerate(text):
        if MARK <= ord(letter) < SPECIAL:
            if code or at > start:
                found.append((code, text[start:at]))
            code, start = ord(letter), at + 1
    if code or len(text) > start:
        found.append((code, text[start:]))
    return found
