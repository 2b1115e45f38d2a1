"""Python 3 as lark's own grammar has it: programs from random trees, and damaged ones, are accepted iff stock lark accepts them."""

import ast
import functools
import random
import sysconfig
from pathlib import Path

import grammarlm as gl
from tests.counts import tiers
from tests.grammars.library.library_texts import stock_python
from tests.texts import BYTES, accepts

MODULES = [
    "textwrap",
    "bisect",
    "heapq",
    "fnmatch",
    "shlex",
    "queue",
    "string",
    "colorsys",
    "cmd",
    "copy",
    "csv",
    "sched",
]


@functools.cache
def constraint() -> gl.Constraint:
    return gl.compile(gl.Lark.python(), BYTES)


@functools.cache
def statements() -> list[ast.stmt]:
    folder = Path(sysconfig.get_paths()["stdlib"])
    trees = [ast.parse((folder / f"{name}.py").read_text("utf-8")) for name in MODULES]
    return [node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.stmt)]


def random_program(rng: random.Random) -> str:
    """Statements of the standard library, some of them put into the bodies of others."""
    body: list[ast.stmt] = []
    while len(body) < rng.randint(1, 5):
        node = rng.choice(statements())
        if len(ast.unparse(node)) < 1500:
            body.append(node)
    if rng.random() < 0.5:
        test = ast.Compare(
            ast.Name("left"), [rng.choice([ast.Lt(), ast.In(), ast.IsNot()])], [ast.Constant(rng.random())]
        )
        body = [ast.If(test, body, []), *body[:1]]
    return ast.unparse(ast.fix_missing_locations(ast.Module(body, []))) + "\n"


def damaged(text: str, rng: random.Random) -> str:
    at = rng.randrange(len(text))
    kind = rng.randrange(4)
    if kind == 0:
        return text[:at] + text[at + 1 :]
    if kind == 1:
        return text[:at] + rng.choice("()[]:,= \n\t'\"#1x.") + text[at:]
    if kind == 2:
        return text[:at]
    lines = text.split("\n")
    line = rng.randrange(len(lines))
    lines[line] = " " * rng.randint(0, 5) + lines[line].lstrip(" ")
    return "\n".join(lines)


def compare(count: int) -> int:
    """So many programs, and each damaged once; how many of them all stock lark accepts."""
    rng = random.Random(5)
    good = 0
    for _ in range(count):
        program = random_program(rng)
        for text in (program, damaged(program, rng)):
            expected = stock_python(text)
            good += expected
            assert accepts(constraint(), text) == expected, text
    assert good > count  # all programs but the few that lark's grammar does not know, and some of the damaged
    return good


@tiers("count", 30, 500)
def test_programs(count: int, record_property) -> None:
    record_property("accepted", compare(count))
    record_property("cases", 2 * count)
