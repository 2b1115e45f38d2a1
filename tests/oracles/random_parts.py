"""Random grammars of parts beside JSON schemas, each with a regular expression of the same texts.

The schemas are such that all their texts can be written down: a few values, without white space, each character of a string as it
is or as `\\u0061`. So a reader of regular expressions (regex_oracle.py) knows what a whole composition allows.
"""

import random
import re
from typing import Any

import grammarlm as gl
from tests.laws.vocabularies import TokenList

LETTERS = "abx"
VALUES = ("a", "ab", "", True, None)
PIECES = """
    " "a" "ab" " a b x ab [ ] ] [] ["a" ["a", ,null , true nul l { } {" k" :"a"} "k": {"k" } ; < > <> << k> ( ) () x) 7 . \\u0061
""".split()  # noqa: SIM905


class RandomParts:
    """`draw()` gives a grammar that has a schema in it, and the pattern of its texts."""

    def __init__(self, seed: str):
        self.rng = random.Random(seed)

    def draw(self, depth: int = 3) -> tuple[Any, str]:
        schema, others = self._schema(), [self._side(depth - 1) for _ in range(self.rng.randint(1, 3))]
        sides = [*others, schema]
        self.rng.shuffle(sides)
        return self._joined(sides)

    def nest(self, levels: int) -> tuple[Any, str]:
        """Calls within calls: what stands before a mark, a value, and the same again."""
        grammar, pattern = self._plain()
        for _ in range(levels):
            value, spelled = self._schema()
            call = gl.Text(until="<>") + value + ";" + grammar
            text = rf"(?:[^<]|<+[^<>])*<+>(?:{spelled});(?:{pattern})"
            grammar, pattern = (gl.Ban(["<"]) | call), rf"(?:[^<]*)|(?:{text})"
        return grammar, pattern

    def _side(self, depth: int) -> tuple[Any, str]:
        kind = self.rng.random()
        if depth and kind < 0.35:
            return self._joined([self._side(depth - 1) for _ in range(self.rng.randint(2, 3))])
        return self._schema() if kind < 0.6 else self._plain()

    def _joined(self, sides: list[tuple[Any, str]]) -> tuple[Any, str]:
        is_choice = self.rng.random() < 0.35
        grammar = sides[0][0]
        for side, _ in sides[1:]:
            grammar = grammar | side if is_choice else grammar + side
        return grammar, ("|" if is_choice else "").join(f"(?:{pattern})" for _, pattern in sides)

    def _plain(self) -> tuple[Any, str]:
        return self.rng.choice(
            [
                (gl.Text(), r"[\s\S]*"),
                (gl.Text(until="<>"), r"(?:[^<]|<+[^<>])*<+>"),
                (gl.Text(until=";"), r"[^;]*;"),
                (gl.Ban(["<"]), r"[^<]*"),
                (gl.Regex("[^x]*"), "[^x]*"),
                (gl.Regex("x?"), "x?"),
                (gl.Regex('[ab"]{1,2}'), '[ab"]{1,2}'),
                (gl.Choices(["];", "]", ""]), r"\];|\]|"),
                (gl.Choices(["}", '"a']), r'\}|"a'),
                (gl.Regex(";"), ";"),
                (gl.Regex("\\[*"), r"\[*"),
                (gl.Gbnf('root ::= "(" root | "x"'), r"\(*x"),
            ]
        )

    def _schema(self) -> tuple[Any, str]:
        values = self.rng.sample(VALUES, self.rng.randint(1, 3))
        spelled = "|".join(map(_spelled, values))
        most = self.rng.randint(0, 2)
        schema, pattern = self.rng.choice(
            [
                ({"enum": values}, spelled),
                ({"type": "array", "items": {"enum": values}, "maxItems": most}, _array(spelled, most)),
                (
                    {"properties": {"k": {"enum": values}}, "required": ["k"], "additionalProperties": False, "type": "object"},
                    rf"\{{{_spelled('k')}:(?:{spelled})\}}",
                ),
                ({"type": "string", "pattern": "^[ab]*$", "maxLength": most}, f'"(?:{_letter("a")}|{_letter("b")}){{0,{most}}}"'),
                ({"type": "string", "pattern": "^a*$"}, f'"{_letter("a")}*"'),
            ]
        )  # fmt: skip
        return gl.JsonSchema(schema, whitespace="compact"), pattern


def _array(item: str, most: int) -> str:
    return rf"\[(?:(?:{item})(?:,(?:{item})){{0,{most - 1}}})?\]" if most else r"\[\]"


def _spelled(value: Any) -> str:
    """A pattern of the texts of a value."""
    if isinstance(value, str):
        return f'"{"".join(map(_letter, value))}"'
    return {True: "true", None: "null"}[value]


def _letter(letter: str) -> str:
    code = f"{ord(letter):04x}"
    digits = "".join(f"[{digit}{digit.upper()}]" if digit.isalpha() else digit for digit in code)
    return rf"(?:{re.escape(letter)}|\\u{digits})"


def crossing_tokens(seed: str, count: int) -> TokenList:
    """All bytes, and pieces in a row, now and then cut: tokens that cross every border. Some are there twice, some are special."""
    rng = random.Random(seed)
    tokens = [bytes([byte]) for byte in range(256)]
    for _ in range(count):
        text = "".join(rng.choice(PIECES) for _ in range(rng.randint(1, 5)))
        tokens.append(text[rng.choice([0, 0, 1]) :].encode() or b"x;")
    tokens += [tokens[-1], tokens[-2], "é;x".encode(), b"\xa9;", b"<\xc3"]
    stop = len(tokens)
    return TokenList([*tokens, b"</s>", b"x;"], [stop], [stop + 1], stop + 40)
