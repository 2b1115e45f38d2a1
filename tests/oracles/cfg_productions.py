"""`Rules` as plain productions over events, where everything that a set of tokens can or cannot finish is a fixpoint.

An event is a byte (0 to 255) or a token named by the grammar (256 + its id). A symbol is the number of a nonterminal or
a range of events. Characters become their UTF-8 bytes (`code_points`), a regular expression one nonterminal for each
state of its oracle (`regex_oracle`): nothing here comes from the package but the classes that a reader makes.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

from grammarlm.grammars.cfg.rules import Alternatives, Call, Chars, Node, Pattern, Repeat, Rules, Sequence, Text, Token
from tests.oracles.code_points import Ranges, utf8_sequences
from tests.oracles.regex_oracle import Oracle

FIRST_TOKEN_EVENT = 256

EventRange = tuple[int, int]
Symbol = int | EventRange
Body = tuple[Symbol, ...]

_MOST_COPIES = 1000


@dataclass(frozen=True)
class Productions:
    """`bodies[n]` are the alternatives of nonterminal n; `entry` has the single alternative (start,)."""

    entry: int
    bodies: list[list[Body]]

    def productive(self) -> set[int]:
        """The nonterminals that some events spell."""
        found: set[int] = set()
        while True:
            fresh = {
                head
                for head, bodies in enumerate(self.bodies)
                if head not in found and any(_all_in(body, found) for body in bodies)
            }
            if not fresh:
                return found
            found |= fresh

    def nullable(self) -> set[int]:
        """The nonterminals that the empty text spells."""
        without_events = [[body for body in bodies if all(isinstance(s, int) for s in body)] for bodies in self.bodies]
        return Productions(self.entry, without_events).productive()

    def pruned(self) -> "Productions":
        """The same language, every remaining body spelled by some events and part of some text."""
        productive = self.productive()
        bodies = [[body for body in of_head if _all_in(body, productive)] for of_head in self.bodies]
        reached = [self.entry]
        for head in reached:
            called = {symbol for body in bodies[head] for symbol in body if isinstance(symbol, int)}
            reached += sorted(called - set(reached))
        return Productions(self.entry, [of_head if head in reached else [] for head, of_head in enumerate(bodies)])

    def bytes_used(self) -> set[int]:
        """Every byte that some body asks for."""
        ranges = {symbol for bodies in self.bodies for body in bodies for symbol in body if isinstance(symbol, tuple)}
        return {event for low, high in ranges for event in range(low, min(high, 255) + 1)}


def _all_in(body: Body, nonterminals: set[int]) -> bool:
    return all(isinstance(symbol, tuple) or symbol in nonterminals for symbol in body)


def productions_of(rules: Rules, token_ids: Mapping[str, int]) -> Productions:
    """The productions of a grammar; a token that the vocabulary lacks is never spelled."""
    return _Builder(rules, token_ids).build()


class _Builder:
    def __init__(self, rules: Rules, token_ids: Mapping[str, int]):
        self._rules = rules
        self._token_ids = token_ids
        self._bodies: list[list[Body]] = []
        self._named = {name: self._new() for name in rules.bodies}
        self._characters: dict[Ranges, int] = {}
        self._patterns: dict[str, int] = {}

    def build(self) -> Productions:
        for name, node in self._rules.bodies.items():
            self._bodies[self._named[name]].append(self._body(node))
        entry = self._new([(self._named[self._rules.start],)])
        return Productions(entry, self._bodies)

    def _new(self, bodies: list[Body] | None = None) -> int:
        self._bodies.append(bodies or [])
        return len(self._bodies) - 1

    def _body(self, node: Node) -> Body:
        if isinstance(node, Text):
            return tuple((byte, byte) for byte in node.data)
        if isinstance(node, Call):
            return (self._named[node.name],)
        if isinstance(node, Sequence):
            return tuple(symbol for part in node.parts for symbol in self._body(part))
        if isinstance(node, Alternatives):
            return (self._new([self._body(part) for part in node.parts]),)
        if isinstance(node, Chars):
            return (self._one_character(node.chars),)
        if isinstance(node, Pattern):
            return (self._pattern(node.regex),)
        if isinstance(node, Token):
            token = node.name if isinstance(node.name, int) else self._token_ids.get(node.name)
            return (self._new(),) if token is None else ((FIRST_TOKEN_EVENT + token,) * 2,)
        return self._repeat(node)

    def _repeat(self, node: Repeat) -> Body:
        """low copies, then either any number of further ones, or one more each of which needs the one before it."""
        if max(node.low, node.high or 0) > _MOST_COPIES:
            raise ValueError(f"an oracle that copies bodies is no place for {node.high or node.low} of them")
        body = self._body(node.body)
        further: Body = ()
        if node.high is None:
            star = self._new()
            self._bodies[star] += [(), (*body, star)]
            further = (star,)
        else:
            for _ in range(node.high - node.low):
                further = (self._new([(), body + further]),)
        return body * node.low + further

    def _one_character(self, chars: Ranges) -> int:
        if chars not in self._characters:
            self._characters[chars] = self._new([body for low, high in chars for body in utf8_sequences(low, high)])
        return self._characters[chars]

    def _pattern(self, regex: str) -> int:
        """A nonterminal for each state of the pattern's oracle: it reads a byte and goes on as the next state, or ends."""
        if regex in self._patterns:
            return self._patterns[regex]
        oracle = Oracle(regex)
        if not oracle.completable_bytes(oracle.start):
            self._patterns[regex] = self._new()
            return self._patterns[regex]
        ends = sorted(oracle.boundaries() | {0, 256})
        numbers = {oracle.start: self._new()}
        queue = [oracle.start]
        for state in queue:
            bodies: list[Body] = [()] if oracle.accepts(state) else []
            for low, after in pairwise(ends):
                target = oracle.step(state, low)
                if not oracle.completable_bytes(target):
                    continue
                if target not in numbers:
                    numbers[target] = self._new()
                    queue.append(target)
                bodies.append(((low, after - 1), numbers[target]))
            self._bodies[numbers[state]] += bodies
        self._patterns[regex] = numbers[oracle.start]
        return self._patterns[regex]
