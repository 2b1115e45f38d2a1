"""Automata over tokens against the matchers that they were made of, token by token: masks, targets, what is refused."""

import json
import os
import random
from pathlib import Path

import pytest

import grammarlm as gl
from grammarlm.layout.csr import DEAD, FINISHED, FIRST, MISS
from grammarlm.masks.csr import automaton as module
from grammarlm.masks.csr.automaton import CsrAutomaton
from grammarlm.masks.csr.tables import Room, TablesFull
from tests.counts import tiers
from tests.internals import epoch_of, state_of
from tests.masks.csr.csr_walks import ENDLESS, FINITE, STOPS, TOKENS, VOCAB, Walker, walk


@pytest.fixture(autouse=True)
def _small_masks_are_wide_ones(monkeypatch):
    """So that default edges are looked for in this vocabulary, too."""
    monkeypatch.setattr(module, "MANY", 60)


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
@tiers("walks", 4, 100)
def test_masks_and_targets_are_the_matchers(walks, name, record_property):
    _, tokens, misses = check((FINITE | ENDLESS)[name], walks, steps=40)
    assert tokens >= walks
    assert misses <= tokens
    record_property("cases", tokens)


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
        keys.append(epoch_of(matcher).key(state_of(matcher)))
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
