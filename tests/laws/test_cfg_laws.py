"""Random context-free grammars through every notation that has them: masks equal those of an Earley recogniser.

Regular expressions go through the same laws, as grammars of one pattern: two engines, one oracle.
"""

import random
from typing import Any

import pytest

import grammarlm as gl
from tests.counts import record_counts, tiers
from tests.laws.cfg_laws import assert_budgets_finish
from tests.laws.cfg_vocabularies import COMPILED, VOCABULARIES
from tests.laws.random_cfg_laws import MACHINES, check_many, check_threads
from tests.laws.vocabularies import TokenList
from tests.oracles.cfg_oracle import CfgOracle


def spend(constraint: Any, oracle: CfgOracle, token_list: TokenList, rng: random.Random, steps: int) -> None:
    """The law of budgets, a few times."""
    for _ in range(steps):
        assert_budgets_finish(constraint, oracle.is_complete, rng)


@pytest.mark.parametrize("name", VOCABULARIES)
@pytest.mark.parametrize("machine", MACHINES)
@tiers("seed, count, steps", ("few", 6, 6), ("many", 200, 20))
def test_random_grammars(machine: str, name: str, seed: str, count: int, steps: int, record_property: Any) -> None:
    record_counts(record_property, check_many(machine, name, seed, count, steps))


@pytest.mark.parametrize("name", VOCABULARIES)
@pytest.mark.parametrize("machine", MACHINES)
@tiers("seed, count, steps", ("budgets", 8, 1), ("many budgets", 200, 5))
def test_budgets(machine: str, name: str, seed: str, count: int, steps: int, record_property: Any) -> None:
    record_counts(record_property, check_many(machine, name, seed, count, steps, spend))


@pytest.mark.parametrize("machine", MACHINES)
@tiers("name, seed, count, steps", ("pieces", "few", 3, 15), ("hostile", "many", 60, 60))
def test_eight_threads(machine: str, name: str, seed: str, count: int, steps: int) -> None:
    assert check_threads(machine, name, seed, count, steps)


@pytest.mark.parametrize("machine", MACHINES)
def test_one_constraint_twice_is_the_same(machine: str) -> None:
    """Descriptions are equal by content, so that what is compiled can be shared."""
    first, second = (next(MACHINES[machine]("same"))[1]() for _ in range(2))
    assert first == second
    assert hash(first) == hash(second)


@pytest.mark.parametrize("machine", MACHINES)
def test_a_row_from_before_raw_bytes_says_nothing_after_them(machine: str) -> None:
    """A matcher may remember the row it filled last, but not over bytes read since."""
    vocab, text = COMPILED["bytes"], "a|b" if machine == "regex" else 'root ::= "a" | "b"'
    grammar = getattr(gl, machine.capitalize())(text)
    matcher, mask = gl.compile(grammar, vocab).matcher(), gl.allocate_mask(1, vocab.size)
    matcher.fill_mask(mask)
    assert matcher.advance_bytes(b"a") is True
    assert matcher.validate([ord("b")]) == 0
    assert matcher.validate([256, ord("b")]) == 1
    assert matcher.advance(256) is True
    assert matcher.advance(ord("b")) is False
    assert matcher.is_finished is True
