"""Python files: random syntax trees, spelled by `ast.unparse`.

Trees are made so that both Python and lark's python.lark take the text. Random is which statement holds which, how deep, and what
the expressions are; f-strings, walruses and patterns are not used.
"""

import ast
import random

NAMES = [
    "item", "index", "total", "path", "config", "result", "buffer", "offset", "node", "parent", "value",
    "key", "cache", "limit", "name", "size", "handler", "state",
]  # fmt: skip
FUNCTIONS = [
    "load", "parse", "update", "find_all", "compute_total", "write_row", "reset", "as_dict", "merge",
    "validate", "iter_pages", "close",
]  # fmt: skip
CLASSES = ["Reader", "Cache", "NodeVisitor", "RowWriter", "Session", "HttpError", "Settings"]
MODULES = ["os", "re", "json", "math", "pathlib", "collections", "itertools"]
STRINGS = ("utf-8", "cannot open %s", "a", "", "line\nbreak", "it's", 'say "hi"', "naïve", "key: value", "SELECT 1")
DEEPEST = 3


class Maker:
    def __init__(self, rng: random.Random):
        self.rng = rng

    def name(self, context=None) -> ast.Name:
        return ast.Name(self.rng.choice(NAMES), context or ast.Load())

    def constant(self) -> ast.Constant:
        rng = self.rng
        return ast.Constant(
            rng.choice(
                (
                    rng.randint(0, 10000),
                    rng.randint(0, 9),
                    round(rng.uniform(0, 100), 3),
                    rng.choice(STRINGS),
                    rng.choice(STRINGS),
                    True,
                    None,
                    b"\x00raw",
                    1e-09,
                )
            )
        )

    def many(self, make, low: int, high: int) -> list:
        return [make() for _ in range(self.rng.randint(low, high))]

    def expression(self, depth: int = 2) -> ast.expr:
        rng = self.rng
        if not depth or rng.random() < 0.35:
            return rng.choice((self.name, self.name, self.constant))()

        def inner() -> ast.expr:
            return self.expression(depth - 1)

        def loop() -> list[ast.comprehension]:
            conditions = [inner()] if rng.random() < 0.3 else []
            return [ast.comprehension(self.name(ast.Store()), self.name(), conditions, 0)]

        kinds = (
            lambda: ast.BinOp(
                inner(), rng.choice((ast.Add, ast.Sub, ast.Mult, ast.Mod, ast.FloorDiv, ast.BitOr, ast.Pow))(), inner()
            ),
            lambda: ast.Compare(
                inner(), [rng.choice((ast.Eq, ast.NotEq, ast.Lt, ast.GtE, ast.In, ast.NotIn, ast.Is))()], [inner()]
            ),
            lambda: ast.BoolOp(rng.choice((ast.And, ast.Or))(), self.many(inner, 2, 3)),
            lambda: ast.UnaryOp(rng.choice((ast.Not, ast.USub))(), inner()),
            lambda: self.call(depth - 1),
            lambda: self.call(depth - 1),
            lambda: ast.Attribute(self.name(), rng.choice(NAMES), ast.Load()),
            lambda: ast.Subscript(self.name(), inner(), ast.Load()),
            lambda: ast.Subscript(self.name(), ast.Slice(self.constant_number(), None, None), ast.Load()),
            lambda: ast.List(self.many(inner, 0, 4), ast.Load()),
            lambda: ast.Tuple(self.many(inner, 2, 3), ast.Load()),
            lambda: ast.Dict(self.many(self.constant, 2, 2), self.many(inner, 2, 2)),
            lambda: ast.ListComp(inner(), loop()),
            lambda: ast.GeneratorExp(inner(), loop()),
            lambda: ast.IfExp(inner(), inner(), inner()),
            lambda: ast.Lambda(self.arguments(0, 2), inner()),
        )
        return rng.choice(kinds)()

    def constant_number(self) -> ast.Constant:
        return ast.Constant(self.rng.randint(0, 9))

    def call(self, depth: int) -> ast.Call:
        rng = self.rng
        target = ast.Attribute(self.name(), rng.choice(FUNCTIONS), ast.Load())
        function = rng.choice((target, ast.Name(rng.choice((*FUNCTIONS, "len", "print", "sorted")), ast.Load())))
        keywords = [ast.keyword(rng.choice(NAMES), self.expression(depth))] if rng.random() < 0.25 else []
        return ast.Call(function, self.many(lambda: self.expression(depth), 0, 3), keywords)

    def arguments(self, low: int, high: int, typed: bool = False) -> ast.arguments:
        rng = self.rng
        names = rng.sample(NAMES, rng.randint(low, high))
        note = [
            ast.Name(rng.choice(("int", "str", "list", "Path")), ast.Load()) if typed and rng.random() < 0.5 else None
            for _ in names
        ]
        defaults = [self.constant()] if names and rng.random() < 0.3 else []
        made = [ast.arg(name, annotation) for name, annotation in zip(names, note, strict=True)]
        return ast.arguments([], made, None, [], [], None, defaults)

    def jump(self) -> ast.stmt:
        return self.rng.choice((ast.Pass, ast.Break, ast.Continue))()

    def body(self, depth: int, low: int = 1) -> list[ast.stmt]:
        return self.many(lambda: self.statement(depth - 1), low, 4)

    def statement(self, depth: int) -> ast.stmt:
        rng = self.rng
        simple = (
            lambda: ast.Assign([self.name(ast.Store())], self.expression(3)),
            lambda: ast.Assign(
                [ast.Attribute(ast.Name("self", ast.Load()), rng.choice(NAMES), ast.Store())], self.expression()
            ),
            lambda: ast.AugAssign(
                self.name(ast.Store()), rng.choice((ast.Add, ast.Sub, ast.BitOr))(), self.expression()
            ),
            lambda: ast.AnnAssign(self.name(ast.Store()), ast.Name("int", ast.Load()), self.expression(), 1),
            lambda: ast.Expr(self.call(2)),
            lambda: ast.Expr(self.call(2)),
            lambda: ast.Return(self.expression()),
            lambda: ast.Assert(self.expression(), ast.Constant(rng.choice(STRINGS))),
            lambda: ast.Raise(ast.Call(ast.Name("ValueError", ast.Load()), [self.constant()], []), None),
            self.jump,
        )
        if not depth or rng.random() < 0.55:
            return rng.choice(simple)()
        handler = ast.ExceptHandler(
            ast.Name(rng.choice(("OSError", "KeyError")), ast.Load()), "error", self.body(depth)
        )
        compound = (
            lambda: ast.If(self.expression(), self.body(depth), rng.choice(([], self.body(depth)))),
            lambda: ast.If(self.expression(), self.body(depth), []),
            lambda: ast.For(self.name(ast.Store()), self.expression(), self.body(depth), []),
            lambda: ast.While(self.expression(), self.body(depth), []),
            lambda: ast.With([ast.withitem(self.call(1), self.name(ast.Store()))], self.body(depth)),
            lambda: ast.Try(self.body(depth), [handler], [], rng.choice(([], self.body(depth)))),
        )
        return rng.choice(compound)()

    def function(self, first: list[str]) -> ast.FunctionDef:
        rng = self.rng
        arguments = self.arguments(0, 4, typed=True)
        arguments.args[:0] = [ast.arg(name, None) for name in first]
        note = (
            [ast.Expr(ast.Constant(f"Returns the {rng.choice(NAMES)} of a {rng.choice(NAMES)}."))]
            if rng.random() < 0.4
            else []
        )
        decorators = [ast.Name("staticmethod", ast.Load())] if first and rng.random() < 0.1 else []
        returns = ast.Name("bool", ast.Load()) if rng.random() < 0.3 else None
        return ast.FunctionDef(rng.choice(FUNCTIONS), arguments, [*note, *self.body(DEEPEST, 2)], decorators, returns)

    def definition(self) -> ast.stmt:
        rng = self.rng
        if rng.random() < 0.6:
            return self.function([])
        bases: list[ast.expr] = [ast.Name("Exception", ast.Load())] if rng.random() < 0.3 else []
        return ast.ClassDef(rng.choice(CLASSES), bases, [], self.many(lambda: self.function(["self"]), 1, 3), [])


def text(rng: random.Random, size: int) -> str:
    """A file of about `size` characters."""
    maker = Maker(rng)
    body: list[ast.stmt] = [ast.Import([ast.alias(name)]) for name in rng.sample(MODULES, 2)]
    body.append(ast.ImportFrom(rng.choice(MODULES), [ast.alias(rng.choice(CLASSES))], 0))
    out = _spell(body)
    while len(out) < size:
        out += "\n" + _spell([rng.choice((maker.definition, lambda: maker.statement(DEEPEST)))()])
    return out


def _spell(body: list[ast.stmt]) -> str:
    return ast.unparse(ast.fix_missing_locations(ast.Module(body, []))) + "\n"
