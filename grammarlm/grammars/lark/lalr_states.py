"""LALR(1) states and lookaheads of a context-free grammar over integers, by DeRemer and Pennello's relations on bit sets.

They are those that lark computes, conflicts included: its analysis is the definition (tests/grammars/lark/test_lalr_states.py), but
it works on objects, and takes ten to twenty times as long. Only where empty nonterminals follow each other in a circle of states,
which makes a grammar ambiguous, lark's lookaheads have more than the definition gives: they are left to lark (lalr.py).

A **transition** is a pair of a state and a nonterminal that leads on from there. What may follow it:

    reads      terminals that come next, directly or after nonterminals that may be empty
    includes   where a rule ends with the nonterminal, what may follow the rule's own transition, where the rule began

The lookaheads of a rule in a state are what may follow the transitions from where it began (`lookback`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from grammarlm.errors import LimitExceeded

COMPLETE = -1  # in place of an item's next symbol
MOST_ITEMS = 1_000_000  # of all states together, with their closures: a second; grammars of languages have some 10,000
TICK_EVERY = 64  # states


@dataclass(frozen=True)
class Rules:
    """Rules over symbols 0, 1, ..., in whose order states are numbered. The last rule is the whole text's."""

    symbols: int
    is_nonterminal: Sequence[bool]  # of each symbol
    origins: Sequence[int]
    bodies: Sequence[tuple[int, ...]]
    end: int  # the symbol of the end of the text


@dataclass(frozen=True)
class States:
    """The states in breadth-first order from the start, 0."""

    kernels: list[tuple[int, ...]]  # items: see `Items`
    transitions: list[dict[int, int]]  # symbol -> state
    # rule -> bit set of terminals after which it may be complete here; None: see above
    lookaheads: list[dict[int, int]] | None


class Items:
    """Items by number: those of a rule are adjacent, from none of its symbols read to all."""

    def __init__(self, rules: Rules):
        self.first: list[int] = []  # item of each rule with nothing read
        self.next: list[int] = []  # symbol
        self.rule: list[int] = []
        for number, body in enumerate(rules.bodies):
            self.first.append(len(self.next))
            self.next += [*body, COMPLETE]
            self.rule += [number] * (len(body) + 1)


def construct(rules: Rules, most_states: int, tick: Callable[[], None]) -> States:
    items = Items(rules)
    states = Lr0(rules, items, most_states, tick)
    states.construct()
    return States(states.kernels, states.transitions, _lookaheads(rules, items, states, tick))


class Lr0:
    """The LR(0) states."""

    def __init__(self, rules: Rules, items: Items, most_states: int, tick: Callable[[], None]):
        self.rules, self.items, self.most, self.tick = rules, items, most_states, tick
        self.kernels: list[tuple[int, ...]] = []
        self.transitions: list[dict[int, int]] = []
        self.complete: list[list[int]] = []  # rules that are complete, per state
        self._size = 0
        of: list[list[int]] = [[] for _ in range(rules.symbols)]
        for number, origin in enumerate(rules.origins[:-1]):
            of[origin].append(number)
        self.rules_of = of
        self._closures: dict[int, int] = {}
        self._moves: dict[int, tuple[dict[int, list[int]], list[int], int]] = {}

    def construct(self) -> None:
        root = (self.items.first[-1],)
        known: dict[tuple[int, ...], int] = {root: 0}
        self.kernels.append(root)
        for state, kernel in enumerate(self.kernels):  # grows while iterating
            if not state % TICK_EVERY:
                self.tick()
            moved, complete = self._moves_from(kernel)
            after = {}
            for symbol in sorted(moved):
                target = tuple(sorted(moved[symbol]))
                number = known.get(target)
                if number is None:
                    number = known[target] = len(self.kernels)
                    self.kernels.append(target)
                after[symbol] = number
            if len(self.kernels) >= self.most:
                raise LimitExceeded(
                    f"the grammar's parser needs more than {self.most:,} states, which are too many; make it smaller"
                )
            self.transitions.append(after)
            self.complete.append(complete)

    def _moves_from(self, kernel: tuple[int, ...]) -> tuple[dict[int, list[int]], list[int]]:
        """Items after each symbol, and complete rules."""
        begun, next_symbol, is_nonterminal = 0, self.items.next, self.rules.is_nonterminal
        for item in kernel:
            symbol = next_symbol[item]
            if symbol != COMPLETE and is_nonterminal[symbol]:
                begun |= self._closure(symbol)
        opened, empty, size = self._opened(begun)
        self._size += size + len(kernel)
        if self._size > MOST_ITEMS:
            raise LimitExceeded(
                "making the parser's states (LR(0) item sets): the rules are too many, too long or too ambiguous"
            )
        moved, complete = dict(opened), empty
        for item in kernel:
            symbol = next_symbol[item]
            if symbol == COMPLETE:
                complete = [*complete, self.items.rule[item]]
            else:
                moved[symbol] = [*moved[symbol], item + 1] if symbol in moved else [item + 1]
        return moved, complete

    def _closure(self, nonterminal: int) -> int:
        """The nonterminals that texts of this one may begin with, itself included, as a bit set."""
        found = self._closures.get(nonterminal)
        if found is None:
            reached = [nonterminal]
            found = 1 << nonterminal
            for other in reached:  # grows while iterating
                for rule in self.rules_of[other]:
                    body = self.rules.bodies[rule]
                    if body and self.rules.is_nonterminal[body[0]] and not found >> body[0] & 1:
                        found |= 1 << body[0]
                        reached.append(body[0])
            self._closures[nonterminal] = found
        return found

    def _opened(self, begun: int) -> tuple[dict[int, list[int]], list[int], int]:
        """Of the rules of these nonterminals: the items after their first symbol, by symbol; those that are empty; their number."""
        found = self._moves.get(begun)
        if found is None:
            moved: dict[int, list[int]] = {}
            empty: list[int] = []
            size = 0
            for nonterminal in bits(begun):
                for rule in self.rules_of[nonterminal]:
                    size += 1
                    body = self.rules.bodies[rule]
                    if body:
                        moved.setdefault(body[0], []).append(self.items.first[rule] + 1)
                    else:
                        empty.append(rule)
            found = self._moves[begun] = moved, empty, size
        return found


