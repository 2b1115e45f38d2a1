"""The shortest strings of languages, and different ones: what ends a string in some state of an automaton."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from grammarlm.grammars.regular.terms import NOTHING
from grammarlm.layout.json import SHARED_BIT
from grammarlm.layout.json_strings import BODY, LAST_1, LAST_2, LEAD_E0, LEAD_ED
from grammarlm.masks.filters.budget import INFINITE
from grammarlm.masks.machines.json.formats import format_automata
from grammarlm.masks.machines.json.languages import LanguageStates

from .reader import Reader
from .texts import ORDER, SPELLED, SpelledCompletions, joined, preferred

MOST_STATES = 400  # states searched in a language, where its form alone gives no bound
# Bytes tried in a state, beginnings of one length, where many strings of a language are wanted.
MOST_BRANCHES, MOST_BEGINNINGS = 40, 256


class LanguageEndings:
    """What ends strings of the languages of one program."""

    def __init__(self, reader: Reader):
        self._reader = reader
        self._branches: dict[int, list[tuple[int, int]]] = {}

    @property
    def states(self) -> LanguageStates:
        """The states of the schema's own languages."""
        return self._reader.program.states

    def is_universal(self, state: int) -> bool:
        return not state & SHARED_BIT and bool(self.states.universal[state])

    def case(self, state: int) -> int:
        if state & SHARED_BIT:
            return int(format_automata().accepts[state & (SHARED_BIT - 1)])
        return int(self.states.accepts[state])

    def _completions(self) -> SpelledCompletions:
        program = self._reader.program
        if program.spelled is None:
            program.spelled = SpelledCompletions(self.states._algebra, program.limits.max_states, program.clock.check)
        return program.spelled

    def of_language(self, state: int) -> bytes | None:
        """What ends a string of a language."""
        known = ("language", state)
        if known not in self._reader.strings:
            self._reader.strings[known] = self._of_format(state) if state & SHARED_BIT else self._of_terms(state)
        return self._reader.strings[known]

    def _of_terms(self, state: int) -> bytes | None:
        texts = [self._completions().of(term) for term in self.states._vectors[state] if term is not NOTHING]
        return min((t for t in texts if t is not None), key=lambda t: (len(t), t), default=None)

    def _of_format(self, state: int) -> bytes:
        automata, at, text = format_automata(), state & (SHARED_BIT - 1), b""
        distances = automata.distances
        while distances[at] > 0:
            row = automata.table[at]
            nearer = np.flatnonzero((row > 0) & (distances[row] == distances[at] - 1))
            byte = preferred(sum(1 << int(b) for b in nearer))
            text, at = text + SPELLED[byte], int(row[byte])
        return text

    def ceiling(self, state: int) -> int:
        """Upper bound in bytes on the shortest end of a string in the language, from any state reachable from this one;
        INFINITE: not known."""
        known = self._reader.program.ceilings
        if state not in known:
            known[state] = self._find_ceiling(state)
        return known[state]

    def _find_ceiling(self, state: int) -> int:
        if state & SHARED_BIT:
            return 6 * int(format_automata().ceilings[state & (SHARED_BIT - 1)])
        known = [self._completions().ceiling(t) for t in self.states._vectors[state] if t is not NOTHING]
        if None not in known:
            return 6 * max(k for k in known if k is not None)
        seen, queue, longest = {state}, [state], 0
        while queue:
            here = queue.pop()
            end = self.of_language(here)
            if end is None or len(seen) > MOST_STATES:
                return INFINITE
            longest = max(longest, len(end))
            row = self._row_of(here)
            for after in set(row[row > 0].tolist()) - seen:
                seen.add(after)
                queue.append(after)
        return longest

    def _row_of(self, state: int) -> np.ndarray:
        """The transitions of a state of a language: the next state by byte, not above 0 where it is refused."""
        found: np.ndarray
        if state & SHARED_BIT:
            found = format_automata().table[state & (SHARED_BIT - 1)].astype(np.int64)
            return np.where(found > 0, found | SHARED_BIT, found)
        if not self.states._made[state]:
            self.states.make([state])
            self._reader.machine.update_languages()
        found = self.states.table[state]
        return found

    def _lengths(self, state: int) -> tuple[int, bool]:
        """(bits of the lengths in characters that can still come, whether longer ones than these bits cover can)."""
        states = self.states
        at = int(states.lengths_at[state])
        words = int(states.lengths[at])
        bits = int.from_bytes(states.lengths[at + 2 : at + 2 + words].tobytes(), "little")
        return bits, bool(states.lengths[at + 1])

    def of_length(self, state: int, inside: int, least: int, most: int) -> bytes | None:
        """What ends a string of a language with at least `least` and at most `most` characters more; `inside`: bytes
        missing from the character that has begun."""
        bits, has_longer = self._lengths(state)
        wanted = bits >> least << least
        if most >= 0:
            wanted &= (2 << most) - 1
        if not wanted and not (has_longer and most < 0):
            return None
        exact = (wanted & -wanted).bit_length() - 1 if wanted else None
        left, text = least if exact is None else exact, b""
        while left > 0 or inside:
            row = self._row_of(state)
            after = left if inside else left - 1
            good: dict[int, bool] = {}
            chosen = 0
            for byte in np.flatnonzero(row > 0).tolist():
                target = int(row[byte])
                if target not in good:
                    bits, has_longer = self._lengths(target)
                    good[target] = bool(bits >> after & 1 if exact is not None else has_longer or bits >> after)
                if good[target]:
                    chosen |= 1 << byte
            if not chosen:
                return None
            byte = preferred(chosen)
            text += SPELLED[byte]
            state, left = int(row[byte]), after
            inside = missing_after(byte, inside)
        return text if exact is not None else joined(text, self.of_language(state))

    def after(self, state: int, text: bytes) -> int:
        """The state after bytes that can be read."""
        for byte in text:
            state = int(self._row_of(state)[byte])
        return state

    def beginnings(self, state: int, inside: int) -> Iterator[tuple[bytes, int, int]]:
        """Prefixes of the strings of a language, decoded, short ones first; the state after it; is it within a character?"""
        level = [(b"", state, bytes_missing(inside))]
        yield b"", state, inside
        while level:
            following = []
            for text, here, missing in level:
                if here not in self._branches:
                    row = self._row_of(here)
                    chosen = sorted(np.flatnonzero(row > 0).tolist(), key=ORDER.index)[:MOST_BRANCHES]
                    self._branches[here] = [(byte, int(row[byte])) for byte in chosen]
                following += [
                    (text + bytes([b]), after, missing_after(b, missing)) for b, after in self._branches[here]
                ]
            level = following[:MOST_BEGINNINGS]
            yield from ((text, here, LAST_1 if missing else BODY) for text, here, missing in level)


def bytes_missing(sub: int) -> int:
    """The bytes missing from the character that a string's thread stands in."""
    return 0 if sub < LAST_1 else 1 if sub == LAST_1 else 2 if sub in (LAST_2, LEAD_E0, LEAD_ED) else 3


def missing_after(byte: int, missing: int) -> int:
    """The bytes missing from a character after one more."""
    return missing - 1 if missing else (byte >= 0xC0) + (byte >= 0xE0) + (byte >= 0xF0)
