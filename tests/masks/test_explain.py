"""explain(token) names what stands in the way."""

import numpy as np
import pytest

import grammarlm as gl
from grammarlm.masks.messages.explain import shown
from tests.internals import epoch_of
from tests.laws import vocabularies
from tests.laws.laws import allowed_ids

TOKENS = [bytes([b]) for b in range(256)] + [b"abc", b"ab\xff", b"", b"</s>", b"<pad>"]
ABC, AB_FF, EMPTY, STOP, PAD = range(256, 261)
VOCAB = gl.Vocabulary(TOKENS, stop_ids=[STOP], special_ids=[STOP, PAD], size=300)


@pytest.mark.parametrize(
    ("pattern", "token", "expected"),
    [
        ("[ab]c", ord("a"), "allowed"),
        ("[ab]c", ord("x"), "it is 'x'; expected 'a', 'b'"),
        ("ab[0-9d]", ABC, "byte 2 of b'abc' is 'c'; expected '0' to '9', 'd'"),
        ("ab[^x]", AB_FF, "byte 2 of b'ab\\xff' is 0xff; expected '\\x00' to 'w', 'y' to '\\x7f', 0xc2 to 0xf4"),
        ("a", ABC, "byte 1 of b'abc' is 'b'; expected nothing"),
        ("a", STOP, "the text may not end here; expected 'a'"),
        ("a*", STOP, "allowed"),
        ("a", PAD, "a special token, and the grammar asks for no such token here"),
        ("a", EMPTY, "not in the vocabulary: the id has no bytes"),
        ("a", 299, "not in the vocabulary: the id has no bytes"),
        ("a", 300, "not in the vocabulary: ids are 0 to 299"),
        ("a", -1, "not in the vocabulary: ids are 0 to 299"),
    ],
)
def test_reasons(pattern: str, token: int, expected: str) -> None:
    assert gl.compile(gl.Regex(pattern), VOCAB).matcher().explain(token) == expected


def test_after_the_end() -> None:
    matcher = gl.compile(gl.Regex("a*"), VOCAB).matcher()
    matcher.advance(STOP)
    assert matcher.explain(ord("a")) == matcher.explain(STOP) == "the text has ended"


def test_a_budget_is_named() -> None:
    matcher = gl.compile(gl.Regex("a*(?:bcd)?"), VOCAB).matcher(max_tokens=2)
    assert "tokens that are left might not be enough" in matcher.explain(ord("b"))
    assert matcher.explain(ord("a")) == "allowed"


def test_a_dead_end_of_the_vocabulary_is_named() -> None:
    vocab = gl.Vocabulary([b"a", b"b", b"cc", b"."], stop_ids=[3])
    matcher = gl.compile(gl.Regex("ac|bcc"), vocab).matcher()
    assert matcher.explain(1) == "allowed"
    assert matcher.explain(0) == "it is 'a'; expected 'b'"


def test_what_the_machine_says_follows() -> None:
    matcher = gl.compile(gl.Regex("a"), VOCAB).matcher()
    epoch_of(matcher).describe = lambda state: "in rule root"
    assert matcher.explain(ord("b")) == "it is 'b'; expected 'a'\nin rule root"


@pytest.mark.parametrize("name", vocabularies.ALL)
def test_allowed_is_said_of_what_is_allowed(name: str) -> None:
    vocab = vocabularies.ALL[name]().vocabulary()
    for pattern in (r"(?:ab|b1)*_?a{3,9}", r"[^b]{2,5}", r"\S+(?: \S+)*"):
        matcher = gl.compile(gl.Regex(pattern), vocab).matcher()
        for budget in (None, matcher.min_tokens_left):
            matcher = gl.compile(gl.Regex(pattern), vocab).matcher(budget)
            for _ in range(2):
                allowed, reasons = allowed_ids(matcher, vocab), [matcher.explain(t) for t in range(vocab.size)]
                assert {t for t, reason in enumerate(reasons) if reason == "allowed"} == allowed
                assert max(map(len, reasons)) <= 500
                texts = sorted(allowed - set(vocab.stop_ids))
                if texts:
                    assert matcher.advance(texts[0])


def test_sets_of_bytes() -> None:
    assert shown(set()) == "nothing"
    assert shown(set(range(256))) == "any byte"
    assert shown({10, 34, 97, 98, 255}) == "'\\n', '\"', 'a', 'b', 0xff"
    assert len(gl.compile(gl.Regex("[acegikmoqsuwy02468BDFHJLNPRT!#%')+]"), VOCAB).matcher().explain(200)) <= 500


def test_a_token_is_an_integer() -> None:
    matcher = gl.compile(gl.Regex("a"), VOCAB).matcher()
    assert matcher.explain(np.int64(97)) == "allowed"
    with pytest.raises(TypeError, match=r"explain\(token\) takes a token id"):
        matcher.explain("a")
