"""Rules without operators, as lark's loader makes them: a+ becomes a rule of its own, a | a a+; alternatives in brackets are
multiplied out; strings and regular expressions in rules become terminals.

A body is read from its postfix code. What a piece of code stands for is a **part**: a symbol, a sequence or a choice of parts,
by number, so that equal parts are one; a part knows how many alternatives it has, and is multiplied out only where a rule is
made of it. Which name a new rule or an unnamed terminal gets depends on the order in which lark comes upon it: deepest brackets
first, and from left to right among those of equal depth (`in_order_of_lark`).
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import product

from grammarlm.grammars.lark.text import Alternatives, Code, Literal, Maybe, Name, Repeat, Sequence, Use

from .budget import Budget
from .definitions import Named, Scope
from .names import NAMES, is_word
from .result import Parts, Pattern, Rule, Symbols, TerminalDefinition
from .terminals import Patterns

SMALL_REPEATS, REPEAT_FACTOR = 50, 5  # from 50 repeats on, lark splits `~` into rules of up to 5 copies
# In place of each child that a part in [ ] would have. Alternatives that differ in it alone are one rule twice, which lark refuses.
NOTHING = -1
SEQUENCE, CHOICE = 0, 1
PLAIN = {Name, Literal, Sequence}

Options = list[tuple[int, ...]]  # alternatives without operators


def assemble(scope: Scope, start: str, kept: set[str]) -> Parts:
    """All of the grammar that the start rule reaches; terminals also where they are ignored or among `kept`."""
    maker = RuleMaker(scope)
    for body in maker.waiting:  # grows during the loop
        maker.read(body)
    for name, part, at in maker.repeats:
        maker.add(name, 0, [(one, "") for one in maker.parts.children[part]], at)
    symbols = maker.symbols
    rules = used_rules(maker.rules, symbols, start)
    used = {symbols.names[symbol] for rule in rules for symbol in rule.expansion if symbols.is_terminal[symbol]}
    used.update(kept, scope.ignored)
    return Parts(symbols, [terminal for terminal in maker.terminals if terminal.name in used], rules, scope.ignored)


def used_rules(rules: list[Rule], symbols: Symbols, start: str) -> list[Rule]:
    """Without those that no other uses, and then those that only these used."""
    uses: dict[int, set[int]] = {rule.origin: set() for rule in rules}
    for origin, expansion, _ in rules:
        uses[origin].update(symbol for symbol in expansion if symbol != origin and not symbols.is_terminal[symbol])
    users = dict.fromkeys(uses, 0)
    users[symbols(start, False)] = 1
    for its in uses.values():
        for symbol in its:
            users[symbol] = users.get(symbol, 0) + 1
    dropped = [origin for origin in uses if not users[origin]]
    for origin in dropped:  # grows during the loop
        for symbol in uses.pop(origin):
            users[symbol] -= 1
            if not users[symbol] and symbol in uses:
                dropped.append(symbol)
    return [rule for rule in rules if rule.origin in uses]


class PartTable:
    """Parts by number. `children` of a choice or a sequence; `sizes`: its alternatives, and the symbols in all of them."""

    def __init__(self, budget: Budget):
        self.budget = budget
        self.known: dict[int | tuple[int, ...], int] = {}
        self.is_choice: list[bool] = []
        self.children: list[tuple[int, ...]] = []
        self.sizes: list[tuple[int, int]] = []
        self.made: list[Options | None] = []

    def symbol(self, symbol: int) -> int:
        found = self.known.get(symbol)
        return self._new(symbol, False, (), (1, 1), [(symbol,)]) if found is None else found

    def choice(self, parts: list[int], at: int) -> int:
        key = CHOICE, *parts
        found = self.known.get(key)
        if found is not None:
            return found
        sizes = [self.sizes[part] for part in parts]
        size = sum(options for options, _ in sizes), sum(symbols for _, symbols in sizes)
        self.budget.check_size(sum(size), at)
        return self._new(key, True, tuple(parts), size, None)

    def sequence(self, parts: list[int], at: int) -> int:
        key = SEQUENCE, *parts
        found = self.known.get(key)
        if found is not None:
            return found
        options, symbols = 1, 0
        for part in parts:
            more, its_symbols = self.sizes[part]
            symbols = symbols * more + its_symbols * options
            options *= more
            self.budget.check_size(options + symbols, at)
        return self._new(key, False, tuple(parts), (options, symbols), None)

    def _new(
        self,
        key: int | tuple[int, ...],
        is_choice: bool,
        parts: tuple[int, ...],
        size: tuple[int, int],
        made: Options | None,
    ) -> int:
        number = self.known[key] = len(self.sizes)
        self.is_choice.append(is_choice)
        self.children.append(parts)
        self.sizes.append(size)
        self.made.append(made)
        return number

    def options(self, part: int) -> Options:
        """Multiplied out: (a|b) c becomes a c, b c."""
        waiting = [part]
        while waiting:
            part = waiting[-1]
            children, made = self.children[part], self.made
            missing = [child for child in children if made[child] is None]
            if made[part] is None and not missing:
                self.budget.tick()
                found = [made[child] or [] for child in children]
                if self.is_choice[part]:
                    made[part] = [symbols for its in found for symbols in its]
                else:
                    made[part] = [tuple([symbol for one in choice for symbol in one]) for choice in product(*found)]
            waiting.pop()
            if made[part] is None:
                waiting += [part, *missing]
        return self.made[part] or []


@dataclass
class Body:
    """A rule, or a template with arguments: of its parameters, symbols and whether lark's trees leave them out."""

    rule: Named
    name: str
    arguments: dict[str, tuple[int, bool]]


