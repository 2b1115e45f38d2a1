"""Masks of random Lark grammars, against stock lark.

A token is allowed where a text that lark accepts begins with what it makes, forbidden where not even the grammar
without a lexer has such a text, and stop ids are allowed exactly after texts that lark accepts. Where neither proof is
at hand the token may be either; that is rare, and dead ends among those show as masks that end up empty.
"""

import random
from collections import Counter
from typing import Any

import pytest

import grammarlm as gl
from grammarlm.grammars.regular import ordered
from grammarlm.masks.machines.stack.proofs.trust import Trust
from tests.counts import record_counts, tiers
from tests.laws.cfg_laws import (
    assert_budgets_finish,
    assert_threads_agree,
    budgeted_text,
    least_budget,
)
from tests.laws.cfg_vocabularies import VOCABULARIES
from tests.laws.lark_examples import HAND_WRITTEN
from tests.laws.lark_mask_laws import NAMES, check, check_many, judged_mask
from tests.laws.laws import allowed_ids
from tests.laws.vocabularies import TokenList
from tests.masks.machines.stack.viable_bytes import GRAMMARS, masks_allow_the_viable_bytes
from tests.oracles.lark_oracle import LarkOracle, Witnesses


def spend(constraint: Any, witnesses: Witnesses, token_list: TokenList, rng: random.Random, steps: int) -> Counter[str]:
    """The law of budgets, along a walk: what the matcher itself finishes, lark accepts.

    That holds above all for tokens which are allowed though no completion was found here: there the matcher must know one.
    """
    counts, matcher, vocab, tokens = Counter[str](), constraint.matcher(), token_list.vocabulary(), list[int]()
    assert_budgets_finish(constraint, lambda data: witnesses.oracle.accepts(data.decode()), rng)
    for _ in range(steps):
        text = b"".join(token_list.tokens[token] for token in tokens)
        allowed = allowed_ids(matcher, vocab) - set(token_list.stop_ids)
        unproved = sorted(allowed - judged_mask(witnesses, text, token_list)[0])
        for token in rng.sample(unproved, min(4, len(unproved))):
            begin = [*tokens, token]
            finished = budgeted_text(constraint, least_budget(constraint, begin), begin, rng)
            assert witnesses.oracle.accepts(finished.decode()), (text, token_list.tokens[token], finished)
        counts += Counter({"allowed, finished by the matcher alone": len(unproved)})
        if not allowed:
            break
        tokens.append(rng.choice(sorted(allowed)))
        matcher.advance(tokens[-1])
    return counts


@pytest.mark.parametrize("name", NAMES)
@tiers("seed, count, steps", ("few", 4, 4), ("many", 200, 12))
def test_masks_of_random_grammars(name: str, seed: str, count: int, steps: int, record_property) -> None:
    record_counts(record_property, check_many(name, seed, count, steps))


@pytest.mark.parametrize("name", NAMES)
@tiers("seed, count, steps", ("budgets", 4, 2), ("many budgets", 200, 5))
def test_budgets(name: str, seed: str, count: int, steps: int, record_property) -> None:
    record_counts(record_property, check_many(name, seed, count, steps, spend))


@pytest.mark.parametrize(
    ("grammar", "names", "steps"),
    [
        *((grammar, ["pieces"], 4) for grammar in ("keyword and name", "ends of numbers", "not LALR")),
        *(pytest.param(grammar, NAMES, 12, marks=pytest.mark.proof) for grammar in HAND_WRITTEN),
    ],
)
def test_masks_of_hand_written_grammars(grammar: str, names: list[str], steps: int) -> None:
    text, alphabet = HAND_WRITTEN[grammar]
    for name in names:
        outcomes = check(text, alphabet, LarkOracle(text), name, steps)
        assert outcomes["walked"] or (steps > 4 and outcomes["looks around"]), (name, outcomes)


DEAD_ENDS = [
    ("shorter lexeme before its own letter", 6),
    ("keyword or assignment", 6),
    ("ends of numbers", 7),
    ("lazy then greedy", 6),
    ("one name too few for LALR", 6),
]


@pytest.fixture
def every_terminal_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if no terminal's positions could all be visited: nothing is proved by a search of them."""
    monkeypatch.setattr(ordered, "LARGE", 0)
    monkeypatch.setattr(Trust, "_refuse_what_is_too_large", lambda trust: None)


@pytest.mark.parametrize(("name", "longest"), DEAD_ENDS)
@pytest.mark.usefixtures("every_terminal_is_large")
def test_dead_ends_of_large_terminals(name: str, longest: int) -> None:
    text, alphabet, needed = GRAMMARS[name]
    constraint = gl.compile(gl.Lark(text), VOCABULARIES["bytes"].vocabulary())
    masks_allow_the_viable_bytes(constraint, text, alphabet, needed, longest)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.usefixtures("every_terminal_is_large")
@tiers("seed, count, steps", ("large", 3, 4), ("many large", 60, 6))
def test_masks_of_large_terminals(name: str, seed: str, count: int, steps: int, record_property) -> None:
    record_counts(record_property, check_many(name, seed, count, steps))


@pytest.mark.parametrize("grammar", ["keyword and name", "numbers and space", "not LALR"])
def test_eight_threads(grammar: str) -> None:
    text = HAND_WRITTEN[grammar][0]
    vocab = VOCABULARIES["pieces"].vocabulary()
    assert_threads_agree(lambda: gl.compile(gl.Lark(text), vocab), vocab, grammar, 20)
