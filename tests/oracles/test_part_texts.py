"""The oracle of parts against a second one: all ways to cut a row of tokens into parts, tried one after the other."""

import itertools
import random
from functools import lru_cache

import pytest

from tests.counts import tiers
from tests.laws.vocabularies import TokenList
from tests.oracles.automata import Texts, TooManyStates
from tests.oracles.part_readers import MarkedText
from tests.oracles.part_texts import Either, Items, Part, PartTexts, PartTokens, Plain, Row, Times
from tests.oracles.random_repeats import KINDS, TIMED, RandomRepeats
from tests.oracles.regex_oracle import Oracle

PIECES = [b"ab", b"a;", b"x]", b'"ab"', b'"a";', b"()", b"(x)", b"<>x", b"true,", b"],a"]
TOKENS = TokenList([bytes([byte]) for byte in range(256)] + [*PIECES, b"</s>", b"x;"], [266], [267], 270)
SEEN = [*b'ab;x"]', *range(256, 266), 267]  # ids that texts are drawn from


class Cuts:
    """Where a text of a part may end that begins at a place, for one row of tokens."""

    def __init__(self, tokens: tuple[int, ...]):
        self._tokens = tokens
        spelled = [b"\x00" if token == 267 else TOKENS.tokens[token] for token in tokens]  # a special one is a byte
        self._data = b"".join(spelled)
        self._borders = list(itertools.accumulate(map(len, spelled), initial=0))
        self.ends = lru_cache(None)(self._ends)

    def is_whole(self, part: Part) -> bool:
        return len(self._data) in self.ends(part, 0)

    def _ends(self, part: Part, begin: int) -> frozenset[int]:
        if isinstance(part, Plain):
            return frozenset(end for end in range(begin, len(self._data) + 1) if self._is_text(part, begin, end))
        if isinstance(part, Items):
            at = self._borders.index(begin) if begin in self._borders else len(self._tokens) + 1
            rows = [row for row in part.sequences if self._tokens[at : at + len(row)] == row]
            return frozenset(self._borders[at + len(row)] for row in rows)
        if isinstance(part, Either):
            return frozenset().union(*(self.ends(each, begin) for each in part.parts))
        if isinstance(part, Row):
            found = {begin}
            for each in part.parts:
                found = {end for place in found for end in self.ends(each, place)}
            return frozenset(found)
        return frozenset(self._times(part, begin))

    def _is_text(self, part: Plain, begin: int, end: int) -> bool:
        inner = [b for b in range(len(self._tokens)) if self._borders[b] < end and self._borders[b + 1] > begin]
        if begin < end and any(self._tokens[b] == 267 for b in inner):
            return False
        is_late = begin < end and part.most_tokens is not None and len(inner) > part.most_tokens
        return not is_late and part.automaton.matches(self._data[begin:end])

    def _times(self, part: Times, begin: int) -> set[int]:
        """Rounds, until no count and no place is new; beyond so many rounds nothing but empty bodies is."""
        found = {begin} if part.fewest == 0 else set[int]()
        here, rounds = {begin}, 0
        enough = part.fewest + 2 * len(self._data) + 2
        while here and rounds < (enough if part.most is None else min(enough, part.most)):
            if rounds and part.separator is not None:
                here = {end for place in here for end in self.ends(part.separator, place)}
            here = {end for place in here for end in self.ends(part.body, place)}
            rounds += 1
            found |= here if rounds >= part.fewest else set()
        return found


def check(part: Part, rng: random.Random, rows: int, is_untimed: bool) -> int:
    """Rows of tokens, of the oracle's choice and others: both say the same of each, and what is viable can be completed; with
    deadlines it can where the token that ends a part in time may be followed by anything."""
    texts = PartTexts(part)
    if texts.start is None:
        return 0
    oracle, checked = PartTokens(texts, TOKENS), 0
    for _ in range(rows):
        state, row = oracle.start, tuple[int, ...]()
        while state is not None and len(row) < 5:
            assert oracle.oracle.accepts(state) is Cuts(row).is_whole(part), row
            checked += 1
            for token in rng.sample(SEEN, 6):
                target, longer = oracle.moves(state).get(token), (*row, token)
                assert (target is not None and texts.accepts(target)) is Cuts(longer).is_whole(part), longer
            following = [token for token in SEEN if token in oracle.moves(state)]
            if not following:
                break
            row = (*row, rng.choice(following))
            state = oracle.moves(state)[row[-1]]
        if is_untimed:
            assert Cuts((*row, *shortest_end(oracle, state))).is_whole(part), row
    return checked


