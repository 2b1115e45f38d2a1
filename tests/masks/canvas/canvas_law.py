"""What every canvas must keep, by enumeration over a small vocabulary. Nothing here knows a view.

    case = Case(grammar, tokens, accepts, ...)       a grammar, a vocabulary, and an oracle that shares no code with the package
    check_rows(case, length, count)                  rows, tests, explanations, commits of random partly filled rows
    check_fills(case, length, count)                 the best fill against the best of all rows
    check_law(case, length, count)                   the exact law of samples, by following every choice of the sampler

A row is in the language iff it is the tokens of a text, then, unless these fill it, a stop id, and after it stop ids alone.
"""

import functools
import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

import grammarlm as gl

ROUNDING = 1e-5  # float32 logits


@dataclass
class Case:
    """A grammar over a vocabulary whose last ids are stop ids and whose first is special."""

    grammar: Any
    tokens: list[bytes]
    accepts: Callable[[Any], bool]  # of the bytes of a text, or of its ids where `by_ids`
    begins: Callable[[bytes], bool] = lambda data: True  # of every prefix of a text; of more is fine, but costs time
    stops: int = 1
    special: tuple[int, ...] = (0,)
    size: int | None = None
    by_ids: bool = False
    alphabet: bytes = bytes(range(256))  # of texts; it saves time, no more
    is_part: bool = False  # texts have other bytes, too: what these spell is not looked at
    known: dict[int, np.ndarray] = field(default_factory=dict)
    ends: dict[tuple[Any, int], list[tuple[int, ...]]] = field(default_factory=dict)

    @cached_property
    def stop_ids(self) -> list[int]:
        return list(range(len(self.tokens) - self.stops, len(self.tokens)))

    @cached_property
    def constraint(self) -> gl.Constraint:
        special = [*self.special, *self.stop_ids]
        return gl.compile(self.grammar, gl.Vocabulary(self.tokens, self.stop_ids, special, self.size))

    @property
    def width(self) -> int:
        return self.size or len(self.tokens)

    def rows(self, length: int) -> np.ndarray:
        """All rows of the language, int [rows, length]."""
        if length not in self.known:
            found = [
                (*text, *tail)
                for text in self._ends((), b"", length)
                for tail in itertools.product(self.stop_ids, repeat=length - len(text))
            ]
            self.known[length] = np.array(found, int).reshape(-1, length)
        return self.known[length]

    @cached_property
    def _spelled(self) -> list[int]:
        """The tokens of texts."""
        others = {*self.stop_ids, *(() if self.by_ids else self.special)}
        return [
            token
            for token, data in enumerate(self.tokens)
            if token not in others and data and not data.strip(self.alphabet)
        ]

    def _ends(self, ids: tuple[int, ...], data: bytes, most: int) -> list[tuple[int, ...]]:
        """What texts that begin so go on with, in so many tokens at most; those of the same bytes go on alike."""
        read = ids if self.by_ids else data
        found = self.ends.get((read, most))
        if found is None:
            found = [()] if self.accepts(read) else []
            for token in self._spelled if most else ():
                longer = data + self.tokens[token]
                if self.begins(longer):
                    found += [(token, *end) for end in self._ends((*ids, token), longer, most - 1)]
            self.ends[read, most] = found
        return found


def matching(rows: np.ndarray, partial: list[int]) -> np.ndarray:
    """The rows with these tokens."""
    given = [i for i, token in enumerate(partial) if token >= 0]
    return rows[(rows[:, given] == np.array(partial, int)[given]).all(1)]


def holes_of(partial: list[int]) -> list[int]:
    return [i for i, token in enumerate(partial) if token < 0]


def partials(case: Case, rows: np.ndarray, count: int, rng: np.random.Generator) -> Iterator[list[int]]:
    """Nothing given; rows of the language with holes, every other one with a wrong token; noise."""
    length, ids = rows.shape[1], np.arange(len(case.tokens))
    yield [-1] * length
    for k in range(count):
        row = rng.choice(ids, length) if k % 7 == 6 or not len(rows) else rows[rng.integers(len(rows))].copy()
        if k % 2:
            row[rng.integers(length)] = rng.choice(ids)
        row[rng.random(length) < rng.choice([0.3, 0.6, 0.9])] = -1
        yield row.tolist()


