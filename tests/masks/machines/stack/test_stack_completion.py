"""Completions of grammars with a stack: as short as an independent search finds them, and an end for whoever follows them.

Without a lexer they are exact; with one the shortest lexemes and blanks are chosen ahead, so stock lark reads the whole texts.
"""

import functools
import random

import numpy as np
import pytest

import grammarlm as gl
from tests.corpus_files import raw
from tests.internals import epoch_of, state_of
from tests.laws.cfg_laws import single_bytes, spelling_tokens
from tests.laws.cfg_vocabularies import VOCABULARIES
from tests.laws.laws import allowed_ids
from tests.masks.machines.stack.stack_examples import TABLES
from tests.oracles.automata import TooManyStates
from tests.oracles.cfg_oracle import CfgOracle, ShortestTexts
from tests.oracles.lark_oracle import LarkOracle
from tests.oracles.random_grammars import RandomGrammars

COMPILED = {name: token_list.vocabulary() for name, token_list in VOCABULARIES.items()}


def completion_of(matcher: gl.Matcher) -> bytes | None:
    """What the machine says of the place where a matcher stands."""
    epoch, state = epoch_of(matcher), state_of(matcher)
    found = epoch.completion(state)
    return None if found is None or any(isinstance(piece, int) for piece in found) else b"".join(found)


def random_bytes(matcher: gl.Matcher, vocab: gl.Vocabulary, rng: random.Random, steps: int) -> bytes:
    """Reads a few tokens; all their bytes."""
    text = b""
    for _ in range(steps):
        texts = sorted(allowed_ids(matcher, vocab) - set(vocab.stop_ids))
        if not texts:
            break
        token = rng.choice(texts)
        assert matcher.advance(token)
        text += vocab.token_bytes(token)
    return text


@pytest.mark.parametrize("notation", ["gbnf", "ebnf"])
@pytest.mark.parametrize("name", ["pieces", "few bytes"])
def test_no_text_is_shorter(name: str, notation: str) -> None:
    """The length is that of the oracle's search, in single-byte tokens; what remains behind a byte is the completion there."""
    vocab, drawn, compared, refused = COMPILED[name], RandomGrammars(f"completions {name} {notation}"), 0, 0
    usable = single_bytes(spelling_tokens(VOCABULARIES[name]))
    for place in range(60):
        grammar, rng = drawn.grammar(), random.Random(f"{name} {notation} {place}")
        try:
            oracle = CfgOracle(grammar.rules)
            constraint = gl.compile(gl.Gbnf(grammar.gbnf) if notation == "gbnf" else gl.Ebnf(grammar.ebnf), vocab)
        except (TooManyStates, gl.GrammarError):
            continue
        shortest = ShortestTexts(oracle, usable)
        for steps in (0, 1, 2, 5):
            matcher = constraint.matcher()
            try:
                text = random_bytes(matcher, vocab, rng, steps)
            except gl.LimitExceeded:  # too many ways to read it
                refused += 1
                continue
            expected = shortest.completion(oracle.read(oracle.start, text))
            found = completion_of(matcher)
            assert found is not None
            assert expected is not None
            assert len(found) == len(expected), (grammar.gbnf, text, found, expected)
            compared += 1
            while found:
                assert matcher.advance_bytes(found[:1])
                assert completion_of(matcher) == found[1:], (grammar.gbnf, text)
                found = found[1:]
            assert matcher.is_accepting
    assert compared >= 40
    assert refused <= 2


LEXED = {case["name"]: (case["grammar"], [raw(text) for text in case["beginnings"]]) for case in TABLES["completed"]}


@pytest.mark.parametrize("case", LEXED)
@pytest.mark.parametrize("name", ["bytes", "hostile"])
def test_completions_are_read_by_lark(case: str, name: str) -> None:
    text, prefixes = LEXED[case]
    oracle, constraint, known = LarkOracle(text), gl.compile(gl.Lark(text), COMPILED[name]), 0
    for prefix in prefixes:
        matcher = constraint.matcher()
        if not matcher.advance_bytes(prefix):
            assert not oracle.accepts(prefix.decode())
            continue
        found = completion_of(matcher)
        assert found is not None, prefix
        assert oracle.accepts((prefix + found).decode()), (prefix, found)
        known += 1
        while found:  # whoever follows it never gets further from the end
            assert matcher.advance_bytes(found[:1])
            after = completion_of(matcher)
            assert after is not None
            assert len(after) < len(found), (prefix, found, after)
            found = after
        assert matcher.is_accepting
    assert known >= len(prefixes) - 1


@functools.cache
def python() -> gl.Constraint:
    return gl.compile(gl.Lark.python(), COMPILED["bytes"])


