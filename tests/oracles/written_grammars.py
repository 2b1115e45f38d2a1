"""`Rules` written down in GBNF and in EBNF, each thing in one of the ways that the notation has for it, drawn at random."""

import random

from grammarlm.grammars.cfg.rules import Alternatives, Call, Chars, Node, Pattern, Repeat, Rules, Sequence, Text, Token
from tests.oracles.code_points import Ranges, complement

_ESCAPES = {"\n": "\\n", "\t": "\\t", "\r": "\\r", "\\": "\\\\"}
_ALTERNATIVES, _SEQUENCE, _ATOM = range(3)


def write_gbnf(rules: Rules, rng: random.Random) -> str:
    """The notation of llama.cpp: names of letters, digits and "-"."""
    return _Writer("-", rng).grammar(rules)


def write_ebnf(rules: Rules, rng: random.Random) -> str:
    r"""The same in xgrammar's spelling: names have "_"; never \x, which goes on there as long as hexadecimal digits do."""
    return _Writer("_", rng).grammar(rules)


class _Writer:
    def __init__(self, joint: str, rng: random.Random):
        self._joint = joint
        self._rng = rng

    def grammar(self, rules: Rules) -> str:
        lines = []
        for name, body in rules.bodies.items():
            if self._rng.random() < 0.1:
                lines.append(self._rng.choice(["", '# a note: [^] ( ::= "', "   "]))
            end = self._rng.choice(["", "", " ", " # the end"])
            lines.append(f"{self._name(name)} ::= {self._node(body, _ALTERNATIVES)}{end}")
        return "\n".join(lines) + self._rng.choice(["", "\n", "\n\n"])

    def _name(self, name: str) -> str:
        return name.replace("-", self._joint)

    def _node(self, node: Node, place: int) -> str:
        """The text of a node, in brackets where `place` binds tighter than it does."""
        if isinstance(node, Text):
            return self._literal(node.data.decode())
        if isinstance(node, Chars):
            return self._class(node.chars)
        if isinstance(node, Call):
            return self._name(node.name)
        if isinstance(node, Repeat):
            text = self._node(node.body, _ATOM) + self._operator(node.low, node.high)
            return f"({text})" if place == _ATOM else text
        if isinstance(node, Sequence):
            text = self._rng.choice([" ", " ", "  "]).join(self._node(part, _SEQUENCE) for part in node.parts)
            return f"({text})" if place == _ATOM else text
        if isinstance(node, Alternatives):
            separator = self._rng.choice([" | ", "|", " |\n  "])
            text = separator.join(self._node(part, _ALTERNATIVES) for part in node.parts)
            return f"({text})" if place > _ALTERNATIVES else text
        assert not isinstance(node, (Pattern, Token)), "neither notation is drawn with patterns or token terminals"
        raise TypeError(node)

    def _operator(self, low: int, high: int | None) -> str:
        short = {(0, 1): "?", (0, None): "*", (1, None): "+"}.get((low, high))
        if short and self._rng.random() < 0.8:
            return short
        if low == high:
            return f"{{{low}}}"
        return f"{{{low},}}" if high is None else f"{{{low},{high}}}"

    def _literal(self, text: str) -> str:
        return '"' + "".join('\\"' if c == '"' else self._character(c) for c in text) + '"'

    def _class(self, chars: Ranges) -> str:
        outside = complement(chars)
        negated = len(outside) < len(chars) or sum(high - low for low, high in chars) > 0x10000
        ranges = outside if negated else chars
        return f"[{'^' if negated else ''}{''.join(map(self._range, ranges))}]"

    def _range(self, both: tuple[int, int]) -> str:
        low, high = (self._class_character(chr(code)) for code in both)
        return low if both[0] == both[1] else f"{low}-{high}"

    def _class_character(self, character: str) -> str:
        return self._escaped(character) if character in "]^-[" else self._character(character)

    def _character(self, character: str) -> str:
        if character in _ESCAPES:
            return _ESCAPES[character]
        if character.isprintable() and self._rng.random() < 0.85:
            return character
        return self._escaped(character)

    def _escaped(self, character: str) -> str:
        code = ord(character)
        wide = f"\\u{code:04X}" if code < 0x10000 else f"\\U{code:08X}"
        return self._rng.choice([f"\\x{code:02x}", wide]) if code < 0x80 and self._joint == "-" else wide
