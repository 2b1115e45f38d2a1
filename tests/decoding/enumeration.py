"""Every outcome of a sampler with its probability: it is run again for each way that its random choices can go.

The sampler asks a `Choices` for each of them. Choices replays a list of earlier ones and takes the first alternative from there
on; `outcomes` then goes through the alternatives that were passed by, as one counts: the last choice first.
"""

import math
from collections.abc import Callable, Iterator
from typing import TypeVar

from grammarlm.published.methods.exponential_race import Arrival

Result = TypeVar("Result")
TINY = 1e-15


class Choices:
    def __init__(self, replayed: list[int]):
        self.taken: list[int] = []
        self.probabilities: list[list[float]] = []
        self._replayed = replayed

    def among(self, probabilities: list[float]) -> int:
        """Which alternative: of those with a probability above 0."""
        possible = [i for i, p in enumerate(probabilities) if p > 0]
        depth = len(self.taken)
        choice = self._replayed[depth] if depth < len(self._replayed) else 0
        self.taken.append(choice)
        self.probabilities.append([probabilities[i] for i in possible])
        return possible[choice]

    def probability(self) -> float:
        return math.prod(options[choice] for options, choice in zip(self.probabilities, self.taken, strict=True))


def outcomes(run: Callable[[Choices], Result]) -> Iterator[tuple[float, Result]]:
    """(probability, what `run` returns) for every way through its choices."""
    replayed: list[int] = []
    while True:
        choices = Choices(replayed)
        result = run(choices)
        yield choices.probability(), result
        replayed = choices.taken
        while replayed and replayed[-1] + 1 == len(choices.probabilities[len(replayed) - 1]):
            replayed.pop()
        if not replayed:
            return
        replayed[-1] += 1


class EnumeratedRace:
    """`Arrivals` whose every draw is a choice: the definition, in plain sums."""

    def __init__(self, p: list[float], choices: Choices, total: float = 1.0):
        self.p, self._choices, self._total = p, choices, total
        self.runs = [x > 0 for x in p]

    def _mass(self, tokens) -> float:
        return math.fsum(self.p[i] for i in tokens)

    def _running(self) -> list[int]:
        return [i for i, runs in enumerate(self.runs) if runs]

    def next(self) -> Arrival | None:
        running = self._running()
        if not running:
            return None
        mass = self._mass(running)
        token = running[self._choices.among([self.p[i] / mass for i in running])]
        self.runs[token] = False
        return Arrival(token, math.log(self.p[token] / self._total), math.log(mass / self._total))

    def put_back(self, token: int) -> None:
        self.runs[token] = True

    def log_mass(self) -> float:
        mass = self._mass(self._running())
        return math.log(mass / self._total) if mass else -math.inf

    def misses(self, at_most: float) -> float:
        """A geometric number: alternatives until they are too improbable to matter, or until `at_most`, which holds the rest."""
        gone = self._mass(i for i, x in enumerate(self.p) if x > 0 and not self.runs[i]) / self._mass(
            range(len(self.p))
        )
        if gone == 0:
            return 0
        if gone > 1 - 1e-9:
            return at_most
        alternatives: list[float] = []
        while len(alternatives) < at_most and gone ** len(alternatives) > TINY:
            alternatives.append(gone ** len(alternatives) * (1 - gone))
        if len(alternatives) == at_most:
            alternatives.append(gone**at_most)
        return self._choices.among(alternatives)