def shortest_end(oracle: PartTokens, start: object, most: int = 400) -> tuple[int, ...]:
    """Tokens that end a text that the oracle says can be completed."""
    ways: dict[object, tuple[int, ...]] = {start: ()}
    for state in (waiting := [start]):
        if oracle.oracle.accepts(state):
            return ways[state]
        for token, target in oracle.moves(state).items():
            if target not in ways:
                ways[target] = (*ways[state], token)
                waiting.append(target)
        if len(waiting) > most:
            raise TooManyStates("the end is too far")
    raise AssertionError("what is viable has no end")


@pytest.mark.parametrize("kind", [*KINDS, *TIMED])
@tiers("seed, count", ("few", 12), ("many", 300))
def test_two_readers_agree(kind: str, seed: str, count: int) -> None:
    drawn, checked, far = RandomRepeats(seed, kind, TOKENS), 0, 0
    for number in range(count):
        grammar, part = drawn.draw(2)
        try:
            checked += check(part, random.Random(number), 3, kind in KINDS)
        except TooManyStates:
            far += 1
        except AssertionError as broken:
            raise AssertionError(f"{kind} {number} {grammar!r}: {broken}") from broken
    assert checked > 5 * count
    assert far < count / 3


ONE = Plain(Texts([b"a"]))
FEW: dict[str, tuple[Part, set[bytes]]] = {
    "exactly two": (Times(ONE, 2, 2), {b"aa"}),
    "none": (Times(ONE, 0, 0), {b""}),
    "up to two, apart": (Times(ONE, 0, 2, Plain(Texts([b";"]))), {b"", b"a", b"a;a"}),
    "two that may be empty, apart": (
        Times(Plain(Texts([b"", b"a"])), 2, 2, Plain(Texts([b";"]))),
        {b";", b"a;", b";a", b"a;a"},
    ),
    "three that may be empty": (Times(Plain(Texts([b"", b"a"])), 3, 3), {b"", b"a", b"aa", b"aaa"}),
    "a separator that no text has": (Times(ONE, 0, 9, Plain(Texts([]))), {b"", b"a"}),
    "a marker within three characters": (
        Row((Plain(MarkedText([";"], 1)), ONE)),
        {b";a", b"a;a", b"x;a"},
    ),
}


@pytest.mark.parametrize("name", FEW)
def test_few_texts(name: str) -> None:
    part, expected = FEW[name]
    texts = PartTexts(part)
    rows = (bytes(row) for length in range(6) for row in itertools.product(b"ax;", repeat=length))
    assert {row for row in rows if texts.matches(row)} == expected


def test_characters_before_a_marker() -> None:
    """Against a pattern: UTF-8 as Python has it, and the first occurrence of the marker."""
    for most in (0, 1, 2):
        marked, pattern = MarkedText(["ab", "é;"], most), Oracle(rf"(?s)(?:(?!ab|é;).){{0,{most}}}(?:ab|é;)")
        for length in range(5):
            for letters in itertools.product("abé;€", repeat=length):
                data = "".join(letters).encode()
                for end in range(len(data) + 1):
                    first, second = (each.read(each.start, data[:end]) for each in (marked, pattern))
                    assert marked.completable_bytes(first) is pattern.completable_bytes(second), (most, data[:end])
                assert marked.matches(data) is pattern.matches(data), (most, data)


def test_a_deadline_counts_the_tokens_that_have_bytes_of_its_part() -> None:
    timed = Row((Plain(Texts([b"(", b""])), Plain(MarkedText(["<>"]), 2), Plain(Oracle("x?"))))
    oracle = PartTokens(PartTexts(timed), TOKENS)
    state = oracle.after(oracle.start, TOKENS.tokens.index(b"a;"))
    assert {ord("<"), ord("a"), TOKENS.tokens.index(b"<>x")} & oracle.mask(state) == {TOKENS.tokens.index(b"<>x")}
