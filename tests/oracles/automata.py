"""Deterministic readers of bytes, their combinations, and the masks they imply: slow and obviously right.

An automaton is a start state, a step and a verdict; everything else (completion, masks) is a search over its states.
States are hashable and opaque. `None` is the state after bytes that no text of the language starts with; a state that
is not None may still be a dead end, `completable_bytes` tells.
"""

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any

State = Hashable


class TooManyStates(Exception):
    """The search grew beyond what a test wants to wait for; the caller draws another case."""


class Completion:
    """Can an accepting state be reached from here? A least fixpoint over the reachable graph, remembered."""

    def __init__(
        self, successors: Callable[[Any], Iterable[State]], accepts: Callable[[Any], bool], most_states: int = 500
    ):
        self._successors = successors
        self._accepts = accepts
        self._most_states = most_states
        self._known: dict[State, bool] = {}

    def holds(self, state: State) -> bool:
        if state not in self._known:
            self._explore(state)
        return self._known[state]

    def _explore(self, start: State) -> None:
        before: dict[State, list[State]] = {start: []}
        queue = [start]
        for state in queue:
            for target in set(self._successors(state)):
                if target not in before:
                    before[target] = []
                    queue.append(target)
                before[target].append(state)
            if len(queue) > self._most_states:
                raise TooManyStates(f"more than {self._most_states} states")
        alive = {state for state in queue if self._known.get(state) or self._accepts(state)}
        spread = list(alive)
        for state in spread:
            fresh = set(before[state]) - alive
            alive |= fresh
            spread += fresh
        self._known.update((state, state in alive) for state in queue)


class Automaton:
    """A language of byte strings. Subclasses give `start`, `next_state`, `accepts` and `boundaries`."""

    start: State

    def __init__(self, most_states: int = 500) -> None:
        self._steps: dict[tuple[State, int], State] = {}
        self._completion = Completion(self._byte_successors, self.accepts, most_states)
        self._representatives: set[int] = set()

    def next_state(self, state: Any, byte: int) -> State:
        raise NotImplementedError

    def accepts(self, state: Any) -> bool:
        raise NotImplementedError

    def boundaries(self) -> set[int]:
        """The bytes at which behaviour may change: those between two of them are all treated alike."""
        raise NotImplementedError

    def step(self, state: State, byte: int) -> State:
        key = (state, byte)
        if key not in self._steps:
            self._steps[key] = self.next_state(state, byte)
        return self._steps[key]

    def read(self, state: State, data: bytes) -> State:
        """The state after `data`, or None where no text of the language goes that way."""
        for byte in data:
            if state is None:
                return None
            state = self.step(state, byte)
        return state

    def completable_bytes(self, state: State) -> bool:
        """Whether some bytes lead from here to a text of the language."""
        return state is not None and self._completion.holds(state)

    def matches(self, data: bytes) -> bool:
        state = self.read(self.start, data)
        return state is not None and self.accepts(state)

    def _byte_successors(self, state: State) -> list[State]:
        if not self._representatives:
            self._representatives = self.boundaries() | {0}
        targets = (self.step(state, byte) for byte in self._representatives)
        return [target for target in targets if target is not None]

    def __and__(self, other: "Automaton") -> "Automaton":
        return Product(self, other, lambda a, b: a and b)

    def __or__(self, other: "Automaton") -> "Automaton":
        return Product(self, other, lambda a, b: a or b)

    def __sub__(self, other: "Automaton") -> "Automaton":
        return Product(self, other, lambda a, b: a and not b)

    def __add__(self, other: "Automaton") -> "Automaton":
        return Sequel(self, other)


