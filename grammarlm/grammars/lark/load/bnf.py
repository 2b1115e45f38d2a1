"""Rules without operators, as lark's loader makes them: a+ becomes a rule of its own, a | a a+; alternatives in brackets are
multiplied out; strings and regular expressions in rules become terminals."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from dataclasses import replace

from grammarlm.grammars.lark.text import Repeat

from .definitions import Named, Scope
from .result import Parts, Pattern, Rare, Rule, Symbol, TerminalDefinition
from .terminals import Patterns
from .trees import (
    ALTERNATIVES,
    MAYBE,
    NOTHING,
    REPEAT,
    SEQUENCE,
    USE,
    LeftOut,
    Node,
    Part,
    identity,
    in_order_of_lark,
    options,
    tree,
)

MOST_COPIES = 50  # lark makes more of rules that multiply: left to it
STARTS_NAME = {"Lu", "Ll", "Lt", "Lm", "Lo", "Mn", "Mc", "Pc"}  # categories of characters
IN_NAME = STARTS_NAME | {"Nd", "Nl"}
# What lark calls the terminals of strings that are no words.
NAMES = {
    ".": "DOT",
    ",": "COMMA",
    ":": "COLON",
    ";": "SEMICOLON",
    "+": "PLUS",
    "-": "MINUS",
    "*": "STAR",
    "/": "SLASH",
    "\\": "BACKSLASH",
    "|": "VBAR",
    "?": "QMARK",
    "!": "BANG",
    "@": "AT",
    "#": "HASH",
    "$": "DOLLAR",
    "%": "PERCENT",
    "^": "CIRCUMFLEX",
    "&": "AMPERSAND",
    "_": "UNDERSCORE",
    "<": "LESSTHAN",
    ">": "MORETHAN",
    "=": "EQUAL",
    '"': "DBLQUOTE",
    "'": "QUOTE",
    "`": "BACKQUOTE",
    "~": "TILDE",
    "(": "LPAR",
    ")": "RPAR",
    "{": "LBRACE",
    "}": "RBRACE",
    "[": "LSQB",
    "]": "RSQB",
    "\n": "NEWLINE",
    "\r\n": "CRLF",
    "\t": "TAB",
    " ": "SPACE",
}


def assemble(scope: Scope, start: str, kept: set[str], tick: Callable[[], None]) -> Parts:
    """All of the grammar that the start rule reaches; terminals also where they are ignored or among `kept`."""
    patterns = Patterns()
    rules: list[Named] = []
    terminals: list[TerminalDefinition] = []
    for named in scope.named.values():
        tick()
        if not named.is_terminal:
            rules += [] if named.parameters else [named]
        elif named.code is not None:
            terminals.append(TerminalDefinition(named.name, patterns.of(named), named.priority))
    maker = RuleMaker(scope, rules, terminals, tick)
    made = [(named.name, named.priority, maker.without_operators(named)) for named in rules]  # grows during the loop
    made += [(name, 0, root) for name, root in maker.repeats]
    if len({name for name, *_ in made}) != len(made):
        raise Rare
    found = reachable(distinct([rule for one in made for rule in expanded(*one, tick)]), start)
    used = kept.union(scope.ignored, (symbol.name for rule in found for symbol in rule.expansion if symbol.is_terminal))
    return Parts([terminal for terminal in maker.terminals if terminal.name in used], found, scope.ignored)


def expanded(name: str, priority: int, root: Node, tick: Callable[[], None]) -> list[Rule]:
    found = []
    for symbols, alias in options(root, tick):
        if alias and name.startswith("_"):
            raise Rare
        found.append(Rule(name, tuple([symbol for symbol in symbols if symbol is not NOTHING]), priority))
    return found


def distinct(rules: list[Rule]) -> list[Rule]:
    """A rule may be empty in several ways, and nothing else twice."""
    found: dict[tuple[str, tuple[Symbol, ...]], Rule] = {}
    for rule in rules:
        if found.setdefault(rule[:2], rule) is not rule and rule.expansion:
            raise Rare
    return [*found.values()]


def reachable(rules: list[Rule], start: str) -> list[Rule]:
    """Drops rules that no other uses, until there are none."""
    count = 0
    while count != len(rules):
        count = len(rules)
        used = {start}
        for origin, expansion, _ in rules:
            used.update(symbol.name for symbol in expansion if not symbol.is_terminal and symbol.name != origin)
        rules = [rule for rule in rules if rule.origin in used]
    return rules


def is_word(text: str) -> bool:
    if text.isascii():
        return text.replace("_", "a").isalnum() and not text[0].isdigit()
    kinds = [character == "_" or unicodedata.category(character) for character in text]
    return all(kind is True or kind in IN_NAME for kind in kinds) and (kinds[0] is True or kinds[0] in STARTS_NAME)


class RuleMaker:
    """Takes operators out of one rule after the other. Templates with their arguments are added to `rules`, strings to `terminals`;
    `repeats` are the rules of a+ and a*."""

    def __init__(self, scope: Scope, rules: list[Named], terminals: list[TerminalDefinition], tick: Callable[[], None]):
        self.scope, self.rules, self.terminals, self.tick = scope, rules, terminals, tick
        self.names = {terminal.name for terminal in terminals}
        self.of_pattern = {terminal.pattern: terminal.name for terminal in terminals}
        self.repeats: list[tuple[str, Node]] = []
        self.repeated: dict[object, Symbol] = {}
        self.instances: set[str] = set()
        self.unnamed = 0
        self.rule: Named | None = None  # that is being read

    def without_operators(self, rule: Named) -> Node:
        if rule.code is None:
            raise Rare
        self.rule = rule
        root = tree(rule)
        for node in in_order_of_lark(root):
            self.tick()
            children = node.children
            for at, child in enumerate(children):
                if isinstance(child, Pattern):
                    children[at] = self.terminal(child)
                elif isinstance(child, Symbol):
                    self.check_defined(child)
                elif child.kind == MAYBE:
                    children[at] = self.maybe(child)
                elif child.kind == REPEAT:
                    children[at] = self.repeat(child)
                elif child.kind == USE:
                    children[at] = self.instance(child)
        return root

    def instance(self, node: Node) -> Symbol:
        """The rule that a template with these arguments stands for."""
        arguments = [child for child in node.children if isinstance(child, Symbol)]
        template = self.scope.named.get(str(node.detail))
        if template is None or template.code is None or len(template.parameters) != len(arguments):
            raise Rare
        name = f"{template.name}{{{','.join(argument.name for argument in arguments)}}}"
        if name not in self.instances:
            self.instances.add(name)
            named = dict(zip(template.parameters, arguments, strict=True))
            self.rules.append(replace(template, name=name, parameters=(), arguments=named))
        return Symbol(name, False)

    def check_defined(self, symbol: Symbol) -> None:
        if symbol.name not in self.scope.named and symbol.name not in self.instances and symbol.name not in self.names:
            raise Rare

    def terminal(self, pattern: Pattern) -> Symbol:
        """The terminal of a string or regular expression; it is named after the string if that name is free."""
        name = self.of_pattern.get(pattern)
        if name is None and pattern.kind == "str":
            text = pattern.value
            name = NAMES.get(text) or (text.upper() if is_word(text) else None)
            if name in self.names:
                name = None
        if name is None:
            name = f"__ANON_{self.unnamed}"
            self.unnamed += 1
        if name not in self.names:
            self.names.add(name)
            self.of_pattern[pattern] = name
            self.terminals.append(TerminalDefinition(name, pattern))
        return LeftOut(name, True) if pattern.kind == "str" else Symbol(name, True)

    def maybe(self, node: Node) -> Node:
        (inner,) = node.children
        return Node(ALTERNATIVES, [inner, Node(SEQUENCE, [NOTHING] * self.size(inner))])

    def size(self, part: Part) -> int:
        """How many children a part has at most in lark's trees."""
        if isinstance(part, Symbol):
            if not part.is_terminal:
                return int(not part.name.startswith("_"))
            assert self.rule is not None
            return int(part is not NOTHING and (self.rule.keeps_all or not isinstance(part, LeftOut)))
        assert isinstance(part, Node)
        if part.kind not in {ALTERNATIVES, SEQUENCE}:
            raise Rare
        sizes = [self.size(child) for child in part.children]
        return max(sizes) if part.kind == ALTERNATIVES else sum(sizes)

    def repeat(self, node: Node) -> Part:
        (inner,) = node.children
        op = node.detail
        assert isinstance(op, Repeat)
        match op.operator:
            case "?":
                return Node(ALTERNATIVES, [inner, Node(SEQUENCE, [])])
            case "+":
                return self.one_or_more("plus", inner)
            case "*":
                return Node(ALTERNATIVES, [self.one_or_more("star", inner), Node(SEQUENCE, [])])
            case _:
                if op.high >= MOST_COPIES:
                    raise Rare
                return Node(ALTERNATIVES, [Node(SEQUENCE, [inner] * n) for n in range(op.low, op.high + 1)])

    def one_or_more(self, what: str, inner: Part) -> Symbol:
        """The rule that repeats a part; the same part is repeated by one rule, wherever it occurs."""
        key = identity(inner)
        found = self.repeated.get(key)
        if found is None:
            assert self.rule is not None
            found = self.repeated[key] = Symbol(f"__{self.rule.name}_{what}_{len(self.repeats)}", False)
            again = Node(ALTERNATIVES, [Node(SEQUENCE, [inner]), Node(SEQUENCE, [found, inner])])
            self.repeats.append((found.name, again))
        return found
