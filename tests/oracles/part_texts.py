"""Texts of parts in a row, one of several, or many times over: a set of places, each a part that is read and what must follow it.

    Plain(automaton)                     the texts that an automaton reads; `most_tokens`: so many tokens have bytes of it
    Items(((17, 4), (17, 5)))            sequences of token ids, begun and ended between tokens
    Row((a, b)), Either((a, b))          one after the other; one of them
    Times(body, 2, None, separator)      two or more

    PartTexts(part)                      reads bytes, as any automaton does, and tokens
    PartTokens(texts, token_list)        which tokens may come next, by trying every one

What must follow is a row of parts that is unrolled as it is met: a repeat that may go on is replaced by its body and one
repeat less. Nothing is known here of graphs, counts in states, or borders.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

from tests.laws.vocabularies import TokenList
from tests.oracles.automata import Automaton, State, TokenOracle


@dataclass(frozen=True, eq=False)
class Plain:
    """A part that is read byte by byte."""

    automaton: Automaton
    most_tokens: int | None = None


@dataclass(frozen=True, eq=False)
class Items:
    """Sequences of ids. `is_spelled`: bytes alone are read as an item, too, where they are those of its tokens."""

    sequences: tuple[tuple[int, ...], ...]
    is_spelled: bool = True


@dataclass(frozen=True, eq=False)
class Row:
    parts: tuple["Part", ...]


@dataclass(frozen=True, eq=False)
class Either:
    parts: tuple["Part", ...]


@dataclass(frozen=True, eq=False)
class Times:
    body: "Part"
    fewest: int = 0
    most: int | None = None
    separator: "Part | None" = None


Part = Plain | Items | Row | Either | Times
Rest = tuple[Part, ...]
Fewest = Callable[[Plain, State], int]  # tokens that end a part


class Place(NamedTuple):
    """One way of having read the text: where it stands within a part, and the parts that must follow.

    `used`: how many tokens have bytes of a part that has a deadline; `is_counted`: the one that is being read is one of them."""

    part: Plain | Items
    state: Any
    rest: Rest
    used: int = 0
    is_counted: bool = False


END = Place(Items(()), (), ())


@lru_cache(1 << 14)
def has_text(part: Part) -> bool:
    if isinstance(part, Plain):
        return part.automaton.completable_bytes(part.automaton.start)
    return bool(part.sequences) if isinstance(part, Items) else _of_parts(part, has_text)


@lru_cache(1 << 14)
def may_be_empty(part: Part) -> bool:
    if isinstance(part, Plain):
        return has_text(part) and part.automaton.accepts(part.automaton.start)
    return () in part.sequences if isinstance(part, Items) else _of_parts(part, may_be_empty)


def _of_parts(part: Row | Either | Times, holds: Callable[[Part], bool]) -> bool:
    """What holds of a combination where it holds of parts that are enough for a text."""
    if isinstance(part, Times):
        between = part.separator is None or part.fewest < 2 or holds(part.separator)
        return part.fewest == 0 or (between and holds(part.body))
    return all(map(holds, part.parts)) if isinstance(part, Row) else any(map(holds, part.parts))


@lru_cache(1 << 14)
def once_more(repeat: Times) -> Times:
    """What may follow after a first body."""
    further = repeat.body if repeat.separator is None else Row((repeat.separator, repeat.body))
    fewest = 0 if may_be_empty(further) else max(repeat.fewest - 1, 0)
    return _times(further, fewest, None if repeat.most is None else repeat.most - 1)


@lru_cache(1 << 16)
def _times(body: Part, fewest: int, most: int | None) -> Times:
    return Times(body, fewest, most)


def ways_on(first: Row | Either | Times, rest: Rest) -> list[Rest]:
    """What a row of parts that begins with a combination may be instead."""
    if isinstance(first, Row):
        return [(*first.parts, *rest)]
    if isinstance(first, Either):
        return [(part, *rest) for part in first.parts]
    ways = [rest] if first.fewest == 0 else []
    return ways if first.most == 0 else [*ways, (first.body, once_more(first), *rest)]


def is_less(row: Rest, others: set[Rest]) -> bool:
    """Whether it is another row with fewer repeats of a body: what is left where the body was empty."""
    if not row or not isinstance(row[0], Times) or row[0].fewest or row[0].most is None:
        return False
    more = _times(row[0].body, 0, row[0].most + 1)
    return (more, *row[1:]) in others


class PartTexts(Automaton):
    """The texts of a part. A state is the number of a set of places; each place can be completed, deadlines left aside."""

    def __init__(self, part: Part, spelled: Mapping[int, bytes] | None = None):
        """`spelled`: the tokens that are text, where bytes alone are read that an item may have."""
        super().__init__()
        self.part = part
        self._spelled = spelled or {}
        self._numbers: dict[frozenset[Place], int] = {}
        self._places: list[frozenset[Place]] = []
        self._begun: dict[Rest, frozenset[Place]] = {}
        self.start = self._number(self._places_before((part,)))

    def _number(self, places: frozenset[Place]) -> State:
        if places and places not in self._numbers:
            self._numbers[places] = len(self._places)
            self._places.append(places)
        return self._numbers[places] if places else None

    def places(self, state: Any) -> frozenset[Place]:
        return self._places[state]

    def only(self, state: State, keeps: Callable[[Place], bool]) -> State:
        """The state of those of its places."""
        return None if state is None else self._number(frozenset(filter(keeps, self.places(state))))

    def _places_before(self, rest: Rest) -> frozenset[Place]:
        """Where a row of parts begins; the end, too, where all of them may be empty."""
        if rest not in self._begun:
            found, waiting, seen = set[Place](), [rest], {rest}
            for row in waiting:
                ways: list[Rest] = []
                if not row:
                    found.add(END)
                elif all(map(has_text, row)):
                    first, others = row[0], row[1:]
                    if isinstance(first, Plain):
                        found.add(Place(first, first.automaton.start, others))
                        ways = [others] if first.automaton.accepts(first.automaton.start) else []
                    elif isinstance(first, Items):
                        found.add(Place(first, (), others))
                        ways = [others] if () in first.sequences else []
                    else:
                        ways = ways_on(first, others)
                ways = [way for way in ways if way not in seen and not is_less(way, seen)]
                waiting += ways
                seen.update(ways)
            self._begun[rest] = frozenset(found)
        return self._begun[rest]

    def _over_byte(self, place: Place, byte: int) -> Iterator[Place]:
        if isinstance(place.part, Items):
            return
        automaton, most = place.part.automaton, place.part.most_tokens
        used = place.used if most is None or place.is_counted else place.used + 1
        after = automaton.step(place.state, byte)
        if automaton.completable_bytes(after) and (most is None or used <= most):
            yield Place(place.part, after, place.rest, used, most is not None)
            if automaton.accepts(after):
                yield from self._places_before(place.rest)

    def _over_id(self, place: Place, token: int) -> Iterator[Place]:
        if not isinstance(place.part, Items):
            return
        read = (*place.state, token)
        if any(sequence[: len(read)] == read for sequence in place.part.sequences):
            yield place._replace(state=read)
            if read in place.part.sequences:
                yield from self._places_before(place.rest)

    def next_state(self, state: Any, byte: int) -> State:
        """One byte further within a token."""
        return self._number(frozenset(after for place in self.places(state) for after in self._over_byte(place, byte)))

    def after_token(self, state: Any, token: int, data: bytes) -> State:
        """The state after a token by its id, and by its bytes, if it is text that has some."""
        found = {after for place in self.places(state) for after in self._over_id(place, token)}
        spelled = super().read(state, data) if data else None
        if spelled is not None:
            found |= {place._replace(is_counted=False) for place in self.places(spelled)}
        return self._number(frozenset(found))

    def read(self, state: Any, data: bytes) -> State:
        """The state after bytes, however tokens spell them; of deadlines it knows nothing."""
        if state is None:
            return None
        at = [set(self.places(state)), *(set[Place]() for _ in data)]
        for offset, byte in enumerate(data):
            tokens = [token for token, text in self._spelled.items() if data.startswith(text, offset)]
            for place in at[offset]:
                at[offset + 1].update(self._over_byte(place, byte))
                for token in tokens if isinstance(place.part, Items) and place.part.is_spelled else ():
                    at[offset + len(self._spelled[token])].update(self._over_id(place, token))
        return self._number(frozenset(at[-1]))

    def completable_bytes(self, state: State) -> bool:
        return state is not None

    def accepts(self, state: Any) -> bool:
        return END in self.places(state)

    def boundaries(self) -> set[int]:
        found, waiting = set[int](), [self.part]
        for part in waiting:
            if isinstance(part, Plain):
                found |= part.automaton.boundaries()
            elif isinstance(part, (Row, Either)):
                waiting += part.parts
            elif isinstance(part, Times):
                waiting += [part.body] if part.separator is None else [part.body, part.separator]
        return found


class PartTokens(TokenOracle):
    """Which tokens may come next where each byte is a token, so that every place can be completed, but for its deadline.

    `fewest`: how many tokens a part with a deadline is said to need; without it, as many as it needs in truth (`fewest_tokens`).
    A place that needs more than it has left is given up.
    """

    def __init__(self, texts: PartTexts, token_list: TokenList, fewest: Fewest | None = None):
        super().__init__(texts, token_list.tokens, token_list.stop_ids, token_list.special_ids)
        assert len({data for data in self.texts.values() if len(data) == 1}) == 256
        self._parts = texts
        self._ids = set(range(len(token_list.tokens))) - self.stop_ids
        self._fewest = fewest or self.fewest_tokens
        self._known: dict[tuple[Plain, State], int] = {}

    def moves(self, state: State) -> dict[int, State]:
        if state not in self._moves:
            after = ((t, self._parts.after_token(state, t, self.texts.get(t, b""))) for t in self._ids)
            kept = ((token, self._parts.only(target, self._is_in_time)) for token, target in after)
            self._moves[state] = {token: target for token, target in kept if target is not None}
        return self._moves[state]

    def completable(self, state: State) -> bool:
        return state is not None

    def _is_in_time(self, place: Place) -> bool:
        if not isinstance(place.part, Plain) or place.part.most_tokens is None:
            return True
        return self._fewest(place.part, place.state) <= place.part.most_tokens - place.used

    def fewest_tokens(self, part: Plain, state: State) -> int:
        """Breadth first over tokens; the last one may go on beyond the part, and what follows it is not looked at."""
        if (part, state) not in self._known:
            self._known[part, state] = self._searched(part.automaton, state)
        return self._known[part, state]

    def _searched(self, automaton: Automaton, state: State) -> int:
        layer, seen, tokens, spelled = {state}, {state}, 0, set(self.texts.values())
        while not any(map(automaton.accepts, layer)):
            following = set[State]()
            for here in layer:
                for data in spelled:
                    after = here
                    for byte in data:
                        after = automaton.step(after, byte)
                        if after is None:
                            break
                        if automaton.accepts(after):
                            return tokens + 1
                    following |= {after} - {None}
            layer, tokens = following - seen, tokens + 1
            seen |= following
        return tokens