def ids_in(words: np.ndarray) -> set[int]:
    return set(np.flatnonzero(np.unpackbits(words.view(np.uint8), bitorder="little")).tolist())


def check_rows(case: Case, length: int, count: int, canvas: Any = None, rows: np.ndarray | None = None) -> int:
    """Answers about random partly filled rows; returns how many of them cannot be completed."""
    canvas, rows = canvas or case.constraint.canvas(length), case.rows(length) if rows is None else rows
    rng, impossible = np.random.default_rng(length), 0
    for partial in partials(case, rows, count, rng):
        left, given = matching(rows, partial), list(partial)
        assert canvas.is_completable(partial) == (len(left) > 0), partial
        allowed = canvas.allowed(partial)
        for i in range(length):
            others = matching(rows, [*partial[:i], -1, *partial[i + 1 :]])
            want = set(others[:, i].tolist()) if len(left) else set()
            words = allowed.row(i)
            assert words.dtype == np.int32
            assert len(words) == -(-case.width // 32)
            assert ids_in(words) == want, (partial, i, ids_in(words), want)
            assert allowed.test(i, [-1, *range(case.width + 2)]).tolist() == [
                t in want for t in range(-1, case.width + 2)
            ]
        check_explain(case, canvas, partial, left, rng)
        check_commits(case, canvas, partial, left, rows, rng)
        assert partial == given, "the caller's row was changed"
        impossible += not len(left)
    return impossible


def check_explain(case: Case, canvas: Any, partial: list[int], left: np.ndarray, rng: np.random.Generator) -> None:
    for i in holes_of(partial)[:2]:
        token = int(rng.integers(case.width))
        is_allowed = token in left[:, i]
        assert (canvas.explain(partial, i, token) == "allowed") == is_allowed, (partial, i, token)


def check_commits(
    case: Case, canvas: Any, partial: list[int], left: np.ndarray, rows: np.ndarray, rng: np.random.Generator
) -> None:
    holes = holes_of(partial)
    if not holes:
        return
    places = [int(i) for i in rng.permutation(holes)]
    source = left if len(left) and rng.random() < 0.8 else rng.integers(len(case.tokens), size=(4, len(partial)))
    chosen = [int(source[rng.integers(len(source)), i]) for i in places]
    some = places[: 1 + int(rng.integers(len(places)))]
    want = list(partial)
    for i, token in zip(some, chosen, strict=False):
        want[i] = token
    if len(matching(rows, want)):
        assert canvas.commit(partial, some, chosen[: len(some)]) == want
    else:
        assert fails(canvas.commit, partial, some, chosen[: len(some)])
    if not len(left):
        assert fails(canvas.commit, partial, places, chosen, True)
        return
    want = list(partial)
    for i, token in zip(places, chosen, strict=True):
        kept = left[left[:, i] == token]
        if len(kept):
            left, want[i] = kept, token
    assert canvas.commit(partial, places, chosen, partial=True) == want


def fails(call: Callable[..., Any], *given: Any) -> bool:
    try:
        call(*given)
    except ValueError:
        return True
    return False


def scores_of(rows: np.ndarray, partial: list[int], logits: np.ndarray) -> np.ndarray:
    holes = holes_of(partial)
    return logits[holes, rows[:, holes]].astype(float).sum(1)


def check_fills(case: Case, length: int, count: int) -> int:
    """Best fills; returns how many a position-by-position choice would have missed."""
    canvas, rows, rng, hard = case.constraint.canvas(length), case.rows(length), np.random.default_rng(length), 0
    for partial in partials(case, rows, count, rng):
        left = matching(rows, partial)
        logits = (rng.standard_normal((length, case.width)) * 3).astype(np.float32)
        if not len(left):
            assert fails(canvas.fill, partial, logits)
            assert fails(canvas.sample, partial, logits)
            continue
        filled = canvas.fill(partial, logits)
        have = left[(left == filled).all(1)]
        assert len(have), (partial, filled)
        best = scores_of(left, partial, logits).max()
        assert scores_of(have, partial, logits)[0] > best - ROUNDING * length, (partial, filled)
        for i in holes_of(partial):
            ids = np.unique(left[:, i])
            left = left[left[:, i] == ids[np.argmax(logits[i, ids])]]
        hard += bool(scores_of(left, partial, logits)[0] < best - 1e-3)
    return hard


class Choices:
    """Follows every way through the choices of a sampler, each with its probability."""

    def __init__(self) -> None:
        self.waiting: list[tuple[tuple[int, ...], float]] = [((), 1.0)]

    def ways(self, make: Callable[[Any], list[int]]) -> dict[tuple[int, ...], float]:
        """The law of what `make(draw)` returns."""
        law: dict[tuple[int, ...], float] = {}
        while self.waiting:
            (self.forced, self.p), self.at = self.waiting.pop(), 0
            outcome = tuple(make(self.draw))
            law[outcome] = law.get(outcome, 0.0) + self.p
        return law

    def draw(self, logs: np.ndarray) -> int:
        weights = np.exp(np.asarray(logs, float) - np.max(logs))
        weights /= weights.sum()
        possible = np.flatnonzero(weights).tolist()
        if self.at == len(self.forced):
            self.waiting += [((*self.forced, i), self.p * float(weights[i])) for i in possible[1:]]
            self.forced = (*self.forced, possible[0])
            self.p *= float(weights[possible[0]])
        self.at += 1
        return self.forced[self.at - 1]


def check_law(case: Case, length: int, count: int, most: int = 300) -> int:
    """The law of samples equals the softmax of the scores over all completions; returns how many laws were compared."""
    canvas, rows, rng, compared = case.constraint.canvas(length), case.rows(length), np.random.default_rng(length), 0
    for partial in partials(case, rows, count, rng):
        left = matching(rows, partial)
        if not 2 <= len(left) <= most:
            continue
        logits = (rng.standard_normal((length, case.width)) * 2).astype(np.float32)
        weights = np.exp(scores_of(left, partial, logits) - scores_of(left, partial, logits).max())
        law = Choices().ways(functools.partial(canvas.drawn, partial, logits))
        assert set(law) == set(map(tuple, left.tolist()))
        want = dict(zip(map(tuple, left.tolist()), weights / weights.sum(), strict=True))
        assert all(abs(law[row] - p) < 1e-6 for row, p in want.items()), partial
        compared += 1
    return compared


def assert_drawn(times: int, draws: int, p: float, what: object) -> None:
    """Has something of probability p come as often as that says? By Bernstein's bound: rare events are no normal law. It holds for
    all but one in 10^10."""
    far = np.log(2e10)
    most = np.sqrt(2 * draws * p * (1 - p) * far + (far / 3) ** 2) + far / 3
    assert abs(times - draws * p) <= most, (what, times, draws, p)


def check_drawn(drawn: Iterable[Sequence[int]], left: np.ndarray, sums: np.ndarray, what: object) -> None:
    """Rows that were drawn come as often as the softmax of their scores says, and no others."""
    law = Counter(tuple(map(int, row)) for row in drawn)
    want = dict(zip(map(tuple, left.tolist()), np.exp(sums - np.logaddexp.reduce(sums)), strict=True))
    assert set(law) <= {row for row, p in want.items() if p}, what
    for row, p in want.items():
        assert_drawn(law[row], law.total(), p, (what, row))


def check_edges(case: Case, length: int, count: int) -> int:
    """Canvases in the middle of rows of `length`; returns how many."""
    rng, made = np.random.default_rng(length), 0
    for _ in range(count):
        rows = case.rows(length)
        row = rows[rng.integers(len(rows))].tolist()
        before, room = int(rng.integers(length)), int(rng.integers(3))
        ended = sum(token not in case.stop_ids for token in row) + 1  # a matcher reads one stop id, no more
        before = min(before, ended)
        middle = length - before - room
        if middle < 1:
            continue
        matcher = case.constraint.matcher()
        if not all(matcher.advance(token) for token in row[:before]):
            raise AssertionError(f"the matcher refuses {row[:before]}")
        state, canvas = matcher.snapshot(), case.constraint.canvas(middle, after=matcher, room=room)
        inside = matching(rows, row[:before] + [-1] * (length - before))[:, before : before + middle]
        check_rows(case, middle, 4, canvas, np.unique(inside, axis=0))
        assert matcher.snapshot() == state, "the canvas changed the matcher"
        made += 1
    return made
