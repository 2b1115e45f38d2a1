"""Bounds the work of lark's LALR builder on these rules, by doing the part that can explode first, and more cheaply.

The number of LR(0) states is exponential in the size of the rules at worst: right-linear rules are an NFA, and the states are its
determinisation.

    start: "a" start | "b" start | "a" t1        and so on to t25: 2^25 states

No measure of the grammar's text predicts that. So the states are counted by constructing them as sets of small integers, many times
faster than lark does, until lark's cost would exceed the limit. Also counted: lark makes a set of what lies between every two
places of a rule (cubic in its length), repeats passes over all rules until FIRST and FOLLOW are stable, and walks a state's items
once for each of its nonterminals. The unit is microseconds of lark's time, as in sizes.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from grammarlm.errors import LimitExceeded

MAX_WORK = 1_500_000.0
PER_STATE, PER_ITEM, PER_CLOSED_ITEM, PER_PAIR, PER_EDGE = 15.0, 6.0, 3.0, 0.3, 0.1
PER_SET_MEMBER, PER_SET_UPDATE, PER_SET_ELEMENT = 0.15, 1.0, 0.012
PER_WALKED_PLACE, PER_SEARCHED_ITEM = 0.5, 0.25
PER_LOOKAHEAD = 1.5  # a lookahead entry: what may follow a complete rule
STATES = "making the parser's states (LR(0) item sets)"
TICK_EVERY = 256
END = -1
ROOT = 0


class Rule(Protocol):
    """A rule as lark represents it: a symbol and its expansion; each symbol has a `name`."""

    origin: Any
    expansion: Any


class Analysis:
    """The rules as integers: nonterminals first, from 0, then terminals; the last rule is the start."""

    def __init__(self, rules: Sequence[Rule], start: str, max_work: float, tick: Callable[[], None]):
        self.max_work, self.tick, self.work, self.ticks = max_work, tick, 0.0, 0
        names = {"$root": 0, start: 1}
        for rule in rules:
            names.setdefault(rule.origin.name, len(names))
        self.nonterminals = len(names)
        origins = [names[rule.origin.name] for rule in rules]
        bodies = [[names.setdefault(symbol.name, len(names)) for symbol in rule.expansion] for rule in rules]
        origins.append(ROOT)
        bodies.append([names[start]])
        self.symbols = len(names)
        self.origins, self.bodies = origins, bodies
        self.rules_of: list[list[int]] = [[] for _ in range(self.nonterminals)]
        for number, origin in enumerate(origins):
            self.rules_of[origin].append(number)
        self.nullable = [False] * self.symbols
        self.first = [0] * self.nonterminals + [1 << t for t in range(self.symbols - self.nonterminals)]
        self.follow = [0] * self.symbols
        self.follow[ROOT] = 1 << (self.symbols - self.nonterminals)  # the end of the text

    def spend(self, work: float, doing: str) -> None:
        self.work += work
        self.ticks += 1
        if not self.ticks % TICK_EVERY:
            self.tick()
        if self.work > self.max_work:
            limit = f"more than {self.max_work / 1e6:.1f} s in lark"
            raise LimitExceeded(f"{doing} takes {limit}: the rules are too many, too long or too ambiguous")

    # FIRST and FOLLOW: lark's passes in lark's order, with bit sets

    def sets(self) -> None:
        users: list[list[int]] = [[] for _ in range(self.symbols)]
        for number, body in enumerate(self.bodies):
            for symbol in set(body):
                users[symbol].append(number)
        self.passes(self.first_of_rule, users, "finding first symbols")
        self.passes(self.follow_of_rule, self.rules_of, "finding next symbols")

    def passes(self, visit: Callable[[int], tuple[list[int], float, int]], users: list[list[int]], doing: str) -> None:
        """Visits the rules in order until nothing changes. lark visits all in every pass; here only rules whose sets changed.

        A visit returns the symbols whose sets it changed, the cost of each visit, and the number of elements of the changed sets.
        """
        dirty = bytearray(b"\1" * len(self.bodies))
        costs, total = [0.0] * len(self.bodies), 0.0
        changed = True
        while changed:
            changed = False
            number = dirty.find(1)
            while number >= 0:
                dirty[number] = 0
                symbols, cost, elements = visit(number)
                total += cost - costs[number]
                costs[number] = cost
                for symbol in symbols:
                    changed = True
                    for user in users[symbol] if symbol < len(users) else ():
                        dirty[user] = 1
                self.spend(PER_SET_ELEMENT * elements, doing)
                number = dirty.find(1, number + 1)
            self.spend(total, doing)

    def first_of_rule(self, number: int) -> tuple[list[int], float, int]:
        origin, body = self.origins[number], self.bodies[number]
        before, was_nullable = self.first[origin], self.nullable[origin]
        collected, walked = before, 0
        for symbol in body:
            walked += 1
            collected |= self.first[symbol]
            if not self.nullable[symbol]:
                break
        else:
            self.nullable[origin] = True
        self.first[origin] = collected
        cost = PER_SET_MEMBER * (len(body) + walked * walked / 2) + PER_SET_UPDATE * (1 + walked)
        if collected == before and self.nullable[origin] == was_nullable:
            return [], cost, 0
        return [origin], cost, walked * collected.bit_count()  # lark copies a set before it grows

    def follow_of_rule(self, number: int) -> tuple[list[int], float, int]:
        origin, body = self.origins[number], self.bodies[number]
        following, may_end = [], []  # per place: what may come next in the rule, and whether the rule may end there
        next_symbols, ends = 0, True
        for symbol in reversed(body):
            following.append(next_symbols)
            may_end.append(ends)
            if not self.nullable[symbol]:
                next_symbols, ends = 0, False
            next_symbols |= self.first[symbol]
        changed, elements = [], 0
        for symbol in body:
            before = self.follow[symbol]
            after = before | following.pop() | (self.follow[origin] if may_end.pop() else 0)
            if after != before:
                self.follow[symbol] = after
                changed.append(symbol)
                elements += after.bit_count()
        n = len(body)
        return changed, PER_SET_MEMBER * (n + n**3 / 6) + PER_SET_UPDATE * n, elements

    # States: sets of items; an item is a number for a rule and a place in it

    def states(self) -> int:
        """The number of LR(0) states."""
        self.number_items()
        root = frozenset((len(self.next_symbol) - len(self.bodies[-1]) - 1,))
        seen = {root}
        waiting = [root]
        while waiting:
            for kernel in self.steps(waiting.pop()):
                if kernel not in seen:
                    seen.add(kernel)
                    waiting.append(kernel)
        self.walk_rules()
        return len(seen)

    def walk_rules(self) -> None:
        """Counts the lookups of lark: from each state it walks each rule that begins there, and searches the rule's end among all
        items of the last state."""
        for nonterminal, states in enumerate(self.transitions):
            for rule in self.rules_of[nonterminal]:
                walk = PER_WALKED_PLACE * len(self.bodies[rule]) + PER_SEARCHED_ITEM * self.items_at_end[rule]
                self.spend(states * walk, STATES)

    def number_items(self) -> None:
        self.next_symbol: list[int] = []  # by item; END where the rule is complete
        self.rule_of: list[int] = []
        self.openings: list[list[tuple[int, int]]] = [[] for _ in range(self.nonterminals)]
        for number, (origin, body) in enumerate(zip(self.origins, self.bodies, strict=True)):
            if body:
                self.openings[origin].append((body[0], len(self.next_symbol) + 1))
            self.next_symbol += [*body, END]
            self.rule_of += [number] * (len(body) + 1)
        self.closures: dict[int, list[int]] = {}
        self.transitions = [0] * self.nonterminals  # per nonterminal: number of states with a transition on it
        self.items_at_end = [0] * len(self.bodies)  # per rule: items of the largest state that completes it
        self.follows = follows = [symbols.bit_count() for symbols in self.follow]
        self.includes = [0.0] * self.nonterminals
        for origin, body in zip(self.origins, self.bodies, strict=True):
            self.includes[origin] += self.edges(body) * (1 + follows[origin]) + follows[origin]
        self.conflicts = [
            follows[origin] * (1 + 0.2 * len(body)) for origin, body in zip(self.origins, self.bodies, strict=True)
        ]

    def edges(self, body: list[int]) -> int:
        """The number of nonterminals of a rule that can be followed by its end."""
        count = 0
        for symbol in reversed(body):
            count += symbol < self.nonterminals
            if not self.nullable[symbol]:
                break
        return count

    def closure(self, nonterminal: int) -> list[int]:
        """The nonterminals that texts of this one may begin with, itself included."""
        found = self.closures.get(nonterminal)
        if found is None:
            found = [nonterminal]
            reached = {nonterminal}
            for other in found:
                for symbol, _ in self.openings[other]:
                    if symbol < self.nonterminals and symbol not in reached:
                        reached.add(symbol)
                        found.append(symbol)
            self.closures[nonterminal] = found
        return found

    def steps(self, kernel: frozenset[int]) -> list[frozenset[int]]:
        """The kernels of the states after one state; counts lark's work."""
        moved: dict[int, list[int]] = {}
        begun: dict[int, None] = {}
        complete = []
        closed = items = 0
        for item in kernel:
            symbol = self.next_symbol[item]
            if symbol == END:
                complete.append(self.rule_of[item])
                continue
            moved.setdefault(symbol, []).append(item + 1)
            if symbol < self.nonterminals:
                begun.update(dict.fromkeys(self.closure(symbol)))
                closed += sum(len(self.rules_of[n]) for n in self.closure(symbol))
        for nonterminal in begun:
            items += len(self.rules_of[nonterminal])
            for symbol, item in self.openings[nonterminal]:
                moved.setdefault(symbol, []).append(item)
        items += len(kernel)
        work = PER_STATE + PER_ITEM * items + PER_CLOSED_ITEM * closed
        for symbol in moved:
            if symbol < self.nonterminals:
                work += PER_PAIR * items + PER_EDGE * self.includes[symbol]
                self.transitions[symbol] += 1
        for rule in complete:
            self.items_at_end[rule] = max(items, self.items_at_end[rule])
        work += PER_LOOKAHEAD * sum(self.follows[self.origins[rule]] for rule in complete)
        if len(complete) > 1:
            work += sum(self.conflicts[rule] for rule in complete)
        self.spend(work, STATES)
        return [frozenset(items) for items in moved.values()]


def check_analysis(
    rules: Sequence[Rule], start: str, *, max_work: float = MAX_WORK, tick: Callable[[], None] = lambda: None
) -> int:
    """The number of LR(0) states of lark's rules; LimitExceeded where lark would take longer than `max_work` microseconds."""
    analysis = Analysis(rules, start, max_work, tick)
    analysis.sets()
    return analysis.states()
