"""Which tokens would make an object have a key twice, whatever else is filled in.

What the states of a row do not know are the free keys of its objects. A row spells some of them (spans.py); whether two equal ones
are in one object is followed by marks around them (marks.py). That takes a lattice a key, so bounds come first:

    most     the row without marks: every completion, and those that have a key twice
    least    every place that may be a key like another, with a masked token beside it, is no such key; keys that are given twice,
             with their quotes, and can meet have marks. All of this are completions.

Where both allow the same, that is what is allowed. What is between them is looked at with marks around the keys beside it.

A place counts as given, too, where a masked token beside it is alone between given ones, and can be nothing but its quote.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from grammarlm.layout.json_canvas import MOST_MARKS
from grammarlm.masks.canvas.classes import NEVER, STOP
from grammarlm.masks.canvas.protocol import MASKED

from .explored import States
from .keys import begins_of, ends_of, spelling_tokens
from .marks import ASKED, AVOIDED, FREE, MET, Asked, Marked, MarkedRow, touch
from .spans import Run, Span, all_spans
from .texts import texts_of

if TYPE_CHECKING:
    from grammarlm.masks.canvas.classes import TokenClasses
    from grammarlm.vocab.vocabulary import Vocabulary

    from .grid import JsonGrid

SHORT_ROW = (
    16  # in longer rows no more keys are followed at once to decide about tokens: states of two or three take seconds
)
MOST_TOGETHER = MOST_MARKS - 1  # keys given twice that are followed at once


class Repeats:
    """The keys of one row that may come twice."""

    def __init__(
        self,
        grid: JsonGrid,
        tokens: list[int],
        states: States,
        classes: TokenClasses,
        classes_at: Callable[[int], np.ndarray],
    ):
        """`classes` without marks, and those that may stand at a position then."""
        self._grid, self._tokens, self._states, self._vocab = grid, tokens, states, grid.vocab
        self._texts = texts_of(grid.vocab)
        self._classes, self._unmarked_at = classes, classes_at
        begun = grid.begun
        self.text = grid.text(tokens)
        self.runs = grid.runs.of(self.text, len(self.text) == len(tokens) and grid.room > 0)
        self._all_spans: dict[bytes, list[Span]] = {}
        for span in all_spans(self.runs):
            self._all_spans.setdefault(span.key, []).append(span)
        self._spans: dict[bytes, list[Span]] = {}
        self.had = begun.keys
        self._rows: dict[object, MarkedRow] = {}
        self._known_candidates: dict[tuple[frozenset[bytes], frozenset[bytes]], Candidates] = {}
        self._at: dict[int, np.ndarray] = {}  # classes of positions

    def spans(self, key: bytes) -> list[Span]:
        """The places of a key. They count as given where a masked token beside them can be nothing but the quote."""
        if key not in self._spans:
            found = self._all_spans.get(key, [])
            several = len(found) > 1 or key in self.had
            self._spans[key] = [replace(s, is_given=True) if several and self._is_tight(s) else s for s in found]
        return self._spans[key]

    def _is_tight(self, span: Span) -> bool:
        """Are both quotes of a place given, or the masked tokens beside it nothing but quotes there?"""
        if span.is_given:
            return True
        (first, inside), (end, behind), text = span.begin, span.end, self.text
        if end == len(text) and not behind:
            return False
        left = inside == 0 and first > 0 and text[first - 1] == MASKED
        right = behind == 0 and text[end] == MASKED
        ends, begins = self._grid.quotes(self._classes)
        return (not left or self._is_quote(first - 1, ends)) and (not right or self._is_quote(end, begins))

    @cached_property
    def twins(self) -> list[bytes]:
        """The keys that may come twice."""
        return [key for key, spans in self._all_spans.items() if len(spans) > 1 or key in self.had]

    @property
    def matters(self) -> bool:
        """Is there any key that another may be like?"""
        return bool(self._all_spans or self.had)

    # ------------------------------------------------------------------ rows with marks

    def _row(self, marked: Sequence[Marked], keys: tuple[bytes, ...], role: object) -> MarkedRow:
        """The row with these marks, `keys` being those of mark 0, 1 and so on."""
        count = max(len(keys), 1)
        name = count, tuple(marked), keys
        if name not in self._rows:
            table = self._grid.marked(self._states, count)
            self._rows[name] = table.marked_row(self._tokens, self._vocab, marked, keys, role)
        return self._rows[name]

    def _loose(self, key: bytes) -> list[Span]:
        """The places of a key with a masked token beside them."""
        return [span for span in self.spans(key) if not span.is_given]

    def _given(self, key: bytes) -> list[Span]:
        return [span for span in self.spans(key) if span.is_given]

    def _least_with(
        self, keys: tuple[bytes, ...], avoided: Iterable[bytes], free: Iterable[Span] = (), ignored: bytes | None = None
    ) -> MarkedRow:
        """Marks around the given places of some keys, and around `free` where those are of such a key; no place of the keys
        `avoided` that has a masked token beside it is one, but for those of `free`. `ignored`: one of the keys, without marks."""
        marked: list[Marked] = []
        avoided, free = set(avoided), list(free)
        for key in dict.fromkeys((*keys, *sorted(avoided))):
            number = keys.index(key) if key in keys else 0
            if key in keys and key != ignored:
                marked += [(span, number, FREE) for span in self._given(key)]
                marked += [(span, number, FREE) for span in self._loose(key) if span in free]
            if key in avoided:
                marked += [(span, number, AVOIDED) for span in self._loose(key) if span not in free]
        return self._row(marked, keys, ("least", keys, ignored))

    def _with(self, key: bytes) -> MarkedRow:
        """Marks around all places of a key, and around no other."""
        return self._row([(span, 0, FREE) for span in self.spans(key)], (key,), key)

    @cached_property
    def most(self) -> MarkedRow:
        return self._row([], (), ())

    @cached_property
    def together(self) -> tuple[bytes, ...] | None:
        """Keys given twice that are followed at once, so that no completion of `least` has any key twice; None: too many."""
        return self._apart(self.twins) if self.enough is None else self.enough

    @cached_property
    def enough(self) -> tuple[bytes, ...] | None:
        """The same of `_wider`."""
        return self._apart(())

    def _apart(self, avoided: Sequence[bytes]) -> tuple[bytes, ...] | None:
        """Keys given twice, so that no other key that is can meet itself where these do not."""
        twice = [key for key in self.twins if len(self._given(key)) + (key in self.had) > 1]
        found: tuple[bytes, ...] = ()
        while True:
            meeting = [
                key for key in twice if key not in found and self._can_meet(key, found, self._given(key), avoided)
            ]
            if not meeting:
                return found
            if len(found) == MOST_TOGETHER:
                return None
            found = (*found, max(meeting, key=lambda key: len(self._given(key))))

    def _can_meet(
        self, key: bytes, others: tuple[bytes, ...], spans: Sequence[Span], avoided: Iterable[bytes] = ()
    ) -> bool:
        """Has some completion, in which none of the others comes twice, this key twice in an object, in two of these places?"""
        keys, number, avoided = (*others, key), len(others), set(avoided)
        row = self._least_with(keys, avoided, spans)
        behind = self._least_with(keys, avoided, spans, ignored=key)

        def meets(span: Span) -> bool:
            first, end = span.begin[0], _end_of(span)
            return row.leads_on(first, self._tokens[first:end], [(span, number, MET)], keys, behind)

        return any(map(meets, spans[0 if key in self.had else 1 :]))

    @cached_property
    def least(self) -> MarkedRow | None:
        return None if self.together is None else self._least_with(self.together, self.twins)

    @cached_property
    def _wider(self) -> MarkedRow | None:
        """`least`, where only those keys are avoided that two places can be of in one object."""
        if self.enough is None:
            return None
        others = [key for key in self.twins if key not in self.enough and self._loose(key)]
        avoided = {key for key in others if self._can_meet(key, self.enough, self.spans(key))}
        return self._least_with(self.enough, avoided | set(self.enough))

    # ------------------------------------------------------------------ what a row asks

    @cached_property
    def is_completable(self) -> bool | None:
        """None: that is not decided."""
        if not self.twins or (self.least is not None and self.least.is_completable):
            return True
        if not all(self._with(key).is_completable for key in self.twins):
            return False
        if len(self.twins) == 1 or (self._wider is not None and self._wider.is_completable):
            return True
        every = self._every(MOST_MARKS)
        return None if every is None else every.is_completable

    def _every(self, most: int) -> MarkedRow | None:
        """Marks around all keys that may come twice; None where that are more than `most`."""
        keys = tuple(self.twins)
        if len(keys) > most or self._grid.marked_if_few(self._states, len(keys)) is None:
            return None
        return self._row([(span, i, FREE) for i, key in enumerate(keys) for span in self.spans(key)], keys, "all")

    @property
    def _most_marks(self) -> int:
        """How many keys are followed at once to decide about single tokens."""
        return MOST_MARKS if len(self._tokens) <= SHORT_ROW else max(1, len(self.together or ()))

    def classes_at(self, position: int) -> np.ndarray:
        """bool [K]: the classes that `most` allows at a position. Where keys may come twice, its states are those of `least`."""
        if not self.twins:
            return self._unmarked_at(position)
        known = self._at.get(position)
        if known is None:
            known = self._at[position] = np.zeros(self._classes.count, bool)
            known[self.most.table.coarser(self._classes)[self.most.classes_at(position)]] = True
            known[NEVER] = False
        return known

    def refused(self, position: int) -> np.ndarray:
        """The tokens of a masked position that are allowed by `most`, and by no completion."""
        allowed, found = self.classes_at(position), set[int]()
        if self.twins:
            table = self.most.table
            classes = table.unrolled.classes
            doubted = np.flatnonzero(allowed[table.coarser(self._classes)] & (classes.sizes > 0))
            heads = classes.order[classes.starts[doubted]]  # a token of each: all do alike in any row with marks
            if self.least is not None:
                heads = heads[~self.least.classes_at(position)[self.least.classes.of[heads]]]
            refused = self._refused_heads(position, heads) if len(heads) else NO_TOKENS
            for token_class in classes.of[refused].tolist():
                found.update(classes.members(token_class).tolist())
        for key, tokens in self._spelling(position, allowed):
            if self._makes_second(position, tokens[0], key):
                found.update(tokens)
        return np.array(sorted(found), np.int64)

    def _refused_heads(self, position: int, heads: np.ndarray) -> np.ndarray:
        """Of some tokens that `least` does not allow those that no completion has at a masked position."""

        def left(row: MarkedRow | None, some: np.ndarray) -> np.ndarray:
            """Those that a row with marks does not allow."""
            return some if row is None or not len(some) else some[~row.classes_at(position)[row.classes.of[some]]]

        doubted, refused, tried = heads, list[np.ndarray](), list[Span]()
        for reach in (0, NEAR):
            near = self._loose_near(position, reach)
            if len(doubted) and len(near) > len(tried) and self.together is not None:
                doubted, tried = left(self._freed(near), doubted), near
        if len(doubted) and self.least is not None and not self.least.is_completable:
            doubted = left(self._wider, doubted)
        keys = dict.fromkeys((*(span.key for span in tried), *(self.together or ()), *self.twins))
        for key in keys if len(doubted) else ():
            still = left(self._with(key), doubted)
            refused.append(still)
            doubted = np.setdiff1d(doubted, still)
            if not len(doubted):
                break
        if len(doubted) and len(self.twins) > 1:
            every = self._every(self._most_marks)
            refused += [] if every is None else [left(every, doubted)]
        return np.concatenate([*refused, NO_TOKENS])

    def _loose_near(self, position: int, reach: int) -> list[Span]:
        """The places with a masked token beside them that begin or end beside a position, or so many further on."""
        first, last = position - reach, position + 1 + reach
        spans = (span for key in self.twins for span in self._loose(key))
        return [span for span in spans if first <= span.end[0] <= last or first <= span.begin[0] <= last]

    def _freed(self, spans: list[Span]) -> MarkedRow | None:
        """`least` with these places as keys, too."""
        together = self.together or ()
        keys = [span.key for span in spans]
        new = tuple(
            key for key in dict.fromkeys(keys)
            if key not in together and (keys.count(key) > 1 or self._given(key) or key in self.had)
        )  # fmt: skip
        count = len(together) + len(new)
        if count > self._most_marks or (count > 1 and self._grid.marked_if_few(self._states, count) is None):
            return None
        return self._least_with((*together, *new), self.twins, spans)

    # ------------------------------------------------------------------ single tokens that spell a key

    def _spelling(self, position: int, allowed: np.ndarray) -> Iterator[tuple[bytes, list[int]]]:
        """(key, tokens): tokens that a masked position may have, and that are all of a key of the row with given tokens beside it.
        They are of one class, and all do alike. Left out are those that need be no key there."""
        beside = self.beside(position)
        if beside is None:
            return
        before, after = beside
        candidates = self._candidates(frozenset(begins_of(before)), frozenset(ends_of(after)))
        if not candidates.found:
            return
        may_be, least = allowed[candidates.classes], self.least
        if least is not None and (may_be & candidates.are_apart).any():
            may_be &= ~(candidates.are_apart & least.classes_at(position)[least.classes.of[candidates.tokens]])
        if before.text or after.text:
            least = None
        known: dict[int, bool] = {}  # of plain tokens, which all do alike if they are of one class
        for i in np.flatnonzero(may_be).tolist():
            key, tokens = candidates.found[i]
            if least is None:
                yield key, tokens
                continue
            token = tokens[0]
            token_class = int(least.classes.of[token]) if key == self._texts[token] else -1 - token
            if token_class not in known:
                known[token_class] = least.may_avoid(position, token, key)
            if not known[token_class]:
                yield key, tokens

    def _candidates(self, starts: frozenset[bytes], rests: frozenset[bytes]) -> Candidates:
        """What tokens may spell between one of some beginnings of a key and one of some ends."""
        name = starts, rests
        if name not in self._known_candidates:
            found, of = list[tuple[bytes, list[int]]](), self._classes.of
            for key, groups in spelling_tokens(self._vocab).of(self._keys, starts, rests):
                for group in groups:
                    by_class: dict[int, list[int]] = {}
                    for token in group:
                        by_class.setdefault(int(of[token]), []).append(token)
                    found += [(key, tokens) for tokens in by_class.values()]
            first = np.array([tokens[0] for _, tokens in found], np.int64)
            apart = [key in self._apart_keys for key, _ in found]
            self._known_candidates[name] = Candidates(found, first, of[first], np.array(apart, bool))
        return self._known_candidates[name]

    @cached_property
    def _apart_keys(self) -> set[bytes]:
        """Those that no completion of `least` has in a place of the row."""
        return {key for key in self.twins if key not in self.had and not self._given(key)}

    @cached_property
    def _keys(self) -> frozenset[bytes]:
        return frozenset((*self._all_spans, *self.had))

    def _may_have_two(self, token: int, key: bytes) -> bool:
        """May a token end one such key and begin another?"""
        text = self._texts[token]
        return text.count(b'"') > (2 if b'"%s"' % key in text else 1)

    def _is_quote(self, position: int, quotes: np.ndarray) -> bool:
        """Is a masked token at the position a quote at one end, whatever else is filled in? `quotes`: the classes that are."""
        text = self.text
        if not 0 <= position < len(text) or text[position] != MASKED:
            return False
        if MASKED in text[max(0, position - 1) : position] or MASKED in text[position + 1 : position + 2]:
            return False  # another token beside it leaves it some choice
        return not self.classes_at(position)[~quotes].any()

    @cached_property
    def _ends(self) -> list[int]:
        return [run.end for run in self.runs]

    def beside(self, position: int) -> tuple[Run, Run] | None:
        """The runs before and after a masked position; None behind a stop id."""
        at = bisect_left(self._ends, position)
        return (self.runs[at], self.runs[at + 1]) if at + 1 < len(self.runs) else None

    def _makes_second(self, position: int, token: int, key: bytes) -> bool:
        """Does the token at the position make a second key like this one, whatever else is filled in?"""
        here, behind = (position, 0), (position + 1, 0)
        others = [span for span in self.spans(key) if span.end < here or span.begin > behind]
        if not (others or key in self.had or self._may_have_two(token, key)):
            return False
        made = [s for s in self._joined(position, token).spans if s.key == key and s.begin <= behind and s.end >= here]
        others = [span for span in others if not any(touch(span, one) for one in made)]
        if not made or not (others or key in self.had or len(made) > 1):
            return False
        first = min(position, *(span.begin[0] for span in made))
        end = max(position + 1, *(_end_of(span) for span in made))
        tokens = [token if i == position else self._tokens[i] for i in range(first, end)]

        def leads(row: MarkedRow, number: int, asked: Asked) -> bool:
            return row.leads_on(first, tokens, [(span, number, asked) for span in made])

        if self.least is not None and leads(self.least, 0, AVOIDED):
            return False  # it need not be one
        if not leads(self.most, 0, ASKED):
            return False  # no key there
        return not leads(self._with(key), 0, FREE)

    def _joined(self, position: int, token: int) -> Run:
        """The run around a masked position that has a token."""
        before, after = self.beside(position) or (None, None)
        assert before is not None
        assert after is not None
        return before.with_token(self._texts[token], after)


def quotes_of(vocab: Vocabulary, classes: TokenClasses) -> tuple[np.ndarray, np.ndarray]:
    """bool [K], two times: end all tokens of a class with a quote, do they begin with one?"""
    size = min(vocab.size, len(vocab.offsets) - 1)
    first, last = vocab.offsets[:size], vocab.offsets[1 : size + 1] - 1
    has_bytes = last >= first
    ends, begins = np.ones(classes.count, bool), np.ones(classes.count, bool)
    for found, places in ((ends, last), (begins, first)):
        is_quote = has_bytes & (vocab.data[np.minimum(places, len(vocab.data) - 1)] == QUOTE)
        np.logical_and.at(found, classes.of[:size], is_quote)
        found[STOP] = False
    return ends, begins


@dataclass(frozen=True, eq=False)
class Candidates:
    """Tokens of one class that may be all of a key with what is beside them."""

    found: list[tuple[bytes, list[int]]]
    tokens: np.ndarray  # int64 [N]: the first of each
    classes: np.ndarray  # int32 [N]: their classes
    are_apart: np.ndarray  # bool [N]: where `least` allows it the row has no other such key


NO_TOKENS = np.zeros(0, np.int64)
NEAR = 6  # tokens
QUOTE = 34


def _end_of(span: Span) -> int:
    """The first position behind a span."""
    return span.end[0] + (span.end[1] > 0)
