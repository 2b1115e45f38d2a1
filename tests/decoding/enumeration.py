"""Every outcome of a sampler with its probability: it is run again for each way that its random choices can go.

The sampler asks a `Choices` for each of them. Choices replays a list of earlier ones and takes the first alternative from there
on; `outcomes` then goes through the alternatives that were passed by, as one counts: the last choice first.
"""

import math
from collections.abc import Callable, Iterator
from typing import TypeVar

from grammarlm.published.methods.exponential_race import Arrival

Result = TypeVar("Result")


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


def enumerated_race(p: list[float], choices: Choices, total: float = 1.0) -> Iterator[Arrival]:
    """Arrivals of which each is a choice: the definition, in plain sums."""
    running = [token for token, x in enumerate(p) if x > 0]
    while running:
        mass = math.fsum(p[token] for token in running)
        token = running.pop(choices.among([p[token] / mass for token in running]))
        yield Arrival(token, math.log(p[token] / total), math.log(mass / total))
