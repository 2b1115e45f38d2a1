"""How the bytes of a text are read in its parts, and over their ends."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple, Protocol, TypeVar

from grammarlm.errors import GrammarError, LimitExceeded
from grammarlm.grammars.part_edges import NO_WORD, Counts, Edge, may_leave
from grammarlm.grammars.part_graph import PartGraph
from grammarlm.masks.automaton import Automaton
from grammarlm.masks.filters.budget import costs_of
from grammarlm.masks.protocol import Epoch
from grammarlm.masks.runtime.limits import Limits
from grammarlm.masks.token_facts import TokenFacts
from grammarlm.vocab.vocabulary import Vocabulary

from .clocks import Clocks

WIDEST = 256  # places of one text
MANY = 64  # above this number, equal places are merged: merging takes as long as reading some bytes
MOST_KNOWN = 4096  # ends of parts whose continuations are kept
MOST_STEPS = 1 << 15  # tokens read within parts that are kept


class Tally(NamedTuple):
    """What a text has counted where it stands in a part."""

    counts: Counts = ()  # the turns of the counted loops around the part
    left: int | None = None  # tokens that may still have bytes of the part; None: any number
    read: bytes = b""  # the bytes of the part so far, where it is one of words


NOTHING = Tally()
Place = tuple[int, Epoch, int, Tally]  # a part, an epoch of its automaton, a state there
Made = TypeVar("Made")


class Parts(Protocol):
    """What is read of a program: its parts with their automata, and what follows each."""

    vocab: Vocabulary
    limits: Limits
    facts: TokenFacts
    clock: Clocks
    graph: PartGraph
    automata: list[Automaton]
    machines: list[Automaton]  # the distinct ones
    has_items: list[bool]
    most_tokens: list[int | None]  # that may have bytes of a part
    byte_tokens: list[int]

    def text_of(self, token: int) -> bytes: ...


class PartsReader:
    """Reads bytes in the parts, and over their ends."""

    def __init__(self, program: Parts):
        self.program = program
        self._edges = [_by_word(edges) for edges in program.graph.edges]
        self._has_words = [number in program.graph.words for number in range(len(program.automata))]
        self._entered: dict[tuple[int, Counts, bytes], tuple[tuple[int, Tally], ...]] = {}
        self._steps: dict[tuple[Epoch, int, int], tuple[Epoch, int]] = {}  # by epoch, state and token

    # ------------------------------------------------------------------ from part to part

    def begin(self, found: dict[Place, None]) -> None:
        """Adds the beginnings of the first parts."""
        self._enter(self._closed([(edge, (), frozenset()) for edge in self.program.graph.begins]), found)

    def go_on(self, part: int, tally: Tally, found: dict[Place, None]) -> None:
        """Adds the beginnings of what follows a part that ends here."""
        self._enter(self.behind(part, tally), found)

    def behind(self, part: int, tally: Tally) -> tuple[tuple[int, Tally], ...]:
        """The parts that may begin where a part ends, each with its tally, and what follows those that may be empty."""
        key = part, tally.counts, tally.read
        known = self._entered.get(key)
        if known is None:
            out = self._edges[part].get(tally.read, ())
            known = self._closed([(edge, tally.counts, frozenset()) for edge in out])
            if len(self._entered) >= MOST_KNOWN:
                self._entered.clear()
            self._entered[key] = known
        return known

    def _closed(self, waiting: list[tuple[Edge, Counts, frozenset[int]]]) -> tuple[tuple[int, Tally], ...]:
        """A loop takes one turn at most, since further ones would be empty."""
        found, seen = dict[tuple[int, Tally], None](), set()
        while waiting:
            edge, counts, begun = waiting.pop()
            if edge.again is not None and edge.again.number in begun:
                continue
            after = edge.after(counts)
            key = edge.part, after, begun | edge.begun
            if after is None or key in seen:
                continue
            seen.add(key)
            found[edge.part, self._tally(edge.part, after)] = None
            automaton = self.program.automata[edge.part]
            epoch, state = automaton.renew(automaton.program.start)
            if epoch.accepting[state]:
                waiting += [(further, after, key[2]) for further in self._edges[edge.part].get(b"", ())]
        return tuple(found)

    def _tally(self, part: int, counts: Counts) -> Tally:
        most = self.program.most_tokens[part]
        return NOTHING if not counts and most is None else Tally(counts, most)

    def _enter(self, parts: Iterable[tuple[int, Tally]], found: dict[Place, None]) -> None:
        for part, tally in parts:
            automaton = self.program.automata[part]
            epoch, state = automaton.renew(automaton.program.start)
            found[part, epoch, state, tally] = None

    def may_end(self, part: int, tally: Tally) -> bool:
        """May the text end where this part does?"""
        graph = self.program.graph
        return part in graph.ends and may_leave(graph.loops[part], tally.counts)

    # ------------------------------------------------------------------ within a part

    def inside(self, place: Place, make: Callable[[Epoch, int], Made]) -> tuple[Epoch, Made]:
        """An epoch of the part's automaton, and the result of `make` at the place there; in a new epoch where the old
        one is full."""
        part, epoch, state, _ = place
        automaton = self.program.automata[part]
        with automaton.lock:
            self.program.clock.join(automaton.program.clock)
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

    def after_token(self, place: Place, token: int, data: bytes, found: dict[Place, None]) -> None:
        """Adds the places after a token within the part."""
        part, _, _, tally = place
        if tally.left == 0:
            return
        key = *place[1:3], token
        known = self._steps.get(key)
        if known is None:  # kept, since a machine may give one state of a text new numbers in each turn of a loop
            known = self.inside(place, lambda epoch, state: epoch.after_token(state, token))
            if len(self._steps) >= MOST_STEPS:
                self._steps.clear()
            self._steps[key] = known
        epoch, after = known
        if after:
            self._land((part, epoch, after, self._counted(part, tally, data)), found)

    def _counted(self, part: int, tally: Tally, data: bytes) -> Tally:
        """After a token whose bytes are these."""
        if tally.left is None and not self._has_words[part]:
            return tally
        left = tally.left if tally.left is None else tally.left - 1
        return Tally(tally.counts, left, tally.read + data if self._has_words[part] else b"")

    def _land(self, place: Place, found: dict[Place, None]) -> None:
        """Adds a place, if its part can be ended in time, and what follows where the part may end."""
        part, epoch, state, tally = place
        if tally.left is not None and not self._is_in_time(place):
            return
        found[place] = None
        if epoch.accepting[state]:
            self.go_on(part, tally, found)

    def _is_in_time(self, place: Place) -> bool:
        left = place[3].left
        assert left is not None
        return self.inside(place, lambda epoch, state: costs_of(epoch).falling(epoch, state))[1] <= left

    # ------------------------------------------------------------------ over the ends of parts

    def read_across(self, places: Iterable[Place], data: bytes) -> dict[Place, None]:
        """The places after one token, for those readings in which a prefix of it ends the part of a place."""
        inside = [place for place in places if place[3].left != 0]
        across = dict[Place, bool]()  # does the token count for the part?
        for offset, byte in enumerate(data):
            self.program.clock.tick()
            further: dict[Place, bool] = {}
            for place, counts in across.items():
                if not self.program.has_items[place[0]]:
                    self._read_byte(place, byte, counts, further)
            still = []
            for place in inside if offset + 1 < len(data) else ():
                epoch, after = self.inside(place, _byte(self.program.byte_tokens[byte], byte))
                if after:
                    part, tally = place[0], place[3]
                    if self._has_words[part]:
                        tally = tally._replace(read=tally.read + bytes([byte]))
                    still.append((part, epoch, after, tally))
                    if epoch.accepting[after]:
                        self._begin_within(part, tally, further)
            inside, across = still, self._thinned(further)
            if not inside and not across:
                break
        return {place: None for place, counts in across.items() if not counts or self._is_in_time(place)}

    def _begin_within(self, part: int, tally: Tally, found: dict[Place, bool]) -> None:
        begun: dict[Place, None] = {}
        self.go_on(part, tally, begun)
        for place in begun:
            found.setdefault(place, False)

    def _read_byte(self, place: Place, byte: int, counts: bool, found: dict[Place, bool]) -> None:
        """One byte in a part that has begun within the token; the token counts for a part with a most of tokens."""
        part, _, _, tally = place
        epoch, after = self.inside(place, _byte(self.program.byte_tokens[byte], byte))
        if not after or (tally.left == 0 and not counts):
            return
        if self._has_words[part]:
            tally = tally._replace(read=tally.read + bytes([byte]))
        if tally.left is not None and not counts:
            tally, counts = tally._replace(left=tally.left - 1), True
        found.setdefault((part, epoch, after, tally), counts)
        if epoch.accepting[after]:
            self._begin_within(part, tally, found)

    def read(self, places: Iterable[Place], data: bytes) -> dict[Place, None]:
        """The places after bytes, in any tokenization: items are read by tokens that these bytes spell, and parts with a most of
        tokens count none."""
        at: list[dict[Place, bool]] = [{} for _ in range(len(data) + 1)]
        at[0] = dict.fromkeys(places, True)
        for offset, byte in enumerate(data):
            self.program.clock.tick()
            for place in self._thinned(at[offset]):
                if self.program.has_items[place[0]]:
                    epoch, found = self.inside(place, _spelled(data, offset))
                    for length, after in found:
                        landed: dict[Place, None] = {}
                        self._land((place[0], epoch, after, place[3]), landed)
                        at[offset + length].update(dict.fromkeys(landed, True))
                else:
                    self._read_byte(place, byte, True, at[offset + 1])
        last = self._thinned(at[-1])
        return {place: None for place in last if place[3].left is None or self._is_in_time(place)}

    def thinned(self, places: dict[Place, None]) -> dict[Place, None]:
        return dict.fromkeys(self._thinned(dict.fromkeys(places, False)))

    def _thinned(self, places: dict[Place, bool]) -> dict[Place, bool]:
        """The places without duplicates: a part may have several numbers for one state of the text."""
        if len(places) <= MANY:
            return places
        kept = {(part, epoch.terms[state], tally): (part, epoch, state, tally) for part, epoch, state, tally in places}
        if len(kept) > WIDEST:
            raise LimitExceeded(
                f"the text can be read in more than {WIDEST} ways at once; make the parts of the grammar end where only one can"
            )
        return {place: places[place] for place in kept.values()}


def _by_word(edges: list[Edge]) -> dict[bytes, list[Edge]]:
    found: dict[bytes, list[Edge]] = {}
    for edge in edges:
        found.setdefault(edge.word.encode() if edge.word != NO_WORD else b"", []).append(edge)
    return found


def _byte(token: int, byte: int) -> Callable[[Epoch, int], int]:
    if token >= 0:
        return lambda epoch, state: epoch.after_token(state, token)
    return lambda epoch, state: epoch.after_bytes(state, bytes([byte]))


def _spelled(data: bytes, at: int) -> Callable[[Epoch, int], list[tuple[int, int]]]:
    return lambda epoch, state: epoch.spelled(state, data, at)
