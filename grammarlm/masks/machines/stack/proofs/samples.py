"""A theorem that proves most lexers free of dead ends: after every lexeme, each terminal can come next.

The danger is that a lexeme restricts the text after it (its border) so that no terminal which the parser could take
fits. Usually something ignored can stand between, say a space. So for each terminal a **sample** is looked for, and
**gaps**, short ignored texts, such that

    sample gap      is cut after the sample, as a lexeme of that terminal, whatever follows
    gap sample      is cut after the gap, as something ignored, whatever follows; and a gap may end the text

A border is **trusted** if all texts of samples with gaps between them satisfy it, perhaps after a gap. Usually the
first gap satisfies it already; but where /* */ is a comment, a text may go on after "/" as long as all the rest has no
"*/", and the samples have none.

Where nothing is ignored, or no gap fits, samples **without gaps** are looked for: each is cut before the sample of whatever
the parser may take after it (`After`), and at the end of the text where that may follow. A border is then trusted if all texts of
samples satisfy it, or before some terminals: if the samples of all of them do.

Only terminals before another in lark's order can take a text away from it. Those that occur with it in any context are
checked, each alone, so one pass over the terminals serves all contexts of a grammar.
"""

from __future__ import annotations

import functools
import itertools
import operator
from collections.abc import Callable, Iterator
from typing import NamedTuple

from grammarlm.grammars.lark.lalr_states import bits
from grammarlm.grammars.lark.lexer import Lexer, LexerState
from grammarlm.grammars.regular.terms import ANYTHING, NOTHING, Term

from .texts import TerminalTexts, agree

MOST_GAPS, MOST_BORDERS, MOST_ROUNDS = 3, 20, 3
ALL = -1


class After(NamedTuple):
    """What may follow: of each terminal those that its next LR states take, as bits; the end of the text is the last one."""

    following: list[int]
    used: int
    samples: dict[int, bytes]


class Samples:
    """The samples and gaps of a lexer, and what they prove of borders. `gap` is the one that stands after each sample."""

    def __init__(self, lexer: Lexer, gaps: list[bytes], gap: bytes, samples: list[bytes], after: After | None = None):
        """`after`: no gap is needed, each sample may stand before those of the terminals that may follow."""
        self.lexer, self.gaps, self.gap, self.samples, self.after = lexer, gaps, gap, samples, after
        self.forget()

    def forget(self) -> None:
        self._trusted: dict[Term, bool] = {ANYTHING: True}
        self._kept: dict[Term, bool] = {ANYTHING: True}
        self._at: dict[tuple[int, Term], bool] = {}

    def trusts_before(self, terminals: int, border: Term) -> bool:
        """Can each of these terminals come next, and the text end where that is one of them?"""
        if border is ANYTHING or self.after is None:
            return self.trusts(border)
        known = self._at.get((terminals, border))
        if known is None:
            ends = terminals >> len(self.lexer.terminals) & 1
            known = not ends or border.nullable
            for terminal in bits(terminals & ~(ends << len(self.lexer.terminals))) if known else ():
                if _border_after(self.lexer, border, self.after.samples[terminal]) is not ANYTHING:
                    known = False
                    break
            self._at[terminals, border] = known
        return known

    def trusts(self, border: Term) -> bool:
        known = self._trusted.get(border)
        if known is None and self.after is not None:
            known = self._trusted[border] = self.trusts_before(self.after.used, border) or self.keeps(border)
        if known is None:
            known = any(_border_after(self.lexer, border, gap) is ANYTHING for gap in self.gaps)
            known = known or self.keeps(border)
            known = known or any(self.keeps(_border_after(self.lexer, border, gap)) for gap in self.gaps)
            self._trusted[border] = known
        return known

    def keeps(self, border: Term) -> bool:
        """Does every sequence of samples, however long, satisfy the border? Such texts have no bound: the borders they
        leave are searched."""
        known = self._kept.get(border)
        if known is not None:
            return known
        queue, seen = [border], {border}
        for here in queue:
            if not here.nullable or len(queue) > MOST_BORDERS:
                self._kept[border] = False
                return False
            for sample in self.samples:
                after = _border_after(self.lexer, here, sample + self.gap)
                if after not in seen and self._kept.get(after) is not True:
                    seen.add(after)
                    queue.append(after)
        self._kept.update(dict.fromkeys(seen, True))
        return True


