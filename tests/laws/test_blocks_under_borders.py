"""Masks of grammars with indented blocks under `&` and `-`, against stock lark with its Indenter, and `in`.

Each token of a mask is shown by texts: one that is refused begins none of the texts that were enumerated; one that is allowed is
followed by an end that the matcher itself leads to, and stock lark and `in` judge the whole.
"""

import functools
import random
from collections import Counter
from collections.abc import Callable
from typing import Any, ClassVar

import lark
import pytest
from lark.indenter import Indenter

import grammarlm as gl
from tests.counts import record_counts, tiers
from tests.laws.laws import allowed_ids

LONGEST = 7
TAIL = "\n%declare _INDENT _DEDENT\n"
GRAMMARS = {  # a grammar, and the characters of its texts
    "blocks": ('start: line+\nline: A _NEWLINE | A ":" _NEWLINE _INDENT line+ _DEDENT\nA: /a+/\n_NEWLINE: /(\\n *)+/', "a: \n"),
    "single lines": (
        'start: line+\nline: "a" _NEWLINE | "a" ":" _NEWLINE _INDENT line+ _DEDENT\n_NEWLINE: /\\n */',
        "a: \n",
    ),
    "blocks with an end": (
        'start: line+\nline: "a" _NEWLINE | "b" _NEWLINE _INDENT line+ _DEDENT ":" _NEWLINE\n_NEWLINE: /(\\n *)+/',
        "ab:\n ",
    ),
    "brackets": (
        'start: line+\nline: item _NEWLINE | item ":" _NEWLINE _INDENT line+ _DEDENT\nitem: A | LPAR item RPAR\nA: "a"\n'
        'LPAR: "("\nRPAR: ")"\n_NEWLINE: /(\\n *)+/\n%ignore " "',
        "a:\n ()",
    ),
}  # fmt: skip
PIECES = [
    b"a",
    b":",
    b"\n",
    b" ",
    b"b",
    b"(",
    b")",
    b"\n ",
    b"  ",
    b"a:",
    b":\n",
    b"\n\n",
    b"aa",
    b"a\n",
    b"()",
    b"\n  ",
    b"\t",
]
STOP = len(PIECES)
VOCAB = gl.Vocabulary([*PIECES, b"</s>"], stop_ids=[STOP])


class Blocks(Indenter):
    NL_type, INDENT_type, DEDENT_type, tab_len = "_NEWLINE", "_INDENT", "_DEDENT", 8
    OPEN_PAREN_types: ClassVar[list[str]] = ["LPAR"]
    CLOSE_PAREN_types: ClassVar[list[str]] = ["RPAR"]


@functools.cache
def stock(name: str) -> lark.Lark:
    return lark.Lark(GRAMMARS[name][0] + TAIL, parser="lalr", postlex=Blocks())


def verdict(name: str, text: str) -> str:
    """What stock lark says: "good", "early" where only the end comes too early, "bad"."""
    try:
        stock(name).parse(text)
    except lark.exceptions.UnexpectedToken as error:
        return "early" if error.token.type in ("$END", "_DEDENT") else "bad"
    except (lark.exceptions.LarkError, AssertionError):
        return "bad"
    return "good"


@functools.cache
def texts(name: str) -> tuple[str, ...]:
    """Up to LONGEST characters, with at most two blanks and two line ends in a row."""
    found, queue = [], [""]
    for text in queue:
        said = verdict(name, text)
        if said == "good":
            found.append(text)
        # What follows a last lexeme of one character does not change it.
        if len(text) == LONGEST or (said == "bad" and not text.endswith((" ", "\n", "a"))):
            continue
        queue += [text + c for c in GRAMMARS[name][1] if not text.endswith({" ": "  ", "\n": "\n\n"}.get(c, "no"))]
    return tuple(found)


