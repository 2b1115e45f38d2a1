"""The exact law of what is written: every way that the draws can go, with its probability."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np

from grammarlm.decoding.diffusion.draws import Draws
from grammarlm.decoding.logits.sampling import Sampling
from grammarlm.masks.canvas.protocol import Draw

Outcome = TypeVar("Outcome")


@dataclass
class Script:
    """Answers choices as scripted, and the first possible way once the script is over."""

    ways: list[int]
    offered: list[list[int]] = field(default_factory=list)  # what was possible at each choice
    p: float = 1.0

    def pick(self, masses: np.ndarray) -> int:
        at = len(self.offered)
        self.offered.append(np.flatnonzero(masses > 0).tolist())
        if at == len(self.ways):
            self.ways.append(self.offered[at][0])
        self.p *= float(masses[self.ways[at]] / masses.sum())
        return self.ways[at]


@dataclass(frozen=True)
class ScriptedDraws(Draws):
    """The draws of one script. Where the same logits are looked at again the id is the same, as with noise by position."""

    sampling: Sampling = field(default_factory=lambda: Sampling(temperature=1.0, seed=0))
    script: Script = field(default_factory=lambda: Script([]))
    known: dict[tuple[int, bytes, bytes], int] = field(default_factory=dict)

    def token(self, ids: np.ndarray, logits: np.ndarray, position: int) -> int:
        place = position, ids.tobytes(), logits.tobytes()
        if place not in self.known:
            self.known[place] = int(ids[self.script.pick(np.exp(logits.astype(np.float64) - logits.max()))])
        return self.known[place]

    def index(self, masses: np.ndarray, position: int, purpose: int) -> int:
        return self.script.pick(masses)

    def happens(self, p: float, position: int, purpose: int) -> bool:
        return self.script.pick(np.array([max(0.0, 1 - p), min(p, 1.0)])) == 1

    def joint(self) -> Draw:
        return lambda logs: self.script.pick(np.exp(logs - logs.max()))


def outcomes(play: Callable[[ScriptedDraws], Outcome]) -> dict[Outcome, float]:
    """{what play(draws) returns: probability}."""
    found: Counter[Outcome] = Counter()
    left: list[Sequence[int]] = [[]]
    while left:
        given = left.pop()
        script = Script(list(given))
        result = play(ScriptedDraws(script=script))
        found[result] += script.p  # type: ignore[assignment]  # a Counter adds up anything
        for at in range(len(given), len(script.offered)):
            left += [[*script.ways[:at], way] for way in script.offered[at] if way != script.ways[at]]
    return dict(found)


def distance(law: dict[Outcome, float], other: dict[Outcome, float]) -> float:
    """Total variation."""
    return sum(abs(law.get(key, 0.0) - other.get(key, 0.0)) for key in {*law, *other}) / 2
