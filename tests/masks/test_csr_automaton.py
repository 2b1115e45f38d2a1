"""Automata over tokens against the matchers that they were made of, token by token: masks, targets, what is refused."""

import json
import os
import random
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import grammarlm as gl
from grammarlm.kernels import reference_csr as reference
from grammarlm.kernels.cpu import csr as cpu
from grammarlm.layout.csr import DEAD, FINISHED, FIRST, MISS
from grammarlm.masks.csr import automaton as module
from grammarlm.masks.csr.automaton import CsrAutomaton
from grammarlm.masks.csr.tables import Room, TablesFull

PAIRS = [a + b for a in 'ab{}":, 1' for b in 'abc{}":, 12']
WORDS = ["true", "null", '"a":', '"b": "', '", "', "é", "aé", "日", "日本", "\n  ", "}}", "])", "((", "1+"]
TOKENS = [
    *(bytes([b]) for b in range(256)),
    *(t.encode() for t in [*PAIRS, *WORDS]),
    b"\xa9a",
    b"</s>",
    b"<eot>",
    b"<i1>",
    b"<i2>",
]
STOPS, ITEMS = (len(TOKENS) - 4, len(TOKENS) - 3), (len(TOKENS) - 2, len(TOKENS) - 1)
VOCAB = gl.Vocabulary(TOKENS, stop_ids=STOPS, special_ids=[*STOPS, *ITEMS], size=len(TOKENS) + 40)

RECORD = {
    "type": "object",
    "properties": {"a": {"type": "string"}, "b": {"type": "integer", "maximum": 20}, "c": {"enum": ["a", None, 12]}},
    "required": ["a"],
    "additionalProperties": False,
}
FINITE = {
    "a regex": gl.Regex("(a|b)*1{2,4}[^a]?"),
    "a loop in the middle": gl.Regex(r'"[^"\\]*"(, "[a-c]{0,3}")*'),
    "text up to a marker": gl.Text(until=' "a'),
    "banned strings": gl.Ban(["ab", "1+"]),
    "choices": gl.Choices(["a", "aé", "日本", '"a": 12']),
    "items": gl.Tokens([[97, 98], [97], [ITEMS[0], ITEMS[1]], [ITEMS[0], ITEMS[0], 300], [301]]),
    "a list of items": gl.TokenList(gl.Tokens([[97], [97, 98], [ITEMS[0]]]), 1, 2, separator=", "),
    "items beside text": gl.Regex("[ab]{1,2}") + gl.Tokens([[97, ITEMS[0]], [98]]) + gl.Choices(["", "true"]),
    "a bounded schema": gl.JsonSchema({"enum": ["a", None, [True, "b"]]}, whitespace="compact"),
    "a special token": gl.Token(ITEMS[0]) + gl.Regex("[ab]*"),
}
ENDLESS = {
    "any value": gl.JsonSchema(True),
    "a record": gl.JsonSchema(RECORD),
    "a list of records": gl.JsonSchema({"type": "array", "items": RECORD, "uniqueItems": False}),
    "unique items": gl.JsonSchema({"type": "array", "items": {"type": "string"}, "uniqueItems": True}),
    "counted strings": gl.JsonSchema({"type": "string", "minLength": 2, "maxLength": 9}),
    "patterns": gl.JsonSchema({"patternProperties": {"^a": {"type": "string", "pattern": "^(ab)+$"}}, "additionalProperties": {}}),
    "thinking, then a record": gl.Text(until="}}") + gl.JsonSchema(RECORD),
    "arithmetic": gl.Lark('start: term (("+" | "*") term)*\nterm: NUM | "(" start ")"\nNUM: /[12]+/\n'),
    "json in lark": gl.Lark.library("json"),
    "gbnf": gl.Gbnf('root ::= "(" root ")" | "{" [a-c1]* "}" | root "," root | ""'),
}  # fmt: skip


@pytest.fixture(autouse=True)
def _small_masks_are_wide_ones(monkeypatch):
    """So that default edges are looked for in this vocabulary, too."""
    monkeypatch.setattr(module, "MANY", 60)


def ids_of(row: np.ndarray) -> np.ndarray:
    return np.flatnonzero(np.unpackbits(row.view(np.uint8), bitorder="little"))


