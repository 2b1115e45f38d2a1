"""A family of matchers that fork, go back and go on, in any order: each knows its own steps, and nobody else's.

What a step may be is said by a list of all texts; what was read, by a plain list beside each matcher.
"""

import copy
import functools
import gc
import itertools
from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

import grammarlm as gl
from grammarlm.masks.trail import before, steps_of
from tests.counts import tiers
from tests.internals import current_epoch, head_of, made_in
from tests.laws.laws import allowed_ids
from tests.laws.vocabularies import every_byte
from tests.masks.filters.canonical_tokenizers import TOKENIZERS, vocabulary

VOCAB = every_byte().vocabulary()
WORDS = sorted({"".join(parts) for n in range(4) for parts in itertools.product(("ab", "ba", "aab"), repeat=n)})
GRAMMARS: dict[str, tuple[Any, set[bytes]]] = {
    "regex": (gl.Regex("(ab|ba|aab){0,3}"), {word.encode() for word in WORDS}),
    "gbnf": (gl.Gbnf('root ::= ("(" root ")" | "a"){0,2}'), set()),
    "json": (gl.JsonSchema({"enum": WORDS}, whitespace=""), set()),  # "a" may be written as an escape
}
MOST = 6  # matchers alive at one time
DONE: Counter[str] = Counter()


@functools.cache
def constraint_of(name: str, canonical: bool) -> gl.Constraint:
    vocab = VOCAB if not canonical else vocabulary(TOKENIZERS["gpt2"]())
    return gl.compile(GRAMMARS[name][0], vocab, canonical_only=canonical)


def single_bytes(vocab: gl.Vocabulary) -> list[int]:
    return [t for t in range(vocab.size) if len(vocab.token_bytes(t)) == 1 and t not in vocab.special_ids]


class Family(RuleBasedStateMachine):
    """Matchers, and beside each the steps that it has read."""

    @initialize(
        name=st.sampled_from(sorted(GRAMMARS)), canonical=st.booleans(), budget=st.sampled_from([None, None, 12, 40])
    )
    def begin(self, name: str, canonical: bool, budget: int | None) -> None:
        self.constraint, self.texts, self.budget = constraint_of(name, canonical), GRAMMARS[name][1], budget
        self.vocab, self.is_plain = self.constraint.vocab, bool(self.texts) and budget is None and not canonical
        self.bytes = {self.vocab.token_bytes(token)[0]: token for token in single_bytes(self.vocab)}
        self.members: list[tuple[gl.Matcher, list[int | bytes]]] = [(self.constraint.matcher(max_tokens=budget), [])]

    def member(self, which: int) -> tuple[gl.Matcher, list[int | bytes]]:
        return self.members[which % len(self.members)]

    def text(self, steps: list[int | bytes]) -> bytes:
        return b"".join(step if isinstance(step, bytes) else self.vocab.token_bytes(step) for step in steps)

    @rule(which=st.integers(0, 99), place=st.integers(0, 999), steps=st.integers(1, 4))
    def advance(self, which: int, place: int, steps: int) -> None:
        matcher, read = self.member(which)
        for _ in range(steps):
            allowed = sorted(allowed_ids(matcher, self.vocab))
            token = allowed[place % len(allowed)]
            if matcher.is_finished:
                return
            assert matcher.advance(token)
            read.append(token)

    @rule(which=st.integers(0, 99), token=st.integers(0, 255))
    def refuse(self, which: int, token: int) -> None:
        matcher, read = self.member(which)
        if token not in allowed_ids(matcher, self.vocab):
            DONE["refused"] += 1
            assert not matcher.advance(token)
        elif not matcher.is_finished:
            assert matcher.advance(token)
            read.append(token)

    @rule(which=st.integers(0, 99), data=st.sampled_from([b"", b"ab", b'"a', b"(a", b"b", b"(("]))
    def advance_bytes(self, which: int, data: bytes) -> None:
        matcher, read = self.member(which)
        was_finished = matcher.is_finished
        if matcher.advance_bytes(data) and not was_finished:
            read.append(data)

    @rule(which=st.integers(0, 99), count=st.integers(0, 12))
    def roll_back(self, which: int, count: int) -> None:
        matcher, read = self.member(which)
        if count > len(read):
            with pytest.raises(ValueError, match=f"only {len(read)} steps"):
                matcher.rollback(count)
        else:
            matcher.rollback(count)
            del read[len(read) - count :]

    @rule(which=st.integers(0, 99), copied=st.booleans())
    def fork(self, which: int, copied: bool) -> None:
        matcher, read = self.member(which)
        self.members.append((copy.copy(matcher) if copied else matcher.fork(), list(read)))
        del self.members[: len(self.members) - MOST]

    @rule(which=st.integers(0, 99))
    def reset(self, which: int) -> None:
        matcher, read = self.member(which)
        matcher.reset()
        read.clear()

    @rule(which=st.integers(0, 99), tokens=st.lists(st.sampled_from(list(b'ab"(')), max_size=5))
    def validate(self, which: int, tokens: list[int]) -> None:
        tokens = [self.bytes[byte] for byte in tokens]
        matcher, _ = self.member(which)
        other = self.replayed(which)
        count = matcher.validate(tokens)
        assert [other.advance(token) for token in tokens[: count + 1]] == [True] * count + [False] * (
            len(tokens) > count
        )

    @rule(which=st.integers(0, 99), parents=st.lists(st.integers(0, 99), max_size=6), tokens=st.binary(max_size=6))
    def fill_a_tree(self, which: int, parents: list[int], tokens: bytes) -> None:
        matcher, _ = self.member(which)
        drawn = [self.bytes[b'ab"()'[token % 5]] for token in tokens][: len(parents)]
        above = [parent % (node + 1) - 1 for node, parent in enumerate(parents[: len(drawn)])]
        masks = np.zeros((len(drawn) + 1, self.vocab.words), np.int32)
        gl.fill_tree(matcher, drawn, above, masks)
        for node in range(len(drawn)):
            path: list[int] = []
            at = node
            while at >= 0:
                path.append(drawn[at])
                at = above[at]
            other = self.replayed(which)
            alone = np.zeros((1, self.vocab.words), np.int32)
            if all(other.advance(token) for token in reversed(path)):
                other.fill_mask(alone, 0)
            assert (alone[0] == masks[node + 1]).all()

    @rule(which=st.integers(0, 99))
    def begin_an_epoch(self, which: int) -> None:
        matcher, _ = self.member(which)
        current_epoch(matcher).is_full = True
        made_in(matcher, lambda epoch, state: None)
        DONE["epochs"] += 1

    @rule(which=st.integers(0, 99), is_saved=st.integers(0, 9))
    def snapshot_and_restore(self, which: int, is_saved: int) -> None:
        matcher, read = self.member(which)
        constraint = self.constraint
        if is_saved == 0:  # now and then the constraint, too: from_bytes compiles
            constraint = gl.Constraint.from_bytes(constraint.to_bytes(), self.vocab)
        restored = constraint.restore(matcher.snapshot())
        assert allowed_ids(restored, self.vocab) == allowed_ids(matcher, self.vocab)
        restored.rollback(len(read))
        assert allowed_ids(restored, self.vocab) == allowed_ids(
            self.constraint.matcher(max_tokens=self.budget), self.vocab
        )

    def replayed(self, which: int) -> gl.Matcher:
        """Another matcher that has read the same, from the start."""
        _, read = self.member(which)
        other = self.constraint.matcher(max_tokens=self.budget)
        for step in read:
            assert other.advance_bytes(step) if isinstance(step, bytes) else other.advance(step)
        return other

    @invariant()
    def each_knows_its_own_steps(self) -> None:
        for which, (matcher, read) in enumerate(self.members):
            assert steps_of(head_of(matcher)) == read
            found, head = [], head_of(matcher)
            while (earlier := before(head)) is not None:
                found.append(head[3])
                head = earlier
            assert found[::-1] == read
            allowed = allowed_ids(matcher, self.vocab)
            if self.is_plain and not matcher.is_finished:
                text = self.text(read)
                starts = {s[len(text)] for s in self.texts if s.startswith(text) and len(s) > len(text)}
                ends = set(self.vocab.stop_ids) if text in self.texts else set()
                assert {self.vocab.token_bytes(token)[0] for token in allowed - set(self.vocab.stop_ids)} == starts
                assert allowed & set(self.vocab.stop_ids) == ends
            else:
                assert allowed == allowed_ids(self.replayed(which), self.vocab)


