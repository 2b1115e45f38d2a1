"""ExcludeToken and TokenTagDispatch: every token of a small vocabulary after random beginnings, beside an oracle and xgrammar."""

import collections
import random
from typing import Any

import pytest

import grammarlm as gl
from tests.counts import record_counts, tiers
from tests.oracles.whole_tokens import Term, WholeTokens

BYTES = [bytes([byte]) for byte in range(256)]
A, B, C = b"abc"
CALL, DONE, AB, CA, ABC, STOP = range(256, 262)
VOCAB = gl.Vocabulary([*BYTES, b"<call>", b"<done>", b"ab", b"ca", b"abc", b"</s>"], [STOP], (CALL, DONE))
NAMED = [CALL, DONE, A, B, AB, CA]


def allowed(matcher: gl.Matcher) -> set[int]:
    mask = gl.allocate_mask(1, VOCAB.size)
    matcher.fill_mask(mask)
    return {token for token in range(VOCAB.size) if mask[0, token // 32] >> (token % 32) & 1}


def read(text: str, tokens: list[int]) -> gl.Matcher:
    matcher = gl.compile(gl.Ebnf(text), VOCAB).matcher()
    assert all(map(matcher.advance, tokens))
    return matcher


class RandomGrammar:
    """A term, and the same as EBNF: some of it as rules of their own."""

    def __init__(self, rng: random.Random):
        self.rng, self.rules = rng, dict[str, str]()
        self.term, root = self._made(3)
        self.text = f"root ::= {root}\n" + "".join(f"{name} ::= {body}\n" for name, body in self.rules.items())

    def _some(self, most: int) -> list[int]:
        return self.rng.sample(NAMED, self.rng.randint(1, most))

    def _rule(self, text: str) -> str:
        name = f"r{len(self.rules)}"
        self.rules[name] = text
        return name

    def _made(self, depth: int) -> tuple[Term, str]:
        """A term and an item of a sequence."""
        kinds = ["text", "tokens", "other", "other"] + ["seq", "seq", "or", "repeat", "dispatch"] * (depth > 0)
        kind, rng = self.rng.choice(kinds), self.rng
        if kind == "text":
            letters = rng.choice(["a", "b", "ab", "c", "abc", "ca", ""])
            return ("text", letters), f'"{letters}"'
        if kind in ("tokens", "other"):
            ids = self._some(3)
            name = "Token" if kind == "tokens" else "ExcludeToken"
            return (kind, ids), f"{name}({', '.join(map(str, ids))})"
        if kind == "repeat":
            term, text = self._made(depth - 1)
            low, high = rng.choice([(0, None), (1, None), (0, 1), (1, 2), (2, 3), (2, None)])
            return ("repeat", term, low, high), f"({text}){{{low},{'' if high is None else high}}}"
        if kind == "dispatch":
            return self._dispatch(depth - 1)
        parts = [self._made(depth - 1) for _ in range(rng.randint(2, 3))]
        text = (" " if kind == "seq" else " | ").join(text for _, text in parts)
        return (kind, [term for term, _ in parts]), self._rule(text) if rng.random() < 0.3 else f"({text})"

    def _dispatch(self, depth: int) -> tuple[Term, str]:
        tags, loop = self._some(2), self.rng.random() < 0.5
        excludes = [token for token in self._some(2) if token not in tags]
        rules = [(tag, *self._made(depth)) for tag in tags]
        given = [f"({tag}, {self._rule(text)})" for tag, _, text in rules]
        given += [] if loop else ["loop_after_dispatch=false"]
        given += [f"excludes=({', '.join(map(str, excludes))},)"] if excludes else []
        return ("dispatch", [(tag, term) for tag, term, _ in rules], loop, excludes), f"TokenTagDispatch({', '.join(given)})"


@tiers("seed, count", (0, 60), (1, 3_000))
def test_every_token_of_random_grammars(seed: int, count: int, record_property: Any) -> None:
    outcomes = collections.Counter[str]()
    for number in range(count):
        rng = random.Random(1_000_000 * seed + number)
        grammar = RandomGrammar(rng)
        if "ExcludeToken" not in grammar.text and "TokenTagDispatch" not in grammar.text:
            continue
        oracle = WholeTokens(grammar.term, VOCAB)
        constraint = gl.compile(gl.Ebnf(grammar.text), VOCAB)
        for _ in range(4):
            matcher, states = constraint.matcher(), oracle.start
            for _ in range(rng.randint(1, 6)):
                here, there = allowed(matcher), oracle.allowed(states)
                assert here == there, (grammar.text, here ^ there)
                outcomes["masks"] += 1
                ways = [token for token in [*NAMED, C, ABC] if token in here] or [*(here - {STOP})]
                if not ways:
                    break
                token = rng.choice(ways)
                assert matcher.advance(token)
                states = oracle.after(states, token)
    record_counts(record_property, outcomes, cases="masks")
    assert outcomes["masks"] > 4 * count
