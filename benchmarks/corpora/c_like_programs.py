"""Programs in a small language in the manner of C: structs, globals, functions, comments."""

import random

NOUNS = [
    "buffer", "count", "index", "node", "total", "length", "offset", "cursor", "header", "block", "packet",
    "table", "entry", "value", "limit", "frame",
]  # fmt: skip
VERBS = [
    "read", "write", "find", "update", "insert", "remove", "print", "merge", "split", "check", "compute",
    "reset", "copy", "push", "pop", "next",
]  # fmt: skip
TYPES = ("int", "float", "char*", "bool", "int*", "point", "node*")
NOTES = (
    "nothing to do for an empty list",
    "the caller owns the buffer",
    "overflow is checked above, see `limit`",
    "slow path: walk the chain (at most 16 steps)",
)
LAST_LEVEL = 3


class Writer:
    def __init__(self, rng: random.Random):
        self.rng = rng

    def name(self) -> str:
        rng = self.rng
        return rng.choice((rng.choice(NOUNS), f"{rng.choice(NOUNS)}_{rng.choice(NOUNS)}", rng.choice("ijknxyp")))

    def function_name(self) -> str:
        return f"{self.rng.choice(VERBS)}_{self.rng.choice(NOUNS)}"

    def primary(self, depth: int) -> str:
        rng, kind = self.rng, self.rng.randrange(12)
        if kind < 3:
            return rng.choice(
                (
                    str(rng.randint(0, 4096)),
                    "0",
                    "1",
                    f"{rng.uniform(0, 9):.3f}",
                    f"{rng.randint(1, 9)}e-{rng.randint(1, 12)}",
                )
            )
        if kind == 3:
            return rng.choice(
                ('"value: %d\\n"', '"done"', "'x'", "'\\n'", '"cannot open file"', "null", "true", "false")
            )
        if kind == 4 and depth:
            return f"{self.function_name()}({', '.join(self.expression(depth - 1) for _ in range(rng.randint(0, 3)))})"
        if kind == 5 and depth:
            return f"{self.name()}[{self.expression(depth - 1)}]"
        if kind == 6:
            return f"{self.name()}{rng.choice(('->', '.'))}{rng.choice(NOUNS)}"
        if kind == 7 and depth:
            return f"({self.expression(depth - 1)})"
        return self.name()

    def expression(self, depth: int = 2) -> str:
        text = self.rng.choice(("", "", "", "", "", "-", "&")) + self.primary(depth)
        while self.rng.random() < 0.3:
            text += f" {self.rng.choice('+-*/%')} {self.primary(depth)}"
        return text

    def condition(self) -> str:
        one = f"{self.expression(1)} {self.rng.choice(('==', '!=', '<', '>', '<=', '>='))} {self.expression(1)}"
        if self.rng.random() < 0.3:
            one += f" {self.rng.choice(('&&', '||'))} !{self.primary(1)}"
        return one

    def statement(self, level: int) -> str:
        rng, pad = self.rng, "    " * level
        kind = rng.randrange(14 if level < LAST_LEVEL else 9)
        if kind < 2:
            return f"{pad}let {rng.choice(TYPES)} {self.name()} = {self.expression()};\n"
        if kind < 5:
            return f"{pad}{self.name()} {rng.choice(('=', '+=', '-='))} {self.expression()};\n"
        if kind < 7:
            return f"{pad}{self.function_name()}({', '.join(self.expression(1) for _ in range(rng.randint(0, 3)))});\n"
        if kind == 7:
            return f"{pad}// {rng.choice(NOTES)}\n{pad}{self.name()}{rng.choice(('++', '--'))};\n"
        if kind == 8:
            return f"{pad}return {self.expression()};\n"
        if kind < 11:
            other = f" else {self.block(level)}" if rng.random() < 0.4 else ""
            return f"{pad}if ({self.condition()}) {self.block(level)}{other}\n"
        if kind == 11:
            return f"{pad}while ({self.condition()}) {self.block(level)}\n"
        i = rng.choice("ijk")
        return f"{pad}for ({i} = 0; {i} < {self.name()}; {i}++) {self.block(level)}\n"

    def block(self, level: int) -> str:
        body = "".join(self.statement(level + 1) for _ in range(self.rng.randint(1, 4)))
        return "{\n" + body + "    " * level + "}"

    def item(self) -> str:
        rng, kind = self.rng, self.rng.randrange(8)
        if kind == 0:
            fields = "".join(f"    {rng.choice(TYPES)} {name};\n" for name in rng.sample(NOUNS, rng.randint(1, 5)))
            return f"struct {rng.choice(NOUNS)} {{\n{fields}}};\n"
        if kind == 1:
            return f"{rng.choice(TYPES)} {self.name()} = {self.expression()};\n"
        parameters = ", ".join(f"{rng.choice(TYPES)} {self.name()}" for _ in range(rng.randint(0, 3)))
        return f"{rng.choice(TYPES)} {self.function_name()}({parameters}) {self.block(0)}\n"


def text(rng: random.Random, size: int) -> str:
    """A program of about `size` characters."""
    writer, items = Writer(rng), [""]
    while sum(map(len, items)) < size:
        items.append(writer.item())
    return "\n".join(items[1:])
