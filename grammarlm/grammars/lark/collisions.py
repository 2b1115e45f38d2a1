"""Which terminals of a Lark grammar match a common text, so that lark's lexer has to prefer one of them.

    collisions(Lark('start: NAME | "if"\\nNAME: /[a-z]+/'), tick).found         [Collision("IF", "NAME", "if")]

All terminals are read at once, byte by byte, breadth first: a state is the list of terminals that are alive, each with the term of
what may follow (derivatives.py), so the first text that two of them accept is a shortest one. States where no pair is left to be
found are not entered. A pattern matches here as with `re.fullmatch`: nothing comes before the text or after it.

Why not interegular, as in lark: its classes are ASCII's, it reads no look-behind and no inline flags, and nothing bounds the time
that `(a|b)*a(a|b){14}` takes. On the grammars of the library this takes a tenth of the time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations

from grammarlm.errors import GrammarError, LimitExceeded
from grammarlm.grammars.regular.derivatives import Algebra
from grammarlm.grammars.regular.syntax import parse_regex
from grammarlm.grammars.regular.terms import Term

from .grammar import Lark
from .lexer import split
from .load.result import TerminalDefinition
from .loading import load

MOST_STATES, MOST_FOUND = 20_000, 1_000
# In an example, a letter comes before a digit, and both before other characters.
PREFERRED = sorted(range(256), key=lambda byte: (byte > 126, byte <= 32, not chr(byte).isalpha(), byte))

State = tuple[tuple[int, Term], ...]  # terminals that are alive, each with the term of what may follow
Pair = tuple[int, int]


@dataclass(frozen=True)
class Collision:
    """Two terminals and a shortest text of both. Where both may come, lark's lexer takes it for `preferred`."""

    preferred: str
    other: str
    text: str


@dataclass(frozen=True)
class Collisions:
    """`refused`: terminals that were left out, and why. `unfinished`: why pairs may be missing; None: all of them were found."""

    found: list[Collision]
    refused: dict[str, str]
    unfinished: str | None


def collisions(grammar: Lark, tick: Callable[[], None]) -> Collisions:
    """Of a grammar that compiles. `tick` raises LimitExceeded where the time is over; what was found by then is returned."""
    loaded = load(grammar.text, grammar.start, grammar.indent, tick)
    terminals = [terminal for terminal in loaded.terminals if terminal.name not in loaded.renamed_only]
    algebra, unfinished = Algebra(tick=tick), None
    start: list[tuple[int, Term]] = []
    refused: dict[str, str] = {}
    texts: dict[Pair, bytes] = {}
    try:
        for number, terminal in enumerate(terminals):
            try:
                start.append((number, parse_regex(f"(?u){terminal.pattern.regex}", algebra)))
            except LimitExceeded:
                raise
            except GrammarError as error:
                refused[terminal.name] = str(error)
        _search(tuple(start), algebra, texts)
    except LimitExceeded as error:
        unfinished = str(error)
    found = [Collision(*_by_preference(terminals, *pair), text.decode()) for pair, text in texts.items()]
    return Collisions(found, refused, unfinished)


def _search(start: State, algebra: Algebra, texts: dict[Pair, bytes]) -> None:
    """Adds a shortest common text of each pair."""
    queue, came_from = [start], [(0, b"")]  # of each state: that before it, and the byte between them
    seen = {start}
    for at, state in enumerate(queue):  # grows during the loop
        accepting = [number for number, term in state if term.nullable]
        for pair in _missing(accepting, texts):
            if len(texts) >= MOST_FOUND:
                raise LimitExceeded(f"there are more than {MOST_FOUND:,} pairs")
            texts[pair] = _text(came_from, at)
        edges = [(number, bits, target) for number, term in state for bits, target in algebra.edges(term)]
        for part, members in split([bits for _, bits, _ in edges]):
            algebra.tick()
            target = tuple([(edges[member][0], edges[member][2]) for member in members])
            if target not in seen and any(True for _ in _missing([number for number, _ in target], texts)):
                if len(seen) >= MOST_STATES:
                    raise LimitExceeded(f"there are more than {MOST_STATES:,} states")
                seen.add(target)
                queue.append(target)
                came_from.append((at, bytes([next(byte for byte in PREFERRED if part >> byte & 1)])))


def _missing(numbers: list[int], texts: dict[Pair, bytes]) -> Iterator[Pair]:
    """The pairs of these terminals that have no text yet."""
    return (pair for pair in combinations(numbers, 2) if pair not in texts)


def _text(came_from: list[tuple[int, bytes]], at: int) -> bytes:
    parts: list[bytes] = []
    while at:
        at, byte = came_from[at]
        parts.append(byte)
    return b"".join(reversed(parts))


def _by_preference(terminals: list[TerminalDefinition], a: int, b: int) -> tuple[str, str]:
    """lark's order, in which they are listed, but for strings: they come before regular expressions of the same priority."""
    first, second = terminals[a], terminals[b]
    if first.priority == second.priority and (first.pattern.kind, second.pattern.kind) == ("re", "str"):
        first, second = second, first
    return first.name, second.name
