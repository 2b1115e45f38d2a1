"""Symbols of a stack, as rules name them."""

from __future__ import annotations

ROOT = 0  # the symbol below all others; it is never popped: a rule for it asks whether the stack is empty

Symbols = tuple[int, ...]
Stack = tuple[int, ...]  # symbols, the top last, without ROOT
Rule = tuple[int, int, int]  # a micro point, the symbol that it pops, the point after; ~symbol where that stays


def stays(symbol: int) -> bool:
    """Does the symbol of a rule stay on the stack? ROOT does anyway."""
    return symbol <= ROOT


def on_top(symbol: int) -> int:
    """The symbol that a rule asks for."""
    return ~symbol if symbol < 0 else symbol
