"""No dead ends in Lark grammars: a byte is allowed iff some text that stock lark accepts goes on with it.

All texts up to a length are tried with lark. Of these grammars every viable beginning needs few characters more, so for the shorter
beginnings that tells which bytes are viable, whatever makes a beginning dead: a cut of the lexer, a name that takes a keyword's
place, a comment that only a line's end may follow, a conflict that the tables decided.
"""

import itertools
import random
import re
from functools import cache
from typing import Any

import pytest

import grammarlm as gl
from grammarlm.grammars.compose import Grammar
from grammarlm.grammars.regular.syntax import parse_regex
from grammarlm.layout import stack as layout
from grammarlm.masks.machines.stack.program import Thread
from tests.internals import program_of
from tests.masks.machines.stack import stack_examples
from tests.masks.machines.stack.stack_examples import TABLES
from tests.masks.machines.stack.viable_bytes import (
    BYTES,
    GRAMMARS,
    LONGEST,
    STOP,
    allowed,
    beginnings,
    masks_allow_the_viable_bytes,
)
from tests.oracles.cfg_oracle import CfgOracle
from tests.oracles.lark_oracle import LarkOracle


@cache
def constraint(text: str) -> gl.Constraint:
    return gl.compile(gl.Lark(text), BYTES)


ARE_LONG = ("star in comments", "brackets and names")  # shorter texts do not tell their beginnings apart


@pytest.mark.parametrize(
    ("name", "longest"),
    [
        *((name, LONGEST if name in ARE_LONG else LONGEST - 1) for name in GRAMMARS),
        *(pytest.param(name, LONGEST, marks=pytest.mark.proof) for name in GRAMMARS if name not in ARE_LONG),
    ],
)
def test_masks_allow_the_viable_bytes(name: str, longest: int) -> None:
    masks_allow_the_viable_bytes(constraint(GRAMMARS[name][0]), *GRAMMARS[name], longest)


@pytest.mark.parametrize("name", GRAMMARS)
def test_walks_end_where_lark_accepts(name: str) -> None:
    """Walks along masks meet no dead end, and whatever they end with is a text of lark's."""
    text, alphabet, _ = GRAMMARS[name]
    oracle, rng, ended = LarkOracle(text), random.Random(name), 0
    for _ in range(20):
        matcher, data = constraint(text).matcher(), ""
        for step in range(60):
            following = sorted(allowed(matcher))
            assert following, data
            if STOP in following and (step > 8 or rng.random() < 0.3):
                assert oracle.accepts(data), data
                ended += 1
                break
            familiar = [t for t in following if t != STOP and chr(t) in alphabet]
            if not familiar:
                break
            token = rng.choice(familiar)
            assert matcher.advance(token) is True
            data += chr(token)
    assert ended


@pytest.mark.parametrize("name", TABLES["no_text"])
def test_no_text_at_all(name: str) -> None:
    with pytest.raises(gl.UnsatisfiableGrammar):
        gl.compile(gl.Lark(TABLES["no_text"][name]), BYTES)


BORDERS = {case["name"]: case for case in TABLES["border"]}


def check_intersection(both: Grammar, texts: set[str], alphabet: str, longest: int) -> None:
    """The masks after every beginning of up to `longest` characters are those of a grammar with just these texts."""
    if not texts:
        with pytest.raises(gl.UnsatisfiableGrammar):
            gl.compile(both, BYTES)
        return
    viable = {text[:end] for text in texts for end in range(len(text) + 1)}
    matcher = gl.compile(both, BYTES).matcher()
    for beginning in sorted((text for text in viable if len(text) <= longest), key=len):
        assert matcher.advance_bytes(beginning.encode()) is True, beginning
        expected = {ord(character) for character in alphabet if beginning + character in viable}
        assert allowed(matcher) - {STOP} == expected, beginning
        assert (STOP in allowed(matcher)) is (beginning in texts), beginning
        matcher.reset()


@pytest.mark.parametrize("name", BORDERS)
def test_threads_under_any_border(name: str) -> None:
    """Of each beginning: is there a text of the rules that goes on so and that the border matches?"""
    grammar, border, alphabet = (BORDERS[name][key] for key in ("grammar", "border", "alphabet"))
    if BORDERS[name]["notation"] == "Lark":
        texts = {text for text in beginnings(grammar, alphabet)[0] if re.fullmatch(border, text)}
        check_intersection(gl.Lark(grammar) & gl.Regex(border), texts, alphabet, 2)
        return
    oracle = CfgOracle(gl.Gbnf(grammar).rules(lambda: None))
    made = program_of(gl.compile(gl.Gbnf(grammar), BYTES))
    term = parse_regex(border, made.algebra)
    strings = ["".join(s) for n in range(10) for s in itertools.product(alphabet, repeat=n)]
    texts = {s for s in strings if re.fullmatch(border, s) and oracle.is_complete(s.encode())}
    assert made.trust.liveness.alive(Thread(made.start_state, (), term)) is bool(texts)
    check_intersection(gl.Gbnf(grammar) & gl.Regex(border), texts, alphabet, 3)


@pytest.mark.parametrize("case", TABLES["proved"], ids=lambda case: case["name"])
def test_what_is_proved_once(case: dict[str, Any]) -> None:
    for _ in range(2):  # the second time it is remembered
        trust = program_of(gl.compile(stack_examples.made(case["grammar"]), BYTES)).trust
        assert (trust.level, trust.needs_walks) == (getattr(layout, case["level"]), case["walks"])


def test_too_many_states_are_refused_by_name() -> None:
    both = gl.Gbnf('root ::= "a" root "b" | "c"') & gl.Regex("(a{97})*c(b{89})*")
    with pytest.raises(gl.UnsupportedFeature, match="not decided within the limits"):
        gl.compile(both, BYTES, limits=gl.Limits(max_states=200))