class RuleMaker:
    """Takes operators out of one rule after the other. Templates with their arguments are added to `waiting`, strings to
    `terminals`; `repeats` are the rules of a+, a* and large counts."""

    def __init__(self, scope: Scope):
        self.scope, self.budget, self.tick = scope, scope.budget, scope.budget.tick
        self.patterns = Patterns(self.budget)
        self.symbols, self.parts = Symbols(), PartTable(self.budget)
        self.rules: list[Rule] = []
        self.waiting: list[Body] = []
        self.terminals: list[TerminalDefinition] = []
        for named in scope.named.values():
            if named.is_terminal:
                if named.code is not None:
                    pattern = self.patterns.of(named)
                    self.terminals.append(TerminalDefinition(named.name, pattern, named.priority, named.at))
            elif named.code is None:
                raise self.budget.error(f"rule {named.name} is declared, not defined; only terminals can be", named.at)
            elif not named.parameters:
                self.waiting.append(Body(named, named.name, {}))
        self.terminal_names = {terminal.name for terminal in self.terminals}
        self.of_pattern = {terminal.pattern: terminal.name for terminal in self.terminals}
        self.of_leaf: dict[str, tuple[int, bool]] = {}  # of names and literals as written
        self.repeats: list[tuple[str, int, int]] = []  # name, part, place
        self.repeated: dict[object, int] = {}
        self.instances: dict[tuple, int] = {}
        self.unnamed = 0

    def read(self, body: Body) -> None:
        code = body.rule.code or []
        if all(type(op) in PLAIN and not (type(op) is Sequence and op.alias) for op in code[:-1]):
            self.read_plain(body, code)
        else:
            self.add(body.name, body.rule.priority, self.with_operators(body, code), body.rule.at)

    def add(self, name: str, priority: int, parts: list[tuple[int, str]], at: int) -> None:
        """The rules of a name: of each alternative, a part and its alias or ""."""
        sizes = [self.parts.sizes[part] for part, _ in parts]
        self.budget.grow(sum(options + symbols for options, symbols in sizes), name, at)
        written = dict.fromkeys((symbols, alias) for part, alias in parts for symbols in self.parts.options(part))
        if name.startswith("_") and (aliases := [alias for _, alias in written if alias]):
            message = f"an alias (-> {aliases[0]}) in {name}: rules whose names begin with an underscore have none"
            raise self.budget.error(message, at)
        bare = [tuple([symbol for symbol in symbols if symbol != NOTHING]) for symbols, _ in written]
        self.add_rules(name, priority, bare, at)

    def add_rules(self, name: str, priority: int, alternatives: Options, at: int) -> None:
        """A rule may be empty in several ways, and nothing else twice."""
        self.tick()
        found = dict.fromkeys(alternatives)
        if len(found) < len(alternatives):
            twice = Counter(alternatives)
            for symbols in found:
                if symbols and twice[symbols] > 1:
                    shown = " ".join(self.symbols.names[symbol] for symbol in symbols)
                    message = f"{name} has the alternative {shown:.60} twice, perhaps by parts that may be left out: [ ] and ?"
                    raise self.budget.error(message, at)
        origin = self.symbols(name, False)
        self.rules += [Rule(origin, symbols, priority) for symbols in found]

    def read_plain(self, body: Body, code: list[Code]) -> None:
        """A body without brackets, operators and aliases, as most are."""
        alternatives: dict[tuple[int, ...], None] = {}
        symbols: list[int] = []
        known = {} if body.arguments else self.of_leaf
        for op in code[:-1]:
            if type(op) is Sequence:
                alternatives[tuple(symbols)] = None
                symbols.clear()
            else:
                found = known.get(op[0])  # type: ignore[arg-type]  # a name or a literal, as written
                symbols.append((found or self.symbol_of(op, body))[0])
        self.budget.grow(len(code) - 1, body.name, body.rule.at)
        self.add_rules(body.name, body.rule.priority, [*alternatives], body.rule.at)

    def with_operators(self, body: Body, code: list[Code]) -> list[tuple[int, str]]:
        """Reads the deepest code first. `values`: of each place a part, and how many children lark's trees have of it."""
        self.tick()
        children, order = in_order_of_lark(code)
        # Of %extend, the new alternatives are the first of the others.
        tops = [top for one in children[-1] for top in ([one] if type(code[one]) is Sequence else children[one])]
        may_have_alias = set(tops)
        values: list[tuple[int, int]] = [(0, 0)] * len(code)
        for place in order:
            op, its = code[place], [values[child] for child in children[place]]
            parts = [part for part, _ in its]
            match op:
                case Name() | Literal():
                    values[place] = self.leaf(op, body)
                case Use():
                    values[place] = self.use(op, body, [code[child] for child in children[place]], parts)
                case Sequence(_, at, alias):
                    if alias and place not in may_have_alias:
                        message = f"an alias (-> {alias}) within brackets; only a whole alternative of a rule has one"
                        raise self.budget.error(message, at)
                    values[place] = self.parts.sequence(parts, at), sum(width for _, width in its)
                case Alternatives(_, at):
                    values[place] = self.parts.choice(parts, at), max(width for _, width in its)
                case Maybe(at):
                    ((inner, width),) = its
                    nothing = self.parts.sequence([self.parts.symbol(NOTHING)] * width, at)
                    values[place] = self.parts.choice([inner, nothing], at), width
                case Repeat():
                    values[place] = self.repeat(op, *its[0], body.name)
        return [(values[top][0], op.alias) for top in tops if isinstance(op := code[top], Sequence)]

    def leaf(self, op: Code, body: Body) -> tuple[int, int]:
        symbol, is_left_out = self.symbol_of(op, body)
        if self.symbols.is_terminal[symbol]:
            is_left_out = is_left_out and not body.rule.keeps_all
        else:
            is_left_out = self.symbols.names[symbol].startswith("_")
        return self.parts.symbol(symbol), int(not is_left_out)

    def symbol_of(self, op: Code, body: Body) -> tuple[int, bool]:
        """Of a name or a literal; and is it a terminal that lark's trees leave out, a string or one with an underscore?"""
        assert isinstance(op, Name | Literal)
        written = op[0]
        found = body.arguments.get(written) or self.of_leaf.get(written)
        if found is None:
            if isinstance(op, Literal):
                pattern = self.patterns.literal(op)
                found = self.terminal(pattern, op.at), pattern.kind == "str"
            else:
                found = self.symbols(written, self.scope.named[written].is_terminal), written.startswith("_")
            self.of_leaf[written] = found
        return found

    def terminal(self, pattern: Pattern, at: int) -> int:
        """The terminal of a string or regular expression; it is named after the string if that name is free."""
        name = self.of_pattern.get(pattern)
        if name is None and pattern.kind == "str":
            text = pattern.value
            name = NAMES.get(text) or (text.upper() if is_word(text) else None)
            if name in self.terminal_names:
                name = None
        if name is None:
            name = f"__ANON_{self.unnamed}"
            self.unnamed += 1
        if name not in self.terminal_names:
            self.terminal_names.add(name)
            self.of_pattern[pattern] = name
            self.terminals.append(TerminalDefinition(name, pattern, 0, at))
        return self.symbols(name, True)

    def use(self, op: Use, body: Body, arguments: list[Code], parts: list[int]) -> tuple[int, int]:
        """The rule that a template with these arguments stands for."""
        head = op.name
        if head in body.arguments:
            head = self.symbols.names[body.arguments[head][0]]
        template = self.scope.named.get(head)
        if template is None or template.code is None or not parts or len(template.parameters) != len(parts):
            raise self.budget.error(f"{op.name} stands for no template with {op.length} arguments", op.at)
        symbols = [self.parts.options(part)[0][0] for part in parts]
        found = self.instances.get((head, *symbols))
        if found is None:
            names = [self.symbols.names[symbol] for symbol in symbols]
            message = f"template {head} expands again and again, perhaps with longer and longer arguments"
            self.budget.write(len(template.code) + len(head) + sum(map(len, names)), message, template.at)
            name = f"{head}{{{','.join(names)}}}"
            found = self.instances[(head, *symbols)] = self.symbols(name, False)
            given = [(found, False) if isinstance(one, Use) else self.symbol_of(one, body) for one in arguments]
            given = [(symbol, left_out) for symbol, (_, left_out) in zip(symbols, given, strict=True)]
            self.waiting.append(Body(template, name, dict(zip(template.parameters, given, strict=True))))
        return self.parts.symbol(found), int(not head.startswith("_"))

    def repeat(self, op: Repeat, inner: int, width: int, name: str) -> tuple[int, int]:
        nothing = self.parts.sequence([], op.at)
        match op.operator:
            case "?":
                return self.parts.choice([inner, nothing], op.at), width
            case "+":
                return self.one_or_more("plus", inner, name, op.at), 0
            case "*":
                again = self.one_or_more("star", inner, name, op.at)
                return self.parts.choice([again, nothing], op.at), 0
        if op.high < SMALL_REPEATS:
            counts = range(op.low, op.high + 1)
            return self.parts.choice([self.parts.sequence([inner] * n, op.at) for n in counts], op.at), width * op.high
        return self.many(op, inner, name), 0

    def one_or_more(self, what: str, inner: int, name: str, at: int) -> int:
        """The rule that repeats a part; the same part is repeated by one rule, wherever it occurs."""

        found = self.repeated.get(inner)
        if found is None:
            own = f"__{name}_{what}_{len(self.repeats)}"
            found = self.repeated[inner] = self.parts.symbol(self.symbols(own, False))
            again = [self.parts.sequence([inner], at), self.parts.sequence([found, inner], at)]
            self.repeats.append((own, self.parts.choice(again, at), at))
        return found

    def many(self, op: Repeat, inner: int, name: str) -> int:
        """Large counts become rules of rules: `low` of them, then up to `high - low`."""

        def times(a: int, b: int, part: int) -> int:
            what = f"repeat_a{a}_b{b}"
            return self.new_rule((a, b, part, inner), name, what, [sequence([part] * a + [inner] * b)], op.at)

        def sequence(parts: list[int]) -> int:
            return self.parts.sequence(parts, op.at)

        least = inner
        for a, b in factors(op.low):
            least = times(a, b, least)
        if op.low == op.high:
            return least
        more, fewer = inner, sequence([])
        pairs = factors(op.high - op.low + 1)
        for place, (a, b) in enumerate(pairs):
            fewer_still = [sequence([more] * n + [fewer]) for n in range(a)]
            its = [*fewer_still, *(sequence([more] * a + [inner] * n) for n in range(b))]
            fewer = self.new_rule((a, b, more, fewer, inner), name, f"repeat_a{a}_b{b}_opt", its, op.at)
            if place < len(pairs) - 1:
                more = times(a, b, more)
        return self.parts.choice([sequence([least, fewer])], op.at)

    def new_rule(self, key: tuple[int, ...], name: str, what: str, alternatives: list[int], at: int) -> int:
        found = self.repeated.get(key)
        if found is None:
            own = f"__{name}_{what}_{len(self.repeats)}"
            found = self.repeated[key] = self.parts.symbol(self.symbols(own, False))
            self.repeats.append((own, self.parts.choice(alternatives, at), at))
        return found


def in_order_of_lark(code: list[Code]) -> tuple[list[list[int]], list[int]]:
    """The places of each piece's parts, and all places in the order in which lark comes upon them."""
    children: list[list[int]] = []
    stack: list[int] = []
    for place, op in enumerate(code):
        length = 1 if type(op) in (Maybe, Repeat) else getattr(op, "length", 0)
        children.append(stack[len(stack) - length :])
        stack[len(stack) - length :] = [place]
    depths = [0] * len(code)
    for place in range(len(code) - 1, -1, -1):
        op = code[place]
        below = depths[place] + (2 if isinstance(op, Sequence) and op.alias else 1)
        for child in children[place]:
            depths[child] = below
    return children, sorted(range(len(code)), key=lambda place: -depths[place])


def factors(n: int) -> list[tuple[int, int]]:
    """How lark splits a count: pairs (a, b) such that n starts as 1 and n = n * a + b is applied for each of them; a + b is at most
    5."""
    found = []
    while n > REPEAT_FACTOR:
        a = next(a for a in range(REPEAT_FACTOR, 1, -1) if a + n % a <= REPEAT_FACTOR)
        found.append((a, n % a))
        n //= a
    return [(n, 0), *reversed(found)]
