"""Refuses grammars that lark could not handle: the check before the lark library is called.

lark's loader has no limits. It multiplies alternatives out, copies terminals into each other and expands templates without bound: a
line like `_f{x}: _f{_f{x}} | x` keeps it busy until memory runs out. It walks nested brackets by recursion. This module reads the
same text in linear time, reports mistakes, and measures what lark would build:

    text.py    the statements, as postfix code
    sizes.py   what one body expands to
    here            names, templates (a worklist of instances), terminals inside terminals, passes over unused rules

lark's loader reads what passes within about `max_size` * 10 µs. Building a parser from the rules is other work, and bounds itself
(lalr_states.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from grammarlm.errors import LimitExceeded, UnsupportedFeature

from .sizes import Budget, RuleSizes, TerminalSize, terminal_size
from .text import Alternatives, Definition, LarkText, Literal, Name, Use, read_lark

MAX_SIZE = 100_000
WORK_PER_SYMBOL = 10.0  # microseconds that lark's loader may take for each symbol of `max_size`
SHIPPED = ("common", "lark", "python", "unicode")  # the grammars in lark's own package
DEEPEST = 64  # lark copies a template's brackets with nine stack frames each; Python's recursion limit is a thousand

PER_PIECE, PER_EMPTY_LINES, PER_DEPTH = (
    17.0,
    1 / 640,
    0.2,
)  # PER_EMPTY_LINES: lark's pattern for line ends takes time quadratic in their number
PER_COPIED_NODE, PER_SEARCHED_RULE, PER_PASSED_RULE = 15.0, 0.2, 1.0
PER_IMPORT = 60_000.0

Key = str | int  # an argument of a template: a name or literal as written, or the number of an instance


def check_lark(
    text: str,
    start: str = "start",
    *,
    max_depth: int = DEEPEST,
    max_size: int = MAX_SIZE,
    tick: Callable[[], None] = lambda: None,
) -> LarkText:
    """The statements of `text`. Raises where it is invalid (GrammarError), needs other files (UnsupportedFeature) or is too much
    for lark (LimitExceeded).

    `max_depth` bounds the nesting of brackets, `max_size` the symbols of all rules after lark's expansion, and with them lark's
    time. `tick` is called regularly and raises where the caller's time is over.
    """
    depth = min(max_depth, DEEPEST)
    budget = Budget(text, depth, max_size, WORK_PER_SYMBOL * max_size, tick)
    found = read_lark(text, max_depth=depth, max_pieces=int(budget.max_work / PER_PIECE), tick=tick)
    leaf_depths = sum(d.leaf_depths for d in found.definitions)
    budget.spend(PER_PIECE * found.pieces, 0, "reading this takes")
    budget.spend(PER_EMPTY_LINES * found.newlines, 0, "empty lines take")
    budget.spend(PER_DEPTH * leaf_depths, 0, "names deep in brackets take")
    grammar = collect(found, budget)
    grammar.check_names()
    grammar.check_start(start)
    measure_terminals(grammar, budget)
    rules = Expansion(grammar, budget)
    rules.expand()
    budget.spend(PER_PASSED_RULE * rules.passes_over_unused(start), 0, "finding unused rules takes")
    return found


@dataclass
class Grammar:
    """What the statements define: names with their bodies, and names whose bodies are elsewhere."""

    bodies: dict[str, Definition]
    outside: set[str]
    prefixes: tuple[str, ...]
    budget: Budget

    def is_outside(self, name: str) -> bool:
        """Imported or declared; an imported rule brings others, prefixed with its file's name: python__expr, _python__list."""
        return name in self.outside or (bool(self.prefixes) and name.startswith(self.prefixes))

    def check_names(self) -> None:
        for body in self.bodies.values():
            self.budget.tick()
            parameters = frozenset(body.parameters)
            for parameter in parameters:
                if parameter in self.bodies:
                    message = f"parameter {parameter} of {body.name} has the name of a rule"
                    raise self.budget.error(message, body.at)
            for op in body.code:
                if isinstance(op, Name | Use) and op.name not in parameters:
                    self.check_name(op, body)

    def check_name(self, op: Name | Use, body: Definition) -> None:
        used = self.bodies.get(op.name)
        if is_terminal(body.name) and not is_terminal(op.name):
            raise self.budget.error(f"terminal {body.name} uses rule {op.name}; only rules may use rules", op.at)
        if used is None and not self.is_outside(op.name):
            kind = "terminal" if is_terminal(op.name) else "template" if isinstance(op, Use) else "rule"
            raise self.budget.error(f"{kind} {op.name} is used but not defined", op.at)
        if used is not None and isinstance(op, Use) and op.length != len(used.parameters):
            message = f"{op.name} takes {len(used.parameters)} arguments, {op.length} are given"
            raise self.budget.error(message, op.at)

    def check_start(self, start: str) -> None:
        body = self.bodies.get(start)
        if is_terminal(start) or (body is None and not self.is_outside(start)):
            raise self.budget.error(f"the grammar has no rule {start!r} to start with", len(self.budget.text))
        if body is not None and body.parameters:
            raise self.budget.error(f"{start} is a template and cannot be the start", body.at)


