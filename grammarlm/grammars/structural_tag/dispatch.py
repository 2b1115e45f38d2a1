"""Free text, and what must follow where a trigger occurs in it.

    trigger "<f", tags "<f1>a</f>" and "<f2>b</f>"      Repeat(Text(until="<f") + ("1>a</f>" | "2>b</f>")) + Text(excludes=["<f"])

The text before a tag ends with the first trigger that is complete: from there on all is held. Of several that are complete at once
the longest counts. A beginning of a trigger at the end of a text is text.

A trigger may begin with a special token, or be one: then nothing but the token itself can be meant, and free text has none.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from grammarlm.grammars.compose import Difference, Grammar, Literal
from grammarlm.grammars.derived import sequence
from grammarlm.grammars.items.special_token import Token
from grammarlm.grammars.repeat import Repeat
from grammarlm.grammars.text import Text
from grammarlm.grammars.tools.texts import one_of

Piece = str | Token  # a string without special tokens, or one


@dataclass(frozen=True)
class Rule:
    """`head`: the pieces that the trigger is, or that begin with it; `body`: what follows them."""

    trigger: str
    head: tuple[Piece, ...]
    body: Grammar


def grammars(pieces: Iterable[Piece]) -> list[Grammar]:
    return [Literal(piece) if isinstance(piece, str) else piece for piece in pieces]


def rule_of(trigger: str, pieces: Sequence[Piece], body: Grammar) -> Rule:
    """The rule of a text that begins with a trigger: it is cut where the trigger ends, or after the token in which it ends."""
    left, head = len(trigger), list[Piece]()
    for piece in pieces:
        if left <= 0:
            break
        head.append(piece[:left] if isinstance(piece, str) else piece)
        left -= len(piece if isinstance(piece, str) else str(piece.name))
    rest = list(pieces[len(head) :])
    if left < 0 and isinstance(last := pieces[len(head) - 1], str):
        rest.insert(0, last[left:])
    return Rule(trigger, tuple(head), sequence([*grammars(rest), body]))


def dispatched(
    rules: Sequence[Rule], triggers: tuple[str, ...], excludes: tuple[str, ...], *, is_loop: bool, is_first: bool
) -> Grammar:
    """`triggers`: those that are text; `excludes`: what the free text does not contain, a trigger at its end included."""
    bodies: dict[tuple[Piece, ...], list[Grammar]] = {}
    for rule in rules:
        bodies.setdefault(rule.head, []).append(rule.body)
    calls = [sequence([*_up_to(head, triggers, excludes), one_of(found)]) for head, found in bodies.items()]
    first = one_of([sequence([*grammars(rule.head), rule.body]) for rule in rules]) if is_first else None
    return in_turns(one_of(calls), Text(excludes=(*triggers, *excludes)), first, is_loop=is_loop)


def in_turns(call: Grammar, rest: Grammar, first: Grammar | None, *, is_loop: bool) -> Grammar:
    """Calls with the text before each, then the rest; without `is_loop` at most one call. `first`: what has to come first."""
    if first is not None:
        return sequence([first, Repeat(call), rest]) if is_loop else first
    return sequence([Repeat(call), rest]) if is_loop else one_of([call, rest])


def _up_to(head: tuple[Piece, ...], triggers: tuple[str, ...], excludes: tuple[str, ...]) -> list[Grammar]:
    """Free text and the head that ends it."""
    lead = head[0] if isinstance(head[0], str) else ""
    if head == (lead,):
        text: Grammar = Text(until=triggers, excludes=excludes)
    else:
        text = Text(excludes=(*triggers, *excludes))
    if lead and triggers != (lead,):
        text &= Text() + lead
        longer = [Text() + other for other in triggers if other != lead and other.endswith(lead)]
        text = Difference((text, *longer)) if longer else text
    return [text, *grammars(head[1:] if lead else head)]
