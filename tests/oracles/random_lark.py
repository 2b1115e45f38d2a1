"""Random Lark grammars, as text, fixed by their seed: terminals that overlap, and rules of every EBNF operator.

What makes Lark's lexing hard is drawn on purpose: keywords beside names, numbers whose ends are a matter of the next
character (`1`, `1.`, `1..1`), strings that begin other strings, lazy and ordered patterns, priorities, ignored text.
About a third of the grammars are not LALR.
"""

import random
from contextlib import suppress
from dataclasses import dataclass

from lark.exceptions import LarkError
from lark.load_grammar import load_grammar

from tests.oracles.lark_oracle import LarkOracle

_TERMINALS = {
    "NAME": ["/[a-b_][a-b_1]*/", "/[ab]+/", "/[a-z_]+/i", "/a|ab|b/", "/ab?/"],
    "KEY": ['"a"', '"ab"', '"ab"i', '"b" "a"', '"aba"'],
    "WORD": ['"ba" | "b"', "/b+a?/", "/(a|b)*b/"],
    "INT": ["/[01]+/", "/1+/", '"1"+', '"0".."1"'],
    "FLOAT": [r"/1+\.1*/", r"/1*\.1+/", 'INT "." INT?', r"/1(\.1+)?/"],
    "RANGE": ['".."', '"..."'],
    "TEXT": ['/"[^"]*"/', '/".*?"/', r'/"(\\.|[^"\\])*"/'],
    "LAZY": ["/a.*?b/s", "/[(].*?[)]/", "/1+?/"],
    "OTHER": ["/[^ab]/", "/é+/", '"é" | "€"', "/[é-€]/", r"/\w/", "/./", "/a^b|1/", r"/[ab](?:\n^a|^1)?/m"],
    "OPEN": ['"("', '"(" | "(("'],
    "SIGN": ['"+" | "++" | "+="', "/[+=]+/", '"="'],
}
_STRINGS = ['"a"', '"b"', '"("', '")"', '"."', '".."', '"+"', '"++"', '"="', '"=="', '"1"', '","', '"é"', '"ab"']
_IGNORED = ['" "', "/ +/", r"/[ \n]+/", "/#[a-b]*/", "/,/"]
_OPERATORS = ["?", "*", "+", "~2", "~1..2", "~0..2"]
_MOST_RULES = (
    300  # that lark makes of a grammar: one in a hundred has more, and lark needs minutes for texts, hours for tables
)


@dataclass(frozen=True)
class RandomLarkGrammar:
    text: str
    alphabet: str


class RandomLark:
    """An endless supply of grammars; every rule and terminal that is named is defined, most grammars are `readable`."""

    def __init__(self, seed: str):
        self._rng = random.Random(f"lark {seed}")
        self._terminals: list[str] = []
        self._rules: list[str] = []

    def grammar(self) -> RandomLarkGrammar:
        rng = self._rng
        self._terminals = rng.sample(sorted(_TERMINALS), rng.randint(2, 4))
        self._rules = ["start", *(f"rule_{place}" for place in range(rng.randint(0, 3)))]
        lines = [self._rule(name) for name in self._rules]
        names = self._terminals + (["INT"] if "FLOAT" in self._terminals and "INT" not in self._terminals else [])
        lines += [self._terminal(name) for name in names]
        lines += [f"%ignore {rng.choice(_IGNORED)}" for _ in range(rng.choice([0, 1, 1, 2]))]
        if rng.random() < 0.5:
            rng.shuffle(lines)
        text = "\n".join(lines) + "\n"
        return RandomLarkGrammar(text, self._alphabet(text))

    def readable(self) -> tuple[RandomLarkGrammar, LarkOracle]:
        """The next grammar that lark accepts (it refuses, for one, two alternatives that are the same), and its oracle.

        Repeats within repeats, of what is optional, can become hundreds of rules; such a grammar is passed over.
        """
        while True:
            grammar = self.grammar()
            with suppress(LarkError):
                loaded, _ = load_grammar(grammar.text, "", [], False)
                if len(loaded.compile(["start"], set())[1]) <= _MOST_RULES:
                    return grammar, LarkOracle(grammar.text)

    def _alphabet(self, text: str) -> str:
        """The characters that the grammar is about, and one that it may not know."""
        wanted = "ab1" + "".join(c for c in '01._+=(),"é€ #\\' if c in text.replace("rule_", ""))
        return "".join(dict.fromkeys(wanted + self._rng.choice("zA \n0")))

    def _terminal(self, name: str) -> str:
        priority = self._rng.choice([".2", ".-1", ".1"]) if self._rng.random() < 0.2 else ""
        return f"{name}{priority}: {self._rng.choice(_TERMINALS[name])}"

    def _rule(self, name: str) -> str:
        rng = self._rng
        parts = [self._expansion(2) for _ in range(rng.randint(1, 3))]
        if rng.random() < 0.5:
            leaf = self._leaf()
            parts.append(rng.choice([f"{name} {leaf}", f"{leaf} {name}", f'"(" {name} ")"', f"{name} {leaf} {name}"]))
            parts.append(leaf)
        if rng.random() < 0.1:
            parts.append("")
        aliased = [f"{part} -> alias_{place}" if rng.random() < 0.1 else part for place, part in enumerate(parts)]
        modifier = rng.choice(["", "", "", "?", "!"]) if name != "start" else rng.choice(["", "", "?"])
        return f"{modifier}{name}: " + rng.choice([" | ", "\n    | "]).join(aliased)

    def _expansion(self, depth: int) -> str:
        return " ".join(self._item(depth) for _ in range(self._rng.choice([1, 1, 2, 2, 3])))

    def _item(self, depth: int) -> str:
        rng, kind = self._rng, self._rng.random()
        if depth == 0 or kind < 0.5:
            return self._leaf()
        if kind < 0.65:
            return self._leaf() + rng.choice(_OPERATORS)
        if kind < 0.8:
            return f"({self._expansion(depth - 1)} | {self._expansion(depth - 1)}){rng.choice(['', *_OPERATORS])}"
        if kind < 0.88:
            return f"[{self._expansion(depth - 1)}]"
        return rng.choice(self._rules)

    def _leaf(self) -> str:
        rng = self._rng
        return rng.choice(_STRINGS) if rng.random() < 0.4 else rng.choice(self._terminals)
