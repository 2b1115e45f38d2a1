"""Texts whose masks are one row of the engine's have equal masks by brute force, whatever the engine keys its rows by.

A grammar is walked at random; where the matcher stands is a (generation, state), and states are grouped by the identity of their
row. Of each group two members are chosen, and the independent oracle tries every token after both. An engine that keys rows by less
than what a mask depends on makes a group whose members differ.
"""

import itertools
import random
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

import grammarlm as gl
from tests.counts import record_counts, tiers
from tests.internals import epoch_of, state_of
from tests.laws.cfg_laws import CfgTokenOracle, bounds
from tests.laws.cfg_vocabularies import COMPILED, VOCABULARIES
from tests.laws.lark_examples import HAND_WRITTEN
from tests.laws.lark_mask_laws import judged_mask
from tests.laws.laws import allowed_ids
from tests.laws.random_cfg_laws import MACHINES
from tests.laws.vocabularies import TokenList
from tests.oracles.automata import TooManyStates
from tests.oracles.cfg_oracle import CfgOracle
from tests.oracles.lark_oracle import LarkOracle, Witnesses
from tests.oracles.random_lark import RandomLark

REFUSALS = (gl.UnsatisfiableGrammar, gl.UnsupportedFeature, gl.LimitExceeded)
NAMES = ["bytes", "pieces", "hostile"]
_MEMBERS = 4  # of each group are compared

# Of a text: the least and the greatest set of ids that its mask may be. Equal where the oracle knows exactly.
Bounds = Callable[[bytes], tuple[set[int], set[int]]]


def groups_of(
    constraint: Any, vocab: gl.Vocabulary, rng: random.Random, walks: int, steps: int
) -> list[dict[int, bytes]]:
    """Texts by the state that they lead to, for each row that several states share."""
    texts: dict[int, bytes] = {}
    epoch = epoch_of(constraint.matcher())
    for _ in range(walks):
        matcher, text = constraint.matcher(), b""
        for _ in range(steps):
            following = sorted(allowed_ids(matcher, vocab) - set(vocab.stop_ids))
            if epoch_of(matcher) is epoch:  # states are numbers of their epoch
                texts.setdefault(state_of(matcher), text)
            if not following:
                break
            token = rng.choice(following)
            assert matcher.advance(token)
            text += vocab.token_bytes(token)
    shared: dict[int, dict[int, bytes]] = {}
    for state, text in texts.items():
        row = epoch.rows[state]
        if row is not None:
            shared.setdefault(id(row), {})[state] = text
    return [members for members in shared.values() if len(members) > 1]


def assert_groups_are_alike(groups: list[dict[int, bytes]], bounds_of: Bounds, rng: random.Random) -> int:
    """How many pairs were compared; each by its masks' bounds, which must have a set in common, and by the stop ids."""
    pairs = 0
    for members in groups:
        chosen = rng.sample(sorted(members.values()), min(_MEMBERS, len(members)))
        for first, second in itertools.combinations(chosen, 2):
            (least, most), (others_least, others_most) = bounds_of(first), bounds_of(second)
            assert least <= others_most, (first, second, "only after the first:", sorted(least - others_most))
            assert others_least <= most, (first, second, "only after the second:", sorted(others_least - most))
            pairs += 1
    return pairs


def cfg_bounds(oracle: CfgOracle, token_list: TokenList) -> Bounds:
    lower, upper = bounds(oracle, token_list)
    assert lower is upper

    def of(text: bytes) -> tuple[set[int], set[int]]:
        mask = exact_mask(lower, oracle.read(oracle.start, text))
        return mask, mask

    return of


def exact_mask(oracle: CfgTokenOracle, state: Any) -> set[int]:
    assert state is not None, "a walk led out of the language"
    return oracle.mask(state)