VOCAB_ID = {VOCAB.token_bytes(token)[0]: token for token in single_bytes(VOCAB)}


def run(examples: int, steps: int) -> None:
    DONE.clear()
    run_state_machine_as_test(
        Family,
        settings=settings(
            max_examples=examples, stateful_step_count=steps, deadline=None, database=None, derandomize=True,
            suppress_health_check=list(HealthCheck),
        ),
    )  # fmt: skip
    assert DONE["refused"] > examples / 10
    assert DONE["epochs"] > examples / 10


@tiers("examples, steps", (30, 25), (2000, 50))
def test_a_family_of_matchers(examples: int, steps: int) -> None:
    run(examples, steps)


@pytest.mark.usefixtures("only_new_objects")
def test_a_long_text_leaves_nothing_for_the_collector() -> None:
    """7,000 tokens of a text made the collector look through the whole process, for 97 ms in the middle of a mask."""
    matcher = gl.compile(gl.JsonSchema({"type": "string"}), VOCAB).matcher()
    mask = np.zeros((1, VOCAB.words), np.int32)
    assert matcher.advance(VOCAB_ID[ord('"')])

    def read(count: int) -> int:
        gc.collect()
        gc.disable()
        try:
            earlier = gc.get_count()[0]
            for _ in range(count):
                matcher.fill_mask(mask, 0)
                assert matcher.advance(VOCAB_ID[ord("a")])
            return gc.get_count()[0] - earlier
        finally:
            gc.enable()

    read(10)
    assert read(5000) < 100
    matcher.rollback(5000)
    assert matcher.fork().advance(VOCAB_ID[ord("a")])


def test_an_interrupted_step_is_forgotten() -> None:
    matcher = gl.compile(gl.Regex("a*"), VOCAB).matcher()
    assert all(matcher.advance(VOCAB_ID[ord("a")]) for _ in range(4))
    matcher.rollback(3)
    head_of(matcher)[0].append(7)  # as where somebody pressed Ctrl-C in the middle of a step
    assert matcher.advance(VOCAB_ID[ord("a")])
    assert steps_of(head_of(matcher)) == 2 * [VOCAB_ID[ord("a")]]
    matcher.rollback(1)
    assert steps_of(head_of(matcher)) == [VOCAB_ID[ord("a")]]
    assert matcher.advance(VOCAB_ID[ord("a")])
    matcher.rollback(2)
    assert before(head_of(matcher)) is None


def test_going_back_and_on_keeps_no_more_than_was_read() -> None:
    """A search that looks 100 tokens ahead and goes one on, again and again."""
    matcher = gl.compile(gl.Regex("a*"), VOCAB).matcher()
    token = VOCAB_ID[ord("a")]
    for _ in range(50):
        for _ in range(100):
            assert matcher.advance(token)
        matcher.rollback(99)
    entries, head = 0, head_of(matcher)
    while head is not None:
        entries += len(head[0])
        head = head[0][0]
    assert entries == 2 + 3 * 51
