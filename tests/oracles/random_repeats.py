"""Random grammars with repeats, each with the parts that a reader of its texts is made of (part_texts.py).

    RandomRepeats(seed, kind, token_list).draw() -> (a grammar, its Part)

`kind` says what may stand in them: "regular", "ruled" (GBNF, EBNF, Lark), "json", "items", or "mixed", which is all of it. Bodies
may be empty, separators may be what a body begins with, and one part may stand in several places.
"""

import itertools
import operator
import random
from collections.abc import Callable, Sequence
from functools import lru_cache, reduce
from typing import Any

import grammarlm as gl
from grammarlm.grammars.cfg.rules import Alternatives, Call, Rules, Text
from grammarlm.grammars.cfg.rules import Sequence as InOrder
from tests.laws.vocabularies import TokenList
from tests.oracles.automata import Automaton, Texts
from tests.oracles.part_readers import Derived, MarkedText
from tests.oracles.part_texts import Either, Items, Part, Plain, Row, Times
from tests.oracles.random_parts import RandomParts
from tests.oracles.regex_oracle import Oracle

Drawn = tuple[Any, Part]
Counts = tuple[int, int | None]
COUNTS: list[Counts] = [
    (0, None),
    (1, None),
    (2, None),
    (0, 1),
    (0, 2),
    (1, 1),
    (1, 3),
    (2, 2),
    (3, 5),
    (6, 8),
    (0, 0),
    (0, 1000),
    (2, 300),
]
NESTED = Rules("root", {"root": Alternatives((InOrder((Text(b"("), Call("root", 0), Text(b")"))), Text(b"x")))})
ENDLESS = Rules("root", {"root": Alternatives((InOrder((Text(b"a"), Call("root", 0), Text(b"b"))), Text(b"")))})
# What has rules; no lexeme of the Lark grammars can go on, so that they are read as the rules are.
RULED: list[tuple[Any, Rules]] = [
    (gl.Gbnf('root ::= "(" root ")" | "x"'), NESTED),
    (gl.Ebnf('root ::= "(" root ")" | "x"'), NESTED),
    (gl.Lark('start: "(" start ")" | "x"'), NESTED),
    (gl.Gbnf('root ::= "a" root "b" | ""'), ENDLESS),
    (gl.Lark('start: "a" start "b" |'), ENDLESS),
]
WORDS: list[tuple[str, ...]] = [(";",), ("", "x"), ("a", "ab", "b"), ("],", "]", ","), (",", ""), ("é", "<>")]
BEGINNINGS = ["a", "ab", "abx", "x", "{", "<>", "é", "];"]
MARKERS: list[tuple[str, ...]] = [(";",), ("<>",), ("aab",), ("];", "]"), ("é;", "()")]
pattern_reader, marker_reader = lru_cache(1 << 12)(Oracle), lru_cache(1 << 8)(MarkedText)
KINDS = ("regular", "ruled", "json", "items", "mixed")
TIMED = ("timed", "all")  # the same with texts that have a deadline, beside schemas or beside everything


