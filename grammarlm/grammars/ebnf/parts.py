"""A grammar with ExcludeToken() or TokenTagDispatch() as parts: most of a vocabulary is a set of tokens, not letters of rules.

    root ::= "a" ExcludeToken(7)* list        Literal("a") + Repeat(Tokens(all but 7)) + RulesPart(list)
    list ::= "[" list* "]"

What has no such token in it stays rules, and may call itself. A rule that has one may not: parts follow each other, without a
stack. Beside them Token() is a part, too, so that it may be a token of ordinary text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import TypeGuard

from grammarlm.errors import GrammarError, LimitExceeded, UnsupportedFeature, brief
from grammarlm.grammars.cfg import rules as cfg
from grammarlm.grammars.cfg.components import components
from grammarlm.grammars.compose import Choice, Grammar, Literal
from grammarlm.grammars.derived import Specials, sequence
from grammarlm.grammars.items.tokens_by_name import TokensByName
from grammarlm.grammars.regular.regex import Regex
from grammarlm.grammars.repeat import MOST, Repeat

from .ebnf import Ebnf
from .scanner import Scanner

MACROS = "ExcludeToken", "TokenTagDispatch"
WHOLE = "(whole)"  # no name of EBNF


def has_tokens(grammar: Grammar) -> TypeGuard[Ebnf]:
    """May it be one with such tokens? As its text says, which is not read."""
    return isinstance(grammar, Ebnf) and any(name in grammar.text for name in MACROS)


def in_parts(grammar: Ebnf, specials: Specials) -> Grammar:
    """The grammar as parts; itself where its texts have no such token."""
    return _Parts(grammar, specials).whole


@dataclass(frozen=True, eq=False)
class RulesPart(Grammar):
    """The texts of a node, under the rules of its grammar."""

    source: Ebnf
    node: cfg.Node
    bodies: dict[str, cfg.Node]

    def __repr__(self) -> str:
        return f"a part of {brief(self.source, 100)}"

    def rules(self, tick: Callable[[], None]) -> cfg.Rules:
        return cfg.Rules(WHOLE, {WHOLE: self.node, **_reached(self.node, self.bodies, tick)})


class _Text(Scanner):
    NOTATION = "EBNF"


class _Parts:
    """The parts of one grammar. A node without a token in it has none, None: it stays rules, together with those beside it."""

    def __init__(self, source: Ebnf, specials: Specials):
        assert specials.vocab is not None
        self._source, self._tick, self._vocab = source, specials.tick, specials.vocab
        self._tokens = TokensByName(specials.vocab)
        rules = source.rules(specials.tick)
        self._bodies = {rules.start: rules.bodies[rules.start]}
        self._bodies |= _reached(self._bodies[rules.start], rules.bodies, specials.tick)
        self._with_others = set[str]()  # rules whose texts have a token that is none of some
        self._of_rule: dict[str, Grammar | None] = {}
        self._made: dict[cfg.Node, Grammar] = {}
        graph = {name: [call.name for call in _calls(body)] for name, body in self._bodies.items()}
        for knot in components(graph, self._tick):  # callees first
            self._read(knot, is_recursive=len(knot) > 1 or knot[0] in graph[knot[0]])
        found = self._of_rule[rules.start]
        self.whole = source if found is None or rules.start not in self._with_others else found

    def _read(self, knot: list[str], *, is_recursive: bool) -> None:
        """The parts of a rule, or of several that call each other."""
        for name in knot:
            nodes = list(_nodes(self._bodies[name]))
            other = next(filter(self._has_other, nodes), None)
            if other is not None and is_recursive:
                raise self._error(
                    f"the rule {name[:60]!r}, which calls itself, has ExcludeToken() or TokenTagDispatch() in it, which is not "
                    "supported; write what repeats with *, + or {m,n}",
                    other.position,
                    UnsupportedFeature,
                )
            if other is not None:
                self._with_others.add(name)
            has_parts = not is_recursive and any(map(self._is_part, nodes))
            self._of_rule[name] = self._of(self._bodies[name]) if has_parts else None

    def _has_other(self, node: cfg.Node) -> TypeGuard[cfg.OtherToken | cfg.Call]:
        return isinstance(node, cfg.OtherToken) or (isinstance(node, cfg.Call) and node.name in self._with_others)

    def _is_part(self, node: cfg.Node) -> bool:
        if isinstance(node, cfg.Call):
            return self._of_rule[node.name] is not None
        return isinstance(node, (cfg.OtherToken, cfg.Token))

    def _of(self, node: cfg.Node) -> Grammar | None:
        self._tick()
        if isinstance(node, cfg.Call):
            return self._of_rule[node.name]
        if isinstance(node, (cfg.OtherToken, cfg.Token)):
            return self._once(node, self._token)
        if isinstance(node, cfg.Repeat):
            body = self._of(node.body)
            return None if body is None else _repeated(body, node)
        if not isinstance(node, (cfg.Sequence, cfg.Alternatives)):
            return None
        if isinstance(node, cfg.Alternatives) and node.parts and all(isinstance(p, cfg.Token) for p in node.parts):
            return self._once(node, self._token)
        found = [(part, self._of(part)) for part in node.parts]
        if all(grammar is None for _, grammar in found):
            return None
        parts = list[Grammar]()
        for is_plain, run in groupby(found, lambda pair: pair[1] is None):
            if is_plain:
                nodes = tuple(part for part, _ in run)
                parts.append(self._once(nodes[0] if len(nodes) == 1 else type(node)(nodes), self._plain))
            else:
                parts += [grammar for _, grammar in run if grammar is not None]
        if isinstance(node, cfg.Sequence):
            return sequence(parts)
        return Choice(tuple(parts)) if len(parts) > 1 else parts[0]

    def _once(self, node: cfg.Node, make: Callable[[cfg.Node], Grammar]) -> Grammar:
        """One grammar for equal nodes: sets of tokens are large, and a part that occurs twice is made once."""
        if node not in self._made:
            self._made[node] = make(node)
        return self._made[node]

    def _plain(self, node: cfg.Node) -> Grammar:
        if isinstance(node, cfg.Text):
            return Literal(node.data.decode())
        return Regex(node.regex) if isinstance(node, cfg.Pattern) else RulesPart(self._source, node, self._bodies)

    def _token(self, node: cfg.Node) -> Grammar:
        if isinstance(node, cfg.OtherToken):
            self._check(node.excluded, node.position)
            try:
                return self._tokens.any_but(node.excluded, "")
            except GrammarError:
                raise self._error("no token is left: all are excluded", node.position) from None
        tokens = node.parts if isinstance(node, cfg.Alternatives) else (node,)
        ids = []
        for token in tokens:
            assert isinstance(token, cfg.Token)
            assert isinstance(token.name, int)
            self._check([token.name], token.position)
            if token.name in self._vocab.stop_ids:
                raise self._error(
                    f"the token {token.name} ends a text, so it cannot be part of one; leave it out", token.position
                )
            ids.append(token.name)
        return self._tokens.one_of(ids, "")

    def _check(self, tokens: Iterable[int], at: int) -> None:
        vocab = self._vocab
        for token in () if vocab.names_are_text else tokens:
            if token >= vocab.size or not vocab.token_bytes(token):
                raise self._error(f"the vocabulary has no token {token}", at)

    def _error(self, message: str, at: int, kind: type[GrammarError] = GrammarError) -> GrammarError:
        return _Text(self._source.text, self._tick).error(message, at, kind)


def _repeated(body: Grammar, node: cfg.Repeat) -> Grammar:
    if node.low > MOST:
        raise LimitExceeded(f"{{{node.low:,},}} of a token of EBNF; what repeats does so at most {MOST:,} times")
    return Repeat(body, node.low, None if node.high is None or node.high > MOST else node.high)


def _nodes(body: cfg.Node) -> Iterator[cfg.Node]:
    """A node and all in it."""
    waiting = [body]
    while waiting:
        node = waiting.pop()
        yield node
        if isinstance(node, (cfg.Sequence, cfg.Alternatives)):
            waiting += reversed(node.parts)
        elif isinstance(node, cfg.Repeat):
            waiting.append(node.body)


def _calls(body: cfg.Node) -> list[cfg.Call]:
    return [node for node in _nodes(body) if isinstance(node, cfg.Call)]


def _reached(body: cfg.Node, bodies: dict[str, cfg.Node], tick: Callable[[], None]) -> dict[str, cfg.Node]:
    """The rules that a node calls, and those that they call."""
    found, waiting = dict[str, cfg.Node](), [body]
    while waiting:
        tick()
        for call in _calls(waiting.pop()):
            if call.name not in found:
                found[call.name] = bodies[call.name]
                waiting.append(found[call.name])
    return found
