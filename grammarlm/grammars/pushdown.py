"""Rules with recursion as terms: what a pushdown automaton is made from.

A rule's body is a term (terms.py) whose letters are bytes and **calls**: bit 256 + k of an edge's byte set stands for "here a text
of rule k". So derivatives make alternatives that begin alike into one state, whether they begin with a byte or with a call, and the
automaton of a rule is as lazy as that of a regular expression. What a state can do besides reading a byte is its calls, each with
the state to return to, and, where its term contains the empty text, to end.

Three things are done before, all of which keep the language:

1. Rules that derive no text at all are taken out (a call of one is the empty language), so that no state is a dead end.
2. A rule that does not contain itself, and is short or used once, is put where it is called: fewer threads, fewer stacks. Of rules
   that contain each other as few as possible stay rules.
3. A rule that begins with itself would be called for ever. With A = A x | b it is A = b x*; rules that begin with each other are
   first put into each other, in order. A call of a rule that may be empty is "nothing, or the rule without its empty text".
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, field

from ..errors import LimitExceeded, UnsatisfiableGrammar
from . import utf8
from .regex_syntax import parse_regex
from .regular import EVERY_BYTE, Algebra
from .rules import Alternatives, Call, Chars, Node, Repeat, Sequence, Text, Token
from .terms import ALT, CAT, FOREVER, NIL, NOTHING, Term

FIRST_CALL = 256  # the bit of call 0
SHORT, USED_ONCE = 40, 400  # nodes of a rule that is put where it is called
DEEPEST = 20  # nesting of a rule that is
MANY = 300  # rules that contain each other, above which no least set is looked for

Key = Hashable  # a rule: (part of the grammar, name)


@dataclass(frozen=True, slots=True)
class Known:
    """A language at hand."""

    term: Term


@dataclass(frozen=True, slots=True)
class Foreign:
    """A call of something that is no rule: an LR parser, a lexeme. `maker` tells its start state when asked."""

    key: Key


@dataclass(frozen=True)
class Entrance:
    """The state before an LR parser begins."""

    lr_state: int


@dataclass
class Callee:
    """What a call leads to: a rule's term, or an object that the machine knows how to expand."""

    key: Key
    start: object = None


@dataclass
class RuleFacts:
    body: Node
    part: int
    calls: list[Key] = field(default_factory=list)
    order: list[Node] = field(default_factory=list)  # the nodes of the body, parts before wholes
    productive: bool = False
    nullable: bool = False
    inlined: bool = False
    term: Term | None = None
    size: int = 0


