"""Turns a description with context-free parts into one pushdown grammar.

Regular parts become terms as usual; readers give rules for the others; the operators that combine them become rules, too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from grammarlm.grammars.compose import Choice, Combination, Grammar, Sequence, leaves
from grammarlm.grammars.items.special_token import Token
from grammarlm.grammars.lark.grammar import Lark, read_lark
from grammarlm.grammars.lark.lalr_states import Construct
from grammarlm.grammars.lark.parser import LarkParser, lexeme, rules_over_lexemes
from grammarlm.grammars.regular.derivatives import Algebra
from grammarlm.grammars.regular.terms import Term
from grammarlm.grammars.repeat import Repeat

from .pushdown import Entrance, Foreign, Known, Pushdown
from .rules import Alternatives, Call, Node, Rules
from .rules import Repeat as Times
from .rules import Sequence as InOrder
from .rules import Token as NamedToken
from .top_level import refuse_nested, split

WHOLE = "(whole)"


def needs_stack(grammar: Grammar) -> bool:
    """Is there a part that is not regular, or a special token, which is no text?"""
    return any(isinstance(part, (Lark, Token)) or hasattr(part, "rules") for part in leaves(grammar))


class Assembly:
    """The rules of all parts, the rule that whole texts follow, and the LR parsers among the parts."""

    def __init__(
        self,
        grammar: Grammar,
        algebra: Algebra,
        token_id: Callable[[str | int, int], int | None],
        construct: Construct,
        max_depth: int,
        tick: Callable[[], None],
    ):
        """`token_id` maps a special token's name and its position in the grammar to its id, None: it is text; `construct`: see
        `read_lark`."""
        self.algebra, self.construct, self.max_depth, self.tick = algebra, construct, max_depth, tick
        self.machine = Pushdown(algebra, tick, token_id)
        self.parsers: list[LarkParser] = []
        self._parts = self._lr_states = 0
        self._entrances: dict[Grammar, tuple[str, int]] = {}
        whole = split(grammar, needs_stack, algebra)
        self.start = 0, WHOLE
        self.border: Term = whole.border  # additional condition on whole texts
        self.is_lark = isinstance(whole.grammar, Lark)  # the whole is one Lark grammar, apart from its border
        self.machine.add_rules(0, {WHOLE: self._node_of(whole.grammar)})  # type: ignore[dict-item]

    def _node_of(self, part: Grammar) -> Node | Known:
        if not needs_stack(part):
            return Known(part.language(self.algebra))
        if isinstance(part, (Sequence, Choice)):
            nodes = tuple(self._node_of(p) for p in part.parts)
            return InOrder(nodes) if isinstance(part, Sequence) else Alternatives(nodes)  # type: ignore[arg-type]
        if isinstance(part, Combination):
            raise refuse_nested(part)
        if isinstance(part, Repeat):
            return self._repeat(part)
        if isinstance(part, Token):
            return NamedToken(part.name, 0)
        if part in self._entrances:  # the same grammar twice
            return Foreign(self._entrances[part])  # type: ignore[return-value]
        self._parts += 1
        if isinstance(part, Lark):
            parser = read_lark(part, self.algebra, self.construct, self.max_depth, self.tick)
            self.parsers.append(parser)
            if parser.tables is not None:
                entrance = self._entrances[part] = ("lr", self._parts)
                self.machine.foreign[entrance] = Entrance(self._lr_states + parser.tables.start)
                self._lr_states += len(parser.tables.action)
                return Foreign(entrance)  # type: ignore[return-value]
            rules = self._rules_over_lexemes(parser)
        else:
            rules = part.rules(self.tick)  # type: ignore[attr-defined]
        self.machine.add_rules(self._parts, rules.bodies)
        return Call((self._parts, rules.start), 0)  # type: ignore[arg-type]

    def _repeat(self, part: Repeat) -> Node:
        body: Any = self._node_of(part.part)
        if part.separator is None:
            return Times(body, part.min, part.max)
        further = InOrder((self._node_of(part.separator), body))  # type: ignore[arg-type]
        most = None if part.max is None else max(part.max - 1, 0)
        some = InOrder((body, Times(further, max(part.min - 1, 0), most)))
        return Times(some, min(part.min, 1), 0 if part.max == 0 else 1)

    def _rules_over_lexemes(self, parser: LarkParser) -> Rules:
        assert parser.productions is not None
        for index in range(len(parser.lexer.terminals)):
            key = ("lexeme", self._parts, index)
            self.machine.foreign[key] = parser.lexer.start([index], [])
            self.machine.add_rules(self._parts, {lexeme(index): Foreign(key)})  # type: ignore[dict-item]
        return rules_over_lexemes(parser.productions)
