"""In which bounds chat templates run. Needs jinja2, so it is imported where a template is compiled.

They run in jinja2's sandbox, and all that a template may repeat or lengthen is paid for before it is done, from one purse for all
its renderings: a turn of a loop, a call, characters that are joined, replaced or written. No clock is asked: what is refused on one
machine is refused on all. Filters, functions and tags are those of transformers, for which templates are written.
"""

from __future__ import annotations

import functools
import json
import re
from datetime import datetime
from importlib.metadata import version
from typing import Any

from jinja2 import Template, TemplateError, nodes
from jinja2.ext import Extension, loopcontrols
from jinja2.sandbox import SandboxedEnvironment
from jinja2.visitor import NodeTransformer

from grammarlm.errors import LimitExceeded

if tuple(map(int, re.findall(r"\d+", version("jinja2"))[:3])) < (3, 1, 6):
    raise ImportError("there are known ways out of the sandbox of jinja2 before 3.1.6")
PURSE = 1 << 24  # what all renderings of a template may cost together, in units of some ten nanoseconds
TURN = 64  # what a turn of a loop, or a call, costs
ITEM = 32  # what an item of a list costs
LETTERS = 2  # so many characters cost one unit
# What these cost cannot be told from the sizes of what they are given; no template needs them.
COSTLY = ("sum", "urlize", "wordwrap", "striptags", "xmlattr")
FORMATTING = ("format", "format_map")
READING = ("lower", "upper")  # tests that read a text
MULTIPLYING = ("replace", "join", "translate", "*", *FORMATTING)
WIDTHS = re.compile(
    r"\d{4}|\*|\{[^}]*\{"
)  # in a text with places to fill: a large width, or one that is given beside it
PAY, PAID, JOINED = "pay for", "paid for", "joined"  # names of filters that _Paying puts into a template
TODAY = datetime(2026, 1, 1)


def compiled(source: str) -> Template:
    """The template, with a purse of its own."""
    environment = _Environment(
        trim_blocks=True, lstrip_blocks=True, optimized=False, extensions=[_Generation, loopcontrols]
    )
    tree = _Paying().visit(environment.parse(source))
    return Template.from_code(environment, environment.compile(tree.set_environment(environment)), environment.globals)


