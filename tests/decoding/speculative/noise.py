"""Whole answers by enumeration: every random number of a call is a choice, and all ways through them are taken.

A draw is a function of its noise and of a distribution, and the same noise may meet several of them: the draft's, then the
target's,
or the draft's again in a later round. So noise is a number in [0, 1) of which only an interval is known. A draw splits it at the
sums of the distribution, chooses a piece by its length, and remembers that one.
"""

import itertools
from collections import defaultdict

import numpy as np
import pytest

import grammarlm as gl
from grammarlm.decoding.logits.sampling import distribution
from grammarlm.decoding.loop import row as row_module
from grammarlm.decoding.speculative import draws
from grammarlm.published.acceptance import by_probability
from tests.decoding.enumeration import Choices, outcomes

torch = pytest.importorskip("torch")


class Interval:
    """A number in [0, 1) that is revealed as far as it matters."""

    def __init__(self, choices: Choices):
        self.choices, self.low, self.high = choices, 0.0, 1.0

    def draw(self, masses) -> int:
        """The token within whose piece of [0, 1) it lies."""
        edges = np.concatenate([[0.0], np.cumsum(masses) / np.sum(masses)])
        edges[-1] = 1.0
        lows, highs = np.maximum(edges[:-1], self.low), np.minimum(edges[1:], self.high)
        shares = np.maximum(highs - lows, 0.0) / (self.high - self.low)
        shares[shares < 1e-13] = 0.0
        token = self.choices.among(shares.tolist())
        self.low, self.high = float(lows[token]), float(highs[token])
        return token


class Chance:
    """A uniform number that is only ever compared, and once: a choice of two outcomes."""

    def __init__(self, choices: Choices, scale: float = 1.0):
        self.choices, self.scale = choices, scale

    def __mul__(self, by: float) -> "Chance":
        return Chance(self.choices, self.scale * by)

    def __lt__(self, value: float) -> bool:
        below = 1.0 if self.scale == 0 else min(1.0, max(0.0, value / self.scale))
        return self.choices.among([below, 1 - below]) == 0


class Noise:
    """What stands in for the random numbers of one call."""

    def __init__(self, choices: Choices):
        self.choices = choices
        self.known: dict[tuple, Interval] = defaultdict(lambda: Interval(choices))

    def own_draw(self, logits, sampling, position, mass=None):
        """The target's: a function of (seed, position)."""
        p = distribution(logits, sampling)
        token = self.known[sampling.seed, position, 0].draw(p)
        return token, float(np.log(p[token]))

    def arrivals(self, log_q, seed, position, count):
        """The draft's: the first token by the noise that the target has at this seed and position, the others by more of it."""
        left, found = np.exp(log_q.astype(np.float64)), []
        for number in range(min(count, int(np.isfinite(log_q).sum()))):
            found.append(self.known[seed, position, number].draw(left))
            left[found[-1]] = 0.0
        return found

    def drawn_from(self, masses, uniform) -> int:
        return self.choices.among((masses / masses.sum()).tolist())

    def patch(self, monkeypatch) -> None:
        monkeypatch.setattr(row_module, "draw", self.own_draw)
        monkeypatch.setattr(draws, "arrivals", self.arrivals)
        monkeypatch.setattr(by_probability, "uniform_of", lambda row: lambda: Chance(self.choices))
        monkeypatch.setattr(by_probability, "drawn_from", self.drawn_from)


# ------------------------------------------------------------------ a small world

A, B, C, STOP = range(4)
VOCAB = gl.Vocabulary([b"a", b"b", b"c", b"</s>"], stop_ids=[STOP])
PROMPT = [A]


class Table:
    """A model of four ids: the logits after a text are drawn once and for all, in eighths, so that no sum of float32 rounds
    them."""

    def __init__(self, seed: int, window: int | None = None):
        self.seed, self.window, self.calls = seed, window, 0

    def row(self, text) -> np.ndarray:
        text = text[-self.window :] if self.window else text
        return np.round(8 * np.random.default_rng([self.seed, len(text), *text]).normal(0, 1.2, 4)) / 8

    def __call__(self, ids):
        self.calls += 1
        rows = [[self.row(text[: end + 1]) for end in range(len(text))] for text in ids.tolist()]
        return torch.tensor(np.array(rows), dtype=torch.float32)


def member_law(model, members) -> dict[tuple[int, ...], float]:
    """Of each member of a language the probability of writing it, one token after another, under the masks of the language."""
    found = {}
    for member in members:
        probability, said = 1.0, ()
        for token in (*member, STOP):
            allowed = {other[len(said)] for other in members if other[: len(said)] == said and len(other) > len(said)}
            allowed |= {STOP} if said in members else set()
            p = np.exp(model.row([*PROMPT, *said]))
            probability *= p[token] / sum(p[each] for each in sorted(allowed))
            said = (*said, token)
        found[tuple(member)] = probability
    return found


def texts(pattern_tokens) -> set[tuple[int, ...]]:
    """All texts with one of the given tokens at each place."""
    return set(itertools.product(*pattern_tokens))


def answer_law(model, members, make_draft, monkeypatch, **options) -> tuple[dict[tuple[int, ...], float], int]:
    """The law of `generate` with this draft over the members of a language, and how many ways there were."""
    found: dict[tuple[int, ...], float] = defaultdict(float)
    choice = "|".join("".join("abc"[token] for token in member) for member in sorted(members))

    def run(choices):
        Noise(choices).patch(monkeypatch)
        out = gl.generate(
            model,
            PROMPT,
            vocab=VOCAB,
            regex=choice,
            temperature=1.0,
            seed=1,
            draft=make_draft(),
            forced="off",
            **options,
        )
        return tuple(out.tokens)

    ways = 0
    for probability, text in outcomes(run):
        found[text] += probability
        ways += 1
    return dict(found), ways


def furthest(found, expected) -> float:
    return max(abs(found.get(text, 0.0) - expected.get(text, 0.0)) for text in {*found, *expected})


TARGET = Table(1)
PLAIN = texts([(A, B), (A, B, C), (A, B)])
LONG = texts([(A, B)] * 4)
ENDS = texts([(A, B), (A, B)]) | {(A,), (C, A, B), (C,), (C, A, C)}  # some answers begin others
SHORT = texts([(A, B)] * 3)
LATE = texts([(A,), (A,), (A,), (A, B), (A, B)])  # the first forward drafts a chain; here trees come where it matters
LANGUAGES = {"plain": PLAIN, "long": LONG, "ends": ENDS, "late": LATE}
