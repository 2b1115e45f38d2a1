"""Texts of the terminals of a lexer, each looked at alone: short ones, made of usual characters."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator

from grammarlm.grammars.lark.lexer import Lexer, LexerState
from grammarlm.grammars.regular.charset import CharSet
from grammarlm.grammars.regular.ordered import CHAR, MATCH, Pattern
from grammarlm.grammars.regular.terms import ANYTHING, Term

PREFERRED = b"x0 \n\tqZ7_.=-"  # bytes that texts are made of where possible
MOST_STATES, MOST_WAYS = 200, 8
LONGEST = 60_000  # states that are looked at for a shortest text


class TerminalTexts:
    """`literals`: of each terminal that is a sequence of single characters, their sets."""

    def __init__(self, lexer: Lexer, tick: Callable[[], None]):
        self.lexer, self.tick = lexer, tick
        self.literals = [_spelled(t.text) if t.text is not None else _literal(t.pattern) for t in lexer.terminals]

    def start(self, terminal: int) -> LexerState:
        return self.lexer.start([terminal], [])

    def texts(self, terminal: int) -> Iterator[bytes]:
        """Some texts of the terminal, short ones first."""
        plain, literal = self.lexer.terminals[terminal].text, self.literals[terminal]
        if plain is not None:
            yield plain.encode(errors="replace")
            return
        if literal is not None:
            yield "".join([chr(_usual(chars)) for chars in literal]).encode()
            return
        shortest = self.shortest(terminal)
        if shortest is not None:
            yield shortest
        queue = [(self.start(terminal), b"")]
        ways: dict[LexerState, int] = {}
        for state, text in queue:
            self.tick()
            if state.commits:
                yield text
            for its_bytes, target in state.edges:
                for byte in _usual_bytes(its_bytes):
                    ways[target] = ways.get(target, 0) + 1
                    if ways[target] <= MOST_WAYS and len(queue) < MOST_STATES:
                        queue.append((target, text + bytes([byte])))

    def shortest(self, terminal: int) -> bytes | None:
        start = self.start(terminal)
        came_from: dict[LexerState, tuple[LexerState, int]] = {}
        for state in (queue := [start]):
            self.tick()
            if state.commits:
                text, at = [], state
                while at is not start:
                    at, byte = came_from[at]
                    text.append(byte)
                return bytes(reversed(text))
            for its_bytes, target in state.edges:
                if target not in came_from and target is not start and len(queue) < LONGEST:
                    came_from[target] = state, _usual_bytes(its_bytes)[0]
                    queue.append(target)
        return None

    def own_border(self, terminal: int, text: bytes) -> Term | None:
        """What the rest must satisfy so that the terminal alone takes just this text; None where it never does."""
        if self.literals[terminal] is not None:
            return ANYTHING if self.spells(terminal, text) else None
        state: LexerState | None = self.start(terminal)
        for byte in text:
            state = None if state is None else self.lexer.step(state, byte)
        return None if state is None else next((border for _, border in state.commits), None)

    def spells(self, terminal: int, text: bytes) -> bool:
        """Is the text one of those that the literal matches?"""
        literal, characters = self.literals[terminal], text.decode(errors="replace")
        assert literal is not None
        return len(literal) == len(characters) and agree(literal, characters)


def agree(literal: list[CharSet], characters: str) -> bool:
    """Are the characters among these sets, as far as both go?"""
    return all(_contains(chars, ord(c)) for chars, c in zip(literal, characters, strict=False))


def _literal(pattern: Pattern) -> list[CharSet] | None:
    """The character sets of a pattern that is a sequence of single characters."""
    sets = []
    rest = pattern.start
    while rest.kind == CHAR:
        sets.append(rest.data)
        rest = rest.then
    return sets if rest.kind == MATCH and sets and all(sets) else None


@functools.cache
def _character(code: int) -> CharSet:
    return ((code, code),)


def _spelled(text: str) -> list[CharSet]:
    return [_character(ord(character)) for character in text]


def _contains(chars: CharSet, code: int) -> bool:
    return any(low <= code <= high for low, high in chars)


def _usual(chars: CharSet) -> int:
    if chars[0][0] == chars[-1][1]:  # a single character
        return chars[0][0]
    return next((byte for byte in PREFERRED if _contains(chars, byte)), chars[0][0])


def _usual_bytes(bits: int) -> list[int]:
    """A few bytes of a set: preferred ones first, then its lowest and highest."""
    found = [byte for byte in PREFERRED if bits >> byte & 1][:4]
    return list(dict.fromkeys([*found, (bits & -bits).bit_length() - 1, bits.bit_length() - 1]))
