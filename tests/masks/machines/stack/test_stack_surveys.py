"""Surveys: those of the insides of strings in grammars without a lexer, and walks that wait for what they lack."""

import random

import numpy as np
import pytest

import grammarlm as gl
from grammarlm.kernels.cpu.surveys.draft_row import HOW, KEY, NODE, RESUMABLE
from grammarlm.layout.stack import TOO_WIDE, Field
from grammarlm.layout.stack_calls import FILL_ROW, SIGN
from grammarlm.masks.machines.stack import arena, signatures
from grammarlm.masks.machines.stack.epoch import StackEpoch
from grammarlm.masks.machines.stack.states import NeedsWalks, StateMaker
from grammarlm.masks.machines.stack.survey_scratch import idle_scratch
from grammarlm.models.tiny import FOLDER
from tests.counts import record_counts
from tests.internals import current_epoch, epoch_of, program_of, supplier, without_surveys
from tests.laws import lark_mask_laws
from tests.laws.random_cfg_laws import check_many, check_threads

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


@pytest.mark.parametrize("least", [0, 1])
@pytest.mark.parametrize("machine", ["gbnf", "ebnf"])
def test_random_grammars_with_every_loop_surveyed(machine: str, least: int, monkeypatch) -> None:
    monkeypatch.setattr(signatures, "INSIDE", least)
    check_many(machine, "pieces", f"insides {least}", 15, 8)


def test_random_lark_grammars_with_every_loop_surveyed(monkeypatch) -> None:
    """Those that are not LALR: each terminal is a frame of its own."""
    monkeypatch.setattr(signatures, "INSIDE", 0)
    outcomes = lark_mask_laws.check_many("pieces", "few insides", 4, 4)
    assert outcomes["walked"] > 1, outcomes


@pytest.mark.proof
@pytest.mark.parametrize("name", lark_mask_laws.NAMES)
def test_many_random_lark_grammars_with_every_loop_surveyed(name: str, monkeypatch, record_property) -> None:
    monkeypatch.setattr(signatures, "INSIDE", 0)
    record_counts(record_property, lark_mask_laws.check_many(name, "many insides", 60, 8))


def test_what_is_too_wide_for_a_survey_is_walked(vocab, monkeypatch) -> None:
    constraint = gl.compile(gl.Gbnf(JSON), vocab)
    expected = gl.compile(gl.Gbnf(JSON), vocab)
    without_surveys(current_epoch(expected))
    ask, asked = StateMaker.ask, []

    def is_too_wide(maker: StateMaker, question: int, a: int, b: int = 0, c: int = 0) -> int:
        if question != SIGN:
            return ask(maker, question, a, b, c)
        asked.append(a)
        return -(3 * 8 + TOO_WIDE) if b else ask(maker, SIGN, a)

    monkeypatch.setattr(StateMaker, "ask", is_too_wide)
    for text in (b'["', b'[["', b'{"'):
        one, other = constraint.matcher(), expected.matcher()
        assert one.advance_bytes(text)
        assert other.advance_bytes(text)
        assert np.array_equal(mask_of(one), mask_of(other)), text
    assert 0 < len(asked) <= 4  # a value's string and a key's: not asked of the second nesting


@pytest.mark.parametrize("machine", ["gbnf", "ebnf"])
def test_eight_threads_with_every_loop_surveyed(machine: str, monkeypatch) -> None:
    monkeypatch.setattr(signatures, "INSIDE", 0)
    check_threads(machine, "pieces", "insides", 3, 6)


@pytest.mark.proof
@pytest.mark.parametrize("least", [0, 1])
@pytest.mark.parametrize("name", ["bytes", "pieces", "hostile"])
def test_many_random_grammars_with_every_loop_surveyed(name: str, least: int, monkeypatch, record_property) -> None:
    monkeypatch.setattr(signatures, "INSIDE", least)
    for machine in ("gbnf", "ebnf"):
        record_counts(record_property, check_many(machine, name, f"many insides {least}", 300, 12), f"{machine}: ")


