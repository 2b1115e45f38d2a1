"""Integers of any size and kind, wherever a matcher takes one: what an ordinary one means, or an error that says what is taken."""

import enum
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

import grammarlm as gl


class Code(enum.IntEnum):
    A = 97


VOCAB = gl.Vocabulary([*(bytes([i]) for i in range(256)), b"ab", b"abc", b""], stop_ids=[258])
GRAMMARS = {
    "regex": gl.Regex("[a-z]+"),
    "choices": gl.Choices(["abc", "abd"]),
    "schema": gl.JsonSchema({"type": ["string", "array", "integer"]}),
    "lark": gl.Lark('start: "a" start "b" | "ac"'),
    "items": gl.Tokens([[97, 98], [99]]),
    "parts": gl.Choices(["abc"]) | gl.JsonSchema(True),
}
BEYOND = [s * n for n in (10**400, 2**70, 2**64, 2**64 - 1, 2**63, 2**63 - 1, 2**32 + 97, 2**31, 300) for s in (1, -1)]
BEYOND += [-1, 259, np.uint64(2**64 - 1), np.int64(-(2**63)), np.int32(-1)]
SAME = [np.int64(97), np.uint64(97), np.int8(97), np.array(97), Code.A]
OTHERS = [
    True,
    False,
    np.bool_(True),
    97.0,
    float("nan"),
    None,
    "97",
    b"a",
    Fraction(97),
    Decimal(97),
    [97],
    np.array([97, 98]),
]


def matchers(name):
    constraint = gl.compile(GRAMMARS[name], VOCAB)
    yield constraint.matcher()
    if name != "parts":
        yield constraint.matcher(max_tokens=40)


@pytest.mark.parametrize("name", GRAMMARS)
def test_tokens(name):
    mask = gl.allocate_mask(2, VOCAB.size)
    for matcher in matchers(name):
        before = matcher.snapshot()
        for token in BEYOND:
            assert matcher.advance(token) is False
            assert matcher.validate([token, 97]) == 0
            assert gl.fill_tree(matcher, [token], [-1], mask)[1]
            assert not mask[1].any()
            assert len(matcher.explain(token)) <= 500
        assert matcher.snapshot() == before
        for token in SAME:
            assert matcher.validate([token]) == matcher.validate([97])
            assert matcher.explain(token) == matcher.explain(97)
        for value in OTHERS:
            for call in (matcher.advance, matcher.explain, lambda v, m=matcher: m.validate([v])):
                with pytest.raises(TypeError, match=r"takes .*an integer, not "):
                    call(value)
        assert matcher.snapshot() == before


@pytest.mark.parametrize("name", GRAMMARS)
def test_counts_and_rows(name):
    mask = gl.allocate_mask(2, VOCAB.size)
    for matcher in matchers(name):
        for number in BEYOND:
            with pytest.raises(ValueError, match="rollback"):
                matcher.rollback(number)
            with pytest.raises(gl.MaskError, match="beyond the mask"):
                matcher.fill_mask(mask, number)
            assert matcher.forced_tokens(number) == (matcher.forced_tokens() if number > 0 else [])
            assert matcher.forced_bytes(number) == (matcher.forced_bytes() if number > 0 else b"")
            with pytest.raises(ValueError, match=r"parents\[0\] is"):
                gl.fill_tree(matcher, [97], [number if number != -1 else -2], mask)
        for value in OTHERS:
            for call in (
                matcher.rollback,
                matcher.forced_tokens,
                matcher.forced_bytes,
                lambda v, m=matcher: m.fill_mask(mask, v),
            ):
                with pytest.raises(TypeError, match="an integer, not "):
                    call(value)


def test_arrays_of_tokens():
    matcher = gl.compile(GRAMMARS["regex"], VOCAB).matcher()
    assert matcher.validate(np.array([97, 98, 300])) == 2
    for wrong in (np.array(97), np.array([[97]]), 97, None):
        with pytest.raises(TypeError, match="takes token ids one after another"):
            matcher.validate(wrong)
