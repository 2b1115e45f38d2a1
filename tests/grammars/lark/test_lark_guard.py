"""Reading is guarded: mistakes have a place, hostile texts end, and sizes are those that lark makes."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import lark
import pytest
from lark.common import ParserConf
from lark.exceptions import GrammarError as LarkGrammarError
from lark.load_grammar import load_grammar
from lark.parsers.lalr_analysis import LALR_Analyzer

import grammarlm as gl
from grammarlm.errors import GrammarError, LimitExceeded, UnsupportedFeature
from grammarlm.grammars.lark.load.budget import Budget
from grammarlm.grammars.lark.load.definitions import read_scope
from grammarlm.grammars.lark.load.rules import assemble
from grammarlm.grammars.lark.loading import read_parts
from grammarlm.grammars.lark.text import read_lark
from tests.corpus_files import tables
from tests.counts import tiers
from tests.grammars.lark.hostile_lark import HOSTILE
from tests.grammars.lark.lark_texts import RandomText
from tests.oracles.lark_loader import load_with_lark
from tests.texts import BYTES, accepts

ROOT = Path(__file__).parents[3]
LETTERS = 'A: "a"\nB: "b"\nC: "c"\nD: /d+/\n'
LARK = tables("lark_texts")


def lark_rules(text: str, start: str = "start") -> list:
    """The rules as lark's loader leaves them."""
    grammar, _ = load_grammar(text, "<string>", [], False)
    return grammar.compile([start], set())[1]


def check_lark(
    text: str, tick: Callable[[], None] = lambda: None, max_depth: int = 64, max_size: int = 100_000
) -> None:
    read_parts(text, "start", set(), tick, max_depth, max_size)


def counted_symbols(text: str) -> int:
    budget = Budget(text, 64, 10**9, lambda: None)
    assemble(
        read_scope(read_lark(text, max_depth=64, max_pieces=10**6, tick=lambda: None), "start", budget), "start", set()
    )
    return budget.symbols


@pytest.mark.parametrize(("text", "words", "place"), LARK["mistakes"])
def test_mistakes_are_shown_in_their_place(text: str, words: str, place: str) -> None:
    with pytest.raises(GrammarError) as caught:
        gl.compile(gl.Lark(text), BYTES)
    message, position = str(caught.value), caught.value.position
    assert type(caught.value) is GrammarError
    assert words in message
    assert (f", at {place} of the grammar:" in message) is bool(place)
    if position is not None:
        line, mark = message.split("\n")[-2:]
        assert text[position : position + 1] in {"", "\n", line[mark.index("^") : mark.index("^") + 1]}
    assert lark_refuses(text)


def test_half_a_surrogate_pair_is_shown() -> None:
    with pytest.raises(GrammarError, match=r"a lone surrogate, which no text in UTF-8 has, at line 1, column 9"):
        gl.compile(gl.Lark('start: "\ud800"'), BYTES)
    assert lark_refuses('start: "\ud800"')


@pytest.mark.parametrize("text", LARK["empty_lexemes"]["refused"])
def test_terminals_that_may_be_empty_are_refused_where_lark_does(text: str) -> None:
    for parser in ("lalr", "earley"):
        with pytest.raises(lark.exceptions.LarkError, match="zero-width"):
            lark.Lark(text, parser=parser)
    with pytest.raises(GrammarError, match=r"may match the empty text.* in lark neither"):
        gl.compile(gl.Lark(text), BYTES)


@pytest.mark.parametrize(("text", "texts"), LARK["empty_lexemes"]["taken"])
def test_and_taken_where_lark_takes_them(text: str, texts: list[str]) -> None:
    """Where a terminal that may be empty is no lexeme of its own."""
    parser, constraint = lark.Lark(text, parser="lalr"), gl.compile(gl.Lark(text), BYTES)
    for probe in texts:
        parser.parse(probe)
        assert accepts(constraint, probe)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("%import .mine.A\nstart: A\n", ".mine"),
        ("%import mine.A\nstart: A\n", "mine"),
        ("%import common.more (A, B)\nstart: A\n", "common.more"),
    ],
)
def test_other_files_are_refused_by_name(text: str, name: str) -> None:
    with pytest.raises(UnsupportedFeature, match=name):
        check_lark(text)