def taken_away(rng: random.Random, alphabet: str) -> tuple[Callable[[Any], Any], Callable[[str], bool]]:
    """What is done to a grammar, and which texts it leaves."""
    banned = ["".join(rng.choices(alphabet, k=rng.choice([1, 2, 2, 3]))) for _ in range(rng.randint(1, 2))]
    kind = rng.choice(["& Ban", "& Ban", "& Ban", "-", "& length"])
    if kind == "& Ban":
        return lambda grammar: grammar & gl.Ban(banned), lambda text: not any(one in text for one in banned)
    if kind == "-":
        begin = banned[0].replace("(", r"\(").replace(")", r"\)")
        return lambda grammar: grammar - gl.Regex(f"(?s){begin}.*"), lambda text: not text.startswith(banned[0])
    return lambda grammar: grammar & gl.Regex("(?s).{3,6}"), lambda text: 3 <= len(text) <= 6


def is_good(name: str, keeps: Callable[[str], bool], text: str) -> bool:
    return keeps(text) and verdict(name, text) == "good"


def ended(constraint: gl.Constraint, tokens: list[int]) -> str:
    """A text that begins with these tokens, ended as near as the matcher can."""
    matcher = constraint.matcher()
    least = matcher.min_tokens_left
    assert all(map(matcher.advance, tokens))
    matcher = constraint.matcher(max_tokens=max(least, len(tokens) + matcher.min_tokens_left))
    assert all(map(matcher.advance, tokens))
    read = b"".join(PIECES[token] for token in tokens)
    while not matcher.is_accepting:
        token = min(allowed_ids(matcher, VOCAB))
        assert matcher.advance(token)
        read += PIECES[token]
    return read.decode()


def check(name: str, seed: str, count: int) -> Counter[str]:
    outcomes = Counter[str]()
    rng = random.Random(f"{name} {seed}")
    for _ in range(count):
        limit, keeps = taken_away(rng, GRAMMARS[name][1])
        grammar = limit(gl.Lark(GRAMMARS[name][0] + TAIL, indent=gl.Indent()))
        left = {text for text in texts(name) if keeps(text)}
        begins = {text[:end] for text in left for end in range(len(text) + 1)}
        try:
            constraint = gl.compile(grammar, VOCAB)
            outcomes += walk(constraint, begins, functools.partial(is_good, name, keeps), rng)
        except gl.UnsatisfiableGrammar:
            assert not left, grammar
            outcomes["unsatisfiable"] += 1
        except gl.LimitExceeded:
            outcomes["undecided"] += 1
    return outcomes


def walk(
    constraint: gl.Constraint, begins: set[str], accepts: Callable[[str], bool], rng: random.Random
) -> Counter[str]:
    outcomes = Counter[str](walked=1)
    matcher, tokens, read = constraint.matcher(), [], ""
    for _ in range(5):
        allowed = allowed_ids(matcher, VOCAB)
        assert (STOP in allowed) is matcher.is_accepting is accepts(read), read
        for token, piece in enumerate(PIECES):
            then = read + piece.decode()
            if token in allowed:
                assert (text := ended(constraint, [*tokens, token])).startswith(then)
                assert accepts(text), (then, text)
            else:
                assert then not in begins, then
                assert matcher.validate([token]) == 0
            outcomes["allowed" if token in allowed else "refused"] += 1
        tokens.append(rng.choice(sorted(allowed - {STOP}) or [STOP]))
        if tokens[-1] == STOP:
            break
        assert matcher.advance(tokens[-1])
        read += PIECES[tokens[-1]].decode()
    return outcomes


@pytest.mark.parametrize("name", GRAMMARS)
@tiers("seed, count", ("few", 6), ("many", 150))
def test_random_borders(name: str, seed: str, count: int, record_property) -> None:
    outcomes = check(name, seed, count)
    assert outcomes["walked"] > count / 3, outcomes
    assert outcomes["undecided"] <= 1 + count / 5, outcomes
    record_counts(record_property, outcomes)
