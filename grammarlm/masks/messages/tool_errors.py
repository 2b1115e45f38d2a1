"""Which tool's schema, or which part of a structural tag is at fault: asked only where a grammar is refused, for the message."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from grammarlm.errors import GrammarError, LimitExceeded, placed_error
from grammarlm.grammars.compose import Grammar
from grammarlm.grammars.structural_tag.grammar import StructuralTag
from grammarlm.grammars.tools.tools import Tools


def of_tool(grammar: Grammar, error: GrammarError, make: Callable[[Grammar], object]) -> GrammarError:
    """The error, naming the first tool, or place in a structural tag, whose schema is refused by itself; unchanged where none is.
    `make` compiles a grammar."""
    if isinstance(error, LimitExceeded) or str(error).startswith("tool "):
        return error
    waiting, seen = [grammar], set[int]()
    while waiting:
        part = waiting.pop()
        if id(part) in seen:
            continue
        seen.add(id(part))
        waiting += part.operands
        for place, held in _held(part):
            try:
                make(held)
            except LimitExceeded:
                return error
            except GrammarError as refusal:
                return _placed(refusal, place)
    return error


def _placed(refusal: GrammarError, place: str) -> GrammarError:
    pointer = refusal.pointer or ""
    if place.startswith("/"):
        refusal.args = (str(refusal).removeprefix(f"{pointer or '#'}: "),)
        return placed_error(refusal, place + pointer)
    named = placed_error(refusal, place)
    named.pointer = refusal.pointer
    return named


def _held(part: Grammar) -> Iterable[tuple[str, Grammar]]:
    if isinstance(part, Tools):
        return [(f"tool {tool.name!r:.80}", tool.schema) for tool in part.callable.values()]
    return part.held() if isinstance(part, StructuralTag) else ()