def test_a_string_in_a_new_nesting_needs_no_new_walk(vocab, monkeypatch) -> None:
    constraint = gl.compile(gl.Gbnf(JSON), vocab)
    epoch = current_epoch(constraint)
    for text in (b'["', b'{"', b'{"a":"'):
        matcher = constraint.matcher()
        assert matcher.advance_bytes(text)
        mask_of(matcher)
    made = int(epoch.arena.words[Field.SURVEY_COUNT])
    assert made
    rng, texts = random.Random(1), []
    plain = gl.compile(gl.Gbnf(JSON), vocab)
    without_surveys(current_epoch(plain))
    for _ in range(30):
        text = b"".join(rng.choice([b"[", b'{"a":']) for _ in range(rng.randint(2, 12))) + b'"'
        matcher = plain.matcher()
        assert matcher.advance_bytes(text)
        texts.append((text, mask_of(matcher)))
    ask = StateMaker.ask

    def without_walks(maker: StateMaker, question: int, *operands: int) -> int:
        assert question != FILL_ROW, "the vocabulary was walked"
        return ask(maker, question, *operands)

    monkeypatch.setattr(StateMaker, "ask", without_walks)
    for text, expected in texts:
        matcher = constraint.matcher()
        assert matcher.advance_bytes(text)
        assert np.array_equal(mask_of(matcher), expected), text
    whole = epoch.arena.array(Field.SURVEY_KEY)[: epoch.arena.words[Field.SURVEY_COUNT], 0] >> 32 == 0
    assert whole.sum() == 1  # in a string, be it a key or not


def test_a_walk_goes_on_where_it_lacked_a_state(vocab, monkeypatch) -> None:
    """Told that it stood at the end of the trie, it finds nothing more: so it has not begun again."""

    def row(skips: bool) -> tuple[int, bool]:
        supply, skipped = supplier(), False

        def supplied(self: StateMaker, code: int) -> None:
            nonlocal skipped
            supply(self, code)
            scratch = self._arena._scratch
            suspended = scratch.arrays[Field.SUSPENDED] if scratch else np.zeros(7, np.int64)
            if skips and not skipped and suspended[HOW] == RESUMABLE and suspended[KEY] == 0:
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


@pytest.mark.parametrize("gives_up", [gl.LimitExceeded("a test"), NeedsWalks()], ids=["error", "walks"])
@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("step", [2, pytest.param(1, marks=pytest.mark.proof)])
def test_signatures_that_are_given_up_leave_no_configs(step, name, gives_up, vocab, monkeypatch) -> None:
    """Many texts after a failure, at each place: the numbers of what it left would be given again."""
    grammar, pieces = TEXTS[name]
    honest, supply, failures = gl.compile(grammar, vocab), supplier(), 0
    for at in range(1, 25, step):
        rng, constraint, asked = random.Random(at), gl.compile(grammar, vocab), 0
        epoch = current_epoch(constraint)
        failing = epoch.maker

        def fails(self: StateMaker, code: int, failing: StateMaker = failing, at: int = at) -> None:
            nonlocal failures, asked
            if self is failing and self._is_signing:
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
                try:
                    found = mask_of(one)
                except gl.LimitExceeded:
                    continue
                assert np.array_equal(found, mask_of(other))
                assert not dangling(epoch)
    assert failures > 1


@pytest.mark.parametrize(
    "text",
    [
        'root ::= "Answer: " [^\\n]*',
        'root ::= line*\nline ::= [^\\n]+ "\\n"',
        'root ::= a\na ::= [^(\\n]* | "(" a [^)\\n]* ")"?',
    ],
)
def test_what_may_end_after_any_byte_is_walked(text: str, vocab) -> None:
    matcher = gl.compile(gl.Gbnf(text), vocab).matcher()
    assert matcher.advance_bytes(b"Answer: yes" if "Answer" in text else b"(((yes" if "(" in text else b"yes")
    plain = gl.compile(gl.Gbnf(text), vocab)
    without_surveys(current_epoch(plain))
    other = plain.matcher()
    assert other.advance_bytes(b"Answer: yes" if "Answer" in text else b"(((yes" if "(" in text else b"yes")
    assert np.array_equal(mask_of(matcher), mask_of(other))
    assert epoch_of(matcher).arena.words[Field.X_TOKENS] < arena.MOST_REMAINS


def test_borders_that_lead_to_ever_more_are_made_one_by_one(vocab) -> None:
    """Of 2,038 borders that the pattern has after 60 letters, 120 are met."""
    grammar = gl.Lark("start: A+\nA: /a(?!([ab]*a[ab]{8}c))/ | /b/\n")
    matcher = gl.compile(grammar, vocab, limits=gl.Limits(max_states=500)).matcher()
    for place in range(60):
        assert matcher.advance_bytes(b"ab"[place % 2 : place % 2 + 1]) is True
        mask_of(matcher)
