"""Unions of stacks: what they are made of, and matchers whose texts can be read in too many ways for threads of their own."""

import random
from typing import Any

import pytest

import grammarlm as gl
from grammarlm.layout.stack import UNION, UNITING, WIDE, WIDEST, Field
from grammarlm.layout.stack_calls import PUSH, UNITE
from grammarlm.masks.machines.stack.epoch import StackEpoch
from tests.internals import epoch_of, state_of
from tests.laws.cfg_laws import budgeted_text
from tests.laws.cfg_vocabularies import COMPILED, VOCABULARIES
from tests.laws.laws import allowed_ids
from tests.oracles.cfg_oracle import CfgOracle

# Behind n letters a each order of b and c that takes n - 1 of them away, a b one and a c two, can come.
PAIRS = 'root ::= "a" root "b" | "aa" root "c" | "a"'
BYTES, STOP = COMPILED["bytes"], 256
MOST = 200  # stacks that a union is, in the test


def an_epoch() -> Any:
    return epoch_of(gl.compile(gl.Gbnf(PAIRS), BYTES).matcher())


def texts_of(epoch: Any, stack: int) -> set[tuple[int, ...]]:
    """The symbols from the top down of each stack that this one is."""
    parents, symbols = epoch.arena.array(Field.S_PARENT), epoch.arena.array(Field.S_SYMBOL)
    found, waiting = set(), [(stack, ())]
    while waiting:
        here, above = waiting.pop()
        for one in epoch.arena.members_of(here):
            if one == 0:
                found.add(above)
            else:
                waiting.append((int(parents[one]), (*above, int(symbols[one]))))
    return found


@pytest.mark.parametrize("seed", range(5))
def test_a_union_is_what_both_are(seed: int) -> None:
    """Whatever it is made of, in whatever order: equal sets of stacks have one number."""
    rng, epoch = random.Random(seed), an_epoch()
    numbers: dict[frozenset, int] = {frozenset([()]): 0}
    for _ in range(2000):
        one, other = (rng.choice(list(numbers)[-40:]) for _ in range(2))
        if rng.random() < 0.4:
            symbol = rng.randint(3, 5)
            found = epoch.maker.made(PUSH, numbers[one], symbol)
            expected = frozenset((symbol, *text) for text in one)
        else:
            found = epoch.maker.made(UNITE, numbers[one], numbers[other])
            expected = one | other
        if len(expected) <= MOST:
            assert texts_of(epoch, found) == expected
            assert numbers.setdefault(expected, found) == found
            heads = [int(epoch.arena.array(Field.S_SYMBOL)[way]) for way in epoch.arena.members_of(found)]
            assert heads == sorted(set(heads))
    assert max(len(texts) for texts in numbers) > 20
    assert len(set(numbers.values())) == len(numbers)


def test_stacks_that_differ_far_below_their_tops() -> None:
    """Deeper than two stacks are gone through together."""
    epoch = an_epoch()
    texts = [(*[3] * (2 * UNITING), bottom, *[4] * 10) for bottom in (5, 6, 7)]
    stacks = []
    for text in texts:
        stack = 0
        for symbol in reversed(text):
            stack = epoch.maker.made(PUSH, stack, symbol)
        stacks.append(stack)
    united = stacks[0]
    for stack in stacks[1:]:
        united = epoch.maker.made(UNITE, united, stack)
    assert texts_of(epoch, united) == set(texts)


def weight(read: bytes) -> int:
    """How many of the letters a are left for what must follow."""
    return read.count(b"a") - 1 - read.count(b"b") - 2 * read.count(b"c")


def can_be_read(read: bytes, length: int | None = None) -> bool:
    """Does some text of PAIRS, of so many letters, begin with what was read?"""
    letters = read.lstrip(b"a")
    if b"a" in letters:
        return False
    rest = weight(read)
    if length is None:
        return not letters or rest >= 0
    if letters:
        left = length - len(read)
        return left <= rest <= 2 * left
    return any(length - count <= count - 1 <= 2 * (length - count) for count in range(max(1, len(read)), length + 1))


def expected_ids(read: bytes, length: int | None = None) -> set[int]:
    ends = weight(read) == 0 and length in (None, len(read))
    return {byte for byte in b"abc" if can_be_read(read + bytes([byte]), length)} | ({STOP} if ends else set())


def is_united(matcher: Any) -> bool:
    """Has the config a thread on several stacks?"""
    epoch = epoch_of(matcher)
    symbols = epoch.arena.array(Field.S_SYMBOL)
    return any(int(symbols[stack]) >= UNION for _, stack, _ in epoch.arena.threads_of(state_of(matcher)))


