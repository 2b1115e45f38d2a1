"""How large a rule or terminal of Lark's notation becomes inside lark, and what that costs, without expanding it.

lark multiplies alternatives out: `(a | b) (c | d)` becomes four rules, k optional parts 2^k; and it copies the body of a repeat. A
size counts the result part by part, from the postfix code of a body: numbers multiply where lark would copy.

    (a | b) c?          two groups of two options: 4 options, 2 * (1 + 1) + 2 * (1 + 0) = 6 symbols

Costs are microseconds, measured with lark 1.3 on one core of a Xeon server with Python 3.11: they bound work, they do not predict
it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from grammarlm.errors import GrammarError, LimitExceeded

from .scanner import error
from .text import Alternatives, Code, Definition, Literal, Maybe, Name, Repeat, Sequence, Use

PER_OPTION, PER_SYMBOL, PER_VISIT, PER_NAME, PER_LITERAL = 8.0, 1.0, 1.0, 10.0, 40.0
PER_TERMINAL_LEAF, PER_CHARACTER, PER_PARSED_CHARACTER = 100.0, 0.7, 1.5
SMALL_REPEATS, REPEAT_FACTOR = 50, 5  # from 50 repeats on, lark splits `~` into rules of up to 5 copies
MOST_GROUPS = 100  # brackets and optional parts in one sequence: lark multiplies them out by recursion
MOST_REPEATS = 2**32 - 2  # what Python's `re` takes in {n,m}
ESCAPES = re.compile(r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(.))", re.DOTALL)
REGEXP_PARTS = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]?|\(|\)|\{[0-9]*,?[0-9]*\}", re.DOTALL)


class Budget:
    """What lark may still spend: symbols that rules expand to, and microseconds."""

    def __init__(self, text: str, max_depth: int, max_size: int, max_work: float, tick: Callable[[], None]):
        self.text, self.max_depth, self.max_size, self.max_work, self.tick = text, max_depth, max_size, max_work, tick
        self.symbols, self.work = 0, 0.0

    def error(self, message: str, at: int, kind: type[GrammarError] = GrammarError) -> GrammarError:
        return error(self.text, message, at, kind)

    def grow(self, symbols: int, at: int, what: str) -> None:
        self.symbols += symbols
        if self.symbols > self.max_size:
            raise self.error(f"{what} to more than {self.max_size} symbols", at, LimitExceeded)

    def spend(self, work: float, at: int, what: str) -> None:
        self.work += work
        if self.work > self.max_work:
            message = f"{what} more than {self.max_work / 1e6:.1f} s in lark; make the grammar smaller"
            raise self.error(message, at, LimitExceeded)


class Size(NamedTuple):
    """What a part becomes: `options` alternatives with `symbols` in all, from a tree of `nodes`, at most `width` names in one.

    The sequence around a group multiplies it out; anything else is one symbol there.
    """

    options: int
    symbols: int
    nodes: int
    width: int
    group: bool = True


ONE_RULE = Size(1, 1, 1, 0, group=False)
NOTHING = Size(1, 0, 1, 0)


class RuleSizes:
    """Measures one body of a rule or template: `symbols`, `options` and `work` count it and the rules that its repeats add."""

    def __init__(self, body: Definition, budget: Budget):
        self.body, self.budget = body, budget
        self.symbols, self.options, self.work, self.nodes = 0, 0, 0.0, 0
        self.measure()

    def measure(self) -> None:
        stack: list[Size] = []
        for count, op in enumerate(self.body.code):
            if not count & 255:
                self.budget.tick()
            if isinstance(op, Sequence | Alternatives):
                parts = stack[len(stack) - op.length :]
                del stack[len(stack) - op.length :]
                stack.append(self.sequence(parts, op.at) if isinstance(op, Sequence) else self.alternatives(parts))
            elif isinstance(op, Use):
                del stack[len(stack) - op.length :]
                stack.append(ONE_RULE._replace(nodes=2 + op.length, width=int(not op.name.startswith("_"))))
            elif isinstance(op, Maybe):
                stack.append(self.maybe(stack.pop()))
            elif isinstance(op, Repeat):
                stack.append(self.repeat(stack.pop(), op))
            else:
                stack.append(self.leaf(op))
        whole = stack.pop()
        self.nodes = whole.nodes
        self.add_rule(whole, self.body.at)

    def add_rule(self, size: Size, at: int) -> Size:
        self.symbols += size.symbols + size.options
        self.options += size.options
        self.work += PER_OPTION * size.options + PER_SYMBOL * size.symbols
        if self.symbols > self.budget.max_size:
            message = f"{self.body.name} expands to more than {self.budget.max_size} symbols"
            raise self.budget.error(message, at, LimitExceeded)
        return ONE_RULE

    def leaf(self, op: Code) -> Size:
        if isinstance(op, Name):
            self.work += PER_NAME
            return ONE_RULE._replace(width=int(not op.name.startswith("_")))
        assert isinstance(op, Literal)
        literal_size(op, self.budget)
        self.work += PER_LITERAL + PER_CHARACTER * len(op.text)
        is_kept = self.body.keeps_all or op.text.startswith("/") or '".."' in op.text  # a regexp or a range
        return ONE_RULE._replace(width=int(is_kept))

    def alternatives(self, parts: list[Size]) -> Size:
        options = sum(p.options for p in parts)
        # For each group that it dissolves, lark moves the others.
        self.work += sum(p.options > 1 for p in parts) * options / 1000
        return Size(
            options, sum(p.symbols for p in parts), 1 + sum(p.nodes for p in parts), max(p.width for p in parts)
        )

    def sequence(self, parts: list[Size], at: int) -> Size:
        """The product of the groups: lark fixes an option of the first group, walks the remaining ones, and recurses into those."""
        groups = [p for p in parts if p.group]
        if len(groups) > MOST_GROUPS:
            message = f"more than {MOST_GROUPS} brackets and optional parts in one sequence; give some of them names"
            raise self.budget.error(message, at, LimitExceeded)
        plain = len(parts) - len(groups)
        trees = sum(1 + g.options for g in groups)
        leaves = plain + sum(g.symbols for g in groups)
        options = 1
        for g in groups:
            options *= g.options
            trees -= 1 + g.options
            leaves += g.symbols // g.options - g.symbols
            self.work += options * PER_VISIT * (2 + trees + 0.15 * leaves)
            if options > self.budget.max_size:
                message = f"the alternatives multiply out to more than {self.budget.max_size}; give some of them names"
                raise self.budget.error(message, at, LimitExceeded)
            if self.work > self.budget.max_work:
                message = f"multiplying the alternatives out takes more than {self.budget.max_work / 1e6:.1f} s in lark"
                raise self.budget.error(message, at, LimitExceeded)
        symbols = plain * options + sum(g.symbols * (options // g.options) for g in groups)
        return Size(options, symbols, 1 + sum(p.nodes for p in parts), sum(p.width for p in parts))

    def optional(self, size: Size, placeholders: int) -> Size:
        nodes = size.nodes + 2 + placeholders
        return Size(size.options + 1, size.symbols + placeholders, nodes, size.width)

    def maybe(self, size: Size) -> Size:
        """[...]: as alternative to the part, lark puts a placeholder for each name that the part would leave in the tree."""
        self.work += 3 * size.nodes
        return self.optional(size, size.width)

    def repeat(self, size: Size, op: Repeat) -> Size:
        if op.operator == "?":
            return self.optional(size, 0)
        self.work += 2 * size.nodes  # lark hashes the whole part, to find a rule that it can reuse
        if op.operator == "~":
            return self.counted(size, op) if op.high < SMALL_REPEATS else self.factored(size, op)
        rule = Size(2 * size.options, 2 * size.symbols + size.options, 2 * size.nodes + 4, 0)
        self.add_rule(rule, op.at)
        return ONE_RULE if op.operator == "+" else self.optional(ONE_RULE, 0)

    def counted(self, size: Size, op: Repeat) -> Size:
        """Few repeats are expanded: a~2..3 is a a | a a a."""
        return self.alternatives([self.sequence([size] * n, op.at) for n in range(op.low, op.high + 1)])

    def factored(self, size: Size, op: Repeat) -> Size:
        """Many repeats become rules of repeats: `low` of them, then up to `high - low`."""
        least = size
        for a, b in factors(op.low):
            least = self.add_rule(self.copies(a, least, b, size, op), op.at)
        if op.low == op.high:
            return least
        more, up_to = size, NOTHING
        pairs = factors(op.high - op.low + 1)
        for place, (a, b) in enumerate(pairs):
            fewer = [self.sequence([more] * n + [up_to], op.at) for n in range(a)]
            full = [self.copies(a, more, n, size, op) for n in range(b)]
            up_to = self.add_rule(self.alternatives(fewer + full), op.at)
            if place < len(pairs) - 1:
                more = self.add_rule(self.copies(a, more, b, size, op), op.at)
        return Size(1, 2, 4, 0)

    def copies(self, a: int, more: Size, b: int, single: Size, op: Repeat) -> Size:
        return self.sequence([more] * a + [single] * b, op.at)


def factors(n: int) -> list[tuple[int, int]]:
    """How lark splits a count: pairs (a, b) such that n starts as 1 and n = n * a + b is applied for each of them; a + b is at most
    5."""
    found = []
    while n > REPEAT_FACTOR:
        a = next(a for a in range(REPEAT_FACTOR, 1, -1) if a + n % a <= REPEAT_FACTOR)
        found.append((a, n % a))
        n //= a
    return [(n, 0), *reversed(found)]


class TerminalSize(NamedTuple):
    """The regular expression that lark writes for a part: `leaves` names and literals, `characters`, brackets `depth` deep."""

    leaves: int
    characters: int
    depth: int
    work: float


OUTSIDE = TerminalSize(20, 400, 1, 20 * PER_TERMINAL_LEAF)  # assumed size of an imported or declared terminal


def terminal_size(body: Definition, names: dict[str, TerminalSize], budget: Budget) -> TerminalSize:
    """The size of a terminal, given the sizes of those it uses: lark substitutes the regular expression of each name."""
    stack: list[TerminalSize] = []
    for count, op in enumerate(body.code):
        if not count & 255:
            budget.tick()
        if isinstance(op, Sequence | Alternatives):
            parts = stack[len(stack) - op.length :]
            del stack[len(stack) - op.length :]
            made = joined(parts, isinstance(op, Alternatives))
        elif isinstance(op, Name):
            made = names.get(op.name, OUTSIDE)
        elif isinstance(op, Literal):
            made = literal_size(op, budget)
        elif isinstance(op, Use):
            raise budget.error("a terminal cannot use a template", op.at)
        else:
            made = stack.pop()
            if isinstance(op, Repeat) and op.high > MOST_REPEATS:
                raise budget.error(f"a terminal repeats a part at most {MOST_REPEATS} times", op.at, LimitExceeded)
            made = made._replace(characters=made.characters + 30, depth=made.depth + 1)
        if made.leaves > budget.max_size or made.characters > 10 * budget.max_size or made.work > budget.max_work:
            message = f"terminal {body.name} becomes a regular expression of more than {budget.max_size} parts"
            raise budget.error(message, op.at, LimitExceeded)
        if made.depth > budget.max_depth:
            message = (
                f"terminal {body.name} becomes a regular expression with brackets more than {budget.max_depth} deep"
            )
            raise budget.error(message, op.at, LimitExceeded)
        stack.append(made)
    return stack.pop()


def joined(parts: list[TerminalSize], is_choice: bool) -> TerminalSize:
    leaves, characters = sum(p.leaves for p in parts), sum(p.characters for p in parts)
    depth, work = max((p.depth for p in parts), default=0), sum(p.work for p in parts)
    if is_choice and len(parts) > 1:
        work += PER_PARSED_CHARACTER * characters  # lark parses each option, to put the longest first
        characters, depth = characters + len(parts) + 4, depth + 1
    return TerminalSize(leaves, characters, depth, work)


def literal_size(literal: Literal, budget: Budget) -> TerminalSize:
    text = literal.text
    work = PER_TERMINAL_LEAF + PER_CHARACTER * len(text)
    if not text.startswith("/"):
        return TerminalSize(1, 2 * len(text), 1, work)
    return TerminalSize(1, len(text) + 20, 1 + regexp_depth(literal, budget), work)


def regexp_depth(literal: Literal, budget: Budget) -> int:
    """The nesting depth of parentheses in a regular expression, after lark has decoded \\x28 and the like."""
    regexp = literal.text
    if "\\x" in regexp or "\\u" in regexp or "\\U" in regexp:
        regexp = ESCAPES.sub(lambda m: m.group() if m[4] else chr(min(int(m[1] or m[2] or m[3], 16), 0x10FFFF)), regexp)
    depth = deepest = 0
    for match in REGEXP_PARTS.finditer(regexp):
        part = match.group()
        depth += (part == "(") - (part == ")")
        deepest = max(deepest, depth)
        if deepest > budget.max_depth:
            message = f"the parentheses of a regular expression are nested more than {budget.max_depth} deep"
            raise budget.error(message, literal.at, LimitExceeded)
        if part[0] == "{" and any(len(n) > 10 or int(n) > MOST_REPEATS for n in part[1:-1].split(",") if n):
            message = f"a regular expression repeats a part at most {MOST_REPEATS} times"
            raise budget.error(message, literal.at, LimitExceeded)
    return deepest