def find_samples(
    lexer: Lexer,
    used: list[int],
    rivals: list[int] | None,
    pairs: set[tuple[int, int]],
    tick: Callable[[], None],
    following: list[int] | None = None,
) -> Samples | None:
    """None where the theorem does not hold, or not with the samples that were tried.

    `used` are the terminals that rules ask for; `rivals` those that occur with each in some context, as bits, None
    where lexemes are read alone; `pairs` (terminal, keyword): lexemes of the terminal that are renamed to the keyword.
    """
    search = _Search(lexer, rivals, pairs, tick)
    gaps = search.gaps(used)
    return _with_gaps(search, gaps, used) or (_without_gaps(search, used, following) if following else None)


def _without_gaps(search: _Search, used: list[int], following: list[int]) -> Samples | None:
    """Each sample is cut before the sample of whatever may follow, and at the end of the text."""
    lexer, end = search.lexer, len(search.lexer.terminals)
    texts: dict[int, bytes] = {}
    for terminal in used:
        text = next(search.texts(terminal), None)
        if text is None:
            return None
        texts[terminal] = text

    def is_good(terminal: int, text: bytes) -> bool:
        after = following[terminal]
        if search.is_alone(terminal, text):
            return True
        if after >> end & 1 and not search.is_cut_at_end(terminal, text):
            return False
        return all(search.is_cut(terminal, text, texts[other]) for other in bits(after & ~(1 << end)))

    for _ in range(MOST_ROUNDS):
        bad = [terminal for terminal in used if not is_good(terminal, texts[terminal])]
        if not bad:
            return Samples(
                lexer, [], b"", [*texts.values()], After(following, sum(1 << t for t in used) | 1 << end, texts)
            )
        for terminal in bad:
            text = next((text for text in search.texts(terminal) if is_good(terminal, text)), None)
            if text is None:
                return None
            texts[terminal] = text
    return None


def _with_gaps(search: _Search, gaps: dict[bytes, Term], used: list[int]) -> Samples | None:
    lexer, rivals = search.lexer, search.rivals
    if rivals is not None and not gaps:
        return None
    samples: list[bytes] = []
    for terminal in used:
        best: tuple[bytes, list[bytes]] | None = None
        for text in search.texts(terminal):
            keeps = [gap for gap in gaps if _border_after(lexer, gaps[gap], text) is ANYTHING]
            if best is not None and len(keeps) <= len(best[1]):
                continue
            if rivals is None or any(search.is_cut(terminal, text, gap) for gap in keeps):
                best = text, keeps
                if len(keeps) == len(gaps):
                    break
        if best is None:
            return None
        samples.append(best[0])
        gaps = {gap: gaps[gap] for gap in best[1]}
    cut = list(zip(used, samples, strict=True))
    if rivals is not None:
        gap = next((g for g in gaps if all(search.is_cut(terminal, text, g) for terminal, text in cut)), None)
        return None if gap is None else Samples(lexer, list(gaps), gap, samples)
    gap = next(iter(gaps), b"")
    found = Samples(lexer, list(gaps), gap, samples)
    borders = [search.own_border(terminal, text) for terminal, text in cut]
    holds = all(border is not None and found.keeps(_border_after(lexer, border, gap)) for border in borders)
    return found if holds else None


