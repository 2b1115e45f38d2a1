"""Stop tokens that a derived grammar names: they end a text, so they stand for its end, and nothing follows them.

Token("<|end|>")  |  Token("<|return|>")         Token("<|end|>") | ""           with the stop token <|return|>
Repeat(call + Token("<|eot_id|>")) + rest        call | rest
"""

from __future__ import annotations

from collections.abc import Iterable

from grammarlm.errors import GrammarError, brief

from .compose import Choice, Grammar, Literal, Sequence
from .derived import choice, sequence
from .items.special_token import Token
from .repeat import Repeat

Sides = tuple[Grammar | None, Grammar | None]  # texts that go on, and texts that have ended; None where there are none


def without_stops(grammar: Grammar, stops: frozenset[str | int]) -> Grammar:
    """The grammar in which the end of a text stands for a stop token; itself where it names none."""
    return choice(_some(_sides(grammar, stops)))


def _some(sides: Iterable[Grammar | None]) -> list[Grammar]:
    return [side for side in sides if side is not None]


def _either(sides: Iterable[Grammar | None]) -> Grammar | None:
    found = _some(sides)
    return choice(found) if found else None


def _sides(grammar: Grammar, stops: frozenset[str | int]) -> Sides:
    if isinstance(grammar, Token):
        return (None, Literal("")) if grammar.name in stops else (grammar, None)
    if not isinstance(grammar, (Sequence, Choice, Repeat)):
        return grammar, None
    parts = [_sides(part, stops) for part in grammar.operands]
    if all(ended is None for _, ended in parts):
        return grammar, None
    if isinstance(grammar, Choice):
        return _either(on for on, _ in parts), _either(ended for _, ended in parts)
    if isinstance(grammar, Repeat):
        return _repeated(grammar, *parts[0])
    before: list[Grammar] = []
    ends: list[Grammar] = []
    for number, (on, ended) in enumerate(parts):
        if ended is not None:
            ends.append(sequence([*before, ended]))
        if on is None:
            after = next((part for part in grammar.parts[number + 1 :] if isinstance(part, (Literal, Token))), None)
            if after is not None:
                raise GrammarError(f"a stop token ends the text, but {brief(after)} follows it; leave one of them out")
            return None, _either(ends)
        before.append(on)
    return sequence(before), _either(ends)


def _repeated(grammar: Repeat, on: Grammar | None, ended: Grammar | None) -> Sides:
    """A turn that ends the text is the last one."""
    if grammar.max == 0:
        return Literal(""), None
    nothing = Literal("") if grammar.min == 0 else None
    if on is None:
        return nothing, ended if grammar.min <= 1 else None
    turn = on if grammar.separator is None else sequence([on, grammar.separator])
    turns = Repeat(turn, max(grammar.min - 1, 0), None if grammar.max is None else grammar.max - 1)
    whole = Repeat(on, grammar.min, grammar.max, grammar.separator)
    return whole, None if ended is None else sequence([turns, ended])