class Walker:
    """A text in an automaton and in a matcher at the same time."""

    def __init__(self, constraint: gl.Constraint, automaton: CsrAutomaton):
        self.vocab, self.automaton, self.matcher = constraint.vocab, automaton, constraint.matcher()
        self.state = np.array([automaton.start], np.int32)
        self.misses = 0
        self.asked = np.zeros((1, 2), np.int32)

    def check_mask(self) -> np.ndarray:
        expected = gl.allocate_mask(1, self.vocab.size)
        self.matcher.fill_mask(expected)
        for kernels in (reference, cpu):
            found = np.full_like(expected, 0x5A5A5A5A)
            kernels.fill_mask_(self.automaton.tables.csr, self.state, found)
            assert np.array_equal(found, expected), (ids_of(found[0])[:20], ids_of(expected[0])[:20])
        return ids_of(expected[0])

    def advanced(self, token: int) -> int:
        states = []
        for kernels in (reference, cpu):
            state = self.state.copy()
            kernels.advance_(self.automaton.tables.csr, state, np.array([token]), self.asked)
            states.append(int(state[0]))
        assert states[0] == states[1]
        return states[0]

    def check_refusals(self, allowed: np.ndarray, rng: random.Random) -> None:
        refused = sorted(set(range(self.vocab.size)) - set(allowed.tolist()))
        for token in rng.sample(refused, min(3, len(refused))):
            assert self.advanced(token) == DEAD

    def step(self, token: int) -> None:
        after = self.advanced(token)
        if after == MISS:
            assert self.asked.tolist() == [[self.state[0], token]]
            self.misses += 1
            after = self.automaton.follow(*self.asked[0].tolist())
            assert after == self.advanced(token) != MISS, "an edge is there once it has been asked for"
        assert self.matcher.advance(token)
        self.state[0] = after
        assert (after == FINISHED) == self.matcher.is_finished


def walk(walker: Walker, rng: random.Random, steps: int) -> Iterator[int]:
    for _ in range(steps):
        allowed = walker.check_mask()
        walker.check_refusals(allowed, rng)
        texts = [t for t in allowed.tolist() if t not in walker.vocab.stop_ids]
        long = [t for t in texts if t >= 256]
        walker.step(rng.choice(long if long and rng.random() < 0.4 else texts or allowed.tolist()))
        yield int(walker.state[0])
        if walker.matcher.is_finished:
            return


def check(grammar, walks: int, seed: int = 0, steps: int = 25, **room: int) -> tuple[CsrAutomaton, int, int]:
    """The automaton, how many tokens were read, and how many of them were missed."""
    constraint = gl.compile(grammar, VOCAB)
    automaton, rng, tokens, misses = CsrAutomaton(constraint, Room(**room)), random.Random(seed), 0, 0
    for _ in range(walks):
        walker = Walker(constraint, automaton)
        tokens += sum(1 for _ in walk(walker, rng, steps))
        misses += walker.misses
    return automaton, tokens, misses


@pytest.mark.parametrize("name", [*FINITE, *ENDLESS])
def test_masks_and_targets_are_the_matchers(name):
    _, tokens, misses = check((FINITE | ENDLESS)[name], 4)
    assert tokens >= 4
    assert misses <= tokens


@pytest.mark.parametrize("name", FINITE)
def test_finite_automata_can_be_completed(name):
    constraint = gl.compile(FINITE[name], VOCAB)
    automaton = CsrAutomaton(constraint)
    assert automaton.complete()
    assert automaton.is_complete
    used = automaton.tables.states
    for seed in range(4):
        walker = Walker(constraint, automaton)
        for _ in walk(walker, random.Random(seed), 12):
            assert not walker.misses
    assert automaton.tables.states == used


def test_what_has_no_end_is_not_complete():
    automaton = CsrAutomaton(gl.compile(ENDLESS["arithmetic"], VOCAB), Room(states=100))
    assert not automaton.complete()
    assert not automaton.is_complete
    assert automaton.tables.states == 100


