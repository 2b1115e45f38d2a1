"""The laws of context-free grammars for random grammars of every notation that has them."""

import random
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import grammarlm as gl
from grammarlm.grammars.cfg.rules import Pattern, Rules
from tests.laws.cfg_laws import (
    assert_laws,
    assert_laws_between,
    assert_threads_agree,
    bounds,
)
from tests.laws.cfg_vocabularies import COMPILED, VOCABULARIES
from tests.laws.vocabularies import TokenList
from tests.oracles.automata import TooManyStates
from tests.oracles.cfg_oracle import CfgOracle
from tests.oracles.random_grammars import RandomGrammars
from tests.oracles.random_regex import RandomRegex

# The grammar as the oracle reads it, and as a description to compile; a description is cheap, so it is made on demand.
Drawn = tuple[Rules, Callable[[], Any]]
Laws = Callable[[Any, CfgOracle, TokenList, random.Random, int], None]

_MOST_REFUSED = 0.02


def draw_gbnf(seed: str) -> Iterator[Drawn]:
    drawn = RandomGrammars(f"gbnf {seed}")
    while True:
        grammar = drawn.grammar()
        yield grammar.rules, partial(gl.Gbnf, grammar.gbnf)


def draw_ebnf(seed: str) -> Iterator[Drawn]:
    drawn = RandomGrammars(f"ebnf {seed}")
    while True:
        grammar = drawn.grammar()
        yield grammar.rules, partial(gl.Ebnf, grammar.ebnf)


def draw_regex(seed: str) -> Iterator[Drawn]:
    drawn = RandomRegex(f"cfg {seed}", "ab(,)1é", look_around=0.0)
    while True:
        pattern = drawn.pattern()
        yield Rules("root", {"root": Pattern(pattern, 0)}), partial(gl.Regex, pattern)


MACHINES = {"gbnf": draw_gbnf, "ebnf": draw_ebnf, "regex": draw_regex}


def walk(constraint: Any, oracle: CfgOracle, token_list: TokenList, rng: random.Random, steps: int) -> None:
    """Every law but that of budgets."""
    lower, upper = bounds(oracle, token_list)
    laws = assert_laws if lower is upper else assert_laws_between
    laws(constraint, oracle, token_list, rng, steps)


def check(drawn: Drawn, name: str, seed: str, steps: int, laws: Laws = walk) -> str:
    """Compiles one grammar and tries the laws; the outcome, by name, so that a test can count how often each occurred."""
    rules, describe = drawn
    token_list, grammar, rng = VOCABULARIES[name], describe(), random.Random(f"{seed} {name}")
    try:
        oracle = CfgOracle(rules)
    except TooManyStates:
        return "too large for the oracle"
    lower, upper = bounds(oracle, token_list)
    try:
        constraint = gl.compile(grammar, COMPILED[name])
    except gl.UnsatisfiableGrammar:
        assert not lower.completable(oracle.start), f"{grammar} has texts"
        return "unsatisfiable"
    except (gl.UnsupportedFeature, gl.LimitExceeded) as refusal:
        if isinstance(refusal, gl.UnsupportedFeature) and lower is not upper:
            return "lacks bytes"  # of a vocabulary without all single bytes of its texts, a stack may say so
        return f"refused: {type(refusal).__name__}"
    assert upper.completable(oracle.start), f"{grammar} has no text that the tokens can spell"
    try:
        laws(constraint, oracle, token_list, rng, steps)
    except gl.LimitExceeded:
        return "refused: LimitExceeded on the way"
    except AssertionError as broken:
        raise AssertionError(f"{grammar}, {name}: {broken}") from broken
    return "walked"


def check_many(machine: str, name: str, seed: str, count: int, steps: int, laws: Laws = walk) -> Counter[str]:
    """Counts of outcomes; refusals must be rare, and enough grammars must have been walked."""
    drawn = MACHINES[machine](f"{seed} {name}")
    outcomes = Counter(check(next(drawn), name, f"{seed} {place}", steps, laws) for place in range(count))
    refused = sum(outcomes[kind] for kind in outcomes if kind.startswith("refused"))
    assert refused <= max(1, _MOST_REFUSED * count), outcomes
    assert outcomes["walked"] >= count * (0.1 if name == "few bytes" else 0.6), outcomes
    return outcomes


def check_threads(machine: str, name: str, seed: str, count: int, steps: int) -> int:
    """How many of the grammars drawn had texts: each is walked by eight threads at once. Refusals must be rare."""
    drawn, walked, refused = MACHINES[machine](f"threads {seed}"), 0, 0
    for place in range(count):
        rules, describe = next(drawn)
        if CfgOracle(rules).is_empty:
            continue
        compile_again = lambda: gl.compile(describe(), COMPILED[name])  # noqa: B023, E731 - called within this turn
        try:
            assert_threads_agree(compile_again, COMPILED[name], f"{seed} {place}", steps)
            walked += 1
        except gl.LimitExceeded:
            refused += 1
    assert refused <= max(1, _MOST_REFUSED * count), f"{refused} of {count} grammars are refused on the way"
    return walked
