"""Recursive rules as terms: the input of the pushdown automaton.

A rule's body is a term (terms.py) whose letters are bytes and **calls**: bit 256 + k of an edge's byte set means "a text of rule k
here". So derivatives merge alternatives with a common prefix into one state, whether it begins with a byte or with a call, and a
rule's automaton is as lazy as that of a regular expression. Besides reading a byte, a state can make its calls, each with a return
state, and return where its term contains the empty text.

Three steps come before; all keep the language:

1. Rules that derive no text are removed (a call of one is the empty language), so that no state is a dead end.
2. A non-recursive rule that is short or used once is inlined: fewer threads, fewer stacks. Of mutually recursive rules as few as
   possible stay rules. A string's rule that is called more than once stays a rule, too: its inside is then one state wherever it
   occurs.
3. Left recursion is removed (left_recursion.py). A call of a rule that may be empty becomes "nothing, or the rule without its empty
   text".
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any

from grammarlm.errors import UnsatisfiableGrammar
from grammarlm.grammars.regular import utf8
from grammarlm.grammars.regular.derivatives import Algebra
from grammarlm.grammars.regular.syntax import parse_regex
from grammarlm.grammars.regular.terms import FOREVER, NIL, NOTHING, Term

from .components import components
from .left_recursion import FIRST_CALL, LeftRecursion
from .rules import Alternatives, Call, Chars, Node, Pattern, Repeat, Sequence, Text, Token

SHORT, USED_ONCE = 40, 400  # most nodes of an inlined rule
DEEPEST = 20  # most nesting depth of an inlined rule
WIDE = 80  # characters of a set: more than names use, fewer than strings use
MANY = 300  # size of a recursive component above which no small set of kept rules is searched for

Key = Hashable  # a rule: (part of the grammar, name)


@dataclass(frozen=True, slots=True)
class Known:
    """A language given as a term."""

    term: Term


@dataclass(frozen=True, slots=True)
class Foreign:
    """A call of something that is no rule: an LR parser or a lexeme."""

    key: Key


@dataclass(frozen=True)
class Entrance:
    """The state before an LR parser starts."""

    lr_state: int


@dataclass
class Callee:
    """The target of a call: a rule's term, or an object that the machine knows how to expand."""

    key: Key
    start: object = None


# What a rule or part derives: no text; only nonempty texts; the empty text, too. In this order a sequence has the minimum of its
# parts, alternatives the maximum.
NO_TEXT, TEXTS, EMPTY_TEXT = 0, 1, 2


@dataclass(eq=False, slots=True)
class RuleFacts:
    key: Key
    body: Node
    part: int
    reached: bool = False
    calls: list[RuleFacts] = field(default_factory=list)
    uses: int = 0  # number of calls from reachable rules
    order: list[Any] = field(default_factory=list)  # the body's nodes in postorder; a call is replaced by its rule
    derives: int = NO_TEXT
    inlined: bool = False
    reads_many: bool = False  # has a large character set,
    is_wide: bool = False  # and repeats it
    term: Term | None = None
    size: int = 0


