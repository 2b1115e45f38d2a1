"""A matcher with a budget: the text always ends within it, validly, and nothing is forbidden without need.

The oracle reads the texts; how many tokens are enough it does not know, so the bound is checked from both sides: never below the
fewest tokens that the oracle finds, and kept by every walk.
"""

import random
from itertools import count

import pytest

import grammarlm as gl
from tests.counts import tiers
from tests.laws import vocabularies
from tests.laws.laws import allowed_ids
from tests.masks.machines.stack.stack_examples import REGULAR
from tests.oracles.any_grammar import automaton_of
from tests.oracles.automata import TokenOracle
from tests.oracles.random_regex import RandomRegex, build
from tests.oracles.regex_oracle import Oracle, TooManyStates

VOCABULARIES = {name: make() for name, make in vocabularies.ALL.items()}
COMPILED = {name: token_list.vocabulary() for name, token_list in VOCABULARIES.items()}
SPARE = (0, 2, 15, 80)
CASES = {name: (grammar, automaton_of(grammar)) for name, grammar in REGULAR.items()}


def constraint_of(case: str, name: str) -> gl.Constraint | None:
    """None where the tokens spell no text; the other laws prove that that is true."""
    try:
        return gl.compile(CASES[case][0], COMPILED[name])
    except gl.UnsatisfiableGrammar:
        return None


def fewest_tokens(oracle: TokenOracle, state: object) -> int:
    """The true minimum: breadth first over tokens."""
    layer, seen = {state}, {state}
    for tokens in count():
        if any(oracle.oracle.accepts(each) for each in layer):
            return tokens
        layer = {after for each in layer for after in oracle.moves(each).values()} - seen
        assert layer, "no tokens end the text"
        seen |= layer
    raise AssertionError("unreachable")


def check_walk(matcher: gl.Matcher, oracle: TokenOracle, vocab: gl.Vocabulary, budget: int, rng: random.Random) -> int:
    """Random allowed tokens, to the end if there is one, and never a stop id by choice; how many masks the budget narrowed."""
    plain, state, read, narrowed = rng, oracle.start, 0, 0
    while True:
        allowed, ordinary = allowed_ids(matcher, vocab), oracle.mask(state)
        assert allowed <= ordinary
        assert allowed & oracle.stop_ids == ordinary & oracle.stop_ids
        assert matcher.min_tokens_left <= budget - read
        assert fewest_tokens(oracle, state) <= matcher.min_tokens_left
        narrowed += allowed != ordinary
        for token in plain.sample(sorted(ordinary - allowed), min(2, len(ordinary - allowed))):
            assert not matcher.advance(token), (read, token)
        texts = sorted(allowed - oracle.stop_ids)
        assert texts or matcher.is_accepting, "no token keeps the promise"
        if not texts or read > 60 + budget // 2:
            break
        token = rng.choice(texts)
        assert matcher.advance(token)
        state, read = oracle.after(state, token), read + 1
        assert read <= budget
    while not matcher.is_accepting:  # the rest in a straight line: each step gets nearer to the end
        left = matcher.min_tokens_left
        nearer = [t for t in sorted(allowed_ids(matcher, vocab)) if goes_nearer(matcher, t, left)]
        assert nearer
        assert matcher.advance(nearer[0])
        state, read = oracle.after(state, nearer[0]), read + 1
    assert read <= budget
    assert oracle.oracle.accepts(state)
    return narrowed


def goes_nearer(matcher: gl.Matcher, token: int, left: int) -> bool:
    fork = matcher.fork()
    return fork.advance(token) and fork.min_tokens_left < left


@pytest.mark.parametrize("name", VOCABULARIES)
@pytest.mark.parametrize("case", CASES)
def test_walks_end_within_their_budget(case: str, name: str) -> None:
    constraint, vocab = constraint_of(case, name), COMPILED[name]
    if constraint is None:
        assert name == "few bytes"
        return
    oracle = VOCABULARIES[name].token_oracle(CASES[case][1])
    enough = constraint.matcher().min_tokens_left
    with pytest.raises(ValueError, match=rf"max_tokens={enough - 1} may not be enough"):
        constraint.matcher(max_tokens=enough - 1)
    narrowed = 0
    for spare in SPARE:
        for seed in range(4):
            rng = random.Random(f"{case} {name} {spare} {seed}")
            matcher = constraint.matcher(max_tokens=enough + spare)
            narrowed += check_walk(matcher, oracle, vocab, enough + spare, rng)
    assert narrowed or name == "few bytes", "no budget was ever felt"


def check_random(seed: str, name: str, patterns: int) -> int:
    drawn, vocab, walked = RandomRegex(f"budget {seed} {name}", look_around=0.1), COMPILED[name], 0
    for _ in range(patterns):
        expression = drawn.expression()
        try:
            oracle = VOCABULARIES[name].token_oracle(build(expression, Oracle), 120)
            oracle.completable(oracle.start)
            constraint = gl.compile(build(expression, gl.Regex), vocab)
        except (TooManyStates, gl.GrammarError):
            continue
        enough = constraint.matcher().min_tokens_left
        for spare in SPARE[:3]:
            matcher = constraint.matcher(max_tokens=enough + spare)
            check_walk(matcher, oracle, vocab, enough + spare, random.Random(f"{expression!r} {spare}"))
        walked += 1
    return walked