def check_rules(machine: str, name: str, seed: str, count: int, walks: int) -> Counter[str]:
    """Random grammars without a lexer: the oracle knows every mask."""
    drawn, token_list, outcomes = MACHINES[machine](f"rows {seed} {name}"), VOCABULARIES[name], Counter[str]()
    for place in range(count):
        rules, describe = next(drawn)
        rng = random.Random(f"{seed} {name} {place}")
        try:
            bounds_of = cfg_bounds(CfgOracle(rules), token_list)
            groups = groups_of(gl.compile(describe(), COMPILED[name]), COMPILED[name], rng, walks, 16)
        except (TooManyStates, *REFUSALS):
            outcomes["without texts, or too large"] += 1
            continue
        try:
            found = assert_groups_are_alike(groups, bounds_of, rng)
        except AssertionError as broken:
            raise AssertionError(f"{describe()}, {name}: {broken}") from broken
        outcomes += Counter({"grammars": 1, "pairs": found, "rows that states share": len(groups)})
    return outcomes


def check_lark(name: str, seed: str, count: int, walks: int) -> Counter[str]:
    """Random grammars with a lexer, and those written by hand: the oracle has bounds."""
    drawn, outcomes = RandomLark(f"rows {seed} {name}"), Counter[str]()
    grammars = [(text, alphabet, LarkOracle(text)) for text, alphabet in HAND_WRITTEN.values()][: count // 2]
    while len(grammars) < count:
        grammar, oracle = drawn.readable()
        grammars.append((grammar.text, grammar.alphabet, oracle))
    for text, alphabet, oracle in grammars:
        rng = random.Random(f"{seed} {name} {text}")
        if oracle.superset is None:
            continue
        witnesses = Witnesses(oracle, alphabet, rng, tries=20)
        try:
            groups = groups_of(gl.compile(gl.Lark(text), COMPILED[name]), COMPILED[name], rng, walks, 9)
        except REFUSALS:
            outcomes["without texts, or too large"] += 1
            continue
        judge = lambda data: judged_mask(witnesses, data, VOCABULARIES[name])  # noqa: B023, E731 - called within this turn
        try:
            found = assert_groups_are_alike(groups, judge, rng)
        except AssertionError as broken:
            raise AssertionError(f"{text}\n{name}: {broken}") from broken
        outcomes += Counter({"grammars": 1, "pairs": found, "rows that states share": len(groups)})
    return outcomes


def record(record_property: Any, outcomes: Counter[str]) -> None:
    record_property("cases", outcomes["pairs"])
    record_counts(record_property, outcomes)


@pytest.mark.parametrize("machine", MACHINES)
@tiers(
    "name, seed, count, steps, least", ("pieces", "few", 15, 8, 20), *((name, "many", 600, 40, 1000) for name in NAMES)
)
def test_states_of_one_row_have_equal_masks(machine, name, seed, count, steps, least, record_property) -> None:
    outcomes = check_rules(machine, name, seed, count, steps)
    record(record_property, outcomes)
    assert outcomes["pairs"] >= least, outcomes


@tiers("name, seed, count, steps, least", ("bytes", "few", 2, 4, 4), *((name, "many", 60, 25, 300) for name in NAMES))
def test_states_of_one_row_have_equal_masks_after_a_lexer(name, seed, count, steps, least, record_property) -> None:
    outcomes = check_lark(name, seed, count, steps)
    record(record_property, outcomes)
    assert outcomes["pairs"] >= least, outcomes


def test_the_law_notices_a_row_that_is_shared_too_widely() -> None:
    """Two states whose masks differ, given one row: brute force sees it."""
    rules = CfgOracle(next(MACHINES["gbnf"]("rows bite"))[0])
    assert not rules.is_empty
    vocab = COMPILED["bytes"]
    constraint = gl.compile(next(MACHINES["gbnf"]("rows bite"))[1](), vocab)
    matcher, after = constraint.matcher(), constraint.matcher()
    token = min(allowed_ids(after, vocab) - set(vocab.stop_ids))
    assert after.advance(token)
    assert allowed_ids(after, vocab) != allowed_ids(matcher, vocab)
    group = {state_of(matcher): b"", state_of(after): vocab.token_bytes(token)}
    with pytest.raises(AssertionError, match="only after the"):
        assert_groups_are_alike([group], cfg_bounds(rules, VOCABULARIES["bytes"]), random.Random(0))