def is_terminal(name: str) -> bool:
    return name.lstrip("_")[:1].isupper()


def collect(found: LarkText, budget: Budget) -> Grammar:
    """The definitions by name, with %override and %extend applied."""
    imported, prefixes = import_names(found, budget)
    declared = {name.name for name in found.declared}
    grammar = Grammar({}, imported | declared, prefixes, budget)
    bodies = grammar.bodies
    for body in found.definitions:
        before = bodies.get(body.name)
        if body.how in {"%override", "%extend"}:
            if before is None and not grammar.is_outside(body.name):
                raise budget.error(f"{body.how}: {body.name} is not defined before", body.at)
            if before is not None and body.how == "%extend":
                check_parameters(before, body, budget)
                both = [*before.code, *body.code, Alternatives(2, body.at)]
                bodies[body.name] = replace(before, code=both)
                continue
        elif before is not None or body.name in declared:  # an import may turn out to define nothing
            raise budget.error(f"{body.name} is defined twice", body.at)
        bodies[body.name] = body
    return grammar


def check_parameters(before: Definition, body: Definition, budget: Budget) -> None:
    if before.parameters != body.parameters:
        raise budget.error(f"%extend: {body.name} has other parameters than before", body.at)


def import_names(found: LarkText, budget: Budget) -> tuple[set[str], tuple[str, ...]]:
    """The names that imports define, and the prefixes of names that they may bring along."""
    names: set[str] = set()
    paths = {}
    for statement in found.imports:
        path = ".".join(statement.path)
        if statement.relative or path not in SHIPPED:
            message = f"%import of another file ({'.' * statement.relative}{path}) is not supported; only {', '.join(SHIPPED)} are"
            raise budget.error(message, statement.at, UnsupportedFeature)
        paths[path] = statement.at
        names.update(statement.names)
    for at in paths.values():
        budget.spend(PER_IMPORT, at, "imports take")
    return names, tuple(f"{_}{path}__" for path in paths for _ in ("", "_"))


def measure_terminals(grammar: Grammar, budget: Budget) -> None:
    """Sizes of terminals, in topological order: used terminals before their users."""
    terminals = {name: body for name, body in grammar.bodies.items() if is_terminal(name)}
    users: dict[str, list[str]] = {}
    waiting: dict[str, int] = {}
    for name, body in terminals.items():
        used = {op.name for op in body.code if isinstance(op, Name) and op.name in terminals}
        waiting[name] = len(used)
        for other in used:
            users.setdefault(other, []).append(name)
    sizes: dict[str, TerminalSize] = {}
    ready = [name for name, count in waiting.items() if not count]
    for name in ready:
        size = terminal_size(terminals[name], sizes, budget)
        sizes[name] = size
        budget.spend(size.work, terminals[name].at, "terminals take")
        for user in users.get(name, ()):
            waiting[user] -= 1
            if not waiting[user]:
                ready.append(user)
    for name, body in terminals.items():
        if name not in sizes:
            raise budget.error(f"terminal {name} uses itself, or a terminal that does; only rules may recur", body.at)


@dataclass
class Instance:
    """A rule, or a template with arguments; `uses` are the rules and instances that its body names."""

    body: Definition
    arguments: dict[str, Key]
    name_length: int
    uses: set[Key]


