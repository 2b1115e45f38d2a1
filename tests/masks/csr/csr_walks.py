"""Constraints to write as automata over tokens, and walks that follow the automaton beside a matcher."""

import random
from collections.abc import Iterator

import numpy as np

import grammarlm as gl
from grammarlm.device import host_csr as cpu
from grammarlm.kernels.reference import csr as reference
from grammarlm.layout.csr import DEAD, FINISHED, MISS
from grammarlm.masks.csr.automaton import CsrAutomaton
from tests.mask_bits import ids_of

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


class Walker:
    """A text in an automaton and in a matcher at the same time."""

    def __init__(self, constraint: gl.Constraint, automaton: CsrAutomaton):
        self.vocab, self.automaton, self.matcher = constraint.vocab, automaton, constraint.matcher()
        self.state = np.array([automaton.start], np.int32)
        self.misses = 0
        self.asked = np.zeros((1, 2), np.int32)

    def check_mask(self) -> list[int]:
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

    def check_refusals(self, allowed: list[int], rng: random.Random) -> None:
        refused = sorted(set(range(self.vocab.size)) - set(allowed))
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
        texts = [t for t in allowed if t not in walker.vocab.stop_ids]
        long = [t for t in texts if t >= 256]
        walker.step(rng.choice(long if long and rng.random() < 0.4 else texts or allowed))
        yield int(walker.state[0])
        if walker.matcher.is_finished:
            return