def test_the_second_text_misses_nothing():
    for name in ("a list of records", "json in lark", "thinking, then a record"):
        constraint = gl.compile(ENDLESS[name], VOCAB)
        automaton = CsrAutomaton(constraint)
        text = b'[{"a": "b", "b": 12}, {"a": "' if name != "thinking, then a record" else b'ab}}{"a": "'
        missed = []
        for _ in range(2):
            walker = Walker(constraint, automaton)
            for byte in text + b"c" * 30:
                walker.step(byte)
                walker.check_mask()
            missed.append(walker.misses)
        assert missed[0] >= 3
        assert missed[1] == 0
        before = walker.misses  # in a string tokens of letters change nothing: one default edge for all of them
        for token in ("a", "b", "ab", "aé", "日本"):
            if name != "json in lark":
                walker.step(TOKENS.index(token.encode()))
        assert walker.misses == before


def test_other_names_and_other_orders_share_states():
    """A key is what matters of a text: how far closed values have counted does not."""
    constraint = gl.compile(gl.JsonSchema({"type": "object", "additionalProperties": {"type": "integer"}}), VOCAB)
    keys = []
    for text in (b'{"a": 1, "b": 12', b'{"b": 2, "a": 12'):
        matcher = constraint.matcher()
        assert matcher.advance_bytes(text)
        keys.append(matcher._head[1].key(matcher._head[2]))
    assert keys[0] == keys[1]


def test_tables_that_are_full_are_left_as_they_were():
    constraint = gl.compile(ENDLESS["arithmetic"], VOCAB)
    automaton = CsrAutomaton(constraint, Room(states=8))
    walker = Walker(constraint, automaton)
    for _ in range(4):
        walker.step(ord("("))
    with pytest.raises(TablesFull):
        walker.step(ord("("))
    assert automaton.tables.states == 8
    walker.check_mask()
    matcher = automaton.matcher(int(walker.state[0]))
    assert matcher.advance_bytes(b"1")
    automaton.clear()
    assert automaton.tables.states == FIRST + 1
    check(ENDLESS["json in lark"], 2)


def test_a_little_room_only_costs_time():
    """Lists move when they outgrow their place; nothing else does."""
    constraint = gl.compile(gl.JsonSchema({"type": "string", "maxLength": 40}), VOCAB)
    automaton, rng = CsrAutomaton(constraint, Room(states=200, edges=60_000, rows=60)), random.Random(3)
    for _ in range(6):
        for _ in walk(Walker(constraint, automaton), rng, 20):
            pass


def test_refusals():
    with pytest.raises(ValueError, match="states=3"):
        Room(states=3)
    with pytest.raises(ValueError, match="edges=True"):
        Room(edges=True)
    automaton = CsrAutomaton(gl.compile(gl.Choices(["a"]), VOCAB))
    with pytest.raises(ValueError, match="no text stands"):
        automaton.matcher(MISS)
    assert automaton.follow(FINISHED, STOPS[1]) == FINISHED
    assert automaton.follow(FINISHED, 97) == automaton.follow(DEAD, 97) == automaton.follow(automaton.start, 98) == DEAD


# ------------------------------------------------------------------ the full counts


def maskbench() -> list[Path]:
    folder = Path(os.environ.get("GRAMMARLM_DATA", "/nonexistent")) / "maskbench"
    return sorted(folder.glob("*.json"))


@pytest.mark.proof
def test_two_hundred_schemas(record_property):
    files = maskbench()
    if not files:
        pytest.skip("needs GRAMMARLM_DATA with maskbench")
    rng, tokens, schemas = random.Random(0), 0, 0
    for file in rng.sample(files, len(files)):
        try:
            constraint = gl.compile(gl.JsonSchema(json.loads(file.read_text())["schema"]), VOCAB)
        except gl.GrammarError:
            continue
        automaton = CsrAutomaton(constraint, Room(states=2000, edges=1 << 20))
        for _ in range(3):
            try:
                tokens += sum(1 for _ in walk(Walker(constraint, automaton), rng, 40))
            except TablesFull:
                automaton.clear()
        schemas += 1
        if schemas == 200:
            break
    record_property("schemas", schemas)
    record_property("cases", tokens)
    assert schemas == 200


@pytest.mark.proof
@pytest.mark.parametrize("name", [*FINITE, *ENDLESS])
def test_many_walks(name, record_property):
    record_property("cases", sum(check((FINITE | ENDLESS)[name], 20, seed, 40)[1] for seed in range(5)))