def nullable(rules: Rules) -> list[bool]:
    """Of each symbol: does it derive the empty text?"""
    found = [False] * rules.symbols
    users: list[list[int]] = [[] for _ in range(rules.symbols)]
    missing = [len(body) for body in rules.bodies]
    waiting = []
    for number, body in enumerate(rules.bodies):
        for symbol in body:
            users[symbol].append(number)
        if not body:
            waiting.append(number)
    for number in waiting:  # grows while iterating
        origin = rules.origins[number]
        if not found[origin]:
            found[origin] = True
            for user in users[origin]:
                missing[user] -= 1
                if not missing[user]:
                    waiting.append(user)
    return found


def _lookaheads(rules: Rules, items: Items, states: Lr0, tick: Callable[[], None]) -> list[dict[int, int]] | None:
    is_nullable, is_nonterminal, transitions = nullable(rules), rules.is_nonterminal, states.transitions
    number: list[dict[int, int]] = []  # per state: nonterminal -> number of the transition
    origins: list[tuple[int, int]] = []
    read_directly: list[int] = []
    for state, after in enumerate(transitions):
        here = {}
        for symbol in after:
            if is_nonterminal[symbol]:
                here[symbol] = len(origins)
                origins.append((state, symbol))
        number.append(here)
    reads: list[list[int]] = []
    for state, symbol in origins:
        target = transitions[state][symbol]
        direct = sum(1 << t for t in transitions[target] if not is_nonterminal[t])
        if state == 0 and (symbol,) == rules.bodies[-1]:
            direct |= 1 << rules.end
        read_directly.append(direct)
        reads.append([at for other, at in number[target].items() if is_nullable[other]])
    follow, is_cyclic = united(read_directly, reads)
    if is_cyclic:
        return None

    # Of each rule: the first place from which on all symbols may be empty.
    tails = []
    for body in rules.bodies:
        place = len(body)
        while place and is_nullable[body[place - 1]]:
            place -= 1
        tails.append(place)
    includes: list[list[int]] = [[] for _ in origins]
    lookback: list[list[tuple[int, int]]] = []
    for at, (state, nonterminal) in enumerate(origins):
        if not at % (TICK_EVERY * 8):
            tick()
        ends = []
        begun = [(rule, 0) for rule in states.rules_of[nonterminal]]
        # lark follows rules of the nonterminal that began earlier from here as well: its lookaheads are the definition.
        for item in states.kernels[state]:
            rule = items.rule[item]
            if rules.origins[rule] == nonterminal and item != items.first[rule]:
                begun.append((rule, item - items.first[rule]))
        for rule, first in begun:
            body, place, tail = rules.bodies[rule], state, tails[rule]
            for read in range(first, len(body)):
                symbol = body[read]
                if read + 1 >= tail and is_nonterminal[symbol]:
                    includes[number[place][symbol]].append(at)
                place = transitions[place][symbol]
            if not first:
                ends.append((place, rule))
        lookback.append(ends)
    follow, _ = united(follow, includes)
    found: list[dict[int, int]] = [{} for _ in transitions]
    for at, places in enumerate(lookback):
        for end, rule in places:
            found[end][rule] = found[end].get(rule, 0) | follow[at]
    return found


def united(sets: Sequence[int], edges: Sequence[Sequence[int]]) -> tuple[list[int], bool]:
    """Of each node the union of the sets of all nodes that it reaches; and whether some nodes reach each other.

    Tarjan's strongly connected components, without recursion: nodes are finished after all that they reach.
    """
    found, depth = list(sets), [0] * len(sets)  # 0: not visited; -1: finished
    is_cyclic = False
    stack: list[int] = []
    for root in range(len(sets)):
        if depth[root]:
            continue
        path = [(root, iter(edges[root]))]
        stack.append(root)
        depth[root] = len(stack)
        own = {root: depth[root]}
        while path:
            node, rest = path[-1]
            for other in rest:
                if not depth[other]:
                    stack.append(other)
                    depth[other] = own[other] = len(stack)
                    path.append((other, iter(edges[other])))
                    break
                if depth[other] > 0:
                    depth[node] = min(depth[node], depth[other])
                found[node] |= found[other]
            else:
                path.pop()
                if depth[node] == own[node]:
                    while True:
                        member = stack.pop()
                        found[member] = found[node]
                        depth[member] = -1
                        if member == node:
                            break
                        is_cyclic = True
                if path:
                    above = path[-1][0]
                    if depth[node] > 0:
                        depth[above] = min(depth[above], depth[node])
                    found[above] |= found[node]
    return found, is_cyclic


def bits(number: int) -> list[int]:
    """The places of the ones, in order."""
    found = []
    while number:
        lowest = number & -number
        found.append(lowest.bit_length() - 1)
        number ^= lowest
    return found
