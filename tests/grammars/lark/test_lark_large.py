"""Lark terminals of tens of thousands of positions: their counts are counted, and not every position is looked at."""

import re

import pytest

import grammarlm as gl
from grammarlm.grammars.regular import ordered
from tests.corpus_files import tables

VOCAB = gl.Vocabulary([*(bytes([byte]) for byte in range(256)), b"</s>", b"ab", b"abab", b"bc", b" a"], stop_ids=[256])
LARGE = tables("lark_texts")["large"]


@pytest.mark.parametrize("name", LARGE)
def test_is_taken(name: str) -> None:
    text, begins = LARGE[name]
    matcher = gl.compile(gl.Lark(text), VOCAB).matcher()
    mask = gl.allocate_mask(1, VOCAB.size)
    for token in begins.encode():
        assert matcher.fill_mask(mask)
        assert matcher.advance(token), bytes([token])
    assert matcher.fill_mask(mask)


def test_the_count_is_kept() -> None:
    least, most = 3, 6000
    matcher = gl.compile(gl.Lark(f"start: /(ab){{{least},{most}}}c/"), VOCAB).matcher()
    for turns in range(most + 1):
        text = b"c"
        assert matcher.fork().advance_bytes(text) is bool(re.fullmatch(f"(ab){{{least},{most}}}c", "ab" * turns + "c"))
        assert matcher.advance_bytes(b"ab") is (turns < most)
    assert matcher.advance_bytes(b"c")
    assert matcher.is_accepting


def test_what_cannot_be_told_is_refused_when_it_is_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Behind fewer turns than the most there is no second A, so whether A can be followed is asked of each position."""
    monkeypatch.setattr("grammarlm.masks.machines.stack.proofs.trust.LONGEST_SEARCH", 1_000)
    with pytest.raises(gl.LimitExceeded, match=r"terminal A is too large: .*let a rule repeat a smaller terminal"):
        gl.compile(gl.Lark("start: A+\nA: /([ab]c?){2,50000}/"), VOCAB)


def test_positions_that_texts_come_to_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ordered, "MOST_MADE", 3_000)
    matcher = gl.compile(gl.Lark(LARGE["alone"][0]), VOCAB).matcher()
    with pytest.raises(gl.LimitExceeded, match="positions were visited"):
        matcher.advance_bytes(b"ab" * 5_000)