class _Search(TerminalTexts):
    """Looks at terminals, each alone, and at what others match of their texts."""

    def __init__(self, lexer: Lexer, rivals: list[int] | None, pairs: set[tuple[int, int]], tick: Callable[[], None]):
        super().__init__(lexer, tick)
        self.rivals = rivals
        self.of: dict[int, set[int]] = {}  # the terminals that a keyword is a lexeme of
        self.keywords: dict[int, set[int]] = {}
        for of, keyword in pairs:
            self.of.setdefault(keyword, set()).add(of)
            self.keywords.setdefault(of, set()).add(keyword)
        self._firsts: dict[int, int] = {}
        self._begun: dict[int, int] = {}  # by first byte: the strings that begin with it
        self._wide = 0  # the other terminals
        for t, terminal in enumerate(lexer.terminals):
            if terminal.text is None:
                self._wide |= 1 << t
            else:
                first = terminal.text[0].encode(errors="replace")[0]
                self._begun[first] = self._begun.get(first, 0) | 1 << t

    def gaps(self, used: list[int]) -> dict[bytes, Term]:
        """Ignored texts that no terminal of higher rank can match at the start of, and what each demands of the rest.

        Of those, the ones that can stand before most terminals with a single text: not the comment that goes on to the
        line's end.
        """
        found: dict[bytes, Term] = {}
        for terminal, known in enumerate(self.lexer.terminals):
            if known.ignored and terminal not in self.of:
                found.update(itertools.islice(self._gaps_of(terminal), MOST_GAPS))
        if not found:
            return {}
        words = [next(self.texts(t)) for t in used if self.literals[t] is not None]
        fitting = {gap: sum(_border_after(self.lexer, found[gap], word) is ANYTHING for word in words) for gap in found}
        return {gap: found[gap] for gap in found if fitting[gap] == max(fitting.values())}

    def _gaps_of(self, terminal: int) -> Iterator[tuple[bytes, Term]]:
        for text in self.texts(terminal):
            border = self.own_border(terminal, text)
            if border is None or not border.nullable or self.is_renamed(terminal, text, None):
                continue
            if self.is_clear(terminal, ALL, 0, text):
                yield text, border

    # ------------------------------------------------------------------ what other terminals match

    def may_match(self, terminal: int, text: bytes, characters: str) -> bool:
        """Can the terminal match at the beginning of some text with this prefix?"""
        literal = self.literals[terminal]
        if literal is not None:
            return agree(literal, characters)
        state: LexerState | None = self.start(terminal)
        for at, byte in enumerate(text):
            if state is None:
                return False
            if any(_border_after(self.lexer, border, text[at:]) is not NOTHING for _, border in state.commits):
                return True
            state = self.lexer.step(state, byte)
        return state is not None

    def is_alone(self, terminal: int, text: bytes) -> bool:
        """Is it a string, and does no rival begin as it does?"""
        if self.literals[terminal] is None or terminal in self.of or terminal in self.keywords:
            return False
        assert self.rivals is not None
        before = self.rivals[terminal] & (1 << terminal) - 1
        return not before & self._begun.get(text[0], 0) and not any(
            self.begins(other, text[0]) for other in bits(before & self._wide)
        )

    def begins(self, terminal: int, byte: int) -> bool:
        first = self._firsts.get(terminal)
        if first is None:
            literal = self.literals[terminal]
            if literal is not None and literal[0][-1][1] < 128:
                first = sum(((1 << high + 1) - (1 << low)) for low, high in literal[0])
            else:
                first = functools.reduce(operator.or_, (its for its, _ in self.start(terminal).edges), 0)
            self._firsts[terminal] = first
        return bool(first >> byte & 1)

    def is_cut_at_end(self, terminal: int, text: bytes) -> bool:
        """The same where the text ends after it: no rival matches it whole, nor a part of it."""
        border = self.own_border(terminal, text)
        if border is None or not border.nullable or terminal in self.of or self.is_renamed(terminal, text, None):
            return False
        assert self.rivals is not None
        for rival in bits(self.rivals[terminal] & (1 << terminal) - 1):
            state: LexerState | None = self.start(rival)
            for at in range(len(text) + 1):
                if state is None:
                    break
                if any(_border_after(self.lexer, left, text[at:]).nullable for _, left in state.commits):
                    return False
                state = self.lexer.step(state, text[at]) if at < len(text) else None
        return True

    def is_clear(self, terminal: int, rivals: int, but: int, text: bytes) -> bool:
        """Can no rival of higher rank, except those in `but`, match at the beginning of this text, whatever follows?"""
        self.tick()
        characters = text.decode(errors="replace")
        rivals &= ~but & (1 << terminal) - 1 & (self._wide | self._begun.get(text[0], 0))
        while rivals:
            lowest = rivals & -rivals
            rival = lowest.bit_length() - 1
            if self.begins(rival, text[0]) and self.may_match(rival, text, characters):
                return False
            rivals ^= lowest
        return True

    def is_renamed(self, terminal: int, text: bytes, but: int | None) -> bool:
        return any(self.spells(k, text) for k in self.keywords.get(terminal, ()) if k != but)

    def is_cut(self, terminal: int, text: bytes, gap: bytes) -> bool:
        """Is the text before the gap a lexeme of the terminal, in every context and whatever follows the gap?"""
        if not self._is_taken(terminal, text, gap):
            return False
        assert self.rivals is not None
        others, here = self.of.get(terminal, set()), self.rivals[terminal]
        if any(self.lexer.terminals[of].ignored for of in others):  # a keyword of it is ignored with it
            return False
        but = sum(1 << of for of in others)
        if not self.is_clear(terminal, here, but, text + gap):
            return False
        if not others:
            return not self.is_renamed(terminal, text, None)
        return all(
            self._is_taken(of, text, gap)
            and self.is_clear(of, here & self.rivals[of], but | 1 << terminal, text + gap)
            and not self.is_renamed(of, text, terminal)
            for of in others
        )

    def _is_taken(self, terminal: int, text: bytes, gap: bytes) -> bool:
        border = self.own_border(terminal, text)
        return border is not None and _border_after(self.lexer, border, gap) is ANYTHING


def _border_after(lexer: Lexer, border: Term, text: bytes) -> Term:
    """What is left of a border after some bytes."""
    for byte in text:
        if border is ANYTHING or border is NOTHING:
            break
        border = lexer.after(border, 1 << byte)
    return border
