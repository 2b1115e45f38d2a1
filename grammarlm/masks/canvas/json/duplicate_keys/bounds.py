"""What may stand at the masked positions of a row with free keys, by bounds: what these allow is allowed, what is between them is
looked at again."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .answers import EVERY, MOST, NO_TOKENS, Answer, Proof, Window
from .marked_row import MarkedRow
from .repeats import Repeats
from .spans import Span

NEAR = 6  # tokens


class Bounds:
    """The positions of one row."""

    def __init__(self, repeats: Repeats):
        self._repeats, self._places = repeats, repeats.places

    def answer(self, position: int, older: Answer | None) -> Answer:
        """What may stand at a masked position; `older`: in a row with the same tokens, but some of them masked, so that nothing
        else may stand here."""
        allowed, proof = self._places.classes_at(position) if older is None else older.classes, Proof()
        allowed, found = self._by_bounds(position, allowed, older, proof)
        known = NO_TOKENS if older is None else older.refused
        found.update(known.tolist())
        refused = known if len(found) == len(known) else np.array(sorted(found), np.int64)
        return Answer(allowed, refused, self._window(position, proof))

    def _window(self, position: int, proof: Proof) -> Window | None:
        if self._repeats.bound is None or not proof.is_whole:
            return None
        beside = self._places.beside(position)
        first, end = (position, position) if beside is None else (beside[0].first, beside[1].end)
        first = max(0, min(first, *(span.begin[0] for span in proof.near), position))
        end = max(end, position + 1, *(span.end[0] + 1 for span in proof.near))
        end = min(end, len(self._places.tokens))
        freed = frozenset(span.key for span in proof.near)
        shown_by = [
            (name, row.between(first, end, bool(freed)))
            for name in proof.rows
            if (row := self._repeats.named(name)) is not None
        ]
        return Window(first, end, tuple(shown_by), freed, proof.hangs_on_twins)

    def holds(self, answer: Answer, added: frozenset[bytes]) -> bool:
        """Is what may stand at a position the same as in a row with less tokens? `added`: the keys that have places since then."""
        window = answer.shown
        if window is None or self._hangs_on(window, added):
            return False
        first, end = window.first, window.end
        return all(
            (row := self._repeats.named(name)) is not None and row.between(first, end, bool(window.freed)) == between
            for name, between in window.shown_by
        )

    def _hangs_on(self, window: Window, added: frozenset[bytes]) -> bool:
        """May what classes are shown to stand there not be, as keys have more places? One that was let free may then be the second,
        or there is one more of which it is to be asked."""
        if added & window.freed:
            return True
        names = [name for name, _ in window.shown_by]
        return window.hangs_on_twins and any(key in added and (key,) not in names for key in self._places.twins)

    def _by_bounds(
        self, position: int, allowed: np.ndarray, older: Answer | None, proof: Proof
    ) -> tuple[np.ndarray, set[int]]:
        """Of some classes those that may stand at a position, and tokens of these that may not."""
        table, found = self._places.grid.marked(self._places.states, 1).table, set[int]()
        own, coarser = table.unrolled.classes, table.coarser(self._places.classes)
        doubted = np.flatnonzero(allowed[coarser] & (own.sizes > 0))
        heads = own.order[own.starts[doubted]]  # a token of each: all do alike in any row with marks
        bound = self._repeats.bound
        if bound is not None:
            heads = heads[~bound.classes_at(position)[bound.classes.of[heads]]]
        if older is not None and len(heads) and len(older.refused):
            known, of = np.bincount(own.of[np.unique(older.refused)], minlength=own.count), own.of[heads]
            heads = heads[known[of] < own.sizes[of]]  # some token of the class is not refused yet
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
        """Of some tokens that `bound` does not allow those that no completion has at a masked position. `asks_most`: it is not
        known that `most` allows them."""

        def left(row: MarkedRow | None, some: np.ndarray) -> np.ndarray:
            """Those that a row with marks does not allow."""
            return some if row is None or not len(some) else some[~row.classes_at(position)[row.classes.of[some]]]

        def refused_by(name: object, exact: Callable[[], MarkedRow | None]) -> np.ndarray:
            """The same, of few open brackets first; what these allow is shown."""
            some = left(self._repeats.named(name), doubted)
            found = left(exact(), some) if self._repeats.low is not None else some
            proof.rows[name] = None
            proof.is_whole = proof.is_whole and len(found) == len(some)
            return found

        doubted, refused, tried = heads, list[np.ndarray](), list[Span]()
        for reach in (0, NEAR):
            near = self._loose_near(position, reach)
            if len(doubted) and len(near) > len(tried) and self._repeats.together is not None:
                doubted, tried = left(self._freed(near, position), doubted), near
        proof.near += tried
        if len(doubted) and self._repeats.bound is not None and not self._repeats.bound.is_completable:
            doubted = left(self._repeats.wider, doubted)
            proof.is_whole = False
        if len(doubted) and asks_most:
            refused.append(refused_by(MOST, lambda: self._places.most))
            doubted = np.setdiff1d(doubted, refused[-1])
        keys = dict.fromkeys((*(span.key for span in tried), *(self._repeats.together or ()), *self._places.twins))
        for key in keys if len(doubted) else ():
            proof.hangs_on_twins = True
            refused.append(refused_by((key,), lambda: self._places.with_key(key)))  # noqa: B023
            doubted = np.setdiff1d(doubted, refused[-1])
            if not len(doubted):
                break
        if len(doubted) and len(self._places.twins) > 1 and self._places.every(self._repeats.most_marks) is not None:
            refused.append(refused_by(EVERY, lambda: self._places.every(self._repeats.most_marks)))
        return np.concatenate([*refused, NO_TOKENS])

    def _loose_near(self, position: int, reach: int) -> list[Span]:
        """The places with a masked token beside them that begin or end beside a position, or so many further on."""
        first, last = position - reach, position + 1 + reach
        spans = (span for key in self._places.twins for span in self._places.loose(key))
        return [span for span in spans if first <= span.end[0] <= last or first <= span.begin[0] <= last]

    def _freed(self, spans: list[Span], position: int) -> MarkedRow | None:
        """`least` with these places as keys, too."""
        together = self._repeats.together or ()
        keys = [span.key for span in spans]
        new = tuple(
            key for key in dict.fromkeys(keys)
            if key not in together and (keys.count(key) > 1 or self._places.given(key) or key in self._places.had)
        )  # fmt: skip
        count = len(together) + len(new)
        if count > self._repeats.most_marks or (
            count > 1 and self._places.grid.marked_if_few(self._places.states, count) is None
        ):
            return None
        height = 0 if self._repeats.low is None else self._places.grid.height
        return self._places.least_with(
            (*together, *new),
            self._places.twins,
            spans,
            role=("freed", position),
            height=height,
            shunned=self._repeats.shunned,
        )
