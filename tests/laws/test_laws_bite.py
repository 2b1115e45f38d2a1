"""The laws themselves: a slow matcher made of the oracle obeys them, and each broken one is caught."""

import random

import numpy as np
import pytest

import grammarlm as gl
from grammarlm.grammars.cfg.rules import Alternatives, Call, Rules, Sequence, Text
from tests.laws.cfg_laws import (
    CfgTokenOracle,
    assert_budgets_finish,
    assert_laws,
    assert_laws_between,
    assert_threads_agree,
    bounds,
    single_bytes,
    spelling_tokens,
)
from tests.laws.cfg_vocabularies import VOCABULARIES
from tests.laws.vocabularies import TokenList
from tests.oracles.cfg_oracle import CfgOracle, Column, ShortestTexts
from tests.oracles.random_grammars import RandomGrammars

NESTED = Rules("root", {"root": Alternatives((Sequence((Text(b"("), Call("root", 0), Text(b")"))), Text(b"a1")))})


class SlowMatcher:
    """The public matcher, told by the oracle; the trail holds the state after each step, True once a stop id was read."""

    def __init__(self, token_oracle: CfgTokenOracle, size: int):
        self.token_oracle = token_oracle
        self.size = size
        self.trail = [(token_oracle.start, False)]
        self.shortest: ShortestTexts | None = None

    @property
    def min_tokens_left(self) -> int:
        assert self.shortest is not None
        state = self.trail[-1][0]
        assert isinstance(state, Column)
        completion = self.shortest.completion(state)
        assert completion is not None
        return len(completion)

    @property
    def is_accepting(self) -> bool:
        state, finished = self.trail[-1]
        return not finished and self.token_oracle.oracle.accepts(state)

    @property
    def is_finished(self) -> bool:
        return self.trail[-1][1]

    def allowed(self) -> set[int]:
        state, finished = self.trail[-1]
        return set(self.token_oracle.stop_ids) if finished else self.token_oracle.mask(state)

    def fill_mask(self, mask: np.ndarray, row: int = 0) -> bool:
        bits = np.zeros(mask.shape[1] * 32, np.uint8)
        bits[sorted(self.allowed())] = 1
        mask[row] = np.packbits(bits, bitorder="little").view(np.int32)
        return len(self.allowed()) < self.size

    def advance(self, token: int) -> bool:
        state, finished = self.trail[-1]
        if finished or token not in self.allowed():
            return False
        stop = token in self.token_oracle.stop_ids
        self.trail.append((state if stop else self.token_oracle.after(state, token), stop))
        return True

    def advance_bytes(self, data: bytes) -> bool:
        state, finished = self.trail[-1]
        after = None if finished else self.token_oracle.oracle.read(state, data)
        if not self.token_oracle.completable(after):
            return False
        self.trail.append((after, False))
        return True

    def validate(self, tokens: list[int]) -> int:
        if self.is_finished:
            return 0
        fork = self.fork()
        return next((count for count, token in enumerate(tokens) if not fork.advance(token)), len(tokens))

    def fork(self) -> "SlowMatcher":
        other = type(self)(self.token_oracle, self.size)
        other.trail = list(self.trail)
        return other

    def rollback(self, steps: int) -> None:
        del self.trail[len(self.trail) - steps :]

    def reset(self) -> None:
        del self.trail[1:]


class BudgetedMatcher(SlowMatcher):
    """Of the allowed tokens those after which the shortest completion, a byte a token, still fits."""

    def __init__(self, token_oracle: CfgTokenOracle, size: int, shortest: ShortestTexts, max_tokens: int):
        super().__init__(token_oracle, size)
        self.shortest = shortest
        self.max_tokens = max_tokens

    def allowed(self) -> set[int]:
        full, left = super().allowed(), self.max_tokens - len(self.trail) + 1
        if self.is_finished:
            return full
        state = self.trail[-1][0]
        after = {token: self.token_oracle.after(state, token) for token in full - self.token_oracle.stop_ids}
        assert self.shortest is not None
        fitting = set()
        for token, target in after.items():
            assert isinstance(target, Column)
            events = self.shortest.completion(target)
            fitting |= {token} if events is not None and len(events) < left else set()
        return fitting | (full & self.token_oracle.stop_ids)


class OverdrawsItsBudget(BudgetedMatcher):
    def __init__(self, token_oracle: CfgTokenOracle, size: int, shortest: ShortestTexts, max_tokens: int):
        super().__init__(token_oracle, size, shortest, max_tokens + 1)


class MissesAToken(SlowMatcher):
    def allowed(self) -> set[int]:
        full = super().allowed()
        return full - {max(full)} if len(self.trail) > 2 else full


class AllowsDeadEnds(SlowMatcher):
    def allowed(self) -> set[int]:
        return super().allowed() | {ord("(") + 1} if len(self.trail) > 1 and not self.is_finished else super().allowed()


class StopsTooEarly(SlowMatcher):
    def allowed(self) -> set[int]:
        return super().allowed() | self.token_oracle.stop_ids