class Pushdown:
    """Rules of all parts of a grammar, joined; made ready by `solve`."""

    def __init__(self, algebra: Algebra, tick: Callable[[], None], token_id: Callable[[str | int, int], int]):
        self.algebra, self.tick, self.token_id = algebra, tick, token_id
        self.rules: dict[Key, RuleFacts] = {}
        self.foreign: dict[Key, object] = {}
        self.calls: list[Callee] = []
        self.call_of: dict[Key, int] = {}
        self.tokens: dict[int, None] = {}  # special tokens that the grammar names, in the order of their first names
        self.patterns: dict[str, Term] = {}

    def add_rules(self, part: int, bodies: dict[str, Node]) -> None:
        for name, body in bodies.items():
            self.rules[part, name] = RuleFacts(body, part)

    # ------------------------------------------------------------------ from nodes to terms

    def solve(self, start: Key) -> Term:
        """The start rule's term; every call that it leads to has a start state."""
        self._visit(start)
        self._spread("productive", start)
        if not self.rules[start].productive:
            raise UnsatisfiableGrammar(
                f"no text follows {self._name(start)!r}: each of its derivations contains itself for ever"
            )
        self._spread("nullable", start)
        self._choose_inlined(start)
        for key in self._order:
            self._make_term(key)
        self._end_left_recursion()
        return self._term_of(start)

    def _name(self, key: Key) -> str:
        return str(key[1]) if isinstance(key, tuple) else str(key)

    def _key(self, part: int, node: Call) -> Key:
        return node.name if isinstance(node.name, tuple) else (part, node.name)

    def _visit(self, start: Key) -> None:
        """The rules that the start leads to, their nodes in order, their calls."""
        waiting, seen = [start], {start}
        while waiting:
            key = waiting.pop()
            facts = self.rules[key]
            facts.order = list(self._post_order(facts.body))
            facts.size = len(facts.order)
            for node in facts.order:
                if isinstance(node, Call):
                    callee = self._key(facts.part, node)
                    facts.calls.append(callee)
                    if callee not in seen:
                        seen.add(callee)
                        waiting.append(callee)
        self.rules = {key: self.rules[key] for key in seen}
        graph = {key: facts.calls for key, facts in self.rules.items()}
        self._knots = components(graph, self.tick)  # callees first
        self._callees_first = [key for knot in self._knots for key in knot]

    def _post_order(self, body: Node) -> Iterator[Node]:
        stack: list[tuple[Node, bool]] = [(body, False)]
        while stack:
            self.tick()
            node, done = stack.pop()
            if done or not isinstance(node, (Sequence, Alternatives, Repeat)):
                yield node
                continue
            stack.append((node, True))
            parts = (node.body,) if isinstance(node, Repeat) else node.parts
            stack += [(part, False) for part in reversed(parts)]

    def _spread(self, what: str, start: Key) -> None:
        """Least fixpoint of a yes-or-no fact of rules: productive (derives a text) or nullable (derives the empty one)."""
        users: dict[Key, set[Key]] = {key: set() for key in self.rules}
        for key, facts in self.rules.items():
            for callee in facts.calls:
                users[callee].add(key)
        waiting = self._callees_first[::-1]
        queued = set(waiting)
        while waiting:
            key = waiting.pop()
            queued.discard(key)
            facts = self.rules[key]
            if getattr(facts, what):
                continue
            if self._holds(facts, what):
                setattr(facts, what, True)
                for user in users[key]:
                    if user not in queued:
                        queued.add(user)
                        waiting.append(user)

    def _holds(self, facts: RuleFacts, what: str) -> bool:
        values: list[bool] = []
        productive = what == "productive"
        for node in facts.order:
            self.tick()
            if isinstance(node, (Sequence, Alternatives)):
                count = len(node.parts)
                of_parts = values[len(values) - count :]
                del values[len(values) - count :]
                values.append(all(of_parts) if isinstance(node, Sequence) else any(of_parts))
            elif isinstance(node, Repeat):
                values.append(values.pop() or node.low == 0)
            elif isinstance(node, Call):
                values.append(getattr(self.rules[self._key(facts.part, node)], what))
            elif isinstance(node, (Foreign, Token)):
                values.append(productive)
            elif isinstance(node, Text):
                values.append(productive or not node.data)
            elif isinstance(node, Chars):
                values.append(productive and bool(node.chars))
            else:
                term = node.term if isinstance(node, Known) else self._pattern(node.regex)
                values.append(self._is_alive(term) if productive else term.nullable)
        return values[-1]

    def _is_alive(self, term: Term) -> bool:
        return self.is_alive(term)

    def is_alive(self, term: Term) -> bool:  # replaced by the program that runs this machine
        return term is not NOTHING

    def _pattern(self, regex: str) -> Term:
        if regex not in self.patterns:
            self.patterns[regex] = parse_regex(regex, self.algebra)
        return self.patterns[regex]

    # ------------------------------------------------------------------ which rules stay rules

    def _choose_inlined(self, start: Key) -> None:
        uses: dict[Key, int] = dict.fromkeys(self.rules, 0)
        for facts in self.rules.values():
            for callee in facts.calls:
                uses[callee] += 1
        kept = self._recursive(uses)
        graph = {key: [c for c in facts.calls if c not in kept] for key, facts in self.rules.items()}
        self._order = [key for component in components(graph, self.tick) for key in component]  # callees first
        for key in self._order:
            facts = self.rules[key]
            facts.size += sum(self.rules[c].size - 1 for c in facts.calls if self.rules[c].inlined)
            facts.inlined = key not in kept and facts.size <= (USED_ONCE if uses[key] == 1 else SHORT)

    def _recursive(self, uses: dict[Key, int]) -> set[Key]:
        """Rules without which no rule contains itself: of each knot the one that is called most, again and again."""
        kept: set[Key] = set()
        graph = {key: facts.calls for key, facts in self.rules.items()}
        knots = [c for c in self._knots if len(c) > 1 or c[0] in graph[c[0]]]
        while knots:
            knot = knots.pop()
            inside = set(knot)
            if len(knot) > MANY:
                kept |= inside
                continue
            selfish = [key for key in knot if key in graph[key]]
            kept |= set(selfish or [max(knot, key=lambda key: uses[key])])
            inside -= kept
            smaller = {key: [c for c in graph[key] if c in inside] for key in knot if key in inside}
            knots += [c for c in components(smaller, self.tick) if len(c) > 1 or c[0] in smaller[c[0]]]
        return kept

    # ------------------------------------------------------------------ terms

    def _call(self, key: Key) -> Term:
        index = self.call_of.get(key)
        if index is None:
            index = self.call_of[key] = len(self.calls)
            self.calls.append(Callee(key, self.foreign.get(key)))
        return self.algebra.chars(((1 << (FIRST_CALL + index), None),))

    def _make_term(self, key: Key) -> None:
        facts, algebra = self.rules[key], self.algebra
        values: list[Term] = []
        for node in facts.order:
            self.tick()
            if isinstance(node, (Sequence, Alternatives)):
                count = len(node.parts)
                of_parts = values[len(values) - count :]
                del values[len(values) - count :]
                values.append(self._joined(node, of_parts))
            elif isinstance(node, Repeat):
                high = FOREVER if node.high is None else node.high
                values.append(algebra.repeat(values.pop(), node.low, high))
            elif isinstance(node, Call):
                values.append(self._called(self._key(facts.part, node)))
            elif isinstance(node, Foreign):
                values.append(self._call(node.key))
            elif isinstance(node, Token):
                values.append(self._call(("token", self._token(node))))
            elif isinstance(node, Text):
                values.append(algebra.words([node.data]))
            elif isinstance(node, Chars):
                values.append(algebra.chars(utf8.encode(node.chars)) if node.chars else NOTHING)
            else:
                values.append(node.term if isinstance(node, Known) else self._pattern(node.regex))
        facts.term = values[-1]
        facts.inlined = facts.inlined and facts.term.depth <= DEEPEST

    def _joined(self, node: Sequence | Alternatives, terms: list[Term]) -> Term:
        if isinstance(node, Sequence):
            return self.algebra.sequence(terms)
        words = [part.data for part in node.parts if isinstance(part, Text)]
        if len(words) < 2:
            return self.algebra.alt(terms)
        others = [term for part, term in zip(node.parts, terms, strict=True) if not isinstance(part, Text)]
        return self.algebra.alt([self.algebra.words(words), *others])

    def _token(self, node: Token) -> int:
        """The token's id: one letter, whatever names it has."""
        token = self.token_id(node.name, node.position)
        self.tokens[token] = None
        return token

    def _called(self, key: Key) -> Term:
        facts = self.rules[key]
        if not facts.productive:
            return NOTHING
        if facts.inlined and facts.term is not None:
            return facts.term
        call = self._call(key)
        return self.algebra.alt((NIL, call)) if facts.nullable else call

    def _term_of(self, key: Key) -> Term:
        term = self.rules[key].term
        assert term is not None
        return term

    # ------------------------------------------------------------------ rules that begin with themselves

    def _end_left_recursion(self) -> None:
        """Gives each called rule its start state: its term without the empty text, beginning with no call of itself."""
        bodies: dict[int, Term] = {}
        for index, callee in enumerate(self.calls):
            if callee.key in self.rules:
                bodies[index] = self._nonempty(self._term_of(callee.key))
        first = {index: [c for c in self._first_calls(term) if c in bodies] for index, term in bodies.items()}
        for component in components(first, self.tick):
            if len(component) > 1 or component[0] in first[component[0]]:
                self._solve_component(component, bodies)
        for index, term in bodies.items():
            self.calls[index].start = term

    def _solve_component(self, component: list[int], bodies: dict[int, Term]) -> None:
        """Each rule's first calls of rules solved before are replaced by those, then A = A x | b becomes b x*."""
        algebra = self.algebra
        for place, index in enumerate(component):
            earlier = set(component[:place])
            term = bodies[index]
            while True:
                self.tick()
                begins = self._first_calls(term)
                replaced = [c for c in begins if c in earlier]
                if not replaced:
                    break
                if term.depth > algebra.max_depth - 2:
                    raise LimitExceeded("rules that begin with each other are too many; write them as repeats")
                parts = [self._first_kept(term, set(replaced))]
                parts += [algebra.cat(bodies[c], begins[c]) for c in replaced]
                term = algebra.alt(parts)
            if index in begins:
                again = self._without_powers(begins[index])
                term = algebra.cat(self._first_kept(term, {index}), algebra.repeat(again, 0, FOREVER))
            bodies[index] = term

    def _without_powers(self, body: Term) -> Term:
        """What is to be repeated: (a | a a)* is a*, with fewer ways to read a text."""
        if body.kind != ALT:
            return body
        parts = set(body.parts)
        for part in body.parts:
            pieces, rest = [], part
            while rest.kind == CAT:
                pieces.append(rest.parts[0])
                rest = rest.parts[1]
            if pieces and {*pieces, rest} <= parts - {part}:
                parts.discard(part)
        return self.algebra.alt(parts)

    def _first_calls(self, term: Term) -> dict[int, Term]:
        """The rules that a text of the term may begin with, and what follows each."""
        found: dict[int, list[Term]] = {}
        for bits, target in self.algebra.edges(term):
            for index in call_bits(bits):
                found.setdefault(index, []).append(target)
        return {index: self.algebra.alt(targets) for index, targets in found.items()}

    def _first_kept(self, term: Term, without: set[int]) -> Term:
        """The term's nonempty texts that do not begin with these calls."""
        mask = ~sum(1 << (FIRST_CALL + index) for index in without)
        algebra = self.algebra
        return algebra.alt(
            algebra.cat(algebra.chars(((bits & mask, None),)), target)
            for bits, target in algebra.edges(term)
            if bits & mask
        )

    def _nonempty(self, term: Term) -> Term:
        return self._first_kept(term, set()) if term.nullable else term


