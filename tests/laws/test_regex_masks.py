"""Masks of regular expressions equal those of the independent oracle, for three kinds of vocabulary."""

import random
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import grammarlm as gl
from tests.counts import record_counts, tiers
from tests.laws import vocabularies
from tests.laws.laws import allowed_ids, assert_walk_equals_oracle
from tests.oracles.random_regex import Expression, RandomRegex, build, random_byte_patterns
from tests.oracles.regex_oracle import Oracle, Texts, TooManyStates

VOCABULARIES = {name: make() for name, make in vocabularies.ALL.items()}
COMPILED = {name: token_list.vocabulary() for name, token_list in VOCABULARIES.items()}
# Refusing a pattern by name is allowed only where it looks around.
LOOKING_AROUND = ["(?=", "(?!", "(?<", "\\b", "\\B", "\\A", "\\Z", "^", "$"]


def check_expression(expression: Expression, name: str, steps: int, most_states: int = 150) -> str:
    """Compiles and walks; the outcome, by name, so that a test can count how often each occurred."""
    vocab, token_list = COMPILED[name], VOCABULARIES[name]
    rng = random.Random(f"{expression!r} {name}")
    try:
        token_oracle = token_list.token_oracle(build(expression, Oracle), most_states)
        satisfiable = token_oracle.completable(token_oracle.start)
    except TooManyStates:
        return "too large for the oracle"
    try:
        constraint = gl.compile(build(expression, gl.Regex), vocab)
    except gl.UnsatisfiableGrammar:
        assert not satisfiable, f"{expression!r} has texts"
        return "unsatisfiable"
    except gl.UnsupportedFeature:
        assert any(sign in str(expression) for sign in LOOKING_AROUND), expression
        return "refused"
    except gl.LimitExceeded:
        return "over a limit"
    assert satisfiable, f"{expression!r} has no text that the tokens can spell"
    assert_walk_equals_oracle(constraint.matcher(), token_oracle, vocab, rng, steps)
    return "walked"


def check_many(seed: str, name: str, count: int, steps: int) -> Counter[str]:
    drawn = RandomRegex(f"{seed} {name}")
    return Counter(check_expression(drawn.expression(), name, steps) for _ in range(count))


@pytest.mark.parametrize("name", VOCABULARIES)
@tiers("seed, count, steps, least", ("masks", 25, 12, 10), *((f"proof {part}", 300, 25, 100) for part in range(4)))
def test_random_expressions(name: str, seed: str, count: int, steps: int, least: int, record_property) -> None:
    outcomes = check_many(seed, name, count, steps)
    record(record_property, outcomes)
    assert outcomes["walked"] >= least, outcomes
    assert outcomes["refused"] <= count / 5, outcomes


def check_looking_around(seed: str, name: str, count: int, steps: int) -> Counter[str]:
    """Patterns of few characters and many look-aheads, look-behinds and anchors, nested in each other."""
    drawn = RandomRegex(f"{seed} {name}", "ab1 \n-é€", look_around=0.35)
    return Counter(check_expression(drawn.pattern(1), name, steps) for _ in range(count))


@tiers(
    "seed, name, count, steps, least",
    ("around", "every byte", 40, 8, 10),
    *(("many", name, 600, 15, 200) for name in VOCABULARIES),
)
def test_random_look_arounds(seed: str, name: str, count: int, steps: int, least: int, record_property) -> None:
    outcomes = check_looking_around(seed, name, count, steps)
    record(record_property, outcomes)
    assert outcomes["walked"] >= least, outcomes


def record(record_property, outcomes: Counter[str]) -> None:
    """What became of the patterns, for the table of `make proof`."""
    record_counts(record_property, outcomes)