class Expansion:
    """The rules that lark makes: every rule as written, and every template once per distinct list of arguments."""

    def __init__(self, grammar: Grammar, budget: Budget):
        self.grammar, self.budget = grammar, budget
        self.sizes: dict[str, RuleSizes] = {}
        self.instances: list[Instance] = []
        self.numbers: dict[tuple[Key, ...], int] = {}

    def expand(self) -> None:
        for name, body in self.grammar.bodies.items():
            if not body.parameters and not is_terminal(name):
                self.add((name,), body, {}, len(name))
        for instance in self.instances:
            self.scan(instance)

    def add(self, key: tuple[Key, ...], body: Definition, arguments: dict[str, Key], name_length: int) -> int:
        self.budget.tick()
        self.numbers[key] = number = len(self.instances)
        self.instances.append(Instance(body, arguments, name_length, set()))
        if body.name not in self.sizes:
            self.sizes[body.name] = RuleSizes(body, self.budget)
        size = self.sizes[body.name]
        self.budget.spend(size.work, body.at, "the rules take")
        self.budget.grow(size.symbols, body.at, f"with {body.name} the rules expand")
        if arguments:
            self.spend_on_instance(body, size, name_length)
        return number

    def spend_on_instance(self, body: Definition, size: RuleSizes, name_length: int) -> None:
        """Counts lark's work on an instance: it copies the template's body, searches for it among all rules, and writes the
        arguments into its new name."""
        if name_length > self.budget.max_size:
            message = f"template {body.name} is used with arguments that grow without end"
            raise self.budget.error(message, body.at, LimitExceeded)
        copying = PER_COPIED_NODE * size.nodes + PER_SEARCHED_RULE * len(self.instances) + 0.05 * name_length
        self.budget.spend(copying, body.at, f"template {body.name} expands again and again, which takes")

    def scan(self, instance: Instance) -> None:
        """Makes the instances that a body uses. In postfix code the arguments of a use come directly before it."""
        keys: list[Key] = []
        for op in instance.body.code:
            if isinstance(op, Use):
                arguments = keys[len(keys) - op.length :]
                del keys[len(keys) - op.length :]
                keys.append(self.use(op, instance.arguments.get(op.name, op.name), arguments))
            elif isinstance(op, Name):
                keys.append(instance.arguments.get(op.name, op.name))
            elif isinstance(op, Literal):
                keys.append(op.text)
                continue
            else:
                keys.clear()
                continue
            instance.uses.add(keys[-1])

    def use(self, op: Use, head: Key, arguments: list[Key]) -> Key:
        body = self.grammar.bodies.get(head) if isinstance(head, str) else None
        if body is None and isinstance(head, str) and self.grammar.is_outside(head):
            return head
        if body is None or len(body.parameters) != len(arguments):
            raise self.budget.error(f"{op.name} stands for no template with {len(arguments)} arguments", op.at)
        key = (body.name, *arguments)
        if key in self.numbers:
            return self.numbers[key]
        length = len(body.name) + 2 + sum(1 + self.name_length(a) for a in arguments)
        return self.add(key, body, dict(zip(body.parameters, arguments, strict=True)), length)

    def name_length(self, key: Key) -> int:
        return self.instances[key].name_length if isinstance(key, int) else len(key)

    def passes_over_unused(self, start: str) -> int:
        """How many rules lark visits while it drops unused ones: each pass drops those that no remaining rule uses, until there are
        none."""
        count = len(self.instances)
        users = [0] * count
        for number, instance in enumerate(self.instances):
            for used in self.numbered(instance.uses):
                users[used] += used != number
        first = self.numbers.get((start,))
        unused = [n for n in range(count) if not users[n] and n != first]
        left = sum(self.options(n) for n in range(count))
        looked_at = 0
        while unused:
            looked_at += 2 * left  # a rule's repeats are rules of their own, dropped one pass later
            self.budget.tick()
            dropped, unused = unused, []
            for number in dropped:
                left -= self.options(number)
                for used in self.numbered(self.instances[number].uses):
                    users[used] -= used != number
                    if not users[used] and used not in {first, number}:
                        unused.append(used)
        return looked_at

    def numbered(self, keys: Iterable[Key]) -> Iterable[int]:
        for key in keys:
            number = key if isinstance(key, int) else self.numbers.get((key,))
            if number is not None:
                yield number

    def options(self, number: int) -> int:
        return self.sizes[self.instances[number].body.name].options