def call_bits(bits: int) -> Iterator[int]:
    """The calls in an edge's set."""
    bits >>= FIRST_CALL
    while bits:
        low = bits & -bits
        yield low.bit_length() - 1
        bits ^= low


def byte_bits(bits: int) -> int:
    return bits & EVERY_BYTE


def components(graph: dict, tick: Callable[[], None]) -> list[list]:
    """Strongly connected components, a component before those that lead to it (Tarjan's algorithm, with its own stack)."""
    index: dict = {}
    low: dict = {}
    on_path: set = set()
    path: list = []
    found: list[list] = []
    for root, begins in graph.items():
        if root in index:
            continue
        work = [(root, iter(begins))]
        index[root] = low[root] = len(index)
        path.append(root)
        on_path.add(root)
        while work:
            tick()
            node, targets = work[-1]
            for target in targets:
                if target not in graph:
                    continue
                if target not in index:
                    index[target] = low[target] = len(index)
                    path.append(target)
                    on_path.add(target)
                    work.append((target, iter(graph[target])))
                    break
                if target in on_path:
                    low[node] = min(low[node], index[target])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    component = []
                    while True:
                        member = path.pop()
                        on_path.discard(member)
                        component.append(member)
                        if member == node:
                            break
                    found.append(component)
    return found