def check_bytes(seed: str, count: int, steps: int) -> Counter[str]:
    """Patterns of bytes, alone and joined with patterns of text."""
    texts, patterns = RandomRegex(seed), random_byte_patterns(seed)
    expressions: list[Expression] = [next(patterns) for _ in range(count)]
    expressions += [(operator, texts.pattern(1), next(patterns)) for operator in "&|+-" for _ in range(count // 8)]
    return Counter(check_expression(expression, "every byte", steps) for expression in expressions)


@tiers("seed, count, steps, least", ("bytes", 20, 10, 15), ("many bytes", 400, 20, 200))
def test_random_patterns_of_bytes(seed: str, count: int, steps: int, least: int, record_property) -> None:
    outcomes = check_bytes(seed, count, steps)
    record(record_property, outcomes)
    assert outcomes["walked"] >= least, outcomes


def _patterns() -> st.SearchStrategy[str]:
    characters = st.sampled_from([*"ab1_", r"\n", r"\-", "é", "€", "😀"])
    classes = st.builds(
        "[{}{}]".format, st.sampled_from(["", "^"]), st.sampled_from(["ab", r"\d_", "a-z", "é-😀", r"\W"])
    )
    leaves = st.one_of(characters, classes, st.sampled_from([".", r"\w", r"\s", r"\b", "^", "$", ""]))
    return st.recursive(
        leaves,
        lambda inner: st.one_of(
            st.builds("{}{}".format, inner, inner),
            st.builds("(?:{}|{})".format, inner, inner),
            st.builds("(?:{}){}".format, inner, st.sampled_from(["*", "+?", "?", "{2}", "{1,2}"])),
        ),
        max_leaves=6,
    )


@settings(max_examples=40, derandomize=True, deadline=None, database=None)
@given(pattern=_patterns(), name=st.sampled_from(sorted(VOCABULARIES)))
def test_any_pattern(pattern: str, name: str) -> None:
    check_expression(pattern, name, 8)


@pytest.mark.parametrize("repeats", [20, 200])
def test_the_automaton_is_never_built_whole(repeats: int) -> None:
    """A deterministic automaton of this pattern has 2 ** repeats states; a walk meets one a token."""
    vocab, tokens = COMPILED["every byte"], VOCABULARIES["every byte"].tokens
    token_list = VOCABULARIES["every byte"]
    matcher = gl.compile(gl.Regex(rf"(a|b)*a(a|b){{{repeats}}}"), vocab).matcher()
    never = {*token_list.stop_ids, *token_list.special_ids}
    texts = {token for token, data in enumerate(tokens) if data and set(data) <= set(b"ab") and token not in never}
    rng = random.Random(repeats)
    text = b""
    for _ in range(100):
        accepting = text[-repeats - 1 : -repeats] == b"a"
        assert allowed_ids(matcher, vocab) == texts | (set(token_list.stop_ids) if accepting else set()), text
        token = rng.choice(sorted(texts))
        assert matcher.advance(token)
        text += tokens[token]
    assert len(text) > 100


def test_regexes_compose_with_choices() -> None:
    vocab, token_list = COMPILED["every byte"], VOCABULARIES["every byte"]
    names = ["ab", "a", "été", "1"]
    texts = Texts(name.encode() for name in names)
    cases = [
        (gl.Regex("a?") + gl.Choices(names), Oracle("a?") + texts),
        (gl.Choices(names) + gl.Regex(r"\d*"), texts + Oracle(r"\d*")),
        (gl.Choices(names) | gl.Regex("b+"), texts | Oracle("b+")),
        (gl.Choices(names) & gl.Regex("a.*"), texts & Oracle("a.*")),
        (gl.Regex("[ab]+") & gl.Choices(names), Oracle("[ab]+") & texts),
        ((gl.Regex("a+") | gl.Regex("b+")) + gl.Regex("^1$"), (Oracle("a+") | Oracle("b+")) + Oracle("1")),
    ]
    for place, (grammar, oracle) in enumerate(cases):
        matcher = gl.compile(grammar, vocab).matcher()
        assert_walk_equals_oracle(matcher, token_list.token_oracle(oracle), vocab, random.Random(place), 20)


def test_everything_allowed_needs_no_mask() -> None:
    """False is returned exactly where every bit is set: here a stop id, `a` and `b` are all there is."""
    vocab = gl.Vocabulary([b"a", b"b", b""], stop_ids=[2])
    matcher = gl.compile(gl.Regex("(?s).*"), vocab).matcher()
    mask = gl.allocate_mask(1, vocab.size)
    assert matcher.fill_mask(mask) is False
    assert mask[0, 0] == 0b111
    matcher = gl.compile(gl.Regex("(?s).+"), vocab).matcher()
    assert matcher.fill_mask(mask) is True
    assert mask[0, 0] == 0b011


@pytest.mark.parametrize(
    ("pattern", "tokens"),
    [
        ("a(?!.)b", [b"a", b"b"]),
        ("[^\\s\\S]", [b"a"]),
        ("ab", [b"a"]),
        ("é", [b"\xc3", b"a"]),
        ("aaa", [b"aa", b"b"]),
        ("(?:ab)*a", [b"ab", b"ba"]),
    ],
)
def test_what_no_tokens_can_spell_is_unsatisfiable(pattern: str, tokens: list[bytes]) -> None:
    vocab = gl.Vocabulary([*tokens, b""], stop_ids=[len(tokens)])
    with pytest.raises(gl.UnsatisfiableGrammar):
        gl.compile(gl.Regex(pattern), vocab)


def test_a_difference_of_a_regex_from_itself_is_unsatisfiable() -> None:
    for grammar in [gl.Regex("a+") - gl.Regex("aa*"), gl.Regex("a*") & gl.Regex("b+")]:
        with pytest.raises(gl.UnsatisfiableGrammar):
            gl.compile(grammar, COMPILED["every byte"])