def limited(length: int | None) -> Any:
    """The texts, those of one length where there is one: a border whose end depends on the whole stack."""
    return gl.Gbnf(PAIRS) if length is None else gl.Gbnf(PAIRS) & gl.Regex(f"[abc]{{{length}}}")


def generations_of_walks(constraint: gl.Constraint, length: int | None) -> int:
    """How many generations of states walks have met, all of whose masks are right, and some of them on unions."""
    generations, united = set(), False
    for seed in range(12):
        rng, matcher, read = random.Random(seed), constraint.matcher(), b""
        while not matcher.is_finished:
            assert allowed_ids(matcher, BYTES) == expected_ids(read, length), read
            generations.add(id(epoch_of(matcher)))
            united = united or is_united(matcher)
            ids = sorted(expected_ids(read, length))
            goes_on = ord("a") in ids and len(read) < 36
            token = ord("a") if goes_on and rng.random() < 0.97 else rng.choice(ids)
            assert matcher.advance(token) is True
            read += bytes([token]) if token != STOP else b""
            assert len(matcher.explain(ord("x"))) <= 500
    assert united
    return len(generations)


@pytest.mark.parametrize("length", [None, 57])
def test_masks_over_unions(length: int | None) -> None:
    assert generations_of_walks(gl.compile(limited(length), BYTES), length) == 1


@pytest.mark.parametrize(("length", "memory"), [(None, 1 << 15), (57, 1 << 16)])
def test_unions_move_to_the_next_generation(length: int | None, memory: int) -> None:
    constraint = gl.compile(limited(length), BYTES, limits=gl.Limits(max_bytes=memory))
    assert generations_of_walks(constraint, length) > 1


def test_a_config_of_another_generation_is_the_same() -> None:
    matcher = gl.compile(gl.Gbnf(PAIRS), BYTES).matcher()
    assert matcher.advance_bytes(b"a" * 500)
    old, state = epoch_of(matcher), state_of(matcher)
    new = StackEpoch(old.program)
    threads = new.arena.threads_of(new.state_of(old.terms[state]))
    assert len(threads) == len(old.arena.threads_of(state))
    assert int(new.arena.words[Field.S_COUNT]) < 4 * 500
    again = StackEpoch(old.program)
    assert again.arena.threads_of(again.state_of(new.terms[new.state_of(old.terms[state])])) == threads


def test_a_text_of_many_ways_ends_within_its_budget() -> None:
    constraint, letters = gl.compile(gl.Gbnf(PAIRS), BYTES), [ord("a")] * 40
    matcher = constraint.matcher()
    assert matcher.advance_bytes(b"a" * 41)
    assert 2 ** (40 // 2) > WIDEST > WIDE
    assert matcher.min_tokens_left == 20
    for more in range(3):
        text = budgeted_text(constraint, 60 + more, letters, random.Random(more))
        assert weight(text) == 0
        assert can_be_read(text)


# Behind a letter nearly every union that its stacks have below is one that was made for a letter before.
TANGLED = 'root ::= "b" | root x "aa" | root\nx ::= z\nz ::= ("" | "ba"){2,} | z x | "b" | [ab] z "b" | "bb"'
LONG = b"babaabbaabaabbababbbbaabbabaabbbaaababbbaaababaabbabbabaabbaabaababababaabaababbbaaababababababbbaab"


LETTERS = b"a" * 40  # read in as many ways as there are texts


@pytest.mark.parametrize(
    ("grammar", "text"),
    [
        (gl.Ebnf(TANGLED), LONG),
        (gl.Gbnf('root ::= "a" root "b" | "aa" root "c" | "a"'), LETTERS),
        (gl.Gbnf('root ::= root root | "a" root "b" | "a"'), LETTERS),
        (gl.Gbnf('root ::= x x | "a" | root root\nx ::= "a" x | root'), LETTERS),
    ],
    ids=str,
)
def test_unions_are_remembered_from_letter_to_letter(grammar: "gl.Gbnf | gl.Ebnf", text: bytes) -> None:
    """Were they not, the work would double with each letter, and there is a limit to that."""
    matcher, oracle = gl.compile(grammar, BYTES).matcher(), CfgOracle(grammar.rules(lambda: None))
    state, tokens = oracle.start, VOCABULARIES["bytes"].tokens[:256]
    for place, byte in enumerate(text):
        if place % 10 == 0:
            assert allowed_ids(matcher, BYTES) - {STOP} == {
                token for token, data in enumerate(tokens) if oracle.read(state, data) is not None
            }
        assert matcher.advance(byte)
        state = oracle.step(state, byte)