class TakesWhatTheMaskForbids(SlowMatcher):
    def advance(self, token: int) -> bool:
        return super().advance(token) or (token == 0 and not self.is_finished)


class SharesItsTrail(SlowMatcher):
    def fork(self) -> "SlowMatcher":
        other = type(self)(self.token_oracle, self.size)
        other.trail = self.trail
        return other


class RollsBackOneTooFew(SlowMatcher):
    def rollback(self, steps: int) -> None:
        super().rollback(max(1, steps - 1))


class NeverAccepts(SlowMatcher):
    @property
    def is_accepting(self) -> bool:
        return False


class ValidatesNothing(SlowMatcher):
    def validate(self, tokens: list[int]) -> int:
        return len(tokens)


class SpillsIntoOtherRows(SlowMatcher):
    def fill_mask(self, mask: np.ndarray, row: int = 0) -> bool:
        super().fill_mask(mask, len(mask) - 1)
        return super().fill_mask(mask, row)


BROKEN = [
    MissesAToken,
    AllowsDeadEnds,
    StopsTooEarly,
    TakesWhatTheMaskForbids,
    SharesItsTrail,
    RollsBackOneTooFew,
    NeverAccepts,
    ValidatesNothing,
    SpillsIntoOtherRows,
]


class SlowConstraint:
    """Compiled: matchers of one class, whose masks are one bound or the other."""

    def __init__(
        self,
        kind: type[SlowMatcher],
        oracle: CfgOracle,
        token_list: TokenList,
        bound: int = 0,
        budgeted: type[BudgetedMatcher] = BudgetedMatcher,
    ):
        self._kind = kind
        self.vocab = token_list.vocabulary()
        self._budgeted = budgeted
        self._token_oracle = bounds(oracle, token_list)[bound]
        self._size = token_list.size
        self._shortest = ShortestTexts(oracle, single_bytes(spelling_tokens(token_list)))

    def matcher(self, max_tokens: int | None = None) -> SlowMatcher:
        if max_tokens is not None:
            return self._budgeted(self._token_oracle, self._size, self._shortest, max_tokens)
        matcher = self._kind(self._token_oracle, self._size)
        matcher.shortest = self._shortest
        return matcher


@pytest.mark.parametrize("name", VOCABULARIES)
def test_a_slow_matcher_obeys_the_laws(name: str) -> None:
    token_list, drawn, walked = VOCABULARIES[name], RandomGrammars(f"slow {name}"), 0
    for place in range(8):
        oracle = CfgOracle(drawn.grammar().rules)
        for bound in (0, 1) if name == "few bytes" else (0,):
            if bounds(oracle, token_list)[0].completable(oracle.start):
                laws = assert_laws_between if name == "few bytes" else assert_laws
                laws(
                    SlowConstraint(SlowMatcher, oracle, token_list, bound), oracle, token_list, random.Random(place), 4
                )
                walked += 1
    assert walked > 3


@pytest.mark.parametrize("kind", BROKEN)
def test_a_broken_matcher_is_caught(kind: type[SlowMatcher]) -> None:
    """By one walk or another: a fault may show only where the walk comes by."""
    token_list, oracle = VOCABULARIES["pieces"], CfgOracle(NESTED)
    caught = 0
    for seed in range(5):
        try:
            assert_laws(SlowConstraint(kind, oracle, token_list), oracle, token_list, random.Random(seed), 12)
        except AssertionError:
            caught += 1
    assert caught


def test_a_budget_that_is_overdrawn_is_caught() -> None:
    rows = Rules("root", {"root": Alternatives((Sequence((Text(b"a"), Call("root", 0))), Text(b"b")))})
    token_list, oracle, caught = VOCABULARIES["bytes"], CfgOracle(rows), 0
    for budgeted in (BudgetedMatcher, OverdrawsItsBudget):
        constraint = SlowConstraint(SlowMatcher, oracle, token_list, budgeted=budgeted)
        for seed in range(10):
            try:
                assert_budgets_finish(constraint, oracle.is_complete, random.Random(seed))
            except AssertionError:
                assert budgeted is OverdrawsItsBudget
                caught += 1
    assert caught


def test_threads_that_see_something_else_are_caught() -> None:
    """A constraint whose matchers share one trail: what one thread reads, the others see."""
    token_list, oracle = VOCABULARIES["bytes"], CfgOracle(NESTED)
    vocab = token_list.vocabulary()

    class OneMatcherForAll(SlowConstraint):
        def __init__(self) -> None:
            super().__init__(SharesItsTrail, oracle, token_list)
            self._only = super().matcher()

        def matcher(self, max_tokens: int | None = None) -> SlowMatcher:
            return self._only.fork()

    assert_threads_agree(lambda: SlowConstraint(SlowMatcher, oracle, token_list), vocab, "threads", 10)
    with pytest.raises((AssertionError, IndexError, gl.GrammarError)):
        assert_threads_agree(OneMatcherForAll, vocab, "threads", 40)
