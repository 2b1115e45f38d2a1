"""What the fuzzer runs: inputs, the first ones, and how one becomes another.

A text is mutated by its pieces (names, strings, sets, numbers, brackets, operators), so that most of what comes out is still read
to its end by the reader of its notation.
"""

from __future__ import annotations

import dataclasses
import random
import re
from collections.abc import Iterator
from importlib.resources import files
from typing import Any

import grammarlm as gl
from tests.grammars.test_lark_guard import VALID
from tests.hostile import BLOCKS, CASES
from tests.oracles.random_grammars import RandomGrammars
from tests.oracles.random_lark import RandomLark
from tests.oracles.written_grammars import write_ebnf, write_gbnf
from tests.test_regex_corpus import CASES as REGEXES

KINDS = ("Regex", "Gbnf", "Ebnf", "Lark", "Choices", "Text", "Ban")
LONGEST_TEXT = 4000
LIMITS = ("ordinary", "tiny", "few states", "little memory")
PIECES = re.compile(
    r'"(?:[^"\\\n]|\\.)*"|\[(?:[^\]\\\n]|\\.)*\]|/(?:[^/\\\n]|\\.)+/|\\.|[A-Za-z_]\w*|\d+|::=|\s+|.', re.DOTALL
)
NUMBERS = ["0", "1", "2", "3", "7", "50", "1000", "65536", "1000000000", "9" * 25]
WORDS = {
    "Regex": r"( ) (?: (?= (?! (?<= (?<! (?i) (?u) * + ? *? {2} {0,3} {2,} | . ^ $ \b \B \A \Z \d \W \p{L} é 😀 [^a] [a-c] a ab",
    "Gbnf": r'( ) | * + ? {2} {0,3} {2,} . "" "a" "b" "ab" "é" "(" ")" [ab] [^a] [^a-c] root root? <[407]> \x00 ::=',
    "Ebnf": r'( ) | * + ? {2} {0,3} {2,} [^] "" "a" "b" "é" "(" ")" [ab] [^a] root root? Token(407) Regex("a+b?") ::=',
    "Lark": r'( ) [ ] | * + ? ~2 ~0..3 "a" "é" /a+/ /[ab]+/ /a+(?=b)/ /b(?!a)/ A B start a /a{1,20}b/ %ignore -> .2 : "i',
    "Choices": "a b ab é \n \n\n abab",
    "Text": "a b ab é \n aab",
    "Ban": "a b ab é \n aab",
}


@dataclasses.dataclass(frozen=True)
class Input:
    """A grammar, what stands beside it, its limits, a vocabulary, and what drives the walk."""

    kind: str
    text: str
    beside: tuple[str, str, str] | None = None  # an operator, a kind and a text
    indent: bool = False
    limits: str = "ordinary"
    vocabulary: int = 0
    drive: tuple[int, ...] = ()

    def as_json(self) -> dict[str, Any]:
        return dataclasses.asdict(self)

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> Input:
        lists = {name: tuple(value) for name, value in values.items() if isinstance(value, list)}
        return cls(**{**values, **lists})

    def grammar(self) -> Any:
        grammar = make(self.kind, self.text, self.indent)
        if self.beside is None:
            return grammar
        sign, kind, text = self.beside
        other = make(kind, text, False)
        return {"+": grammar + other, "|": grammar | other, "&": grammar & other, "-": grammar - other}[sign]


def make(kind: str, text: str, indent: bool) -> Any:
    if kind == "Lark":
        return gl.Lark(text, indent=gl.Indent() if indent else None)
    if kind in ("Choices", "Ban"):
        return getattr(gl, kind)(text.split("\n"))
    return gl.Text(until=tuple(text.split("\n"))) if kind == "Text" else getattr(gl, kind)(text)


def seeds() -> list[Input]:
    """The corpora of the tests."""
    rng = random.Random("seeds")
    found = [("Regex", case["pattern"]) for case in REGEXES]
    found += [("Lark", text) for text in VALID.values()]
    found += [(case["kind"], case["text"]) for case in CASES.values() if "text" in case]
    for number in range(60):
        rules = RandomGrammars(f"fuzz {number}").grammar().rules
        found += [("Gbnf", write_gbnf(rules, rng)), ("Ebnf", write_ebnf(rules, rng))]
        found.append(("Lark", RandomLark(f"fuzz {number}").grammar().text))
    library = [path for path in files("grammarlm.grammars.library").iterdir() if path.name.endswith(".lark")]
    found += [("Lark", path.read_text(encoding="utf-8")) for path in library]
    found += [(kind, text) for kind in ("Choices", "Text", "Ban") for text in ("ab\nabba\naé", "a", "ab\nba\n😀")]
    inputs = [Input(kind, text, drive=drive(rng)) for kind, text in found]
    return [*inputs, Input("Lark", BLOCKS, indent=True, drive=drive(rng))]