class RandomRepeats:
    """An endless supply of grammars, fixed by the seed."""

    def __init__(self, seed: str, kind: str, token_list: TokenList, counts: Sequence[Counts] = COUNTS):
        self.rng = random.Random(f"{kind} {seed}")
        self.kind, self._tokens, self._counts = kind, token_list, counts
        self._parts = RandomParts(f"{kind} {seed}")
        self._kept: list[Drawn] = []
        self.untimed: dict[Automaton, gl.Text] = {}  # what a reader with a deadline reads

    def draw(self, depth: int = 3) -> Drawn:
        self._kept.clear()
        return self._repeat(depth) if self.rng.random() < 0.5 else self._joined([self._repeat, self._node], depth - 1)

    def _node(self, depth: int) -> Drawn:
        kind = self.rng.random()
        if self._kept and kind < 0.12:
            return self.rng.choice(self._kept)
        if depth <= 0 or kind < 0.3:
            found = self._leaf()
        elif kind < 0.65:
            found = self._repeat(depth)
        elif kind < 0.75:
            found = self._begun_by_words(depth - 1)
        else:
            found = self._joined([self._node] * self.rng.randint(2, 3), depth - 1)
        if self.rng.random() < 0.1:
            found = gl.Capture("name", found[0]), found[1]
        self._kept.append(found)
        return found

    def _joined(self, drawers: list[Any], depth: int) -> Drawn:
        sides = [draw(depth) for draw in self.rng.sample(drawers, len(drawers))]
        is_choice = self.rng.random() < 0.35
        parts = tuple(part for _, part in sides)
        return (
            (_combined(sides, operator.or_), Either(parts))
            if is_choice
            else (_combined(sides, operator.add), Row(parts))
        )

    def _begun_by_words(self, depth: int) -> Drawn:
        """Many alternatives, each a word and what follows it; some words begin others, and one may stand twice."""
        sides = list[Drawn]()
        for word in self.rng.choices(BEGINNINGS, k=self.rng.randint(4, 6)):
            after, part = self._node(depth - 1)
            sides.append((word + after, Row((Plain(Texts([word.encode()])), part))))
        return _combined(sides, operator.or_), Either(tuple(part for _, part in sides))

    def _repeat(self, depth: int) -> Drawn:
        grammar, body = self._node(depth - 1)
        fewest, most = self.rng.choice(self._counts)
        between, separator = None, None
        how = self.rng.random()
        if how < 0.3:
            between, separator = self._words()
        elif how < 0.45:
            between, separator = self._node(depth - 2)
        elif how < 0.5:
            between, separator = grammar, body
        return gl.Repeat(grammar, fewest, most, between), Times(body, fewest, most, separator)

    def _leaf(self) -> Drawn:
        others = [self._regular, self._marked, self._words]
        own = {"ruled": self._ruled, "json": self._schema, "items": self._items}
        drawers = {
            "mixed": list(own.values()),
            "timed": [self._timed, self._schema],
            "all": [self._timed, *own.values()],
        }.get(self.kind, [own[self.kind]] if self.kind in own else [])
        return self.rng.choice(drawers if drawers and self.rng.random() < 0.6 else others)()

    def _words(self) -> Drawn:
        texts = self.rng.choice(WORDS)
        part = Plain(Texts(text.encode() for text in texts))
        return (texts[0] if len(texts) == 1 else gl.Choices(texts)), part

    def _regular(self) -> Drawn:
        grammar, pattern = self._parts._plain()
        return grammar, Plain(pattern_reader(pattern))

    def _marked(self) -> Drawn:
        markers, most = self.rng.choice(MARKERS), self.rng.choice([None, None, 0, 1, 3])
        until = markers[0] if len(markers) == 1 else markers
        return gl.Text(until=until, max_chars=most), Plain(marker_reader(markers, most))

    def _timed(self) -> Drawn:
        """With a deadline that bytes alone keep."""
        automaton: Automaton
        if self.rng.random() < 0.2:
            grammar, automaton, least = gl.Text(), pattern_reader(r"[\s\S]*"), 1
        else:
            markers = self.rng.choice(MARKERS)
            grammar, automaton = gl.Text(until=markers), marker_reader(markers, None)
            least = min(len(marker.encode()) for marker in markers)
        most = least + self.rng.choice([0, 0, 1, 2, 4])
        self.untimed[automaton] = grammar
        return gl.Text(until=grammar.until, max_tokens=most), Plain(automaton, most)

    def _ruled(self) -> Drawn:
        grammar, rules = self.rng.choice(RULED)
        return grammar, Plain(Derived(rules))

    def _schema(self) -> Drawn:
        grammar, pattern = self._parts._schema()
        return grammar, Plain(pattern_reader(pattern))

    def _items(self) -> Drawn:
        """Sets, lists and single tokens: of texts, of special tokens, and some whose bytes are another part's."""
        rng, special = self.rng, next(i for i in self._tokens.special_ids if i not in self._tokens.stop_ids)
        ids = [special, *(rng.randrange(256, self._tokens.stop_ids[0]) for _ in range(2)), *b"ax;"]
        if rng.random() < 0.3:
            token = special if rng.random() < 0.9 else rng.choice(ids)  # an ordinary one is refused beside most parts
            return gl.Token(token), Items(((token,),), is_spelled=False)
        sequences = list(dict.fromkeys(tuple(rng.choices(ids, k=rng.randint(1, 3))) for _ in range(rng.randint(1, 4))))
        if rng.random() < 0.6:
            return gl.Tokens(list(map(list, sequences))), Items(tuple(sequences))
        fewest, is_distinct, between = rng.randint(1, 2), rng.random() < 0.5, rng.choice(["", ", ", ";"])
        most = min(rng.randint(fewest, 3), len(sequences) if is_distinct else 3)
        if most < fewest:
            return gl.Tokens(list(map(list, sequences))), Items(tuple(sequences))
        grammar = gl.TokenList(gl.Tokens(list(map(list, sequences))), fewest, most, is_distinct, between)
        separator = Plain(Texts([between.encode()]))
        if not is_distinct:
            return grammar, Times(Items(tuple(sequences)), fewest, most, separator)
        rows = [row for count in range(fewest, most + 1) for row in itertools.permutations(sequences, count)]
        return grammar, Either(tuple(_listed([Items((each,)) for each in row], separator) for row in rows))


def _combined(sides: list[Drawn], by: Callable[[Any, Any], Any]) -> Any:
    first = sides[0][0]
    return reduce(by, (side for side, _ in sides[1:]), gl.Choices([first]) if isinstance(first, str) else first)


def _listed(items: list[Items], separator: Plain) -> Part:
    parts: list[Part] = [items[0]]
    for item in items[1:]:
        parts += [separator, item]
    return Row(tuple(parts))