@pytest.mark.parametrize("name", VOCABULARIES)
@tiers("seed, count, least", ("few", 13, 4), ("many", 600, 150))
def test_walks_of_random_patterns_end_within_their_budget(name: str, seed: str, count: int, least: int) -> None:
    assert check_random(seed, name, count) >= least


def longest_matches(data: bytes, tokens: dict[bytes, int]) -> int:
    """How many tokens a cut into longest matches has, by trying every length; a byte that none begins with counts as one."""
    cost = 0
    while data:
        length = next((n for n in range(len(data), 0, -1) if data[:n] in tokens), 1)
        data, cost = data[length:], cost + 1
    return cost


@pytest.mark.parametrize("name", VOCABULARIES)
def test_bytes_cost_their_longest_matches(name: str) -> None:
    vocab, token_list = COMPILED[name], VOCABULARIES[name]
    never = {*token_list.stop_ids, *token_list.special_ids}
    texts = {data: i for i, data in enumerate(token_list.tokens) if data and i not in never}
    constraint, rng = gl.compile(gl.Regex(r"(?s).*"), vocab), random.Random(name)
    for _ in range(60):
        data = "".join(rng.choice("ab1_Z \n-]é€😀") for _ in range(rng.randint(1, 12))).encode()
        cost = longest_matches(data, texts)
        matcher = constraint.matcher(max_tokens=cost + 1)
        assert matcher.advance_bytes(data)
        ids = sorted(allowed_ids(matcher, vocab) - set(vocab.stop_ids))
        assert ids, "one token must be left"
        assert matcher.advance(rng.choice(ids))
        assert allowed_ids(matcher, vocab) == set(vocab.stop_ids)
        short = constraint.matcher(max_tokens=cost - 1)
        assert not short.advance_bytes(data)
        assert short.advance_bytes(b"")
        short.rollback(1)
        with pytest.raises(ValueError, match="only 0 steps"):
            short.rollback(1)


def test_no_tokens_at_all() -> None:
    vocab = COMPILED["every byte"]
    matcher = gl.compile(gl.Regex("a*"), vocab).matcher(max_tokens=0)
    assert allowed_ids(matcher, vocab) == set(vocab.stop_ids)
    assert not matcher.advance(ord("a"))
    assert not matcher.advance_bytes(b"a")
    assert matcher.advance(vocab.stop_ids[0])
    assert matcher.min_tokens_left == 0


@pytest.mark.parametrize("bad", ["3", 1.5, [3]])
def test_a_budget_is_a_number(bad: object) -> None:
    with pytest.raises(TypeError, match=r"matcher\(max_tokens\) takes a number of tokens, an integer"):
        gl.compile(gl.Regex("a"), COMPILED["every byte"]).matcher(max_tokens=bad)  # type: ignore[arg-type]


def test_an_end_that_is_too_far_to_be_written_down() -> None:
    vocab = COMPILED["every byte"]
    constraint = gl.compile(gl.Regex("a|b{2000000000}"), vocab)
    matcher = constraint.matcher(max_tokens=5)
    assert allowed_ids(matcher, vocab) & {97, 98} == {97}
    far = constraint.matcher()
    assert far.advance(98)
    with pytest.raises(gl.LimitExceeded, match="too long to be written down"):
        _ = far.min_tokens_left
    with pytest.raises(ValueError, match="max_tokens=5 may not be enough"):
        gl.compile(gl.Regex("b{2000000000}"), vocab).matcher(max_tokens=5)


def test_a_promise_that_only_the_plan_keeps() -> None:
    """No token spells x, so tokens that end the text are searched; after "yz" the machine's own end takes four, the plan's one."""
    tokens = [b"yz", b"a", b"bbbbbbbb", b"."]
    vocab = gl.Vocabulary(tokens, stop_ids=[3])
    constraint = gl.compile(gl.Regex("x|yz(a{4}|b{8})"), vocab)
    assert constraint.matcher().min_tokens_left == 2
    matcher = constraint.matcher(max_tokens=2)
    assert allowed_ids(matcher, vocab) == {0}
    assert matcher.forced_tokens() == [0, 2]
    assert matcher.advance(0)
    assert matcher.min_tokens_left == 1
    assert allowed_ids(matcher, vocab) == {2}
    assert not matcher.advance(1)
    assert allowed_ids(constraint.restore(matcher.snapshot()), vocab) == {2}
    assert matcher.advance_bytes(b"")
    assert allowed_ids(matcher, vocab) == {2}
    assert matcher.advance(2)
    assert allowed_ids(matcher, vocab) == {3}
    roomy = constraint.matcher(max_tokens=5)
    assert roomy.advance(0)
    assert allowed_ids(roomy, vocab) == {1, 2}