def drive(rng: random.Random) -> tuple[int, ...]:
    return tuple(rng.randrange(1 << 16) for _ in range(rng.choice([8, 30, 60])))


def mutated(chosen: Input, corpus: list[Input], rng: random.Random) -> Input:
    """The input with some things changed."""
    changes: dict[str, Any] = {}
    if rng.random() < 0.8:
        text = chosen.text
        for _ in range(rng.choice([1, 1, 2, 4])):
            other = rng.choice([each.text for each in corpus if each.kind == chosen.kind] or [text])
            text = mutated_text(text, other, chosen.kind, rng)
        changes["text"] = text
    if rng.random() < 0.4:
        changes["drive"] = drive(rng)
    if rng.random() < 0.2:
        changes["limits"] = rng.choice(LIMITS)
    if rng.random() < 0.2:
        changes["vocabulary"] = rng.randrange(3)
    if rng.random() < 0.1:
        other = rng.choice(corpus)
        changes["beside"] = rng.choice([None, (rng.choice("++|&-"), other.kind, other.text)])
    if chosen.kind == "Lark" and rng.random() < 0.02:
        changes["indent"] = not chosen.indent
    return dataclasses.replace(chosen, **changes)


def mutated_text(text: str, other: str, kind: str, rng: random.Random) -> str:
    pieces = PIECES.findall(text) or [""]
    donor = PIECES.findall(other) or [""]
    start = rng.randrange(len(pieces))
    end = min(len(pieces), start + rng.choice([1, 1, 2, 4, 10]))
    what = rng.randrange(9)
    if what == 0:
        pieces[start:end] = []
    elif what == 1:
        pieces[start:start] = pieces[start:end]
    elif what == 2:
        at = rng.randrange(len(donor))
        pieces[start:end] = donor[at : at + rng.choice([1, 2, 5, 20])]
    elif what == 3:
        pieces[start:start] = [rng.choice(WORDS[kind].split(" "))]
    elif what == 4:
        pieces[start] = rng.choice(WORDS[kind].split(" "))
    elif what == 5:
        pieces[start:end] = ["(", *pieces[start:end], ")", rng.choice(["*", "+", "?", "{2}", "{0,3}", "~2", ""])]
    elif what == 6:
        places = [i for i, piece in enumerate(pieces) if piece.isdigit()] or [start]
        pieces[rng.choice(places)] = rng.choice(NUMBERS)
    elif what == 7:
        names = [piece for piece in pieces if piece[:1].isalpha()] or [""]
        places = [i for i, piece in enumerate(pieces) if piece[:1].isalpha()] or [start]
        pieces[rng.choice(places)] = rng.choice(names)
    else:
        at = rng.randrange(len(pieces))
        pieces[start], pieces[at] = pieces[at], pieces[start]
    return "".join(pieces)[:LONGEST_TEXT]


def smaller(chosen: Input, rng: random.Random) -> Iterator[Input]:
    """Inputs with less in them, the boldest first."""
    if chosen.beside is not None:
        yield dataclasses.replace(chosen, beside=None)
    for name, plain in (("limits", "ordinary"), ("vocabulary", 0), ("indent", False)):
        if getattr(chosen, name) != plain:
            yield dataclasses.replace(chosen, **{name: plain})
    size = len(chosen.drive)
    if size > 1:
        yield dataclasses.replace(chosen, drive=chosen.drive[: size // 2])
        yield dataclasses.replace(chosen, drive=chosen.drive[:-1])
    lines = chosen.text.split("\n")
    for at in range(len(lines)) if len(lines) > 1 else ():
        yield dataclasses.replace(chosen, text="\n".join(lines[:at] + lines[at + 1 :]))
    pieces = PIECES.findall(chosen.text)
    length = len(pieces) // 2
    while length:
        for at in rng.sample(range(0, len(pieces), length), len(range(0, len(pieces), length))):
            yield dataclasses.replace(chosen, text="".join(pieces[:at] + pieces[at + length :]))
        length //= 2
