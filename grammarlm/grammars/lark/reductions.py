"""Detects LALR parsers with endless runs of reductions between two terminals.

    start: "a" y* x
    x: "b" |
    y.2:                    derives nothing; its priority lets it win where the list could end

lark's parser then adds one more y to the list, endlessly. That needs a nonterminal that derives itself with nothing beside it, or
that begins with itself after symbols that derive the empty text (hidden left recursion), in a grammar with a conflict decided by
priority or in favour of shifting. So the rules are searched for those first. Only if there are any, the tables are run, from every
state and on every terminal, without the rest of the stack: an endless run never pops some symbol.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from grammarlm.errors import UnsupportedFeature
from grammarlm.grammars.cfg.components import components

LONGEST = 10_000  # most reductions in a row above one symbol

Rule = tuple[int, tuple[int, ...]]  # nonterminal, symbols: terminals are their numbers, nonterminal n is ~n


def check_reductions(
    action: np.ndarray,
    goto: np.ndarray,
    rule: np.ndarray,
    rules: list[Rule],
    names: list[str],
    tick: Callable[[], None],
) -> None:
    """Raises where a run of reductions does not end, or takes more than LONGEST of them."""
    if not _may_go_on(rules, tick):
        return
    actions, gotos, shapes = action.tolist(), goto.tolist(), rule.tolist()
    derive = derived(rules, lambda _: True, tick)  # no other column of the table is ever used
    edges = {(p, target) for p, row in enumerate(gotos) for n, target in enumerate(row) if target >= 0 and n in derive}
    edges |= {(p, value - 1) for p, row in enumerate(actions) for value in row[:-1] if value > 0}
    for below, top in sorted(edges):
        for column, value in enumerate(actions[top]):
            if value < 0 and shapes[-value - 1][0] <= 1:
                _run([below, top], column, actions, gotos, shapes, names, tick)


def _run(
    stack: list[int],
    column: int,
    actions: list[list[int]],
    gotos: list[list[int]],
    shapes: list[list[int]],
    names: list[str],
    tick: Callable[[], None],
) -> None:
    """Reduces on one terminal, above the bottom state of the stack."""
    for step in range(LONGEST):
        if not step & 31:
            tick()
        value = actions[stack[-1]][column]
        if value >= 0:
            return
        length, nonterminal = shapes[-value - 1]
        if length >= len(stack):
            return
        del stack[len(stack) - length :]
        target = gotos[stack[-1]][nonterminal]
        if target < 0:
            return
        stack.append(target)
    raise UnsupportedFeature(
        f"the parser that lark makes of the grammar reduces {names[nonterminal]!r} more than {LONGEST:,} times, perhaps for ever, "
        "without reading anything; rules that derive nothing, or themselves, must not be repeated"
    )


def _may_go_on(rules: list[Rule], tick: Callable[[], None]) -> bool:
    """Can a nonterminal derive itself alone, or begin with itself after the empty text, or derive the empty text in many steps?"""
    steps = _nothings(rules, tick) if any(not symbols for _, symbols in rules) else {}
    if any(count > LONGEST // 10 for count in steps.values()):
        return True
    first: dict[int, set[int]] = {}  # the nonterminals that a rule may begin with
    doubtful: set[tuple[int, int]] = set()
    for origin, symbols in rules:
        for place, symbol in enumerate(symbols):
            if symbol < 0:
                first.setdefault(origin, set()).add(~symbol)
                if place or all(s < 0 and ~s in steps for s in symbols[place + 1 :]):
                    doubtful.add((origin, ~symbol))
            if symbol >= 0 or ~symbol not in steps:
                break
    place_of = {n: number for number, knot in enumerate(components(first, tick)) for n in knot}
    return any(place_of[origin] == place_of.get(after) for origin, after in doubtful)


def _nothings(rules: list[Rule], tick: Callable[[], None]) -> dict[int, int]:
    """The nonterminals that derive the empty text, each with the largest number of reductions that takes."""
    empty = derived([rule for rule in rules if all(s < 0 for s in rule[1])], lambda _: False, tick)
    ways: dict[int, list[tuple[int, ...]]] = {origin: [] for origin in empty}
    for origin, symbols in rules:
        if all(s < 0 and ~s in empty for s in symbols):
            ways[origin].append(symbols)
    steps: dict[int, int] = {}
    together = [(origin, tuple(s for way in its for s in way)) for origin, its in ways.items()]
    for origin in derived(together, lambda _: False, tick):  # each after all nonterminals that any of its ways needs
        steps[origin] = min(LONGEST, 1 + max(sum(steps[~s] for s in way) for way in ways[origin]))
    return {origin: steps.get(origin, LONGEST) for origin in empty}  # the others derive themselves


def derived(rules: list[Rule], takes: Callable[[int], bool], tick: Callable[[], None]) -> dict[int, None]:
    """The nonterminals that derive the empty text or a text of terminals that `takes` accepts, in topological order: each after
    those that its first derivation uses."""
    users: dict[int, list[int]] = {}
    missing = []
    for number, (_, symbols) in enumerate(rules):
        missing.append(sum(s < 0 or not takes(s) for s in symbols))
        for symbol in symbols:
            if symbol < 0:
                users.setdefault(~symbol, []).append(number)
    found: dict[int, None] = {}
    waiting = [origin for (origin, _), count in zip(rules, missing, strict=True) if count == 0]
    while waiting:
        tick()
        nonterminal = waiting.pop()
        if nonterminal in found:
            continue
        found[nonterminal] = None
        for number in users.get(nonterminal, ()):
            missing[number] -= 1
            if missing[number] == 0:
                waiting.append(rules[number][0])
    return found