class _Environment(SandboxedEnvironment):
    intercepted_binops = frozenset({"+", "*", "**", "%"})

    def __init__(self, **options: Any):
        super().__init__(**options)
        self.purse = PURSE
        del self.globals["lipsum"]
        self.globals |= {"raise_exception": _raise_exception, "strftime_now": TODAY.strftime}
        self.filters |= {"tojson": _tojson}
        self.filters = {name: self._guarded(name, filter) for name, filter in self.filters.items()}
        for name in COSTLY:
            del self.filters[name]
        self.filters |= {PAY: self.pay, PAID: self.paid, JOINED: self.joined}
        self.tests = {name: self._guarded(name, test, 1 if name in READING else 2) for name, test in self.tests.items()}

    def pay(self, cost: int) -> str:
        self.purse -= abs(cost)
        if self.purse < 0:
            raise LimitExceeded("the chat template repeats or writes too much; it is not run any further")
        return ""

    def weigh(self, value: Any) -> int:
        """Characters and items, all the way down. Weighing costs, too: a value may hold another many times."""
        if isinstance(value, str):
            return len(value)
        if isinstance(value, dict):
            value = [*value, *value.values()]
        if not isinstance(value, (list, tuple, range)):
            return 1
        self.pay(ITEM * len(value))
        return len(value) + (0 if isinstance(value, range) else sum(map(self.weigh, value)))

    def paid(self, value: Any) -> Any:
        """A value that is written, compared or cut."""
        self.pay(ITEM + self.weigh(value) // LETTERS)
        return value

    def joined(self, *values: Any) -> str:
        self.pay(TURN + sum(map(self.weigh, values)) // LETTERS)
        return "".join(map(str, values))

    def before(self, name: str, given: list[Any]) -> None:
        """Pays for a filter or a method. Some write one of their arguments as often as another one says."""
        if name in FORMATTING and any(isinstance(value, str) and WIDTHS.search(value) for value in given):
            raise LimitExceeded(
                "the chat template fills places of a width that is large or given; it is not run any further"
            )
        weights = [max(1, self.weigh(value)) for value in given]
        counts = [abs(value) for value in given[1:] if isinstance(value, int)]
        times = max(weights[1:], default=1) if name in MULTIPLYING else 1
        if name == "join" and given and isinstance(given[0], list):  # the marks between the items, beside the items
            self.pay(weights[0] // LETTERS)
            weights = [len(given[0])]
        self.pay(TURN + sum(weights) * times * max([1, *counts]) // LETTERS)

    def _guarded(self, name: str, function: Any, least: int = 1) -> Any:
        first = int(hasattr(function, "jinja_pass_arg"))  # before its arguments, it is given what it runs in

        @functools.wraps(function)
        def guarded(*given: Any, **named: Any) -> Any:
            context, values = given[:first], list(given[first:])
            if values and hasattr(values[0], "__next__"):  # what another filter makes one by one
                values[0] = [self.paid(item) for item in values[0]]
            if len(values) >= least:
                self.before(name, [*values, *named.values()])
            return function(*context, *values, **named)

        return guarded

    def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
        if operator == "%":
            self.before("format", [left, right])
        elif operator == "+":
            self.pay((self.weigh(left) + self.weigh(right)) // LETTERS)
        elif isinstance(left, int) and isinstance(right, int):
            self.pay(left.bit_length() * (abs(right) if operator == "**" else right.bit_length()))
        else:  # a number may stand on both sides
            self.before(operator, [left, right] if isinstance(right, int) else [right, left])
        return super().call_binop(context, operator, left, right)

    def call(self, context: Any, called: Any, *given: Any, **named: Any) -> Any:
        owner = getattr(getattr(called, "__wrapped__", called), "__self__", None)  # str.format comes wrapped
        if isinstance(owner, (str, list, dict)):
            self.before(called.__name__, [owner, *given, *named.values()])
        self.pay(TURN)
        return super().call(context, called, *given, **named)


class _Generation(Extension):
    """`{% generation %}` marks what an assistant writes; it writes nothing itself."""

    tags = {"generation"}  # noqa: RUF012

    def parse(self, parser: Any) -> nodes.Node:
        line = next(parser.stream).lineno
        return nodes.Scope(parser.parse_statements(("name:endgeneration",), drop_needle=True)).set_lineno(line)


class _Paying(NodeTransformer):
    """Puts what is to be paid into a template."""

    def _paid_body(self, node: Any) -> nodes.Node:
        self.generic_visit(node)
        node.body.insert(0, _statement(TURN, node.lineno))
        return node

    visit_For = visit_Macro = visit_CallBlock = _paid_body

    def visit_Concat(self, node: nodes.Concat) -> nodes.Node:
        self.generic_visit(node)
        return _filter(node.nodes[0], JOINED, *node.nodes[1:])

    def visit_Compare(self, node: nodes.Compare) -> nodes.Node:
        self.generic_visit(node)
        node.expr = _filter(node.expr, PAID)
        for operand in node.ops:
            operand.expr = _filter(operand.expr, PAID)
        return node

    def visit_Getitem(self, node: nodes.Getitem) -> nodes.Node:
        self.generic_visit(node)
        if isinstance(node.arg, nodes.Slice):
            node.node = _filter(node.node, PAID)
        return node

    def visit_Output(self, node: nodes.Output) -> list[nodes.Node]:
        self.generic_visit(node)
        plain = sum(len(part.data) for part in node.nodes if isinstance(part, nodes.TemplateData))
        node.nodes = [part if isinstance(part, nodes.TemplateData) else _filter(part, PAID) for part in node.nodes]
        return [_statement(plain // LETTERS, node.lineno), node]


def _filter(value: nodes.Expr, name: str, *given: nodes.Expr) -> nodes.Filter:
    return nodes.Filter(value, name, list(given), [], None, None, lineno=value.lineno)


def _statement(cost: int, line: int) -> nodes.Node:
    return nodes.ExprStmt(_filter(nodes.Const(cost, lineno=line), PAY), lineno=line)


def _raise_exception(message: str) -> None:
    raise TemplateError(message)


def _tojson(
    value: Any, ensure_ascii: bool = False, indent: Any = None, separators: Any = None, sort_keys: bool = False
) -> str:
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)
