"""Every machine's matchers keep what matchers promise (promises.py): over random grammars, and over grammars written by hand."""

import random
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest

import grammarlm as gl
from tests.corpus_files import raw
from tests.counts import record_counts, tiers
from tests.laws import cfg_vocabularies, vocabularies
from tests.laws.json_laws import WALKED
from tests.laws.promises import Accepts, check_budgets, check_promises, some_token_goes_nearer_to_the_end
from tests.masks.machines.json import json_cases
from tests.masks.machines.machine_examples import EXAMPLES
from tests.masks.machines.stack import stack_examples
from tests.masks.machines.stack.stack_examples import CASES, COMPILED, TABLES, made
from tests.oracles.any_grammar import accepts_of
from tests.oracles.automata import TooManyStates
from tests.oracles.cfg_oracle import CfgOracle
from tests.oracles.random_grammars import RandomGrammars
from tests.oracles.random_json_schemas import RandomSchemas
from tests.oracles.random_lark import RandomLark
from tests.oracles.random_regex import RandomRegex, build
from tests.oracles.regex_oracle import Oracle

MOST_REFUSED = 0.08  # most of them too ambiguous for walks of 80 tokens
NAMES = ["bytes", "pieces", "hostile"]
# A grammar to compile, and whether a text is one of its texts; None where another law is about its budgets.
Drawn = tuple[Any, Accepts | None]


def draw_rules(machine: str, seed: str) -> Iterator[Drawn]:
    drawn = RandomGrammars(f"promises {machine} {seed}")
    while True:
        grammar = drawn.grammar()
        try:
            oracle = CfgOracle(grammar.rules)
        except TooManyStates:
            continue
        yield (gl.Gbnf(grammar.gbnf) if machine == "gbnf" else gl.Ebnf(grammar.ebnf)), oracle.is_complete


def draw_lark(seed: str) -> Iterator[Drawn]:
    drawn = RandomLark(f"promises {seed}")
    while True:
        grammar, oracle = drawn.readable()
        yield gl.Lark(grammar.text), lambda data, oracle=oracle: oracle.accepts(data.decode())


def draw_regex(seed: str) -> Iterator[Drawn]:
    drawn = RandomRegex(f"promises {seed}", look_around=0.1)
    while True:
        expression = drawn.expression()
        try:
            oracle = build(expression, Oracle)
        except TooManyStates:
            continue
        yield build(expression, gl.Regex), oracle.matches


def draw_schemas(seed: str) -> Iterator[Drawn]:
    drawn = RandomSchemas(f"promises {seed}", depth=2)
    while True:
        yield gl.JsonSchema(drawn.schema(), property_order="any"), None


MACHINES: dict[str, Callable[[str], Iterator[Drawn]]] = {
    "gbnf": partial(draw_rules, "gbnf"),
    "ebnf": partial(draw_rules, "ebnf"),
    "lark": draw_lark,
    "regex": draw_regex,
    "json": draw_schemas,
}


def check(machine: str, name: str, seed: str, count: int) -> Counter[str]:
    drawn, outcomes = MACHINES[machine](f"{seed} {name}"), Counter[str](cases=count)
    vocab = WALKED if machine == "json" else cfg_vocabularies.COMPILED[name]
    for place in range(count):
        grammar, accepts = next(drawn)
        rng = random.Random(f"{seed} {name} {place}")
        try:
            constraint = gl.compile(grammar, vocab)
            check_promises(constraint, rng)
            if accepts is not None:
                check_budgets(constraint, rng, accepts)
        except (gl.UnsatisfiableGrammar, gl.UnsupportedFeature, gl.LimitExceeded, TooManyStates) as refusal:
            outcomes[type(refusal).__name__] += 1
        except AssertionError as broken:
            raise AssertionError(f"{grammar!r}, {name}: {broken}") from broken
        else:
            outcomes["kept every promise"] += 1
    assert outcomes["kept every promise"] >= count / 2, outcomes
    refused = outcomes["LimitExceeded"] + outcomes["UnsupportedFeature"]
    assert refused <= max(1, MOST_REFUSED * count) or machine in ("json", "regex"), outcomes
    return outcomes


@pytest.mark.parametrize("machine", MACHINES)
@tiers("name, seed, count", ("pieces", "few", 5), *((name, "many", 150) for name in NAMES))
def test_random_grammars(machine: str, name: str, seed: str, count: int, record_property: Any) -> None:
    record_counts(record_property, check(machine, name, seed, count))


REGULAR = {name: make().vocabulary() for name, make in vocabularies.ALL.items()}
WRITTEN = [(grammar, name) for grammar in CASES.values() for name in COMPILED]
WRITTEN += [(grammar, name) for grammar in stack_examples.REGULAR.values() for name in REGULAR]


@pytest.mark.parametrize(("grammar", "name"), WRITTEN, ids=lambda value: repr(value)[:60])
def test_written_grammars(grammar: Any, name: str) -> None:
    try:
        constraint, rng = gl.compile(grammar, (COMPILED | REGULAR)[name]), random.Random(f"{grammar!r} {name}")
    except gl.UnsatisfiableGrammar:
        assert name == "few bytes"
        return
    check_promises(constraint, rng)
    check_budgets(constraint, rng, accepts_of(grammar))


@pytest.mark.parametrize("case", TABLES["falling"], ids=lambda case: case["grammar"])
def test_a_bound_falls_to_the_end_where_single_bytes_are_missing(case: dict[str, Any]) -> None:
    tokens = [raw(token) for token in case["tokens"]]
    constraint = gl.compile(made(case["grammar"]), gl.Vocabulary([*tokens, b"</s>"], stop_ids=[len(tokens)]))
    some_token_goes_nearer_to_the_end(constraint.matcher(), constraint.vocab)


@pytest.mark.parametrize(("machine", "grammar", "vocab"), EXAMPLES, ids=lambda value: repr(value)[:40])
def test_every_machine(machine: str, grammar: Any, vocab: gl.Vocabulary) -> None:
    for seed in range(3):
        check_promises(gl.compile(grammar, vocab), random.Random(seed))


@pytest.mark.parametrize("name", json_cases.SOME)
def test_written_schemas(name: str) -> None:
    for seed in range(2):
        check_promises(json_cases.CASES[name].compiled(), random.Random(f"{name} {seed}"))
