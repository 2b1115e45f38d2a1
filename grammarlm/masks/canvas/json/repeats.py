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
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, cast

import numpy as np

from grammarlm.layout.json_canvas import MOST_MARKS
from grammarlm.masks.canvas.classes import NEVER, STOP
from grammarlm.masks.canvas.protocol import MASKED

from .answers import Answer, Window
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
        like: Repeats | None = None,
    ):
        """`classes` without marks, and those that may stand at a position then; `like`: of a row with the same tokens, but some of
        them masked."""
        self._grid, self._tokens, self._states, self._vocab = grid, tokens, states, grid.vocab
        self._texts = texts_of(grid.vocab)
        self._classes, self._unmarked_at = classes, classes_at
        self.had = grid.begun.keys
        self.text = grid.text(tokens)
        self.runs = grid.runs.of(self.text, len(self.text) == len(tokens) and grid.room > 0)
        self._all_spans: dict[bytes, list[Span]] = {}
        for span in all_spans(self.runs):
            self._all_spans.setdefault(span.key, []).append(span)
        self._spans: dict[bytes, list[Span]] = {}
        self._tight: dict[Span, bool] = {}
        self._kept = None if like is None else Kept(like._tight, like._given_twice, like.__dict__.get("enough"))
        self.added = None if like is None else self._added(like._all_spans)
        self._rows: dict[object, MarkedRow] = {}
        is_same = like is not None and like.keys == self.keys and like._classes is self._classes
        self._known_candidates: dict[tuple[frozenset[bytes], frozenset[bytes]], Candidates] = (
            like._known_candidates if like is not None and is_same else {}
        )
        self._at: dict[int, np.ndarray] = {}  # classes of positions

    def spans(self, key: bytes) -> list[Span]:
        """The places of a key. They count as given where a masked token beside them can be nothing but the quote."""
        if key not in self._spans:
            found = self._all_spans.get(key, [])
            several = len(found) > 1 or key in self.had
            self._spans[key] = [replace(s, is_given=True) if several and self._is_tight(s) else s for s in found]
        return self._spans[key]

    def _added(self, others: dict[bytes, list[Span]]) -> frozenset[bytes]:
        """The keys that have places which they had not in another row."""
        return frozenset(
            key for key, spans in self._all_spans.items()
            if (known := others.get(key)) is not spans and (known is None or any(span not in known for span in spans))
        )  # fmt: skip

    def _is_tight(self, span: Span) -> bool:
        """Are both quotes of a place given, or the masked tokens beside it nothing but quotes there, as far as completions of few
        open brackets tell? Nothing that is said hangs on it: given places are followed where they can meet, others avoided."""
        if span.is_given:
            return True
        if span not in self._tight:
            known = None if self._kept is None else self._kept.tight.get(span)
            self._tight[span] = self._has_quotes(span) if known is None else known
        return self._tight[span]

    def _has_quotes(self, span: Span) -> bool:
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

    def _row(self, marked: Sequence[Marked], keys: tuple[bytes, ...], role: object, height: int = 0) -> MarkedRow:
        """The row with these marks, `keys` being those of mark 0, 1 and so on."""
        count = max(len(keys), 1)
        name = count, tuple(marked), keys, height
        if name not in self._rows:
            table = self._grid.marked(self._states, count)
            self._rows[name] = table.marked_row(self._tokens, self._vocab, marked, keys, role, height)
        return self._rows[name]

    def _loose(self, key: bytes) -> list[Span]:
        """The places of a key with a masked token beside them."""
        return [span for span in self.spans(key) if not span.is_given]

    def _given(self, key: bytes) -> list[Span]:
        return [span for span in self.spans(key) if span.is_given]

    def _least_with(
        self, keys: tuple[bytes, ...], avoided: Iterable[bytes], free: Iterable[Span] = (), ignored: bytes | None = None,
        role: object = "least", height: int = 0,
    ) -> MarkedRow:  # fmt: skip
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
        return self._row(marked, keys, (role, keys, ignored), height)

    def _with(self, key: bytes, height: int = 0) -> MarkedRow:
        """Marks around all places of a key, and around no other."""
        name = key, height
        if name not in self._rows:
            self._rows[name] = self._row([(span, 0, FREE) for span in self.spans(key)], (key,), key, height)
        return self._rows[name]

    @cached_property
    def most(self) -> MarkedRow:
        return self._row([], (), ())

    @cached_property
    def together(self) -> tuple[bytes, ...] | None:
        """Keys given twice that are followed at once, so that no completion of `least` has any key twice; None: too many."""
        return self._apart(self.twins) if self.enough is None else self.enough

    @cached_property
    def enough(self) -> tuple[bytes, ...] | None:
        """The same of `_wider`. Keys that could not meet cannot where more tokens are given."""
        known = self._kept
        if known is None or known.enough is None:
            return self._apart(())
        new = [
            key for key, spans in self._given_twice.items()
            if key not in known.enough and not spans <= known.given_twice.get(key, frozenset())
        ]  # fmt: skip
        if len(new) + len(known.enough) <= max(1, len(known.enough)):
            return (*known.enough, *new)  # followed, be there need or not
        return self._apart(())

    @cached_property
    def _given_twice(self) -> dict[bytes, frozenset[Span]]:
        """The given places of keys that are given twice."""
        found = {key: frozenset(self._given(key)) for key in self.twins}
        return {key: spans for key, spans in found.items() if len(spans) + (key in self.had) > 1}

    def _apart(self, avoided: Sequence[bytes]) -> tuple[bytes, ...] | None:
        """Keys given twice, so that no other key that is can meet itself where these do not."""
        twice = list(self._given_twice)
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
    def low(self) -> MarkedRow | None:
        """`least` without completions that have many brackets open at once; None where there is no other, or none is looked for."""
        if not self._can_be_low or self.together is None:
            return None
        found = self._least_with(self.together, self.twins, height=self._grid.height)
        return found if found.is_completable else None

    @cached_property
    def _most_low(self) -> MarkedRow | None:
        """The row without marks, as `low`."""
        found = self._row([], (), (), self._grid.height) if self._can_be_low else None
        return found if found is not None and found.is_completable else None

    @cached_property
    def _can_be_low(self) -> bool:
        return self._grid.marked_if_few(self._states, 1) is not None

    @cached_property
    def bound(self) -> MarkedRow | None:
        """What it allows is allowed."""
        return self.least if self.low is None else self.low

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
        if not self.twins or (self.bound is not None and self.bound.is_completable):
            return True
        if not all(self._with(key).is_completable for key in self.twins):
            return False
        if len(self.twins) == 1 or (self._wider is not None and self._wider.is_completable):
            return True
        every = self._every(MOST_MARKS)
        return None if every is None else every.is_completable

    def _every(self, most: int, height: int = 0) -> MarkedRow | None:
        """Marks around all keys that may come twice; None where that are more than `most`."""
        keys = tuple(self.twins)
        if len(keys) > most or self._grid.marked_if_few(self._states, len(keys)) is None:
            return None
        return self._row([(span, i, FREE) for i, key in enumerate(keys) for span in self.spans(key)], keys, "all", height)

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

    def answer(self, position: int, older: Answer | None) -> Answer:
        """What may stand at a masked position; `older`: in a row with the same tokens, but some of them masked, so that nothing else
        may stand here."""
        allowed = self.classes_at(position) if older is None else older.classes
        found, proof = set[int](), Proof(never=set(older.never) if older is not None else set())
        if self.twins or older is not None:
            allowed, found = self._by_bounds(position, allowed, older, proof)
        known = NO_TOKENS if older is None else older.refused
        found.update(known.tolist())
        self._refuse_spelling(position, allowed, None, found, proof)
        refused = known if len(found) == len(known) else np.array(sorted(found), np.int64)
        return Answer(allowed, refused, self._window(position, proof), frozenset(proof.never))

    def _refuse_spelling(
        self, position: int, allowed: np.ndarray, keys: frozenset[bytes] | None, found: set[int], proof: Proof
    ) -> None:
        """Adds the tokens that spell a second key. `keys`: only those."""
        for key, tokens in self._spelling(position, allowed, keys):
            if tokens[0] not in found and self._makes_second(position, tokens[0], key, proof):
                found.update(tokens)

    def _window(self, position: int, proof: Proof) -> Window | None:
        if self.bound is None or not proof.is_whole:
            return None
        firsts, ends = [position, *(span.begin[0] for span in proof.near)], [position, *(span.end[0] for span in proof.near)]
        if beside := self.beside(position):
            firsts.append(beside[0].first)
            ends.append(beside[1].end - 1)
        first, end = min(firsts), max(ends) + 1
        end = min(end, len(self._tokens))
        shown_by = [(name, row.between(first, end)) for name in proof.rows if (row := self._named(name)) is not None]
        return Window(first, end, tuple(shown_by))

    def _named(self, name: object) -> MarkedRow | None:
        """Rows that show what is allowed: `bound`, or with marks around one key (a tuple), no key or all, of as few open brackets."""
        if name == BOUND:
            return self.bound
        height = 0 if self.low is None else self._grid.height
        if name == EVERY:
            return self._every(self._most_marks, height)
        return self._row([], (), (), height) if name == MOST else self._with(cast("tuple[bytes]", name)[0], height)

    def holds(self, position: int, answer: Answer) -> bool:
        """Is what may stand at a position the same as in a row with less tokens, but for tokens that spell a key?"""
        window = answer.shown
        if window is None:
            return False
        first, end = window.first, window.end
        return all(
            (row := self._named(name)) is not None and row.between(first, end) == between for name, between in window.shown_by
        )

    def spelled_anew(self, position: int, answer: Answer, added: frozenset[bytes]) -> Answer | None:
        """An answer that holds, without the tokens that spell keys which have places since then; None: it is to be looked at again."""
        if not added or not self._may_spell(position, added):
            return answer
        proof, found = Proof(never=set(answer.never)), set[int]()
        self._refuse_spelling(position, answer.classes, added, found, proof)
        if not proof.is_whole or proof.near or len(proof.rows) > 1:
            return None
        if not found and len(proof.never) == len(answer.never):
            return answer
        refused = np.union1d(answer.refused, np.array(sorted(found), np.int64)) if found else answer.refused
        return replace(answer, refused=refused, never=frozenset(proof.never))

    def _may_spell(self, position: int, keys: frozenset[bytes]) -> bool:
        beside = self.beside(position)
        if beside is None:
            return False
        tokens = spelling_tokens(self._vocab)
        begins, ends = frozenset(begins_of(beside[0])), frozenset(ends_of(beside[1]))
        return bool(tokens.of(keys, begins, ends) or tokens.with_escapes(keys, keys, *beside))

    def _by_bounds(
        self, position: int, allowed: np.ndarray, older: Answer | None, proof: Proof
    ) -> tuple[np.ndarray, set[int]]:
        """Of some classes those that may stand at a position, and tokens of these that may not."""
        table, found = self._grid.marked(self._states, 1), set[int]()
        own, coarser = table.unrolled.classes, table.coarser(self._classes)
        doubted = np.flatnonzero(allowed[coarser] & (own.sizes > 0))
        heads = own.order[own.starts[doubted]]  # a token of each: all do alike in any row with marks
        bound = self.bound
        if bound is not None:
            heads = heads[~bound.classes_at(position)[bound.classes.of[heads]]]
        if older is not None and len(heads) and len(older.refused):
            known = [bool(np.isin(own.members(int(own.of[head])), older.refused).all()) for head in heads]
            heads = heads[~np.array(known)]
        refused = self._refused_heads(position, heads, proof, older is not None) if len(heads) else NO_TOKENS
        if not len(refused):
            return allowed, found
        if older is not None:
            gone = own.of[refused]
            left = np.setdiff1d(doubted, gone)
            allowed = np.zeros(len(allowed), bool)
            allowed[coarser[left]] = True
        for token_class in own.of[refused].tolist():
            if allowed[coarser[token_class]]:
                found.update(own.members(token_class).tolist())
        return allowed, found

    def _refused_heads(self, position: int, heads: np.ndarray, proof: Proof, asks_most: bool) -> np.ndarray:
        """Of some tokens that `bound` does not allow those that no completion has at a masked position. `asks_most`: it is not known
        that `most` allows them."""

        def left(row: MarkedRow | None, some: np.ndarray) -> np.ndarray:
            """Those that a row with marks does not allow."""
            return some if row is None or not len(some) else some[~row.classes_at(position)[row.classes.of[some]]]

        def refused_by(name: object, exact: Callable[[], MarkedRow | None]) -> np.ndarray:
            """The same, of few open brackets first; what these allow is shown."""
            some = left(self._named(name), doubted)
            found = left(exact(), some) if self.low is not None else some
            proof.rows[name] = None
            proof.is_whole = proof.is_whole and len(found) == len(some)
            return found

        doubted, refused, tried = heads, list[np.ndarray](), list[Span]()
        for reach in (0, NEAR):
            near = self._loose_near(position, reach)
            if len(doubted) and len(near) > len(tried) and self.together is not None:
                doubted, tried = left(self._freed(near, position), doubted), near
        proof.near += tried
        if len(doubted) and self.bound is not None and not self.bound.is_completable:
            doubted = left(self._wider, doubted)
            proof.is_whole = False
        if len(doubted) and asks_most:
            refused.append(refused_by(MOST, lambda: self.most))
            doubted = np.setdiff1d(doubted, refused[-1])
        keys = dict.fromkeys((*(span.key for span in tried), *(self.together or ()), *self.twins))
        for key in keys if len(doubted) else ():
            refused.append(refused_by((key,), lambda: self._with(key)))  # noqa: B023
            doubted = np.setdiff1d(doubted, refused[-1])
            if not len(doubted):
                break
        if len(doubted) and len(self.twins) > 1 and self._every(self._most_marks) is not None:
            refused.append(refused_by(EVERY, lambda: self._every(self._most_marks)))
        return np.concatenate([*refused, NO_TOKENS])

    def _loose_near(self, position: int, reach: int) -> list[Span]:
        """The places with a masked token beside them that begin or end beside a position, or so many further on."""
        first, last = position - reach, position + 1 + reach
        spans = (span for key in self.twins for span in self._loose(key))
        return [span for span in spans if first <= span.end[0] <= last or first <= span.begin[0] <= last]

    def _freed(self, spans: list[Span], position: int) -> MarkedRow | None:
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
        height = 0 if self.low is None else self._grid.height
        return self._least_with((*together, *new), self.twins, spans, role=("freed", position), height=height)

    # ------------------------------------------------------------------ single tokens that spell a key

    def _spelling(
        self, position: int, allowed: np.ndarray, keys: frozenset[bytes] | None
    ) -> Iterator[tuple[bytes, list[int]]]:
        """(key, tokens): tokens that a masked position may have, and that are all of a key of the row with given tokens beside it.
        They are of one class, and all do alike. Left out are those that need be no key there. `keys`: only these."""
        beside = self.beside(position)
        if beside is None:
            return
        before, after = beside
        candidates = self._candidates(frozenset(begins_of(before)), frozenset(ends_of(after)), keys)
        if not candidates.found:
            return
        may_be, least = allowed[candidates.classes], self.bound
        if least is not None and may_be.any():
            of = least.classes.of[candidates.tokens]
            are_apart = [key in self._apart_keys for key, _ in candidates.found]
            may_be &= ~(np.array(are_apart, bool) & least.classes_at(position)[of])
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

    def _candidates(
        self, starts: frozenset[bytes], rests: frozenset[bytes], keys: frozenset[bytes] | None
    ) -> Candidates:
        """What tokens may spell between one of some beginnings of a key and one of some ends. `keys`: only these."""
        name = starts, rests
        if keys is not None or name not in self._known_candidates:
            found, of = list[tuple[bytes, list[int]]](), self._classes.of
            for key, groups in spelling_tokens(self._vocab).of(self.keys if keys is None else keys, starts, rests):
                for group in groups:
                    by_class: dict[int, list[int]] = {}
                    for token in group:
                        by_class.setdefault(int(of[token]), []).append(token)
                    found += [(key, tokens) for tokens in by_class.values()]
            first = np.array([tokens[0] for _, tokens in found], np.int64)
            made = Candidates(found, first, of[first])
            if keys is not None:
                return made
            self._known_candidates[name] = made
        return self._known_candidates[name]

    @cached_property
    def _apart_keys(self) -> set[bytes]:
        """Those that no completion of `least` has in a place of the row."""
        return {key for key in self.twins if key not in self.had and not self._given(key)}

    @cached_property
    def keys(self) -> frozenset[bytes]:
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
        low = self._most_low
        if low is not None:
            return not low.classes_at(position)[~quotes[low.table.coarser(self._classes)] & (low.classes.sizes > 0)].any()
        return not self.classes_at(position)[~quotes].any()

    @cached_property
    def _ends(self) -> list[int]:
        return [run.end for run in self.runs]

    def beside(self, position: int) -> tuple[Run, Run] | None:
        """The runs before and after a masked position; None behind a stop id."""
        at = bisect_left(self._ends, position)
        return (self.runs[at], self.runs[at + 1]) if at + 1 < len(self.runs) else None

    def _makes_second(self, position: int, token: int, key: bytes, proof: Proof) -> bool:
        """Does the token at the position make a second key like this one, whatever else is filled in?"""
        here, behind = (position, 0), (position + 1, 0)
        others = [span for span in self.spans(key) if span.end < here or span.begin > behind]
        if (token, key) in proof.never or not (others or key in self.had or self._may_have_two(token, key)):
            return False
        made = [s for s in self._joined(position, token).spans if s.key == key and s.begin <= behind and s.end >= here]
        others = [span for span in others if not any(touch(span, one) for one in made)]
        if not made or not (others or key in self.had or len(made) > 1):
            return False
        first = min(position, *(span.begin[0] for span in made))
        end = max(position + 1, *(_end_of(span) for span in made))
        tokens = [token if i == position else self._tokens[i] for i in range(first, end)]

        def leads(row: MarkedRow | None, number: int, asked: Asked) -> bool:
            return row is not None and row.leads_on(first, tokens, [(span, number, asked) for span in made])

        if self.bound is not None and leads(self.bound, 0, AVOIDED):
            return False  # it need not be one
        if self.low is None or not leads(self._named(MOST), 0, ASKED):
            if not leads(self.most, 0, ASKED):
                proof.never.add((token, key))
                return False  # no key there
        if self.low is not None and leads(self._named((key,)), 0, FREE):
            proof.rows[(key,)] = None
            return False
        if not leads(self._with(key), 0, FREE):
            return True
        proof.is_whole = False
        return False

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
class Kept:
    """What is known of a row with less tokens."""

    tight: dict[Span, bool]
    given_twice: dict[bytes, frozenset[Span]]
    enough: tuple[bytes, ...] | None


@dataclass(eq=False)
class Proof:
    """What shows that all that is allowed at a position is."""

    is_whole: bool = True  # False: something only does that is asked anew in each row
    near: list[Span] = field(default_factory=list)  # places let free
    rows: dict[object, None] = field(default_factory=lambda: {BOUND: None})  # Repeats._named
    never: set[tuple[int, bytes]] = field(default_factory=set)  # tokens that are no such key, whatever else is given


@dataclass(frozen=True, eq=False)
class Candidates:
    """Tokens of one class that may be all of a key with what is beside them."""

    found: list[tuple[bytes, list[int]]]
    tokens: np.ndarray  # int64 [N]: the first of each
    classes: np.ndarray  # int32 [N]: their classes


BOUND, MOST, EVERY = "bound", "most", "every"
NO_TOKENS = np.zeros(0, np.int64)
NEAR = 6  # tokens
QUOTE = 34


def _end_of(span: Span) -> int:
    """The first position behind a span."""
    return span.end[0] + (span.end[1] > 0)