class Pushdown:
    """The rules of all parts of a grammar; `solve` turns them into terms."""

    def __init__(self, algebra: Algebra, tick: Callable[[], None], token_id: Callable[[str | int, int], int | None]):
        self.algebra, self.tick, self.token_id = algebra, tick, token_id
        self.rules: dict[Key, RuleFacts] = {}
        self.foreign: dict[Key, object] = {}
        self.calls: list[Callee] = []
        self.call_of: dict[Key, int] = {}
        self.tokens: dict[int, None] = {}  # special tokens that the grammar names, in order of first occurrence
        self.patterns: dict[str, Term] = {}

    def add_rules(self, part: int, bodies: dict[str, Node]) -> None:
        for name, body in bodies.items():
            self.rules[part, name] = RuleFacts((part, name), body, part)

    # ------------------------------------------------------------------ from nodes to terms

    def solve(self, start: Key) -> Term:
        """The start rule's term; afterwards every reachable call has a start state."""
        first = self.rules[start]
        reached = self._visit(first)
        for knot in components({facts: facts.calls for facts in reached}, self.tick):  # callees first
            if len(knot) > 1 or knot[0] in knot[0].calls:
                self._find_derived(knot)
            for facts in self._choose_inlined(knot):
                self._make_term(facts)
        if first.derives == NO_TEXT:
            named = next((facts.key for facts in first.calls if facts.derives == NO_TEXT), start)
            raise UnsatisfiableGrammar(
                f"no text follows {self._name(named)!r}: each of its derivations contains itself for ever, or a set without "
                "characters"
            )
        called = {index: self.rules.get(callee.key) for index, callee in enumerate(self.calls)}
        terms = {index: self._term_of(facts) for index, facts in called.items() if facts is not None}
        for index, term in LeftRecursion(self.algebra, self.tick).starts(terms).items():
            self.calls[index].start = term
        self.rules.clear()  # from here on there are only terms
        for facts in reached:  # rules refer to each other in cycles: freed now, not at the next garbage collection
            facts.calls.clear()
            facts.order.clear()
        return self._term_of(first)

    def _name(self, key: Key) -> str:
        return str(key[1]) if isinstance(key, tuple) else str(key)

    def _visit(self, start: RuleFacts) -> list[RuleFacts]:
        """The rules reachable from the start; fills in their nodes in postorder and their calls."""
        rules, tick = self.rules, self.tick
        waiting, reached = [start], []
        start.reached = True
        while waiting:
            facts = waiting.pop()
            reached.append(facts)
            part, order, calls = facts.part, facts.order, facts.calls
            nodes: list[Any] = [facts.body]
            while nodes:  # preorder from the right, reversed below to the postorder that is wanted
                if not len(order) & 31:
                    tick()
                node = nodes.pop()
                kind = type(node)
                if kind is Call:
                    name = node.name
                    callee = rules[name if type(name) is tuple else (part, name)]
                    calls.append(callee)
                    order.append(callee)
                    callee.uses += 1
                    if not callee.reached:
                        callee.reached = True
                        waiting.append(callee)
                    continue
                order.append(node)
                if kind is Sequence or kind is Alternatives:
                    nodes += node.parts
                elif kind is Repeat:
                    nodes.append(node.body)
            order.reverse()
            calls.reverse()
            facts.size = len(order)
        return reached

    def _find_derived(self, knot: list[RuleFacts]) -> None:
        """Fills in `derives` of mutually recursive rules (least fixpoint); all other rules that they call are known.
        For other rules `_make_term` reads it off the term.
        """
        users: dict[RuleFacts, set[RuleFacts]] = {facts: set() for facts in knot}
        for facts in knot:
            for callee in facts.calls:
                if callee in users:
                    users[callee].add(facts)
        waiting = knot[::-1]
        queued = set(waiting)
        while waiting:
            facts = waiting.pop()
            queued.discard(facts)
            if facts.derives == EMPTY_TEXT:
                continue
            found = self._derived(facts)
            if found > facts.derives:
                facts.derives = found
                for user in users[facts]:
                    if user not in queued:
                        queued.add(user)
                        waiting.append(user)

    def _derived(self, facts: RuleFacts) -> int:
        """What the rule derives, given what is known of the others now."""
        tick = self.tick
        values: list[int] = []
        for place, node in enumerate(facts.order):
            if not place & 31:
                tick()
            kind = type(node)
            if kind is RuleFacts:
                values.append(node.derives)
            elif kind is Text:
                values.append(TEXTS if node.data else EMPTY_TEXT)
            elif kind is Sequence or kind is Alternatives:
                first = len(values) - len(node.parts)
                joined = (
                    min(values[first:], default=EMPTY_TEXT)
                    if kind is Sequence
                    else max(values[first:], default=NO_TEXT)
                )
                del values[first:]
                values.append(joined)
            elif kind is Chars:
                values.append(TEXTS if node.chars else NO_TEXT)
            elif kind is Repeat:
                if not node.low:
                    values[-1] = EMPTY_TEXT
            elif kind is Foreign or kind is Token:
                values.append(TEXTS)
            else:
                values.append(_derived_by(self._term_of_leaf(node)))
        return values[-1]

    def is_alive(self, term: Term) -> bool:  # replaced by the program that runs this machine
        return term is not NOTHING

    def _term_of_leaf(self, node: Known | Pattern) -> Term:
        """The leaf's term; NOTHING where its language is empty."""
        if isinstance(node, Known):
            return self._if_alive(node.term)
        known = self.patterns.get(node.regex)
        if known is None:
            known = self.patterns[node.regex] = self._if_alive(parse_regex(node.regex, self.algebra))
        return known

    def _if_alive(self, term: Term) -> Term:
        return term if term.nullable or self.is_alive(term) else NOTHING

    # ------------------------------------------------------------------ which rules are inlined

    def _choose_inlined(self, knot: list[RuleFacts]) -> list[RuleFacts]:
        """Decides which rules of a component are inlined; returns them callees first."""
        kept: set[RuleFacts] = set()
        if len(knot) > 1 or knot[0] in knot[0].calls:
            kept = self._recursive(knot)
            inside = set(knot) - kept
            graph = {facts: [c for c in facts.calls if c in inside] for facts in knot}
            knot = [facts for component in components(graph, self.tick) for facts in component]
        for facts in knot:
            parts = [c for c in facts.calls if c.inlined]
            facts.size += sum([c.size - 1 for c in parts])
            facts.reads_many = any(c.reads_many for c in parts) or any(map(_reads_many, facts.order))
            repeats = facts.reads_many and any(type(node) is Repeat for node in facts.order)
            facts.is_wide = repeats or any(c.is_wide for c in parts)
            is_short = facts.size <= SHORT and not facts.is_wide
            facts.inlined = facts not in kept and (facts.size <= USED_ONCE if facts.uses == 1 else is_short)
        return knot

    def _recursive(self, knot: list[RuleFacts]) -> set[RuleFacts]:
        """A set of rules that breaks all recursion (feedback vertex set, greedily): directly recursive rules, else the most called,
        repeatedly."""
        kept: set[RuleFacts] = set()
        graph = {facts: facts.calls for facts in knot}
        knots = [knot]
        while knots:
            knot = knots.pop()
            inside = set(knot)
            if len(knot) > MANY:
                kept |= inside
                continue
            selfish = [facts for facts in knot if facts in graph[facts]]
            kept |= set(selfish or [max(knot, key=lambda facts: facts.uses)])
            inside -= kept
            smaller = {facts: [c for c in graph[facts] if c in inside] for facts in knot if facts in inside}
            knots += [c for c in components(smaller, self.tick) if len(c) > 1 or c[0] in smaller[c[0]]]
        return kept

    # ------------------------------------------------------------------ terms

    def _call(self, key: Key) -> Term:
        index = self.call_of.get(key)
        if index is None:
            index = self.call_of[key] = len(self.calls)
            self.calls.append(Callee(key, self.foreign.get(key)))
        return self.algebra.chars(((1 << (FIRST_CALL + index), None),))

    def _make_term(self, facts: RuleFacts) -> None:
        algebra, tick = self.algebra, self.tick
        values: list[Term] = []
        for place, node in enumerate(facts.order):
            if not place & 31:
                tick()
            kind = type(node)
            if kind is RuleFacts:
                values.append(self._called(node))
            elif kind is Text:
                values.append(algebra.word(node.data))
            elif kind is Sequence or kind is Alternatives:
                first = len(values) - len(node.parts)
                joined = algebra.sequence(values[first:]) if kind is Sequence else self._any_of(node, values[first:])
                del values[first:]
                values.append(joined)
            elif kind is Chars:
                values.append(algebra.chars(utf8.encode(node.chars)))
            elif kind is Repeat:
                high = FOREVER if node.high is None else node.high
                values.append(algebra.repeat(values.pop(), node.low, high))
            elif kind is Foreign:
                values.append(self._call(node.key))
            elif kind is Token:
                values.append(self._token(node))
            else:
                values.append(self._term_of_leaf(node))
        facts.term = values[-1]
        facts.derives = facts.derives or _derived_by(facts.term)
        facts.inlined = facts.inlined and facts.term.depth <= DEEPEST

    def _any_of(self, node: Alternatives, terms: list[Term]) -> Term:
        words = [part.data for part in node.parts if type(part) is Text]
        if len(words) < 2:
            return self.algebra.alt(terms)
        others = [term for part, term in zip(node.parts, terms, strict=True) if type(part) is not Text]
        return self.algebra.alt([self.algebra.words(words), *others])

    def _token(self, node: Token) -> Term:
        """The token's id: one letter, whatever names it has."""
        token = self.token_id(node.name, node.position)
        if token is None:
            return self.algebra.word(str(node.name).encode(errors="replace"))
        self.tokens[token] = None
        return self._call(("token", token))

    def _called(self, facts: RuleFacts) -> Term:
        if facts.derives == NO_TEXT:
            return NOTHING
        if facts.inlined and facts.term is not None:
            return facts.term
        call = self._call(facts.key)
        return self.algebra.alt((NIL, call)) if facts.derives == EMPTY_TEXT else call

    def _term_of(self, facts: RuleFacts) -> Term:
        assert facts.term is not None
        return facts.term


def _reads_many(node: object) -> bool:
    return type(node) is Chars and sum(high - low + 1 for low, high in node.chars) >= WIDE


def _derived_by(term: Term) -> int:
    """What a term derives, where an empty language is always NOTHING."""
    return EMPTY_TEXT if term.nullable else NO_TEXT if term is NOTHING else TEXTS