class Texts(Automaton):
    """A finite set of byte strings. The state is what was read."""

    def __init__(self, texts: Iterable[bytes]):
        super().__init__()
        self._texts = frozenset(texts)
        self._beginnings = {text[:length] for text in self._texts for length in range(len(text) + 1)}
        self.start = b"" if self._texts else None

    def next_state(self, state: bytes, byte: int) -> State:
        longer = state + bytes([byte])
        return longer if longer in self._beginnings else None

    def accepts(self, state: bytes) -> bool:
        return state in self._texts

    def boundaries(self) -> set[int]:
        return {near for text in self._texts for byte in text for near in (byte, min(byte + 1, 255))}


class Product(Automaton):
    """Both run side by side on the same bytes; a truth table combines their verdicts."""

    def __init__(self, a: Automaton, b: Automaton, verdict: Callable[[bool, bool], bool]):
        super().__init__()
        self._a, self._b, self._verdict = a, b, verdict
        self.start = (a.start, b.start)

    def next_state(self, state: tuple[State, State], byte: int) -> State:
        a, b = self._a.read(state[0], bytes([byte])), self._b.read(state[1], bytes([byte]))
        no_a_is_the_end = a is None and not self._verdict(False, True)
        no_b_is_the_end = b is None and not self._verdict(True, False)
        return None if no_a_is_the_end or no_b_is_the_end or (a is None and b is None) else (a, b)

    def accepts(self, state: tuple[State, State]) -> bool:
        a, b = state
        return self._verdict(a is not None and self._a.accepts(a), b is not None and self._b.accepts(b))

    def boundaries(self) -> set[int]:
        return self._a.boundaries() | self._b.boundaries()


class Sequel(Automaton):
    """A text of `a`, then one of `b`: wherever `a` may end, `b` may start, so `b` is in a set of states."""

    def __init__(self, a: Automaton, b: Automaton):
        super().__init__()
        self._a, self._b = a, b
        self.start = self._with_starts(a.start, set())

    def _with_starts(self, a: State, b: set[State]) -> State:
        if a is not None and self._a.accepts(a):
            b = b | {self._b.start}
        b = b - {None}
        return None if a is None and not b else (a, frozenset(b))

    def next_state(self, state: tuple[State, frozenset[State]], byte: int) -> State:
        a, b = state
        return self._with_starts(self._a.read(a, bytes([byte])), {self._b.step(each, byte) for each in b})

    def accepts(self, state: tuple[State, frozenset[State]]) -> bool:
        return any(self._b.accepts(each) for each in state[1])

    def boundaries(self) -> set[int]:
        return self._a.boundaries() | self._b.boundaries()


class TokenOracle:
    """The exactness law, word for word: which tokens may come next in a state, by trying every one of them."""

    def __init__(
        self,
        oracle: Automaton,
        tokens: Sequence[bytes],
        stop_ids: Iterable[int],
        special_ids: Iterable[int] = (),
        most_states: int = 500,
    ):
        self.oracle = oracle
        self.stop_ids = frozenset(stop_ids)
        never = self.stop_ids | frozenset(special_ids)
        self.texts = {token: data for token, data in enumerate(tokens) if data and token not in never}
        self._moves: dict[State, dict[int, State]] = {}
        self._completion = Completion(lambda state: self.moves(state).values(), oracle.accepts, most_states)

    @property
    def start(self) -> State:
        return self.oracle.start

    def moves(self, state: State) -> dict[int, State]:
        """Token -> state, for the tokens whose bytes can be read here, whether or not anything can follow them."""
        if state not in self._moves:
            after = {token: self.oracle.read(state, data) for token, data in self.texts.items()}
            self._moves[state] = {token: target for token, target in after.items() if target is not None}
        return self._moves[state]

    def completable(self, state: State) -> bool:
        """Whether tokens of the vocabulary lead from here to a text of the language."""
        return state is not None and self._completion.holds(state)

    def mask(self, state: State) -> set[int]:
        """The ids allowed in a state."""
        allowed = {token for token, target in self.moves(state).items() if self.completable(target)}
        return allowed | self.stop_ids if self.oracle.accepts(state) else allowed

    def after(self, state: State, token: int) -> State:
        """The state after an allowed text token."""
        return self.moves(state)[token]
