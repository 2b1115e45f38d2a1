"""Grammars whose LALR parser never stops reducing are refused by name; those whose parser always stops are not.

The oracle runs lark's own tables on every short row of terminals, and counts.
"""

import itertools
import random

import lark
import pytest

import grammarlm as gl
from grammarlm.grammars.lark.reductions import LONGEST
from tests.corpus_files import tables
from tests.counts import tiers
from tests.texts import BYTES

ENDLESS = {
    **tables("lark_texts")["endless"],
    "two to the forty": 'start: "x" a0 "y"\n' + "".join(f"a{i}: a{i + 1} a{i + 1}\n" for i in range(40)) + "a40:",
}
ENDING = tables("lark_texts")["ending"]


def is_endless(text: str, terminals: int, most: int) -> bool:
    """Does lark's parser, on some row of so many terminals, take more than `most` reductions in a row?"""
    parser = lark.Lark(text, parser="lalr").parser.parser
    table = parser._parse_table
    names = sorted({name for row in table.states.values() for name in row if name.isupper() and name != "$END"})
    for count in range(terminals + 1):
        for row in itertools.product(names, repeat=count):
            if runs_on(table, [*row, "$END"], most):
                return True
    return False


def runs_on(table, row: list[str], most: int) -> bool:
    stack = [table.start_states["start"]]
    for name in row:
        for _ in range(most):
            action = table.states[stack[-1]].get(name)
            if action is None:
                return False
            _, argument = action
            if not hasattr(argument, "expansion"):
                if name == "$END":
                    return False
                stack.append(argument)
                break
            if argument.expansion:
                del stack[-len(argument.expansion) :]
            if name == "$END" and stack[-1] == table.start_states["start"] and argument.origin.name == "start":
                return False
            stack.append(table.states[stack[-1]][argument.origin.name][1])
        else:
            return True
    return False


@pytest.mark.parametrize("name", ENDLESS)
def test_what_never_ends_is_refused(name: str) -> None:
    with pytest.raises(gl.UnsupportedFeature, match="without reading"):
        gl.compile(gl.Lark(ENDLESS[name]), BYTES)
    assert is_endless(ENDLESS[name], 2, 2 * LONGEST)


@pytest.mark.parametrize("name", ENDING)
def test_what_ends_is_taken(name: str) -> None:
    gl.compile(gl.Lark(ENDING[name]), BYTES)
    assert not is_endless(ENDING[name], 3, 1000)


def draw(rng: random.Random) -> str:
    """Rules of few symbols, many of them empty, with priorities that decide conflicts between reductions."""
    names = ["start", "p", "q", "r"]
    lines = []
    for name in names:
        bodies = []
        for _ in range(rng.randint(1, 3)):
            symbols = rng.choices([*names[1:], '"a"', '"b"', "p*", "q?"], k=rng.choice([0, 1, 1, 2, 3]))
            bodies.append(" ".join(symbols))
        priority = f".{rng.randint(1, 9)}" if rng.random() < 0.8 else ""
        lines.append(f"{name}{priority}: " + " | ".join(bodies))
    return "\n".join(lines)


@tiers(("seed", "count"), (0, 200), (1, 200), *((seed, 2000) for seed in range(2, 8)))
def test_random_rules(seed: int, count: int, record_property) -> None:
    rng, compared = random.Random(seed), 0
    for _ in range(count):
        text = draw(rng)
        try:
            lark.Lark(text, parser="lalr")
        except lark.exceptions.LarkError:
            continue
        refused = False
        try:
            gl.compile(gl.Lark(text), BYTES)
        except gl.UnsupportedFeature as error:
            refused = "without reading" in str(error)
        except gl.GrammarError:
            pass
        compared += 1
        if is_endless(text, 2, 2 * LONGEST):
            assert refused, text
    record_property("cases", compared)
    assert compared > count // 10
