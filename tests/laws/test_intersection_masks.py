"""Masks of `&` and `-` where one side has a stack, against all texts of the intersection.

The regular sides are finite, over a few characters, so the texts of both can be written out: the regular ones by Python's `re`,
those of the grammar by an oracle. An id is allowed iff some text begins with what was read and the id's bytes. Nothing else may be
read, and a grammar without such texts is refused.
"""

import random
import re
from collections import Counter
from collections.abc import Callable
from itertools import product

import pytest

import grammarlm as gl
from tests.counts import record_counts, tiers
from tests.laws.cfg_vocabularies import VOCABULARIES
from tests.laws.lark_examples import HAND_WRITTEN
from tests.laws.laws import allowed_ids
from tests.laws.vocabularies import TokenList
from tests.oracles.cfg_oracle import CfgOracle
from tests.oracles.lark_oracle import LarkOracle
from tests.oracles.random_grammars import RandomGrammars
from tests.oracles.random_lark import RandomLark

LONGEST = 5


def regular_side(rng: random.Random, letters: str) -> tuple[Callable[[gl.Gbnf], gl.Gbnf], Callable[[str], bool]]:
    """What is done to a grammar, and which texts it leaves."""
    some, other = rng.choice(letters), rng.choice(letters)
    each = "[" + "".join(map(re.escape, letters)) + "]"
    one, two = re.escape(some), re.escape(other)
    pattern = rng.choice([
        f"{each}{{0,{LONGEST}}}",
        f"{each}{{4}}",
        f"(?:{one}{two}|{one}|{each}{{3}}){{1,1}}",
        f"{each}{{0,2}}{one}{each}{{0,2}}",
        f"(?:{each}{{2}}){{0,2}}",
    ])  # fmt: skip
    banned = some + other if rng.random() < 0.5 else other
    kind = rng.choice(["&", "& Ban", "-", "& - Ban"])

    def limit(grammar: gl.Gbnf) -> gl.Gbnf:
        both = grammar & gl.Regex(pattern)
        if kind == "& Ban":
            return both & gl.Ban([banned])
        if kind == "-":
            return both - banned
        return gl.Ban([banned]) & (both - gl.Regex(each)) if kind == "& - Ban" else both

    def keeps(text: str) -> bool:
        fits = re.fullmatch(pattern, text) is not None and (("Ban" not in kind) or banned not in text)
        return fits and not (kind == "-" and text == banned) and not (kind == "& - Ban" and len(text) == 1)

    return limit, keeps


def texts_of(keeps: Callable[[str], bool], accepts: Callable[[str], bool], letters: str) -> set[bytes]:
    candidates = ("".join(text) for length in range(LONGEST + 1) for text in product(letters, repeat=length))
    return {text.encode() for text in candidates if keeps(text) and accepts(text)}


def assert_masks(grammar: gl.Gbnf, texts: set[bytes], token_list: TokenList, rng: random.Random) -> str:
    vocab = token_list.vocabulary()
    if not texts:
        with pytest.raises(gl.UnsatisfiableGrammar):
            gl.compile(grammar, vocab)
        return "unsatisfiable"
    constraint = gl.compile(grammar, vocab)
    never = {*token_list.stop_ids, *token_list.special_ids}
    for _ in range(4):
        matcher, read = constraint.matcher(), b""
        while True:
            begins = {text[:end] for text in texts if text.startswith(read) for end in range(len(text) + 1)}
            expected = {
                t for t, data in enumerate(token_list.tokens) if data and t not in never and read + data in begins
            }
            assert allowed_ids(matcher, vocab) == expected | (set(token_list.stop_ids) if read in texts else set()), (
                read
            )
            assert matcher.is_accepting is (read in texts)
            for token in rng.sample(range(len(token_list.tokens)), 5):
                assert matcher.validate([token]) == (
                    token in expected or (token in token_list.stop_ids and read in texts)
                )
            if not expected:
                break
            token = rng.choice(sorted(expected))
            assert matcher.advance(token)
            read += token_list.tokens[token]
    return "walked"


def draw_letters(rng: random.Random, alphabet: str) -> str:
    return "".join(rng.sample(alphabet, min(3, len(alphabet))))


def check_gbnf(seed: str, count: int) -> Counter[str]:
    drawn, rng, outcomes = RandomGrammars(f"intersections {seed}"), random.Random(seed), Counter[str]()
    while outcomes.total() < count:
        grammar = drawn.grammar()
        oracle = CfgOracle(grammar.rules)
        if oracle.is_empty:
            continue
        letters = draw_letters(rng, grammar.alphabet)
        limit, keeps = regular_side(rng, letters)

        def accepts(text: str, oracle: CfgOracle = oracle) -> bool:
            column = oracle.read(oracle.start, text.encode())
            return column is not None and oracle.accepts(column)

        name = rng.choice(["bytes", "pieces", "hostile"])
        limited = limit(gl.Gbnf(grammar.gbnf))
        try:
            outcomes[assert_masks(limited, texts_of(keeps, accepts, letters), VOCABULARIES[name], rng)] += 1
        except AssertionError as broken:
            raise AssertionError(f"{broken}\n{limited!r}\n{name}:\n{grammar.gbnf}") from broken
    return outcomes


