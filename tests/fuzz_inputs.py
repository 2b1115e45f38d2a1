"""What the fuzzer runs: inputs, the first ones, and how one becomes another.

A text is mutated by its pieces (names, strings, sets, numbers, brackets, operators), so that most of what comes out is still read
to its end by the reader of its notation.
"""

from __future__ import annotations

import contextlib
import dataclasses
import operator
import random
import re
from collections.abc import Iterator
from importlib.resources import files
from typing import Any

import grammarlm as gl
from tests.corpus_files import corpus, tables
from tests.fuzz_schemas import LITERALS, PATHS, mutated_schema, odd, schema_seeds, some_options
from tests.hostile import BLOCKS, CASES
from tests.oracles.random_grammars import RandomGrammars
from tests.oracles.random_lark import RandomLark
from tests.oracles.random_parts import RandomParts
from tests.oracles.written_grammars import write_ebnf, write_gbnf

KINDS = ("Regex", "Gbnf", "Ebnf", "Lark", "Choices", "Text", "Ban", "JsonSchema", "Schema", "Parts")
LONGEST_TEXT, LONGEST_REPEATED = 4000, 60_000
MOST_BESIDE = 3
VOCABULARIES = 4
LIMITS = ("ordinary", "tiny", "few states", "little memory")
PIECES = re.compile(
    r'"(?:[^"\\\n]|\\.)*"|\[(?:[^\]\\\n]|\\.)*\]|/(?:[^/\\\n]|\\.)+/|\\.|[A-Za-z_]\w*|\d+|::=|\s+|.', re.DOTALL
)
NUMBERS = ["0", "1", "2", "3", "7", "50", "1000", "65536", "1000000000", "9" * 25]
WORDS = {
    "Regex": r"( ) (?: (?= (?! (?<= (?<! (?i) (?u) * + ? *? {2} {0,3} {2,} | . ^ $ \b \B \A \Z \d \W \p{L} é 😀 [^a] [a-c] a ab "
    r"(?<n> (?P<n> (?P=n) \e \u{e9} \x{1F600} \u{110000}",
    "Gbnf": r'( ) | * + ? {2} {0,3} {2,} . "" "a" "b" "ab" "é" "(" ")" [ab] [^a] [^a-c] root root? <[407]> <[97]> \x00 ::=',
    "Ebnf": r'( ) | * + ? {2} {0,3} {2,} [^] "" "a" "b" "é" "(" ")" [ab] [^a] root root? Token(407) Regex("a+b?") ::= '
    r'Regex("(?i)a(?<n>b)") Regex("[^a]*",flags="i") Regex(".*\\"",json_string=true) Regex("\\u{61}\\e\\p{L}\\b") '
    r'Regex("") Token(97) (= "a")',
    "Lark": r'( ) [ ] | * + ? ~2 ~0..3 "a" "é" /a+/ /[ab]+/ /a+(?=b)/ /b(?!a)/ A B start a /a{1,20}b/ %ignore -> .2 : "i '
    r'/^a/ /^/ /a$/ /a*/ /b?/ /(?m:^b)/ /\Aa/ /\n^b/m /(?<!a)b/ /(ab){2,50000}c/ ""',
    "JsonSchema": 'true false null {} [] 5e-324 1e400 {"const":5e-324} {"$ref":"#"} "a": "format": , : " \\u0061 '
    + " ".join(path for path in PATHS if path),
    "Schema": " ".join(LITERALS).replace("__", " "),
    "Parts": "draw nest 1 2 3 a",
    "Choices": "a b ab é \n \n\n abab",
    "Text": "a b ab é \n aab",
    "Ban": "a b ab é \n aab",
}


@dataclasses.dataclass(frozen=True)
class Input:
    """A grammar, what stands beside it, its limits, a vocabulary, and what drives the walk."""

    kind: str
    text: str
    beside: tuple[tuple[str, str, str], ...] = ()  # an operator, a kind and a text, each
    options: tuple[str, ...] = ()  # of schemas: name=value
    indent: bool = False
    limits: str = "ordinary"
    vocabulary: int = 0
    drive: tuple[int, ...] = ()

    def as_json(self) -> dict[str, Any]:
        return dataclasses.asdict(self)

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> Input:
        lists = {name: tuple(value) for name, value in values.items() if isinstance(value, list)}
        lists["beside"] = tuple(tuple(side) for side in values.get("beside", ()))
        return cls(**{**values, **lists})

    def grammar(self) -> Any:
        grammar = make(self.kind, self.text, self.indent, self.options)
        for sign, kind, text in self.beside:
            other = make(kind, text, False, self.options)
            grammar = {"+": operator.add, "|": operator.or_, "&": operator.and_, "-": operator.sub}[sign](
                grammar, other
            )
        return grammar


