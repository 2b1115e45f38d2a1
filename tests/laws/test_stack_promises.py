"""What every matcher promises beside its masks, over random grammars: trees, batches, snapshots, saved constraints, budgets.

test_stack_matcher.py tries the same on grammars written by hand; here each law meets grammars that nobody thought of.
"""

import random
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest

import grammarlm as gl
from tests.counts import record_counts, tiers
from tests.laws.cfg_laws import assert_rows_are_alike, budgeted_text, view
from tests.laws.cfg_vocabularies import COMPILED, VOCABULARIES
from tests.laws.laws import allowed_ids
from tests.laws.vocabularies import TokenList
from tests.oracles.automata import TooManyStates
from tests.oracles.cfg_oracle import CfgOracle
from tests.oracles.lark_oracle import LarkOracle
from tests.oracles.random_grammars import RandomGrammars
from tests.oracles.random_lark import RandomLark

SPARE = (0, 2, 15, 80)
MOST_REFUSED = 0.08  # most of them too ambiguous for walks of 80 tokens, see AMBIGUOUS
NAMES = ["bytes", "pieces", "hostile"]
# A grammar to compile, and whether a text is one of its texts.
Drawn = tuple[Any, Callable[[bytes], bool]]


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
        yield gl.Lark(grammar.text), partial(lark_accepts, oracle)


def lark_accepts(oracle: LarkOracle, text: bytes) -> bool:
    return oracle.accepts(text.decode())


MACHINES: dict[str, Callable[[str], Iterator[Drawn]]] = {
    "gbnf": partial(draw_rules, "gbnf"),
    "ebnf": partial(draw_rules, "ebnf"),
    "lark": draw_lark,
}


def wander(matcher: gl.Matcher, vocab: gl.Vocabulary, steps: int, rng: random.Random) -> gl.Matcher:
    """The matcher, some tokens and pieces of text further."""
    for _ in range(steps):
        following = sorted(allowed_ids(matcher, vocab) - set(vocab.stop_ids))
        if not following:
            break
        token = rng.choice(following)
        if rng.random() < 0.2:
            matcher.advance_bytes(vocab.token_bytes(token)[:1])
        else:
            assert matcher.advance(token)
    return matcher


def assert_a_tree_is_a_replay(matcher: gl.Matcher, vocab: gl.Vocabulary, rng: random.Random) -> None:
    """Rows of a random tree, of allowed tokens and others, are those of its paths; refused paths have none."""
    matchers: list[gl.Matcher | None] = [matcher]
    tokens, parents = list[int](), list[int]()
    for _ in range(10):
        parent = rng.randrange(len(matchers))
        above = matchers[parent]
        allowed = sorted(allowed_ids(above, vocab)) if above else []
        tokens.append(rng.choice(allowed) if allowed and rng.random() < 0.8 else rng.randrange(vocab.size))
        parents.append(parent - 1)
        child = above.fork() if above else None
        matchers.append(child if child and child.advance(tokens[-1]) else None)
    before, mask = view(matcher, vocab), gl.allocate_mask(len(matchers), vocab.size)
    gl.fill_tree(matcher, tokens, parents, mask)
    for row, replay in enumerate(matchers):
        expected = view(replay, vocab)[0] if replay else bytes(len(mask[row]) * 4)
        assert mask[row].tobytes() == expected, (tokens, parents, row)
    assert view(matcher, vocab) == before


def assert_a_batch_is_its_rows(constraint: gl.Constraint, vocab: gl.Vocabulary, rng: random.Random) -> None:
    """Matchers of one constraint in all places, some with a budget, by one thread and by two."""
    least = constraint.matcher().min_tokens_left
    matchers = [wander(constraint.matcher(rng.choice([None, least + place])), vocab, place, rng) for place in range(6)]
    assert_rows_are_alike(matchers, vocab)
    for threads in (1, 2):
        mask = gl.allocate_mask(len(matchers), vocab.size)
        gl.fill_masks(matchers, mask, threads=threads)
        for row, matcher in enumerate(matchers):
            assert mask[row].tobytes() == view(matcher, vocab)[0], (row, threads)


