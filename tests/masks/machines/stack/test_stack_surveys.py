"""Walks of surveys that wait for what they lack, and that are given up."""

import random
from typing import Any

import numpy as np
import pytest

import grammarlm as gl
from grammarlm.kernels.cpu.surveys.draft_row import HOW, NODE, RESUMABLE, TRIE
from grammarlm.layout.stack import Field
from grammarlm.masks.machines.stack.epoch import StackEpoch
from grammarlm.masks.machines.stack.states import NeedsWalks, StateMaker
from grammarlm.masks.machines.stack.survey_scratch import idle_scratch
from grammarlm.models.tiny import FOLDER
from tests.internals import current_epoch, program_of, supplier

JSON = r"""
root ::= value
value ::= object | array | string | "1"
object ::= "{" ws (string ":" ws value ("," ws string ":" ws value)*)? "}" ws
array ::= "[" ws (value ("," ws value)*)? "]" ws
string ::= "\"" ([^"\\\x00-\x1f] | "\\" ["\\n])* "\"" ws
ws ::= [ \n]*
"""


@pytest.fixture(scope="module")
def vocab() -> gl.Vocabulary:
    return gl.Vocabulary.from_tokenizer(FOLDER)


def mask_of(matcher) -> np.ndarray:
    mask = gl.allocate_mask(1, program_of(matcher).vocab.size)
    matcher.fill_mask(mask)
    return mask[0]


def test_a_walk_goes_on_where_it_lacked_a_state(vocab, monkeypatch) -> None:
    """Told that it stood at the end of the trie, it finds nothing more: so it has not begun again."""

    def row(skips: bool) -> tuple[int, bool]:
        supply, skipped = supplier(), False

        def supplied(self: StateMaker, code: int) -> None:
            nonlocal skipped
            supply(self, code)
            scratch = self._arena._scratch
            suspended = scratch.arrays[Field.SUSPENDED] if scratch else np.zeros(7, np.int64)
            if skips and not skipped and suspended[HOW] == RESUMABLE and suspended[TRIE] == 0:
                suspended[NODE], skipped = 1 << 40, True

        with monkeypatch.context() as context:
            context.setattr(StateMaker, "supply", supplied)
            matcher = gl.compile(gl.Lark.library("json"), vocab).matcher()
            return int(np.unpackbits(mask_of(matcher).view(np.uint8)).sum()), skipped

    honest, _ = row(False)
    short, skipped = row(True)
    assert skipped
    assert 0 < short < honest


def test_a_walk_that_was_given_up_leaves_nothing_behind(vocab, monkeypatch) -> None:
    """A failure in the midst of any walk, and then the masks are those of a constraint that has never failed."""
    text = b'{"a": [1, "b'
    grammar, supply = gl.Lark.library("json"), supplier()
    fresh = gl.compile(grammar, vocab).matcher()
    expected = []
    for byte in text:
        expected.append(mask_of(fresh))
        assert fresh.advance_bytes(bytes([byte]))
    failures = 0
    for at in range(1, 12):
        constraint, calls = gl.compile(grammar, vocab), 0

        def fails(self: StateMaker, code: int, at: int = at) -> None:
            nonlocal calls
            calls += 1
            if calls == at:
                raise gl.LimitExceeded("a test")
            supply(self, code)

        with monkeypatch.context() as context:
            context.setattr(StateMaker, "supply", fails)
            try:
                matcher = constraint.matcher()
                for byte in text:
                    mask_of(matcher)
                    assert matcher.advance_bytes(bytes([byte]))
            except gl.LimitExceeded:
                failures += 1
        matcher = constraint.matcher()
        for byte, wanted in zip(text, expected, strict=True):
            assert np.array_equal(mask_of(matcher), wanted), (at, byte)
            assert matcher.advance_bytes(bytes([byte]))
    assert failures > 1
    assert all(scratch.arrays[Field.SUSPENDED][HOW] != RESUMABLE for scratch in idle_scratch(vocab))


def dangling(epoch: StackEpoch) -> int:
    """Configs whose transitions lie in rows, or lead to configs, that are no more."""
    configs, made = int(epoch.arena.words[Field.C_COUNT]), int(epoch.arena.words[Field.R_COUNT])
    rows, table = epoch.arena.array(Field.C_ROW)[:configs], epoch.arena.array(Field.C_NEXT)
    own = [rows[config] for config in range(2, configs) if rows[config] >= 0]
    return sum(row >= made or bool((table[row] >= configs).any()) for row in own)


C = [
    b"int ",
    b"a",
    b"(",
    b")",
    b"{",
    b"}",
    b";",
    b"=",
    b"1",
    b"+",
    b"if",
    b" ",
    b'"',
    b"b",
    b"return ",
    b"\n",
    b",",
    b"/*",
    b"*",
]
TEXTS = {
    "json lark": (
        gl.Lark.library("json"),
        [b"{", b'"', b"a", b"[", b"1", b",", b":", b"}", b"]", b" ", b"\\", b"n", b"-", b"."],
    ),
    "c lark": (gl.Lark.library("c"), C),
    "json gbnf": (
        gl.Gbnf(JSON),
        [b"{", b'"', b"a", b"[", b"1", b",", b":", b"}", b"]", b" ", b"\\", b"n", "é".encode()],
    ),
}


@pytest.mark.parametrize(
    ("name", "gives_up"),
    [
        *((name, gl.LimitExceeded("a test")) for name in TEXTS),
        *((name, NeedsWalks()) for name in TEXTS if "lark" in name),
    ],
)
@pytest.mark.parametrize("step", [2, pytest.param(1, marks=pytest.mark.proof)])
def test_masks_that_are_given_up_leave_no_configs(step, name, gives_up, vocab, monkeypatch) -> None:
    """Many texts after a failure, at each place: the numbers of what it left would be given again."""
    grammar, pieces = TEXTS[name]
    honest, supply, failures = gl.compile(grammar, vocab), supplier(), 0
    for at in range(1, 25, step):
        rng, constraint, asked = random.Random(at), gl.compile(grammar, vocab), 0
        epoch = current_epoch(constraint)
        failing, making = epoch.maker, list[int]()

        def fails(self: StateMaker, code: int, failing: Any = failing, making: Any = making, at: int = at) -> None:
            nonlocal failures, asked
            if self is failing and making:
                asked += 1
                if asked == at:
                    failures += 1
                    raise gives_up
            supply(self, code)

        monkeypatch.setattr(StateMaker, "supply", fails)
        for _ in range(8):
            one, other = constraint.matcher(), honest.matcher()
            for _ in range(15):
                piece = rng.choice(pieces)
                assert one.advance_bytes(piece) == other.advance_bytes(piece)
                making.append(at)
                try:
                    found = mask_of(one)
                except gl.LimitExceeded:
                    continue
                finally:
                    making.clear()
                assert np.array_equal(found, mask_of(other))
                assert not dangling(epoch)
    assert failures > 1


def test_borders_that_lead_to_ever_more_are_made_one_by_one(vocab) -> None:
    """Of 2,038 borders that the pattern has after 60 letters, 120 are met."""
    grammar = gl.Lark("start: A+\nA: /a(?!([ab]*a[ab]{8}c))/ | /b/\n")
    matcher = gl.compile(grammar, vocab, limits=gl.Limits(max_states=500)).matcher()
    for place in range(60):
        assert matcher.advance_bytes(b"ab"[place % 2 : place % 2 + 1]) is True
        mask_of(matcher)