def make(kind: str, text: str, indent: bool, options: tuple[str, ...] = ()) -> Any:
    if kind in ("JsonSchema", "Schema"):
        named: dict[str, Any] = dict(option.split("=", 1) for option in options)
        return gl.JsonSchema(text if kind == "JsonSchema" else odd(text), **named)
    if kind == "Parts":
        parts = RandomParts(text)
        return (parts.nest(text.count("nest")) if "nest" in text else parts.draw())[0]
    if kind == "Lark":
        return gl.Lark(text, indent=gl.Indent() if indent else None)
    if kind in ("Choices", "Ban"):
        return getattr(gl, kind)(text.split("\n"))
    return gl.Text(until=tuple(text.split("\n"))) if kind == "Text" else getattr(gl, kind)(text)


def seeds() -> list[Input]:
    """The corpora of the tests."""
    rng = random.Random("seeds")
    found = [("Regex", case["pattern"]) for case in corpus("regex")]
    found += [("Lark", text) for text in tables("lark_texts")["valid"].values()]
    found += [(case["kind"], case["text"]) for case in CASES.values() if "text" in case]
    for number in range(60):
        rules = RandomGrammars(f"fuzz {number}").grammar().rules
        found += [("Gbnf", write_gbnf(rules, rng)), ("Ebnf", write_ebnf(rules, rng))]
        found.append(("Lark", RandomLark(f"fuzz {number}").grammar().text))
    library = [path for path in files("grammarlm.grammars.library").iterdir() if path.name.endswith(".lark")]
    found += [("Lark", path.read_text(encoding="utf-8")) for path in library]
    found += [(kind, text) for kind in ("Choices", "Text", "Ban") for text in ("ab\nabba\naé", "a", "ab\nba\n😀")]
    found += [(kind, text) for kind in ("Lark", "Gbnf", "Ebnf", "Regex") for text in PATHS[:4]]
    found += [("Parts", f"{number} {'nest ' * (number % 3)}") for number in range(60)]
    inputs = [Input(kind, text, drive=drive(rng)) for kind, text in found]
    inputs += [Input(kind, text, options=options, drive=drive(rng)) for kind, text, options in schema_seeds(rng)]
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
        changes["vocabulary"] = rng.randrange(VOCABULARIES)
    if rng.random() < 0.15:
        sides = [*chosen.beside, (rng.choice("+++||&-"), *a_side(corpus, rng))]
        changes["beside"] = rng.choice([(), tuple(sides[-MOST_BESIDE:])])
    if rng.random() < 0.2:
        changes["options"] = some_options(rng)
    if chosen.kind == "Lark" and rng.random() < 0.02:
        changes["indent"] = not chosen.indent
    return dataclasses.replace(chosen, **changes)


def a_side(corpus: list[Input], rng: random.Random) -> tuple[str, str]:
    """The kind and the text of what stands beside: another input, often a schema or what has no text at all."""
    schemas = [each for each in corpus if each.kind == "JsonSchema"] or corpus
    other = rng.choice(schemas if rng.random() < 0.4 else corpus)
    rare = [
        ("JsonSchema", "false"),
        ("JsonSchema", "true"),
        ("Regex", "(?!)"),
        ("Regex", ""),
        ("Text", "<>"),
        ("Regex", "[^x]*"),
    ]
    return rng.choice(rare) if rng.random() < 0.2 else (other.kind, other.text)


def mutated_text(text: str, other: str, kind: str, rng: random.Random) -> str:
    if kind == "JsonSchema" and rng.random() < 0.8:
        with contextlib.suppress(ValueError):
            return mutated_schema(text, other, rng)[:LONGEST_TEXT]
    pieces = PIECES.findall(text) or [""]
    donor = PIECES.findall(other) or [""]
    start = rng.randrange(len(pieces))
    end = min(len(pieces), start + rng.choice([1, 1, 2, 4, 10]))
    if rng.random() < 0.01:
        pieces[start:end] *= rng.choice([100, 1000, 10_000])
        return "".join(pieces)[:LONGEST_REPEATED]
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
    for at in range(len(chosen.beside)):
        yield dataclasses.replace(chosen, beside=chosen.beside[:at] + chosen.beside[at + 1 :])
    for name, plain in (("limits", "ordinary"), ("vocabulary", 0), ("indent", False), ("options", ())):
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
