"""A regular expression as a reader of bytes: sets of configurations over a Thompson graph (`regex_program`).

`Oracle(pattern)` reads the UTF-8 bytes of a text and says at each byte whether the text so far matches (`re.fullmatch`)
and whether it can still be completed; `&`, `|`, `-` and `+` combine oracles. A pattern of bytes reads bytes as characters.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

from tests.oracles.automata import Automaton, State, Texts, TokenOracle, TooManyStates
from tests.oracles.code_points import Range, complement, intersect
from tests.oracles.regex_program import (
    START,
    Accept,
    Ahead,
    Behind,
    Char,
    Program,
    Split,
    UnreadablePattern,
    python_flags,
)

__all__ = ["Oracle", "Texts", "TokenOracle", "TooManyStates", "UnreadablePattern", "python_flags"]

_MOST_CONFIGURATIONS = 500

Duty = tuple[State, bool]


class Config(NamedTuple):
    """One way of having read the text so far.

    `rest`: byte ranges of the present character still to be read before `node` is reached. `behind`: the look-behind
    classes that the last character is in. `duties`: promises about all that follows, made by look-aheads, `$` and
    `\\b`; each is a state of this same automaton and whether it must accept at the end or must not.
    """

    rest: tuple[Range, ...]
    node: int
    behind: frozenset[Any]
    duties: frozenset[Duty]


class Oracle(Automaton):
    """The texts that `re.fullmatch(pattern, text)` matches, as UTF-8. States are numbers of sets of configurations."""

    def __init__(self, pattern: str | bytes, most_states: int = 500):
        super().__init__(most_states)
        self._program = Program(pattern)
        self._nodes = self._program.nodes
        self._numbers: dict[frozenset[Config], int] = {}
        self._configs: list[frozenset[Config]] = []
        self._pieces: dict[int, list[tuple[tuple[Range, ...], frozenset[Any]]]] = {}
        entry = self._closure(self._program.entry, frozenset([START]), frozenset())
        self.start = self._number(entry)

    def _number(self, configs: frozenset[Config]) -> int:
        if configs not in self._numbers:
            self._numbers[configs] = len(self._configs)
            self._configs.append(configs)
        return self._numbers[configs]

    def _closure(self, node: int, behind: frozenset[Any], duties: frozenset[Duty]) -> frozenset[Config]:
        """All configurations that read a character or accept, reached from `node` without reading."""
        seen = {(node, duties)}
        queue = [(node, duties)]
        reached = set()
        for at, owed in queue:
            found = self._nodes[at]
            steps: Iterable[tuple[int, frozenset[Duty]]] = ()
            if isinstance(found, (Char, Accept)):
                reached.add(Config((), at, behind, owed))
            elif isinstance(found, Split):
                steps = [(target, owed) for target in found.targets]
            elif isinstance(found, Behind):
                steps = [(found.then, owed)] if found.test(behind) else []
            elif isinstance(found, Ahead):
                promise = self._number(self._closure(found.body, behind, frozenset()))
                steps = [(found.then, owed | {(promise, found.wanted)})]
            queue += [step for step in steps if step not in seen]
            seen.update(steps)
            if len(queue) > _MOST_CONFIGURATIONS:
                raise TooManyStates(f"more than {_MOST_CONFIGURATIONS} ways of reading nothing")
        return frozenset(reached)

    def next_state(self, state: Any, byte: int) -> State:
        reached: set[Config] = set()
        for config in self._configs[state]:
            duties = self._advance_duties(config.duties, byte)
            if duties is None:
                continue
            for sequence, behind in self._ways_on(config):
                low, high = sequence[0]
                if not low <= byte <= high:
                    continue
                node = self._nodes[config.node].then if not config.rest else config.node  # type: ignore[union-attr]
                if len(sequence) > 1:
                    reached.add(Config(sequence[1:], node, behind, duties))
                else:
                    reached |= self._closure(node, behind, duties)
        return self._number(frozenset(reached)) if reached else None

    def _advance_duties(self, duties: frozenset[Duty], byte: int) -> frozenset[Duty] | None:
        """The promises one byte later; None where one is broken. One that can no longer be broken is dropped."""
        kept: set[Duty] = set()
        for state, wanted in duties:
            later = self.step(state, byte)
            if later is not None:
                kept.add((later, wanted))
            elif wanted:
                return None
        return frozenset(kept)

    def _ways_on(self, config: Config) -> list[tuple[tuple[Range, ...], frozenset[Any]]]:
        """Byte ranges to read next, with the look-behind classes of the character they spell."""
        if config.rest:
            return [(config.rest, config.behind)]
        node = self._nodes[config.node]
        if not isinstance(node, Char):
            return []
        if config.node not in self._pieces:
            pieces = [(node.ranges, frozenset[Any]())]
            for index, ranges in enumerate(self._program.behind_classes):
                inside = [(intersect(piece, ranges), behind | {index}) for piece, behind in pieces]
                pieces = inside + [
                    (intersect(piece, complement(ranges, self._program.alphabet)), behind) for piece, behind in pieces
                ]
            self._pieces[config.node] = [
                (sequence, behind)
                for piece, behind in pieces
                for low, high in piece
                for sequence in self._program.spell(low, high)
            ]
        return self._pieces[config.node]

    def accepts(self, state: Any) -> bool:
        return any(
            not config.rest
            and isinstance(self._nodes[config.node], Accept)
            and all(self.accepts(duty) is wanted for duty, wanted in config.duties)
            for config in self._configs[state]
        )

    def boundaries(self) -> set[int]:
        pieces = [self._ways_on(Config((), node, frozenset(), frozenset())) for node in range(len(self._nodes))]
        ranges = {each for ways in pieces for sequence, _ in ways for each in sequence}
        return {low for low, _ in ranges} | {high + 1 for _, high in ranges if high < 255}
