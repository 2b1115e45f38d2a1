"""Any calls on a matcher of any small grammar, in any order, as hypothesis finds and shrinks them.

What is drawn: a grammar and how it is written, then a series of advance, advance_bytes, validate, rollback, reset, fork, snapshot
and restore, to_bytes and from_bytes, and damaged bytes. An Earley recogniser says what is right.
"""

import functools
import random
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

import grammarlm as gl
from grammarlm.grammars.cfg.rules import Alternatives, Call, Chars, Node, Repeat, Rules, Sequence, Text
from tests.counts import record_counts
from tests.laws.cfg_laws import CfgTokenOracle
from tests.laws.cfg_vocabularies import COMPILED, VOCABULARIES
from tests.laws.laws import Position, after_bytes, after_token, assert_position, expected_ids
from tests.oracles.cfg_oracle import CfgOracle
from tests.oracles.written_grammars import write_ebnf, write_gbnf

RULES = ("root", "x", "y")
SETTINGS = settings(deadline=None, database=None, suppress_health_check=list(HealthCheck))


def nodes() -> st.SearchStrategy[Node]:
    """What a rule may say: few characters, calls of any rule, every operator."""
    texts = st.text("ab(1é", max_size=2).map(lambda text: Text(text.encode()))
    chars = st.sampled_from(["ab", "b", "(1", "é€", "a1"]).map(
        lambda text: Chars(tuple((code, code) for code in sorted(map(ord, text))))
    )
    calls = st.sampled_from(RULES).map(lambda name: Call(name, 0))
    repeats = st.sampled_from([(0, 1), (0, None), (1, None), (2, 2), (1, 3)])
    return st.recursive(
        st.one_of(texts, chars, calls),
        lambda inner: st.one_of(
            st.lists(inner, min_size=2, max_size=3).map(lambda parts: Sequence(tuple(parts))),
            st.lists(inner, min_size=2, max_size=3).map(lambda parts: Alternatives(tuple(parts))),
            st.builds(lambda body, bounds: Repeat(body, *bounds), inner, repeats),
        ),
        max_leaves=6,
    )


def within_limits(method: Callable[..., None]) -> Callable[..., None]:
    """A text that can be read in too many ways ends the run; it is counted."""

    @functools.wraps(method)
    def guarded(self: "AnyCalls", **drawn: Any) -> None:
        if not self.is_over:
            try:
                method(self, **drawn)
            except gl.LimitExceeded:
                self.is_over = True
                OUTCOMES["over a limit"] += 1

    return guarded


OUTCOMES: Counter[str] = Counter()