def check_lark(seed: str, count: int) -> Counter[str]:
    drawn, rng, outcomes = RandomLark(f"intersections {seed}"), random.Random(seed), Counter[str]()
    while outcomes.total() < count:
        grammar, oracle = drawn.readable()
        outcomes[one_lark(grammar.text, grammar.alphabet, oracle, rng)] += 1
    return outcomes


def one_lark(text: str, alphabet: str, oracle: LarkOracle, rng: random.Random) -> str:
    letters = draw_letters(rng, alphabet)
    limit, keeps = regular_side(rng, letters)
    texts = texts_of(keeps, oracle.accepts, letters)
    try:
        return assert_masks(limit(gl.Lark(text)), texts, VOCABULARIES[rng.choice(["bytes", "pieces"])], rng)
    except (gl.UnsupportedFeature, gl.LimitExceeded):
        return "refused"
    except AssertionError as broken:
        raise AssertionError(f"{broken}\n{limit(gl.Lark(text))!r} ({oracle.route}):\n{text}") from broken


@tiers("seed, count", ("few", 30), ("many", 1000))
def test_random_grammars(seed: str, count: int, record_property) -> None:
    outcomes = check_gbnf(seed, count)
    assert outcomes["walked"] > count / 4 + 0.5, outcomes
    record_counts(record_property, outcomes)


@tiers("seed, count", ("few", 20), ("many", 200))
def test_random_lark_grammars(seed: str, count: int, record_property) -> None:
    outcomes = check_lark(seed, count)
    assert outcomes["walked"] > 3, outcomes
    assert outcomes["refused"] <= count / 10, outcomes
    record_counts(record_property, outcomes)


@pytest.mark.parametrize("grammar", ["keyword and name", "ends of numbers", "not LALR"])
def test_hand_written_lark_grammars(grammar: str) -> None:
    text, alphabet = HAND_WRITTEN[grammar]
    rng = random.Random(grammar)
    outcomes = Counter(one_lark(text, alphabet, LarkOracle(text), rng) for _ in range(5))
    assert outcomes["walked"], outcomes


def test_special_tokens_add_nothing_to_what_a_border_reads() -> None:
    tokens = [bytes([b]) for b in range(256)] + [b"</s>", b"<|x|>"]
    vocab = gl.Vocabulary(tokens, stop_ids=[256], special_ids=[256, 257])
    grammar = gl.Token("<|x|>") + gl.Gbnf('root ::= "a" <|x|> root "b" | "c"')
    for text, fits in (("aacbb", True), ("acb", False), ("c", False)):
        matcher = gl.compile(grammar & gl.Regex("[abc]{5}"), vocab).matcher()
        steps = [257, *(token for letter in text for token in ([97, 257] if letter == "a" else [ord(letter)]))]
        assert (matcher.validate([*steps, 256]) == len(steps) + 1) is fits, text
    banned = gl.compile(grammar & gl.Ban(["aac"]), vocab).matcher()
    assert banned.validate([257, 97, 257, 99, 98]) == 5
    assert banned.validate([257, 97, 257, 97, 257, 99]) == 3  # after two a's each text has the banned string


@pytest.mark.parametrize("pattern", ["[()]{12}", r"\({5}.*", ".*(?:\\)){3}", "(?:..)*"])
def test_budgets_keep_to_the_border(pattern: str) -> None:
    """The nearest end of the grammar is often none of the intersection."""
    vocab, rng = VOCABULARIES["pieces"].vocabulary(), random.Random(pattern)
    constraint = gl.compile(gl.Gbnf('root ::= "(" root* ")"') & gl.Regex(pattern), vocab)
    needed = constraint.matcher().min_tokens_left
    for most in (needed, needed + 2, needed + 15):
        matcher = constraint.matcher(max_tokens=most)
        for used in range(most + 1):
            assert matcher.advance(rng.choice(sorted(allowed_ids(matcher, vocab))))
            if matcher.is_finished:
                break
            assert used < most


def test_what_no_border_can_run_beside() -> None:
    vocab = gl.Vocabulary(
        [bytes([b]) for b in range(256)] + [b"</s>", b"<|x|>"], stop_ids=[256], special_ids=[256, 257]
    )
    lark = gl.Lark('start: "a" start? "b"')
    with pytest.raises(gl.UnsupportedFeature, match="special tokens"):
        gl.compile((gl.Token("<|x|>") + lark) & gl.Ban(["aa"]), vocab)


def test_bytes_that_only_the_border_speaks_of_need_no_tokens() -> None:
    """A vocabulary of brackets is enough for brackets & anything without a string."""
    vocab = gl.Vocabulary([b"(", b")", b"((", b"</s>"], stop_ids=[3])
    matcher = gl.compile(gl.Gbnf('root ::= "(" root? ")"') & gl.Ban(["((("]), vocab).matcher()
    assert allowed_ids(matcher, vocab) == {0, 2}
    assert matcher.advance(2)
    assert allowed_ids(matcher, vocab) == {1}
