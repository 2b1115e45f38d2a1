"""Texts of one shape need the rows of the first few, however many names, strings, numbers and nestings come after them.

What the first texts pass, byte by byte, is all that the shape can meet: the others differ in their data and put the same parts
together in another order. A mask that depends on the data, or on more of the stack than a token can reach, adds rows with each.
"""

import itertools
import random
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import grammarlm as gl
from tests.counts import record_counts, tiers
from tests.internals import epoch_of, state_of
from tests.real_data import SMALL_AND_LARGE

Texts = tuple[Callable[[random.Random], list[str]], Callable[[random.Random], str]]  # the first, and one more
FIRST = 8  # texts of a flat shape
SETTLED = 50  # texts after which a constraint grows no more
DEPTH = 3  # of nestings


def name(rng: random.Random) -> str:
    """No keyword of any of the languages begins with z."""
    return "z" + "".join(rng.choice("abcxyz019") for _ in range(rng.randint(1, 9)))


def number(rng: random.Random) -> str:
    return f"{rng.randint(10, 99999)}.{rng.randint(10, 99999)}"


def words(rng: random.Random) -> str:
    return " ".join(name(rng) for _ in range(rng.randint(2, 4)))


def json_object(rng: random.Random) -> str:
    """Objects and arrays one in the other, always in the same way; keys, strings and numbers differ, and so does their number."""
    pairs = [
        f'"{name(rng)}": "{words(rng)}"',
        f'"{name(rng)}": {number(rng)}',
        f'"{name(rng)}": [{number(rng)}, {number(rng)}]',
    ]
    inner = ", ".join(rng.choice(pairs) for _ in range(rng.randint(2, 5)))
    items = ", ".join(
        "{" + f'"{name(rng)}": ["{words(rng)}", {number(rng)}], ' + inner + "}" for _ in range(rng.randint(2, 4))
    )
    return "{" + f'"{name(rng)}": [{items}], "{name(rng)}": null' + "}"


def c_function(rng: random.Random) -> str:
    a, b, c = name(rng), name(rng), name(rng)
    loop = f"while ({a} < {number(rng)}) {{ {a} = {b} + ({c} * {number(rng)}); }}"
    test = f"if ({b} == {c}) {{ {b} = {name(rng)}({c}, {a}); }}"
    body = " ".join(rng.choice([loop, test]) for _ in range(rng.randint(3, 6)))
    return f"int {name(rng)}(int {a}, int {b}) {{ int {c} = {number(rng)}; {body} return {a} + {b}; }}"


def select(rng: random.Random) -> str:
    table, column = name(rng), name(rng)
    test = lambda: f"({table}.{column} > {number(rng)} AND {name(rng)} = '{words(rng)}')"  # noqa: E731 - drawn afresh each time
    tests = " OR ".join(test() for _ in range(rng.randint(2, 5)))
    columns = ", ".join(f"{table}.{name(rng)}" for _ in range(rng.randint(2, 4)))
    inner = f"SELECT {name(rng)} FROM {name(rng)} WHERE {name(rng)} = {number(rng)}"
    return f"SELECT {columns} FROM {table} WHERE {tests} AND {column} IN ({inner})"


def python_function(rng: random.Random) -> str:
    a, b, c = name(rng), name(rng), name(rng)
    loop = f"    for {a} in {b}({c}):\n        {c} = [{a}, {number(rng)}]\n"
    test = f"    if {a} < {number(rng)}:\n        {b} = {c}('{words(rng)}', {a})\n"
    body = "".join(rng.choice([loop, test]) for _ in range(rng.randint(3, 6)))
    return f"def {name(rng)}({a}, {b}):\n    {c} = {number(rng)}\n{body}    return {a} + {b}\n"


# By language: how one thing is put into another, and what makes a whole text of things.
NESTINGS: dict[str, tuple[dict[str, Callable[[random.Random, str], str]], Callable[[list[str]], str]]] = {
    "json": (
        {
            "[": lambda rng, inner: f'[{number(rng)}, {inner}, "{words(rng)}"]',
            "{": lambda rng, inner: f'{{"{name(rng)}": {inner}, "{name(rng)}": {number(rng)}}}',
        },
        lambda things: "[" + ", ".join(things) + "]",
    ),
    "c": (
        {
            "(": lambda rng, inner: f"({name(rng)} + {inner})",
            "[": lambda rng, inner: f"{name(rng)}[{inner} * {number(rng)}]",
            "call": lambda rng, inner: f"{name(rng)}({name(rng)}, {inner}, {number(rng)})",
        },
        lambda things: "int main() { " + " ".join(f"zx = {thing};" for thing in things) + " }",
    ),
    "sqlite": (
        {
            "(": lambda rng, inner: f"({name(rng)} + {inner})",
            "call": lambda rng, inner: f"{name(rng)}({name(rng)}, {inner})",
            "case": lambda rng, inner: f"CASE WHEN {name(rng)} THEN {inner} ELSE '{words(rng)}' END",
        },
        lambda things: "SELECT " + ", ".join(things) + " FROM zx",
    ),
    "python": (
        {
            "(": lambda rng, inner: f"({name(rng)}, {inner}, {number(rng)})",
            "[": lambda rng, inner: f"[{name(rng)}, {inner}]",
            "{": lambda rng, inner: f"{{'{words(rng)}': {inner}, {name(rng)}: {number(rng)}}}",
        },
        lambda things: "".join(f"zx = {thing}\n" for thing in things),
    ),
}


def nested(grammar: str, path: tuple[str, ...], rng: random.Random) -> str:
    text, ways = number(rng), NESTINGS[grammar][0]
    for way in reversed(path):
        text = ways[way](rng, text)
    return text