class AnyCalls(RuleBasedStateMachine):
    """One matcher, and the positions that its steps went through."""

    is_over = False

    @initialize(
        bodies=st.tuples(nodes(), nodes(), nodes()),
        is_gbnf=st.booleans(),
        spelling=st.integers(0, 9),
        name=st.sampled_from(["bytes", "pieces", "hostile"]),
    )
    def begin(self, bodies: tuple[Node, Node, Node], is_gbnf: bool, spelling: int, name: str) -> None:
        rules, rng = Rules("root", dict(zip(RULES, bodies, strict=True))), random.Random(spelling)
        grammar = gl.Gbnf(write_gbnf(rules, rng)) if is_gbnf else gl.Ebnf(write_ebnf(rules, rng))
        self.vocab, oracle = COMPILED[name], CfgOracle(rules)
        self.oracle = CfgTokenOracle(oracle, VOCABULARIES[name])
        try:
            self.constraint = gl.compile(grammar, self.vocab)
        except gl.UnsatisfiableGrammar:
            assert oracle.is_empty
            assume(False)
        assert not oracle.is_empty
        self.matcher = self.constraint.matcher()
        self.trail = [Position(self.oracle.start)]
        OUTCOMES["grammars"] += 1

    @invariant()
    @within_limits
    def the_mask_is_that_of_the_oracle(self) -> None:
        assert_position(self.matcher, self.oracle, self.vocab, self.trail[-1])

    def step(self, following: Position | None, accepted: bool) -> None:
        assert accepted is (following is not None)
        self.trail += [following] if following else []

    @rule(place=st.integers(0, 1000))
    @within_limits
    def advance_an_allowed_token(self, place: int) -> None:
        allowed = sorted(expected_ids(self.oracle, self.trail[-1]))
        token = allowed[place % len(allowed)]
        self.step(after_token(self.oracle, self.trail[-1], token), self.matcher.advance(token))

    @rule(token=st.integers(-1, 500))
    @within_limits
    def advance_any_token(self, token: int) -> None:
        self.step(after_token(self.oracle, self.trail[-1], token), self.matcher.advance(token))

    @rule(data=st.one_of(st.text("ab(1é€", min_size=1, max_size=3).map(str.encode), st.binary(min_size=1, max_size=2)))
    @within_limits
    def advance_bytes(self, data: bytes) -> None:
        self.step(after_bytes(self.oracle, self.trail[-1], data), self.matcher.advance_bytes(data))

    @rule(tokens=st.lists(st.integers(0, 500), max_size=4))
    @within_limits
    def validate(self, tokens: list[int]) -> None:
        accepted, at = 0, self.trail[-1]
        for token in tokens:
            following = after_token(self.oracle, at, token)
            if following is None:
                break
            accepted, at = accepted + 1, following
        assert self.matcher.validate(tokens) == accepted

    @rule(count=st.integers(0, 6))
    @within_limits
    def roll_back(self, count: int) -> None:
        if count < len(self.trail):
            self.matcher.rollback(count)
            del self.trail[len(self.trail) - count :]
        else:
            with pytest.raises(ValueError, match="only"):
                self.matcher.rollback(count)

    @rule()
    @within_limits
    def reset(self) -> None:
        self.matcher.reset()
        del self.trail[1:]

    @rule(place=st.integers(0, 1000))
    @within_limits
    def leave_a_fork_behind(self, place: int) -> None:
        left, allowed = self.matcher, sorted(expected_ids(self.oracle, self.trail[-1]))
        self.matcher = left.fork()
        left.advance(allowed[place % len(allowed)])
        left.rollback(len(self.trail) - 1)

    @rule(is_saved=st.booleans())
    @within_limits
    def snapshot_and_restore(self, is_saved: bool) -> None:
        if is_saved:
            self.constraint = gl.Constraint.from_bytes(self.constraint.to_bytes(), self.vocab)
        self.matcher = self.constraint.restore(self.matcher.snapshot())

    @rule(data=st.data())
    @within_limits
    def damaged_bytes_are_refused(self, data: st.DataObject) -> None:
        for sound, read in (
            (self.constraint.to_bytes(), lambda damaged: gl.Constraint.from_bytes(damaged, self.vocab)),
            (self.matcher.snapshot(), self.constraint.restore),
        ):
            place, flip = data.draw(st.integers(0, len(sound) - 1)), data.draw(st.integers(1, 255))
            with pytest.raises(gl.GrammarError):
                read(sound[:place] + bytes([sound[place] ^ flip]) + sound[place + 1 :])
            with pytest.raises(gl.GrammarError):
                read(sound[:place])

    @precondition(lambda self: not self.trail[-1].finished)
    @rule()
    @within_limits
    def finish_within_the_fewest_tokens(self) -> None:
        """`min_tokens_left` is kept by some walk."""
        matcher = self.matcher.fork()
        while not matcher.is_accepting:
            left = matcher.min_tokens_left
            allowed = sorted(token for token in range(self.vocab.size) if matcher.validate([token]))
            forks = ((fork := matcher.fork(), fork.advance(token))[0] for token in allowed)
            matcher = next(fork for fork in forks if fork.min_tokens_left < left)


def run(examples: int, steps: int, **more: Any) -> None:
    run_state_machine_as_test(
        AnyCalls, settings=settings(SETTINGS, max_examples=examples, stateful_step_count=steps, **more)
    )


def test_any_calls() -> None:
    run(25, 12, derandomize=True)


@pytest.mark.proof
def test_many_calls(record_property: Any) -> None:
    """Drawn anew each time; what fails is printed as a program."""
    OUTCOMES.clear()
    run(2000, 25)
    record_property("cases", 2000)
    record_counts(record_property, OUTCOMES)
    assert OUTCOMES["over a limit"] < OUTCOMES["grammars"] / 10, OUTCOMES
