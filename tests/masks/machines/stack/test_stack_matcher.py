"""Matchers of grammars with a stack, beside what all promise: vocabularies that lack bytes, deep texts, explanations."""

import random

import pytest

import grammarlm as gl
from tests.corpus_files import raw
from tests.laws.laws import allowed_ids
from tests.laws.promises import wander
from tests.masks.machines.stack.stack_examples import CASES, COMPILED, TABLES, TEXTS


def constraint_of(case: str) -> gl.Constraint:
    return gl.compile(CASES[case], COMPILED["bytes"])


def test_forced_tokens_of_a_closing_text() -> None:
    constraint = constraint_of("nested")
    matcher = constraint.matcher(max_tokens=7)
    assert matcher.advance_bytes(b"([(")
    assert bytes(matcher.forced_tokens()) == b"x)])"
    assert matcher.forced_bytes() == b"x)])"
    assert constraint.matcher().forced_bytes() == b""


def test_tokens_after_which_single_bytes_cannot_end_the_text() -> None:
    """`{` has no token of its own to end it; the grammar may still be left by what tokens spell."""
    tokens = [b"(", b")", b"x", b"(x", b"[x", b"[", b"x)]", b"</s>"]
    vocab = gl.Vocabulary(tokens, stop_ids=[7])
    constraint = gl.compile(gl.Gbnf(TEXTS["NESTED"]), vocab)
    assert constraint.report.tokens_spell_all is False
    matcher = constraint.matcher()
    assert allowed_ids(matcher, vocab) == {0, 2, 3}
    assert not matcher.advance(5)
    assert not matcher.advance_bytes(b"[")
    assert matcher.advance(0)
    assert allowed_ids(matcher, vocab) == {0, 2, 3}
    assert matcher.advance(2)
    assert allowed_ids(matcher, vocab) == {1}
    assert matcher.forced_tokens() == [1]
    budgeted = constraint.matcher(max_tokens=3)
    assert budgeted.advance(0)
    assert allowed_ids(budgeted, vocab) == {2}


def test_a_lexer_over_a_vocabulary_that_lacks_bytes() -> None:
    """Without a token for the blank two names cannot be told apart; `y` is spelled by no single byte."""
    text = "start: NAME NAME | NUMBER NAME\nNAME: /[a-y]+/\nNUMBER: /[0-9]+/\n%ignore / /"
    with_blank = gl.Vocabulary([b"a", b"1", b"ay", b" ", b"</s>"], stop_ids=[4])
    without = gl.Vocabulary([b"a", b"1", b"ay", b"</s>"], stop_ids=[3])
    first, second = gl.compile(gl.Lark(text), with_blank).matcher(), gl.compile(gl.Lark(text), without).matcher()
    assert allowed_ids(first, with_blank) == {0, 1, 2, 3}
    assert second.min_tokens_left == 2
    assert second.advance(1)
    assert allowed_ids(second, without) == {0, 1, 2}
    assert second.advance(2)
    assert 3 in allowed_ids(second, without)


def test_a_grammar_that_no_single_bytes_spell() -> None:
    vocab = gl.Vocabulary([b"(", b")", b"</s>"], stop_ids=[2])
    with pytest.raises(gl.UnsupportedFeature, match="is missing those for bytes of the grammar: 0x5B, 0x5D, 0x78"):
        gl.compile(gl.Gbnf(TEXTS["NESTED"]), vocab)
    longer = gl.Vocabulary([b"ab", b"</s>"], stop_ids=[1])
    with pytest.raises(gl.UnsupportedFeature, match="whether longer tokens do is not decided"):
        gl.compile(gl.Gbnf('root ::= "ab"'), longer)
    assert gl.compile(gl.Regex("ab"), longer).matcher().advance(0)


def test_a_report_says_where_only_single_bytes_end_texts() -> None:
    vocab = gl.Vocabulary([b"(", b")", b"x", b"yy", b"</s>"], stop_ids=[4])
    constraint = gl.compile(gl.Gbnf('root ::= "(" root ")" | "x" | "yy"'), vocab)
    assert "texts must end by tokens of single bytes" in constraint.report.caps[0]
    assert allowed_ids(constraint.matcher(), vocab) == {0, 2, 3}


# Grammar, what is repeated, and then: the bytes that may come, and whether the text may end.
NESTED_TO_THE_RIGHT = {
    "a list": ('start: "x" | "x" "," start', b"x,", b"x", b",", True),
    "a sign": ('start: sum\nsum: sum "+" sign | sign\nsign: "-" sign | "x"', b"-", b"x", b"+", True),
    "a power": ('start: power "."\npower: "x" "^" power | "x"', b"x^", b"x", b".^", False),
    "brackets": ('start: "(" start ")" | "x"', b"(", b"x", b")", False),
}


@pytest.mark.parametrize("name", NESTED_TO_THE_RIGHT)
def test_texts_nested_to_the_right(name: str) -> None:
    """20,000 deep, read at once or token by token: what can end is looked for in a stack of that depth."""
    grammar, part, atom, following, ends = NESTED_TO_THE_RIGHT[name]
    vocab, deep = COMPILED["bytes"], 20_000 // len(part)
    constraint = gl.compile(gl.Lark(grammar), vocab)
    at_once, stepwise = constraint.matcher(), constraint.matcher()
    assert at_once.advance_bytes(part * deep)
    for byte in part * (deep // 10):
        stepwise.fill_mask(gl.allocate_mask(1, vocab.size))
        assert stepwise.advance_bytes(bytes([byte]))
    for matcher in (stepwise, at_once):
        before = {vocab.token_bytes(i) for i in allowed_ids(matcher, vocab)}
        assert before == {part[:1], atom} or before == {atom}
        assert matcher.advance_bytes(atom)
        allowed = allowed_ids(matcher, vocab)
        assert b"".join(sorted(vocab.token_bytes(i) for i in allowed - set(vocab.stop_ids))) == following
        assert matcher.is_accepting is ends is bool(allowed & set(vocab.stop_ids))


@pytest.mark.parametrize("case", TABLES["explained"], ids=lambda case: f"{case['grammar']}: {case['text']}")
def test_explanations(case: dict[str, str]) -> None:
    matcher, token = constraint_of(case["grammar"]).matcher(), raw(case["token"])
    assert matcher.advance_bytes(raw(case["text"]))
    assert matcher.explain(token[0] if token else 256) == "\n".join(filter(None, [case["reason"], case["where"]]))


def test_explanations_are_short_everywhere() -> None:
    for case in CASES:
        matcher, rng = constraint_of(case).matcher(), random.Random(case)
        for _ in range(25):
            for other in (0, ord("a"), ord("("), 256):
                assert 0 < len(matcher.explain(other)) <= 500
            wander(matcher, COMPILED["bytes"], 1, rng)