def test_limits_are_the_callers() -> None:
    text = "start: ((A)) (A | B) (A | B)\n" + LETTERS
    check_lark(text, max_depth=2, max_size=1000)
    with pytest.raises(LimitExceeded, match="more than 1 deep"):
        check_lark(text, max_depth=1)
    check_lark("start: A~0..40\n" + LETTERS, max_size=861)
    with pytest.raises(LimitExceeded, match="more than 860 symbols"):
        check_lark("start: A~0..40\n" + LETTERS, max_size=860)


def test_the_clock_is_asked() -> None:
    def over() -> None:
        raise LimitExceeded("time is over")

    with pytest.raises(LimitExceeded, match="time is over"):
        check_lark("start: " + "A " * 5000 + "\n" + LETTERS, tick=over)


def lark_refuses(text: str) -> bool:
    try:
        rules = lark_rules(text)
        load_with_lark(text, "start", set())  # which looks at the patterns, too
        LALR_Analyzer(ParserConf(rules, {}, ["start"]))
    except Exception:  # a LarkError, or what escapes from its loader: AssertionError, TypeError, KeyError, ValueError
        return True
    return False


@pytest.mark.parametrize("body", LARK["sized"])
def test_sizes_are_those_that_lark_makes(body: str) -> None:
    """Exactly, placeholders included."""
    text = f"start: {body}\n{LETTERS}"
    rules = lark_rules(text)
    made = sum(1 + len(rule.expansion) + sum(rule.options.empty_indices) for rule in rules)
    assert made == counted_symbols(text)


@tiers("count", 20, 40)
@pytest.mark.parametrize("seed", range(10))
def test_random_grammars_pass_and_sizes_bound_what_lark_makes(seed: int, count: int) -> None:
    supply = RandomText(str(seed))
    taken = 0
    for _ in range(count):
        text = supply.with_templates()
        try:
            rules = lark_rules(text)
        except LarkGrammarError:
            continue  # two alternatives that are the same
        taken += 1
        check_lark(text)
        assert sum(1 + len(rule.expansion) for rule in rules) <= counted_symbols(text)
    assert taken > count // 2


@pytest.mark.parametrize("seed", range(10))
def test_what_is_called_broken_lark_refuses(seed: int) -> None:
    supply = RandomText(f"changed {seed}")
    broken = 0
    for _ in range(40):
        text = supply.changed()
        try:
            check_lark(text)
        except (LimitExceeded, UnsupportedFeature):
            continue
        except GrammarError:
            broken += 1
            assert lark_refuses(text), text
    assert broken > 5


ENDS = """
import json, resource, sys
resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
resource.setrlimit(resource.RLIMIT_CPU, (90, 90))
from grammarlm.errors import GrammarError
from grammarlm.grammars.lark.lalr_states import construct, numbered
from grammarlm.grammars.lark.loading import load
from grammarlm.kernels import entries
from tests.corpus_files import tables
from tests.counts import tiers
from tests.grammars.lark.hostile_lark import HOSTILE

def outcome(text):
    try:
        loaded = load(text, "start", None, max_size=100_000)
        construct(loaded, numbered(loaded, lambda: None), entries.lalr)
    except GrammarError as error:
        return f"{type(error).__name__} {error}"
    return "built"

print(json.dumps({name: outcome(case.text()) for name, case in HOSTILE.items()}))
"""


@pytest.fixture(scope="module")
def outcomes() -> dict[str, str]:
    """What becomes of the hostile texts in a process with little memory and time: the check, and where it passes, the states."""
    done = subprocess.run([sys.executable, "-c", ENDS], capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_texts_end(name: str, outcomes: dict[str, str]) -> None:
    assert outcomes[name].startswith(HOSTILE[name].outcome)
