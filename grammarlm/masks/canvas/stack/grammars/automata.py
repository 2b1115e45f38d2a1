"""Small finite automata over letters: made deterministic, then as small as they can be."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass

from grammarlm.errors import LimitExceeded

MOST_STATES = 1 << 14
Letter = Hashable
Label = Hashable


@dataclass(frozen=True)
class Automaton:
    """Deterministic; state 0 is the first. Each state leads to a final one."""

    edges: list[dict[Letter, int]]
    final: list[bool]
    labels: list[Label]  # of each state, by the letter that leads to it


class Drawing:
    """An automaton with empty edges, drawn piece by piece."""

    def __init__(self, label_of: Callable[[Letter], Label], check: Callable[[], None]):
        self._label_of, self._check = label_of, check
        self._edges: list[list[tuple[Letter, int]]] = []
        self._empty: list[list[int]] = []

    def state(self) -> int:
        self._edges.append([])
        self._empty.append([])
        if len(self._edges) > 64 * MOST_STATES:
            raise LimitExceeded("a canvas: the grammar's rules without recursion have too many states; simplify it")
        return len(self._edges) - 1

    def empty(self, source: int, target: int) -> None:
        self._empty[source].append(target)

    def letter(self, source: int, letter: Letter) -> int:
        target = self.state()
        self._edges[source].append((letter, target))
        return target

    def copy(self, source: int, other: Automaton) -> int:
        """What another automaton reads, then the state returned."""
        first = [self.state() for _ in other.edges]
        target = self.state()
        self.empty(source, first[0])
        for here, edges, final in zip(first, other.edges, other.final, strict=True):
            self._edges[here] += [(letter, first[after]) for letter, after in edges.items()]
            if final:
                self.empty(here, target)
        return target

    def automaton(self, start: int, final: int) -> Automaton:
        """What leads from one state to another."""
        first: tuple[frozenset[int], Label] = (self._closed([start]), None)
        numbers: dict[tuple[frozenset[int], Label], int] = {first: 0}
        order, edges = [first], list[dict[Letter, int]]()
        for states, _ in order:
            self._check()
            by_letter: dict[Letter, set[int]] = {}
            for state in states:
                for letter, target in self._edges[state]:
                    by_letter.setdefault(letter, set()).add(target)
            here: dict[Letter, int] = {}
            for letter, targets in by_letter.items():
                after = self._closed(targets), self._label_of(letter)
                if after not in numbers:
                    numbers[after] = len(order)
                    order.append(after)
                here[letter] = numbers[after]
            edges.append(here)
            if len(order) > MOST_STATES:
                raise LimitExceeded("a canvas: the grammar's rules without recursion have too many states; simplify it")
        return _smallest(edges, [final in states for states, _ in order], [label for _, label in order], self._check)

    def _closed(self, states: Iterable[int]) -> frozenset[int]:
        found = set(states)
        waiting = list(found)
        while waiting:
            for after in self._empty[waiting.pop()]:
                if after not in found:
                    found.add(after)
                    waiting.append(after)
        return frozenset(found)


def _smallest(
    edges: list[dict[Letter, int]], final: list[bool], labels: list[Label], check: Callable[[], None]
) -> Automaton:
    """States that do the same are one; those that lead to no final state are none."""
    before: list[list[int]] = [[] for _ in edges]
    for state, here in enumerate(edges):
        for target in here.values():
            before[target].append(state)
    alive = {state for state, is_final in enumerate(final) if is_final}
    waiting = list(alive)
    while waiting:
        for state in before[waiting.pop()]:
            if state not in alive:
                alive.add(state)
                waiting.append(state)
    kept = [{letter: target for letter, target in here.items() if target in alive} for here in edges]
    of = alike(kept, final, labels, check)
    # Numbered as they are met from the first state on.
    place = {of[0]: 0}
    order = [0]
    found: list[dict[Letter, int]] = []
    for state in order:
        here = {}
        for letter, target in kept[state].items():
            if of[target] not in place:
                place[of[target]] = len(order)
                order.append(target)
            here[letter] = place[of[target]]
        found.append(here)
    return Automaton(found, [final[s] for s in order], [labels[s] for s in order])


def alike(
    edges: list[dict[Letter, int]], final: list[bool], labels: Sequence[Label], check: Callable[[], None]
) -> list[int]:
    """A number for each state, the same for states that do the same."""
    groups: dict[Hashable, int] = {}
    of = [groups.setdefault((final[s], labels[s]), len(groups)) for s in range(len(edges))]
    while True:
        check()
        finer: dict[Hashable, int] = {}
        now = [
            finer.setdefault(
                (of[s], frozenset((letter, of[target]) for letter, target in edges[s].items())), len(finer)
            )
            for s in range(len(edges))
        ]
        if len(finer) == len(groups):
            return of
        groups, of = finer, now
