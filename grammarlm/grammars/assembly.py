"""A description with stacks somewhere in it becomes one pushdown grammar.

Parts that are regular become terms as they always do; readers give rules for the others; what combines them becomes rules, too.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from .compose import Choice, Combination, Grammar, Sequence
from .lark import Lark, read_lark
from .lark_parser import LarkParser, lexeme, rules_over_lexemes
from .pushdown import Entrance, Foreign, Known, Pushdown
from .regular import Algebra
from .rules import Alternatives, Call, Node
from .rules import Sequence as InOrder
from .rules import Token as NamedToken
from .special_token import Token
from .terms import Term
from .top_level import refuse_nested, split

WHOLE = "(whole)"


def needs_stack(grammar: Grammar) -> bool:
    """Is there a part that is not regular, or a special token, which is no text?"""
    waiting = [grammar]
    while waiting:
        part = waiting.pop()
        if isinstance(part, Combination):
            waiting += part.parts
        elif isinstance(part, (Lark, Token)) or hasattr(part, "rules"):
            return True
    return False


@dataclass(frozen=True)
class Assembly:
    """All parts' rules, the rule that whole texts follow, and the LR parsers among the parts."""

    machine: Pushdown
    start: tuple[int, str]
    border: Term  # what whole texts must satisfy besides
    is_lark: bool  # the whole is one Lark grammar, but for its border
    parsers: list[LarkParser]


def assemble(
    grammar: Grammar,
    algebra: Algebra,
    token_id: Callable[[str | int, int], int],
    max_depth: int,
    tick: Callable[[], None],
) -> Assembly:
    """`token_id` tells the id of a special token by what the grammar calls it and where it does."""
    machine = Pushdown(algebra, tick, token_id)
    parts = 0
    parsers: list[LarkParser] = []
    lr_states = 0
    entrances: dict[Grammar, tuple[str, int]] = {}

    def node_of(part: Grammar) -> Node | Known:
        nonlocal parts, lr_states
        if not needs_stack(part):
            return Known(part.language(algebra))
        if isinstance(part, (Sequence, Choice)):
            nodes = tuple(node_of(p) for p in part.parts)
            return InOrder(nodes) if isinstance(part, Sequence) else Alternatives(nodes)  # type: ignore[arg-type]
        if isinstance(part, Combination):
            raise refuse_nested(part)
        if isinstance(part, Token):
            return NamedToken(part.name, 0)
        if part in entrances:  # the same grammar twice
            return Foreign(entrances[part])  # type: ignore[return-value]
        parts += 1
        if isinstance(part, Lark):
            parser = read_lark(part, algebra, max_depth, tick)
            parsers.append(parser)
            if parser.tables is not None:
                entrances[part] = ("lr", parts)
                machine.foreign["lr", parts] = Entrance(lr_states + parser.tables.start)
                lr_states += len(parser.tables.action)
                return Foreign(("lr", parts))  # type: ignore[return-value]
            assert parser.productions is not None
            rules = rules_over_lexemes(parser.productions)
            for index in range(len(parser.lexer.terminals)):
                machine.foreign["lexeme", parts, index] = parser.lexer.start([index], [])
                machine.add_rules(parts, {lexeme(index): Foreign(("lexeme", parts, index))})  # type: ignore[dict-item]
        else:
            rules = part.rules(tick)  # type: ignore[attr-defined]
        machine.add_rules(parts, rules.bodies)
        return Call((parts, rules.start), 0)  # type: ignore[arg-type]

    whole = split(grammar, needs_stack, algebra)
    machine.add_rules(0, {WHOLE: node_of(whole.grammar)})  # type: ignore[dict-item]
    return Assembly(machine, (0, WHOLE), whole.border, isinstance(whole.grammar, Lark), parsers)