def assert_a_copy_goes_on(
    matcher: gl.Matcher, constraint: gl.Constraint, again: gl.Constraint, vocab: gl.Vocabulary, rng: random.Random
) -> None:
    """A snapshot, restored here and in a constraint that was saved and loaded, shows and does what the matcher does."""
    for home in (constraint, again):
        original, copy = matcher.fork(), home.restore(matcher.snapshot())
        assert copy.snapshot() == matcher.snapshot()
        for _ in range(4):
            assert view(copy, vocab) == view(original, vocab)
            assert copy.min_tokens_left == original.min_tokens_left
            token = rng.choice(sorted(allowed_ids(original, vocab)))
            assert copy.advance(token) is original.advance(token)
            if rng.random() < 0.3:
                copy.rollback(1)
                original.rollback(1)


def assert_budgets_end(
    constraint: gl.Constraint, accepts: Callable[[bytes], bool], token_list: TokenList, rng: Any
) -> None:
    """Walks of at most as many tokens as are enough, or some more, end in texts of the language; one less is refused."""
    least = constraint.matcher().min_tokens_left
    if least:
        with pytest.raises(ValueError, match="may not be enough"):
            constraint.matcher(max_tokens=least - 1)
    for more in SPARE:
        text = budgeted_text(constraint, least + more, [], token_list, rng)
        assert accepts(text), (text, more)


def check(machine: str, name: str, seed: str, count: int) -> Counter[str]:
    drawn, vocab, outcomes = MACHINES[machine](f"{seed} {name}"), COMPILED[name], Counter[str](cases=count)
    for place in range(count):
        grammar, accepts = next(drawn)
        rng = random.Random(f"{seed} {name} {place}")
        try:
            constraint = gl.compile(grammar, vocab)
            laws(constraint, accepts, VOCABULARIES[name], rng)
        except (gl.UnsatisfiableGrammar, gl.UnsupportedFeature, gl.LimitExceeded) as refusal:
            outcomes[type(refusal).__name__] += 1
        except AssertionError as broken:
            raise AssertionError(f"{grammar!r}, {name}: {broken}") from broken
        else:
            outcomes["kept every promise"] += 1
    assert outcomes["kept every promise"] >= count / 2, outcomes
    assert outcomes["LimitExceeded"] + outcomes["UnsupportedFeature"] <= max(1, MOST_REFUSED * count), outcomes
    return outcomes


def laws(
    constraint: gl.Constraint, accepts: Callable[[bytes], bool], token_list: TokenList, rng: random.Random
) -> None:
    vocab = constraint.vocab
    again = gl.Constraint.from_bytes(constraint.to_bytes(), vocab)
    assert again.grammar == constraint.grammar
    assert again.to_bytes() == constraint.to_bytes()
    assert_a_batch_is_its_rows(constraint, vocab, rng)
    assert_budgets_end(constraint, accepts, token_list, rng)
    for budget in (None, constraint.matcher().min_tokens_left + rng.choice([1, 4, 20])):
        matcher = wander(constraint.matcher(budget), vocab, rng.randint(0, 5), rng)
        assert_a_tree_is_a_replay(matcher, vocab, rng)
        assert_a_copy_goes_on(matcher, constraint, again, vocab, rng)


@pytest.mark.parametrize("machine", MACHINES)
@tiers("name, seed, count", ("pieces", "few", 5), *((name, "many", 150) for name in NAMES))
def test_promises(machine: str, name: str, seed: str, count: int, record_property: Any) -> None:
    record_counts(record_property, check(machine, name, seed, count))


# Few rules, whose texts can be read in more and more ways the longer they get: far more than threads.
AMBIGUOUS = [
    'root ::= "a" root "b" | "aa" root "c" | "a"',
    'root ::= root root | "a" root "b" | "a"',
    'root ::= x x | "a" | root root\nx ::= "a" x | root',
]


@pytest.mark.parametrize("text", AMBIGUOUS)
def test_a_text_that_can_be_read_in_many_ways(text: str) -> None:
    """40 letters: as many as a recogniser reads in polynomial time."""
    matcher, oracle = (
        gl.compile(gl.Gbnf(text), COMPILED["bytes"]).matcher(),
        CfgOracle(gl.Gbnf(text).rules(lambda: None)),
    )
    tokens = VOCABULARIES["bytes"].tokens[:256]
    for length in range(40):
        assert allowed_ids(matcher, COMPILED["bytes"]) - {256} == oracle.mask(b"a" * length, tokens)
        assert matcher.advance(ord("a"))