BLOCKS = [
    (b"", b""),
    (b"if x:", b"0\n"),
    (b"def f(a):\n  if a:\n    x", b"\n"),
    (b"x = [(", b")]\n"),
    (b"class A:\n", b" 0\n"),
    (b"try:\n  x\n", b"except:0\n"),
]


@pytest.mark.parametrize(("before", "after"), BLOCKS)
def test_completions_of_indented_blocks(before: bytes, after: bytes) -> None:
    matcher = python().matcher()
    assert matcher.advance_bytes(before)
    assert completion_of(matcher) == after


@pytest.mark.parametrize("name", ["pieces", "hostile", "few bytes"])
def test_targets_are_the_states_behind_all_tokens(name: str) -> None:
    vocab, drawn = COMPILED[name], RandomGrammars(f"targets {name}")
    for place in range(15):
        grammar = drawn.grammar()
        try:
            matcher = gl.compile(gl.Gbnf(grammar.gbnf), vocab).matcher()
        except gl.GrammarError:
            continue
        random_bytes(matcher, vocab, random.Random(place), place % 4)
        allowed = allowed_ids(matcher, vocab) - set(vocab.stop_ids)
        epoch, state = epoch_of(matcher), state_of(matcher)
        tokens = np.array(sorted(allowed), np.int64)
        assert epoch.targets(state, tokens).tolist() == [epoch.after_token(state, token) for token in tokens.tolist()]


def test_two_parsers_in_one_text() -> None:
    """Each lexeme is asked of its own parser's lexer. Behind `let` only a name may come, so no blank is needed there."""
    names = gl.Lark('start: "let" NAME\nNAME: /[a-z]+/\n%ignore " "\n')
    sums = gl.Lark('start: N ("+" N)*\n    | "[" start "]"\nN: /[0-9]+/\n%ignore "_"\n')
    constraint = gl.compile(names + "; " + sums + "; " + names, COMPILED["bytes"])
    for text, end in [
        (b"", b"leta; 0; leta"),
        (b"let", b"a; 0; leta"),
        (b"let x; [1+", b"0]; leta"),
        (b"let x; 1; le", b"ta"),
    ]:
        matcher = constraint.matcher()
        assert matcher.advance_bytes(text)
        assert completion_of(matcher) == end
        assert constraint.matcher(max_tokens=len(text + end)).advance_bytes(text + end)
    matcher.reset()
    assert matcher.advance_bytes(b"let x; [1")
    assert "next: PLUS, RSQB" in matcher.explain(0)


def test_special_tokens_are_part_of_an_end() -> None:
    vocab = gl.Vocabulary([b"a", b"b", b"ab", b"<call>", b"</call>", b"</s>"], stop_ids=[5], special_ids=[3, 4, 5])
    grammar = gl.Choices(["ab", "b"]) + gl.Token("<call>") + gl.Gbnf('root ::= "a" root "b" | ""') + gl.Token("</call>")
    constraint = gl.compile(grammar, vocab)
    assert constraint.matcher().min_tokens_left == 3
    assert constraint.matcher(max_tokens=3).forced_bytes() == b""
    matcher = constraint.matcher(max_tokens=4)
    assert allowed_ids(matcher, vocab) == {0, 1, 2}
    assert matcher.advance(0)
    assert matcher.min_tokens_left == 3
    assert matcher.forced_tokens() == [1, 3, 4]
    roomy = constraint.matcher(max_tokens=5)
    for token in (1, 3):
        assert roomy.advance(token)
    assert allowed_ids(roomy, vocab) == {0, 2, 4}
    assert roomy.advance(0)
    assert roomy.forced_tokens() == [1, 4]


def test_rules_whose_shortest_text_is_too_long() -> None:
    doubled = (
        "root ::= r1\n" + "".join(f'r{i} ::= r{i + 1} r{i + 1} | "x" r{i} "y"\n' for i in range(1, 40)) + 'r40 ::= "ab"'
    )
    constraint = gl.compile(gl.Gbnf(doubled), COMPILED["bytes"])
    with pytest.raises(gl.LimitExceeded, match="too long to be written down"):
        _ = constraint.matcher().min_tokens_left
    with pytest.raises(ValueError, match="max_tokens=1000 may not be enough"):
        constraint.matcher(max_tokens=1000)


def test_an_end_of_ten_thousand_brackets() -> None:
    constraint = gl.compile(gl.Lark('start: "(" start ")" | "[" start "]" | NAME\nNAME: /[a-z]+/\n'), COMPILED["bytes"])
    matcher = constraint.matcher()
    assert matcher.advance_bytes(b"([" * 5_000)
    assert completion_of(matcher) == b"a" + b"])" * 5_000
    assert matcher.min_tokens_left == 10_001
