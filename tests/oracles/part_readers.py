"""Readers of parts that no pattern tells: text up to a marker, and what rules derive."""

from collections.abc import Iterable
from typing import Any, NamedTuple

from grammarlm.grammars.cfg.rules import Rules
from tests.oracles.automata import Automaton, State
from tests.oracles.cfg_oracle import CfgOracle

# First bytes of characters; how many bytes follow, and between which two the next one is.
LEADS = [
    (0x00, 0x7F, (0, 0, 0)),
    (0xC2, 0xDF, (1, 0x80, 0xBF)),
    (0xE0, 0xE0, (2, 0xA0, 0xBF)),
    (0xE1, 0xEC, (2, 0x80, 0xBF)),
    (0xED, 0xED, (2, 0x80, 0x9F)),
    (0xEE, 0xEF, (2, 0x80, 0xBF)),
    (0xF0, 0xF0, (3, 0x90, 0xBF)),
    (0xF1, 0xF3, (3, 0x80, 0xBF)),
    (0xF4, 0xF4, (3, 0x80, 0x8F)),
]
WHOLE = (0, 0, 0)


class Read(NamedTuple):
    """What was read last that a marker begins with; what is missing of a character; how many characters there were."""

    last: bytes = b""
    missing: tuple[int, int, int] = WHOLE
    characters: int = 0
    is_marked: bool = False


class MarkedText(Automaton):
    """UTF-8 up to the first occurrence of a marker, with at most so many characters before it."""

    def __init__(self, markers: Iterable[str], most_characters: int | None = None):
        super().__init__(most_states=5_000)
        self._markers = [(marker.encode(), len(marker)) for marker in markers]
        self._longest = max(length for _, length in self._markers)
        self._most = most_characters
        self.start = Read()

    def next_state(self, state: Read, byte: int) -> State:
        count, low, high = state.missing
        follows = [(count - 1, 0x80, 0xBF)] if low <= byte <= high else []
        begins = [missing for first, last, missing in LEADS if first <= byte <= last]
        fits = follows if count else begins
        if state.is_marked or not fits:
            return None
        missing = fits[0] if fits[0][0] else WHOLE
        characters = state.characters if self._most is None else state.characters + (missing == WHOLE)
        last = state.last + bytes([byte])
        found = [length for data, length in self._markers if last.endswith(data)]
        if found:
            is_short = self._most is None or characters - max(found) <= self._most
            return Read(is_marked=True) if is_short else None
        if self._most is not None and characters > self._most + self._longest:
            return None
        tails = (last[at:] for at in range(len(last)) if any(data.startswith(last[at:]) for data, _ in self._markers))
        return Read(next(tails, b""), missing, characters)

    def accepts(self, state: Read) -> bool:
        return state.is_marked

    def boundaries(self) -> set[int]:
        marked = {byte for data, _ in self._markers for byte in data}
        edges = {edge for first, last, missing in LEADS for edge in (first, last + 1, missing[1], missing[2] + 1)}
        return {near for byte in marked for near in (byte, byte + 1)} | edges - {256}


class Derived(Automaton):
    """What rules derive, by Earley's recogniser: its columns are the states, none of them a dead end."""

    def __init__(self, rules: Rules):
        super().__init__()
        self._oracle = CfgOracle(rules)
        self.start = self._oracle.start

    def step(self, state: Any, byte: int) -> State:
        return self._oracle.step(state, byte)

    def completable_bytes(self, state: State) -> bool:
        return state is not None

    def accepts(self, state: Any) -> bool:
        return bool(state.complete)