def all_nestings(grammar: str) -> Texts:
    """First a text with every nesting up to DEPTH, then texts of some of them in any order."""
    ways, whole = NESTINGS[grammar]
    paths = [path for depth in range(1, DEPTH + 1) for path in itertools.product(ways, repeat=depth)]

    def more(rng: random.Random) -> str:
        return whole([nested(grammar, rng.choice(paths), rng) for _ in range(rng.randint(2, 6))])

    return (lambda rng: [whole([nested(grammar, path, rng) for path in paths])]), more


def flat(shape: Callable[[random.Random], str]) -> Texts:
    return (lambda rng: [shape(rng) for _ in range(FIRST)]), shape


SHAPES: dict[str, tuple[str, Texts]] = {
    "records": ("json", flat(json_object)),
    "a function in C": ("c", flat(c_function)),
    "a query": ("sqlite", flat(select)),
    "a function in Python": ("python", flat(python_function)),
    **{f"nestings in {grammar}": (grammar, all_nestings(grammar)) for grammar in NESTINGS},
}


def compiled(grammar: str, vocabulary: str) -> gl.Constraint:
    vocab = gl.Vocabulary.from_tokenizer(SMALL_AND_LARGE[vocabulary])
    return gl.compile(gl.Lark.python() if grammar == "python" else gl.Lark.library(grammar), vocab)


class Followed:
    """A constraint, and the distinct rows that its masks have been."""

    def __init__(self, constraint: gl.Constraint):
        self.constraint, self.mask = constraint, gl.allocate_mask(1, constraint.vocab.size)
        self.objects: dict[int, np.ndarray] = {}
        self.contents: set[bytes] = set()

    def note(self, matcher: gl.Matcher) -> None:
        matcher.fill_mask(self.mask)
        row = epoch_of(matcher).rows[state_of(matcher)]
        self.objects[id(row)] = row  # kept, so that no other row gets its id
        self.contents.add(self.mask.tobytes())

    def by_bytes(self, text: str) -> None:
        """Every place at which a token may end, whatever the tokenizer."""
        matcher = self.constraint.matcher()
        self.note(matcher)
        for byte in text.encode():
            assert matcher.advance_bytes(bytes([byte])), text
            self.note(matcher)
        assert matcher.is_accepting, text

    def by_tokens(self, text: str) -> int:
        matcher = self.constraint.matcher()
        tokens = self.constraint.vocab.encode(text)
        for token in tokens:
            self.note(matcher)
            assert matcher.advance(token), (text, token)
        self.note(matcher)
        assert matcher.is_accepting, text
        return len(tokens)


def check(shape: str, vocabulary: str, texts: int) -> Counter[str]:
    """Reads the first texts of a shape, then more; what was read, and how many rows it took."""
    grammar, (first, more) = SHAPES[shape]
    rng, followed = random.Random(shape), Followed(compiled(grammar, vocabulary))
    for text in first(rng):
        followed.by_bytes(text)
    rows, contents = len(followed.objects), len(followed.contents)
    tokens, sizes = 0, list[int]()
    for _ in range(texts):
        text = more(rng)
        tokens += followed.by_tokens(text)
        assert len(followed.contents) == contents, f"a mask that no text before had: {text}"
        assert len(followed.objects) == rows, f"a row of its own, though an equal one is there: {text}"
        sizes.append(followed.constraint.nbytes)
    assert len(sizes) < 2 * SETTLED or sizes[-1] <= 1.1 * sizes[SETTLED], "names and nestings are kept"
    return Counter({"cases": texts, "tokens": tokens, "rows": rows, "bytes kept": followed.constraint.nbytes})


@pytest.mark.parametrize("shape", SHAPES)
@tiers("vocabulary, texts", ("embedded", 5), *((vocabulary, 100) for vocabulary in SMALL_AND_LARGE))
def test_texts_of_one_shape_share_their_rows(shape: str, vocabulary: str, texts: int, record_property: Any) -> None:
    record_counts(record_property, check(shape, vocabulary, texts))


@pytest.mark.proof
@pytest.mark.parametrize("shape", ["a function in C", "a function in Python", "a query", "records"])
def test_a_text_of_10000_tokens_needs_no_more_rows(shape: str, record_property: Any) -> None:
    """One text, many times as long: its second half passes no row that its first half has not."""
    followed, rng = Followed(compiled(SHAPES[shape][0], "embedded")), random.Random(f"long {shape}")
    text = long_text(shape, rng)
    tokens = followed.constraint.vocab.encode(text)
    assert len(tokens) >= 10_000
    matcher, rows = followed.constraint.matcher(), []
    for token in tokens:
        followed.note(matcher)
        rows.append((len(followed.objects), len(followed.contents)))
        assert matcher.advance(token)
    assert matcher.is_accepting
    assert rows[len(rows) // 2] == rows[-1]
    record_property("cases", len(tokens))
    record_property("rows", rows[-1][0])


def long_text(shape: str, rng: random.Random) -> str:
    """10,000 tokens and more of one text."""
    grammar, (_, more) = SHAPES[shape]
    pieces = [more(rng) for _ in range(170)]
    if grammar == "json":
        return "[" + ",\n".join(pieces) + "]"
    return ("\nUNION ALL\n" if grammar == "sqlite" else "\n").join(pieces)


def test_the_law_notices_new_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Texts with a nesting that the first ones do not have."""
    deep: Texts = (lambda rng: [f'["{name(rng)}"]']), (lambda rng: f'[{{"{name(rng)}": ["{name(rng)}"]}}]')
    monkeypatch.setitem(SHAPES, "deeper", ("json", deep))
    with pytest.raises(AssertionError, match="a mask that no text before had"):
        check("deeper", "embedded", 1)
