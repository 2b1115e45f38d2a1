"""Random texts of a Lark grammar: a walk through the rules that stock lark compiled, and random matches for its terminals.

    Sentences(lark.Lark(text, parser="lalr"), random.Random(1)).text() -> 'SELECT*FROM a'

A walk makes for a rule that was taken seldom, so that as many texts as there are rules meet all of them. Pieces are written side
by side where lark still reads them back, which is where a grammar's lexical borders are tried, and with ignored text between them
otherwise.
"""

import random
import re
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterator
from typing import Any

import lark

try:
    from re import _constants as sre  # type: ignore[attr-defined]
    from re import _parser as sre_parser  # type: ignore[attr-defined]
except ImportError:  # Python 3.10 keeps them as modules of their own
    import sre_constants as sre
    import sre_parse as sre_parser

# What a class may be asked for, besides its own members: ASCII, and characters of two, three and four bytes.
POOL = [chr(code) for code in range(128)] + ["é", "ß", "ſ", "\u0085", "\u00a0", "€", "中", "\u2028", "\ufeff", "😀"]
LOOKS = (sre.ASSERT, sre.ASSERT_NOT, sre.AT)


class PatternSampler:
    """Random matches of a regular expression; look-around is left out of the walk and asked of `re` afterwards."""

    def __init__(self, pattern: str, rng: random.Random) -> None:
        self.compiled = re.compile(pattern)
        self.tree = sre_parser.parse(pattern)
        self.rng = rng

    def sample(self) -> str:
        for _ in range(1000):
            text = "".join(self.walk(self.tree))
            if self.compiled.fullmatch(text):
                return text
        raise AssertionError(f"no match found for {self.compiled.pattern!r}")

    def walk(self, items: Any) -> Iterator[str]:
        rng = self.rng
        for kind, argument in items:
            if kind is sre.LITERAL:
                yield chr(argument)
            elif kind in (sre.NOT_LITERAL, sre.IN, sre.ANY):
                yield rng.choice(members(kind, argument))
            elif kind is sre.BRANCH:
                yield from self.walk(rng.choice(argument[1]))
            elif kind is sre.SUBPATTERN:
                yield from self.walk(argument[3])
            elif kind in (sre.MAX_REPEAT, sre.MIN_REPEAT):
                low, high, body = argument
                for _ in range(min(high, low + rng.choice((0, 0, 1, 1, 2, 6)))):
                    yield from self.walk(body)
            elif kind not in LOOKS:
                raise AssertionError(f"the sampler knows no {kind}")


def members(kind: Any, argument: Any) -> list[str]:
    """The characters of a class to choose from: all of the pool that are in it, and the ends of its ranges."""
    if kind is sre.ANY:
        return [char for char in POOL if char != "\n"]
    items = [(sre.NEGATE, None), (sre.LITERAL, argument)] if kind is sre.NOT_LITERAL else argument
    ranges = [range_of(*item) for item in items if item[0] is not sre.NEGATE]
    ends = [chr(end) for low, high in ranges for end in (low, high)]
    negated = items[0][0] is sre.NEGATE
    chosen = [c for c in POOL + ends * (not negated) if any(low <= ord(c) <= high for low, high in ranges) != negated]
    return chosen


def range_of(kind: Any, argument: Any) -> tuple[int, int]:
    if kind is sre.LITERAL:
        return argument, argument
    assert kind is sre.RANGE, f"the sampler knows no {kind} in a class"
    low, high = argument
    return low, high


class Sentences:
    """Random texts of an LALR grammar with the contextual lexer."""

    def __init__(self, parser: lark.Lark, rng: random.Random) -> None:
        self.parser = parser
        self.rng = rng
        self.taken: Counter[Any] = Counter()
        self.rules: dict[str, list[Any]] = defaultdict(list)
        for rule in parser.rules:
            self.rules[rule.origin.name].append(rule)
        self.height = self.heights()
        self.route = self.routes()
        self.samplers = {t.name: PatternSampler(t.pattern.to_regexp(), rng) for t in parser.terminals}

    def heights(self) -> dict[Any, int]:
        """For each rule and nonterminal, how deep its flattest tree is."""
        height: dict[Any, int] = {}
        changed = True
        while changed:
            changed = False
            for origin, rules in self.rules.items():
                for rule in rules:
                    below = [0 if symbol.is_term else height.get(symbol.name) for symbol in rule.expansion]
                    if None in below:
                        continue
                    found = 1 + max((deep for deep in below if deep is not None), default=0)
                    for key in (rule, origin):
                        if found < height.get(key, found + 1):
                            height[key], changed = found, True
        return height

    def routes(self) -> dict[str, list[tuple[Any, int]]]:
        """For each nonterminal the shortest way to it from the start: rules, and which part of each goes on."""
        start = self.parser.options.start[0]
        found: dict[str, list[tuple[Any, int]]] = {start: []}
        queue = deque([start])
        while queue:
            origin = queue.popleft()
            for rule in self.rules[origin]:
                for index, symbol in enumerate(rule.expansion):
                    if not symbol.is_term and symbol.name not in found:
                        found[symbol.name] = [*found[origin], (rule, index)]
                        queue.append(symbol.name)
        return found

    def terminals(self, size: int) -> Iterator[str]:
        """The terminals of a random derivation that has a seldom taken rule in it.

        Beside the way to that rule it is free for `size` steps, then it ends as soon as it can.
        """
        goal = min(self.parser.rules, key=lambda rule: (self.taken[rule], self.rng.random()))
        route = [*self.route[goal.origin.name], (goal, -1)]
        stack: list[tuple[Any, int | None]] = [(lark.grammar.NonTerminal(self.parser.options.start[0]), 0)]
        while stack:
            symbol, step = stack.pop()
            if symbol.is_term:
                yield symbol.name
                continue
            rule, onward = route[step] if step is not None else (self.choice(symbol.name, size), -1)
            self.taken[rule] += 1
            size -= 1
            parts = list(enumerate(rule.expansion))
            stack.extend((part, step + 1 if step is not None and i == onward else None) for i, part in reversed(parts))

    def choice(self, origin: str, size: int) -> Any:
        rules = self.rules[origin]
        if size <= 0:
            flattest = min(self.height[rule] for rule in rules)
            rules = [rule for rule in rules if self.height[rule] == flattest]
        return min(rules, key=lambda rule: (self.taken[rule] + 1) * self.rng.random())

    def text(self, size: int | None = None) -> str:
        """A random text that lark reads. Every derivation must be one, at the latest with a blank between its pieces."""
        steps = size if size is not None else self.rng.choice((0, 10, 40, 120))
        pieces = [self.samplers[name].sample() for name in self.terminals(steps)]
        for between in (self.seldom_apart, self.apart):
            written = self.join(pieces, between)
            if self.is_read(written):
                return written
        written = self.join(pieces, lambda: " ")
        assert self.is_read(written), f"a derivation that its own lexer cuts differently: {written!r}"
        return written

    def seldom_apart(self) -> str:
        return self.apart() if self.rng.random() < 0.3 else ""

    def apart(self) -> str:
        ignored = self.parser.ignore_tokens
        return self.samplers[self.rng.choice(ignored)].sample() if ignored and self.rng.random() < 0.2 else " "

    def join(self, pieces: list[str], between: Callable[[], str]) -> str:
        if not self.parser.ignore_tokens:
            return "".join(pieces)
        return between() + "".join(piece + between() for piece in pieces)

    def is_read(self, text: str) -> bool:
        try:
            self.parser.parse(text)
        except lark.exceptions.UnexpectedInput:
            return False
        return True
