"""Random context-free grammars as `Rules`, and the text that writes them down in GBNF or EBNF: fixed by their seed.

The grammar is drawn first and written second, so an oracle that reads `Rules` shares no reader with what is tested.
Drawn are 2 to 8 rules: left, right and middle recursion, what may be empty, cycles (`a ::= b`, `b ::= a`), ambiguity,
rules that nothing spells and rules that nobody calls.
"""

import random
from dataclasses import dataclass

from grammarlm.grammars.cfg.rules import Alternatives, Call, Chars, Node, Repeat, Rules, Sequence, Text
from tests.oracles.code_points import complement
from tests.oracles.written_grammars import write_ebnf, write_gbnf

ALPHABETS = ["ab(,)", "ab", "ab1_é", "a(😀€)", "ab\n]€", '1,\\"-^', "()ab1é"]
_REPEATS: list[tuple[int, int | None]] = [(0, 1), (0, None), (1, None), (2, 2), (1, 3), (0, 2), (2, None), (0, 0)]


@dataclass(frozen=True)
class RandomGrammar:
    """A grammar, the characters that it is about, and its text in both notations."""

    rules: Rules
    alphabet: str
    gbnf: str
    ebnf: str


class RandomGrammars:
    """An endless supply of grammars."""

    def __init__(self, seed: str):
        self._rng = random.Random(f"grammars {seed}")
        self._alphabet = ""
        self._names: list[str] = []

    def grammar(self) -> RandomGrammar:
        rng = self._rng
        self._alphabet = rng.choice(ALPHABETS)
        count = rng.randint(2, 8)
        self._names = ["root"] + [f"{rng.choice('xyz')}{rng.choice(['', '-'])}{place}" for place in range(1, count)]
        rules = Rules("root", {name: self._body(name) for name in self._names})
        return RandomGrammar(rules, self._alphabet, write_gbnf(rules, rng), write_ebnf(rules, rng))

    def _body(self, name: str) -> Node:
        """Mostly with a way out, sometimes one of the shapes of recursion that readers and stacks fear."""
        rng, kind = self._rng, self._rng.random()
        if kind < 0.07:
            return Call(rng.choice(self._names), 0)
        if kind < 0.14:
            return Sequence((Call(name, 0), self._leaf()))
        parts = [self._node(2) for _ in range(rng.randint(1, 3))]
        if rng.random() < 0.5:
            parts.append(self._recursion(name))
        if rng.random() < 0.75:
            parts.insert(rng.randint(0, len(parts)), self._leaf())
        return _alternatives(parts)

    def _recursion(self, name: str) -> Node:
        call, left, right = Call(name, 0), self._leaf(), self._leaf()
        shapes: list[tuple[Node, ...]] = [(call, left), (left, call), (left, call, right), (call, call), (call,)]
        return _sequence(list(self._rng.choice(shapes)))

    def _node(self, depth: int) -> Node:
        rng = self._rng
        kind = rng.random()
        if depth == 0 or kind < 0.25:
            return self._leaf()
        if kind < 0.5:
            return Call(rng.choice(self._names), 0)
        if kind < 0.75:
            return _sequence([self._node(depth - 1) for _ in range(rng.randint(2, 3))])
        if kind < 0.87:
            return _alternatives([self._node(depth - 1) for _ in range(rng.randint(2, 3))])
        return Repeat(self._node(depth - 1), *rng.choice(_REPEATS))

    def _leaf(self) -> Node:
        rng, kind = self._rng, self._rng.random()
        if kind < 0.08:
            return Text(b"")
        if kind < 0.75:
            return Text("".join(rng.choice(self._alphabet) for _ in range(rng.choice([1, 1, 1, 2]))).encode())
        chosen = {ord(rng.choice(self._alphabet)) for _ in range(rng.randint(1, 3))}
        ranges = tuple((code, code) for code in sorted(chosen))
        if kind < 0.80:
            return Chars(complement(ranges))
        if kind < 0.85 and max(chosen) > min(chosen):
            return Chars(((min(chosen), max(chosen)),))
        return Chars(ranges)


def _sequence(parts: list[Node]) -> Node:
    return parts[0] if len(parts) == 1 else Sequence(tuple(parts))


def _alternatives(parts: list[Node]) -> Node:
    return parts[0] if len(parts) == 1 else Alternatives(tuple(parts))
