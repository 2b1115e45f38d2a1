"""How the bytes of a text are read in its parts, and over their ends."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Protocol, TypeVar

from grammarlm.errors import GrammarError, LimitExceeded
from grammarlm.grammars.part_graph import PartGraph
from grammarlm.masks.automaton import Automaton
from grammarlm.masks.protocol import Epoch
from grammarlm.masks.runtime.limits import Clock, Limits
from grammarlm.masks.token_facts import TokenFacts
from grammarlm.vocab.vocabulary import Vocabulary

WIDEST = 256  # places of one text
MANY = 64  # above this number, equal places are merged: merging takes as long as reading some bytes
Place = tuple[int, Epoch, int]  # a part, an epoch of its automaton, a state there
Made = TypeVar("Made")


class Parts(Protocol):
    """What is read of a program: its parts with their automata, and what follows each."""

    vocab: Vocabulary
    limits: Limits
    facts: TokenFacts
    clock: Clock
    graph: PartGraph
    automata: list[Automaton]
    machines: list[Automaton]  # the distinct ones
    has_items: list[bool]
    byte_tokens: list[int]

    def text_of(self, token: int) -> bytes: ...


class PartsReader:
    """Reads bytes in the parts, and over their ends."""

    def __init__(self, program: Parts):
        self.program = program

    def enter(self, parts: Iterable[int], found: dict[Place, None]) -> None:
        """Adds the beginnings of parts, and of what follows those that may be empty."""
        waiting, seen = list(parts), set()
        while waiting:
            part = waiting.pop()
            if part not in seen:
                seen.add(part)
                automaton = self.program.automata[part]
                epoch, state = automaton.renew(automaton.program.start)
                found[part, epoch, state] = None
                if epoch.accepting[state]:
                    waiting += self.program.graph.follow[part]

    def inside(self, place: Place, make: Callable[[Epoch, int], Made]) -> tuple[Epoch, Made]:
        """An epoch of the part's automaton, and the result of `make` at the place there; in a new epoch where the old
        one is full."""
        part, epoch, state = place
        automaton = self.program.automata[part]
        with automaton.lock:
            if epoch.is_full:
                epoch, state = automaton.renew(epoch.terms[state])
            try:
                return epoch, make(epoch, state)
            except LimitExceeded:
                if not epoch.is_full:
                    raise
                epoch, state = automaton.renew(epoch.terms[state])
                return epoch, make(epoch, state)
            except GrammarError:
                raise
            except BaseException:
                epoch.close()
                raise

    def read_across(self, places: Iterable[Place], data: bytes) -> dict[Place, None]:
        """The places after one token, for those readings in which a prefix of it ends the part of a place."""
        inside, across = list(places), dict[Place, None]()
        for offset, byte in enumerate(data):
            self.program.clock.tick()
            further: dict[Place, None] = {}
            for place in across:
                if not self.program.has_items[place[0]]:
                    self._read_byte(place, byte, further)
            still = []
            for place in inside if offset + 1 < len(data) else ():
                epoch, after = self.inside(place, _byte(self.program.byte_tokens[byte], byte))
                if after:
                    still.append((place[0], epoch, after))
                    if epoch.accepting[after]:
                        self.enter(self.program.graph.follow[place[0]], further)
            inside, across = still, self.thinned(further)
            if not inside and not across:
                break
        return across

    def read(self, places: Iterable[Place], data: bytes) -> dict[Place, None]:
        """The places after bytes, in any tokenization: items are read by tokens that these bytes spell."""
        at: list[dict[Place, None]] = [{} for _ in range(len(data) + 1)]
        at[0] = dict.fromkeys(places)
        for offset, byte in enumerate(data):
            self.program.clock.tick()
            for place in self.thinned(at[offset]):
                if self.program.has_items[place[0]]:
                    epoch, found = self.inside(place, _spelled(data, offset))
                    for length, after in found:
                        self.land(place[0], epoch, after, at[offset + length])
                else:
                    self._read_byte(place, byte, at[offset + 1])
        return self.thinned(at[-1])

    def _read_byte(self, place: Place, byte: int, found: dict[Place, None]) -> None:
        epoch, after = self.inside(place, _byte(self.program.byte_tokens[byte], byte))
        if after:
            self.land(place[0], epoch, after, found)

    def land(self, part: int, epoch: Epoch, state: int, found: dict[Place, None]) -> None:
        """Adds a place, and what follows it where the part may end."""
        found[part, epoch, state] = None
        if epoch.accepting[state]:
            self.enter(self.program.graph.follow[part], found)

    def thinned(self, places: dict[Place, None]) -> dict[Place, None]:
        """The places without duplicates: a part may have several numbers for one state of the text."""
        if len(places) <= MANY:
            return places
        kept = {(part, epoch.terms[state]): (part, epoch, state) for part, epoch, state in places}
        if len(kept) > WIDEST:
            raise LimitExceeded(
                f"the text can be read in more than {WIDEST} ways at once; make the parts of the grammar end where only one can"
            )
        return dict.fromkeys(kept.values())


def _byte(token: int, byte: int) -> Callable[[Epoch, int], int]:
    if token >= 0:
        return lambda epoch, state: epoch.after_token(state, token)
    return lambda epoch, state: epoch.after_bytes(state, bytes([byte]))


def _spelled(data: bytes, at: int) -> Callable[[Epoch, int], list[tuple[int, int]]]:
    return lambda epoch, state: epoch.spelled(state, data, at)
