"""Bodies of rules as trees, and what their operators become.

Which name a new rule or an unnamed terminal gets depends on the order in which lark comes upon it: deepest brackets first, and from
left to right among those of equal depth (`in_order_of_lark`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product

from grammarlm.grammars.lark.guard import is_terminal
from grammarlm.grammars.lark.text import Alternatives, Literal, Maybe, Name, Repeat, Sequence, Use

from .definitions import Named
from .result import Pattern, Rare, Symbol
from .terminals import literal_pattern

ALTERNATIVES, SEQUENCE, ALIAS, MAYBE, REPEAT, USE = range(6)
Option = tuple[tuple[Symbol, ...], str]  # an alternative without operators, and its alias or ""


class LeftOut(Symbol):
    """A terminal that lark's trees leave out: a string, or one whose name begins with an underscore."""


# In place of each child that a part in [ ] would have. Alternatives that differ in it alone are one rule twice, which lark refuses.
NOTHING = LeftOut("", True)


class Node:
    __slots__ = ("children", "detail", "kind")

    def __init__(self, kind: int, children: list[Part], detail: str | Repeat = ""):
        self.kind, self.children, self.detail = kind, children, detail


Part = Node | Symbol | Pattern


def tree(rule: Named) -> Node:
    """The tree of a rule's body."""
    stack: list[Part] = []

    def taken(length: int) -> list[Part]:
        parts = stack[len(stack) - length :]
        del stack[len(stack) - length :]
        return parts

    for op in rule.code or ():
        match op:
            case Name(name):
                kind = LeftOut if name.startswith("_") else Symbol
                mangled = rule.scope.mangle(name)
                stack.append(rule.arguments.get(mangled) or kind(mangled, is_terminal(name)))
            case Use(name, length):
                template = rule.scope.mangle(name)
                if template in rule.arguments:
                    template = rule.arguments[template].name
                stack.append(Node(USE, taken(length), template))
            case Literal(text):
                stack.append(literal_pattern(text))
            case Sequence(length, _, alias):
                node = Node(SEQUENCE, taken(length))
                stack.append(Node(ALIAS, [node], alias) if alias else node)
            case Alternatives(length):
                stack.append(Node(ALTERNATIVES, taken(length)))
            case Maybe():
                stack.append(Node(MAYBE, taken(1)))
            case Repeat():
                stack.append(Node(REPEAT, taken(1), op))
    (root,) = stack
    if not isinstance(root, Node):
        raise Rare
    return root


def in_order_of_lark(root: Node) -> list[Node]:
    nodes = [root]
    for node in nodes:  # grows during the loop
        nodes += [child for child in reversed(node.children) if isinstance(child, Node)]
    return nodes[::-1]


def identity(part: Part) -> object:
    """Equal for parts that are written alike."""
    if not isinstance(part, Node):
        return part
    return part.kind, tuple([identity(child) for child in part.children])


def options(root: Node, tick: Callable[[], None]) -> Iterator[Option]:
    """The alternatives of a body, multiplied out, each once."""
    found: dict[Option, None] = {}
    for child in root.children:
        alias, body = "", child
        if isinstance(child, Node) and child.kind == ALIAS:
            alias, body = str(child.detail), child.children[0]
        found.update(dict.fromkeys((symbols, alias) for symbols in multiplied(body, tick)))
    return iter(found)


def multiplied(part: Part, tick: Callable[[], None]) -> list[tuple[Symbol, ...]]:
    """Without operators: (a|b) c becomes a c, b c."""
    if isinstance(part, Symbol):
        return [(part,)]
    if isinstance(part, Pattern) or part.kind not in {ALTERNATIVES, SEQUENCE}:  # an alias within brackets
        raise Rare
    tick()
    parts = [multiplied(child, tick) for child in part.children]
    if part.kind == ALTERNATIVES:
        return [symbols for child in parts for symbols in child]
    return [tuple([symbol for symbols in choice for symbol in symbols]) for choice in product(*parts)]
