"""LALR(1) tables against those that lark's own analysis makes, state for state."""

from collections import Counter
from collections.abc import Callable
from dataclasses import astuple
from itertools import pairwise, product

import numpy as np
import pytest

import grammarlm as gl
from grammarlm.errors import GrammarError, LimitExceeded, UnsupportedFeature
from grammarlm.grammars.lark import lalr_states
from grammarlm.grammars.lark.lalr import lr_tables
from grammarlm.grammars.lark.lalr_states import construct, numbered
from grammarlm.grammars.lark.loading import Loaded, load, make_lexer
from grammarlm.grammars.lark.tables import LrTables
from grammarlm.grammars.regular.derivatives import Algebra
from grammarlm.kernels import entries
from tests.counts import tiers
from tests.grammars.lark.lark_texts import RandomText, written_grammars
from tests.oracles.lark_tables import lark_tables
from tests.oracles.random_lark import RandomLark

FIELDS = ("shift_won", "lost")
MOST_RULES = 400  # of random grammars: lark would need minutes for more


def nothing() -> None:
    pass


def tables_of(loaded: Loaded, tick: Callable[[], None] = nothing) -> LrTables | None:
    return lr_tables(loaded, make_lexer(loaded, Algebra(500, tick, 1 << 30), tick, shifts=True), entries.lalr, tick)


def check(loaded: Loaded) -> str:
    """Compares both; says what the tables are."""
    ours, theirs = tables_of(loaded), lark_tables(loaded)
    if theirs is None or ours is None:
        assert ours is theirs is None
        return "not LALR(1)"
    if not loaded.renamed_only:  # whose columns are cleared afterwards
        assert ours.action.tolist() == theirs.action.tolist()
    assert ours.goto.tolist() == theirs.goto.tolist()
    assert [*map(tuple, ours.rule.tolist())] == (theirs.rule or [(0, 0)])
    assert [sorted(kernel, key=astuple) for kernel in ours.items] == [*map(list, theirs.items)]
    for field in FIELDS:
        assert getattr(ours, field) == getattr(theirs, field), field
    assert ours.start == 0
    return "with conflicts" if ours.shift_won else "without conflicts"


@pytest.mark.parametrize(("text", "start"), written_grammars())
def test_written_grammars(text: str, start: str) -> None:
    try:
        loaded = load(text, start, None)
    except GrammarError:
        pytest.skip("refused before, since no lexeme is empty")
    check(loaded)


@tiers(("seed", "count"), ("0", 60), ("1", 60), *((f"many {seed}", 500) for seed in range(4)))
def test_random_grammars(seed: str, count: int, record_property: Callable[[str, object], None]) -> None:
    outcomes, drawn, texts = Counter[str](), RandomLark(f"tables {seed}"), RandomText(f"tables {seed}")
    for case in range(count):
        text = texts.with_templates() if case % 4 == 0 else drawn.grammar().text
        try:
            loaded = load(text, "start", None)
            if len(loaded.rules) <= MOST_RULES:
                outcomes[check(loaded)] += 1
        except GrammarError:
            outcomes["refused"] += 1
    record_property("cases", outcomes.total())
    kinds = ("not LALR(1)", "with conflicts", "without conflicts")
    assert all(outcomes[kind] >= count // 15 for kind in kinds), outcomes


def test_priorities_decide_between_rules() -> None:
    for one, other, outcome in ((2, 1, "without"), (1, 2, "without"), (1, 1, "not LALR(1)")):
        text = f'start: a | b\na.{one}: "x"\nb.{other}: "x"'
        assert check(load(text, "start", None)).startswith(outcome)


def test_the_room_of_the_kernel_grows(monkeypatch: pytest.MonkeyPatch) -> None:
    """It begins again with more room, wherever it had too little: the states are the same."""
    rules_of_text = "".join(f'x{n}: "a" x{n}? B\n' for n in range(20))
    text = f"start: {' | '.join(f'x{n}' for n in range(20))}\n{rules_of_text}B: /b/"
    loaded = load(text, "start", None)
    rules, answers, again = numbered(loaded, nothing), list[int](), 0

    def kernel(address: int) -> int:
        answers.append(entries.lalr(address))
        return answers[-1]

    monkeypatch.setattr(lalr_states, "FIRST_ROOM", 1 << 17)
    expected = construct(loaded, rules, kernel)
    assert answers == [0]
    for size in range(0, 4000, 50):
        answers.clear()
        monkeypatch.setattr(lalr_states, "FIRST_ROOM", size)
        made = construct(loaded, rules, kernel, most_states=256)
        again += len(answers) > 1
        for field in (
            "kernel_begins",
            "kernels",
            "states",
            "symbols",
            "targets",
            "complete_in",
            "complete",
            "lookaheads",
        ):
            assert np.array_equal(getattr(made, field), getattr(expected, field)), field
    assert 10 < again < 80


def test_lookaheads_in_circles() -> None:
    """Ways in which three nonterminals end with each other: what follows one follows those that it ends with."""
    pairs = [*product(range(3), repeat=2)]
    for case in range(0, 1 << len(pairs), 7):
        ends = [[b for place, (a, b) in enumerate(pairs) if a == n and case >> place & 1] for n in range(3)]
        lines = [f'n{n}: "{n}" | ' + " | ".join([f'"{n}" "-" n{b}' for b in ends[n]] or ['"."']) for n in range(3)]
        text = 'start: n0 "a" | "(" n1 "b" | "[" n2 "c"\n' + "\n".join(lines)
        assert check(load(text, "start", None)) in ("with conflicts", "without conflicts", "not LALR(1)")


def test_empty_rules_in_a_circle_have_the_lookaheads_of_lark(monkeypatch: pytest.MonkeyPatch) -> None:
    text = 'start.1: r r | p\np.8: r p* p* | p p "b"\nq.6: "a"\nr.6: | "a"'
    loaded, asked = load(text, "start", None), []
    of_lark = lalr_states.lookaheads_of_lark
    monkeypatch.setattr(lalr_states, "lookaheads_of_lark", lambda *given: asked.append(1) or of_lark(*given))
    with pytest.raises(UnsupportedFeature, match="without reading"):  # with the others its parser would seem to end
        tables_of(loaded)
    assert asked


def test_rules_that_may_be_empty() -> None:
    loaded = load('start: a a | "d"\na: | b\nb: "d"', "start", None)
    rules = numbered(loaded, nothing)
    empty = {loaded.nonterminals[~number] for number in rules.column[rules.is_empty == 1].tolist()}
    assert empty == {"start", "a"}
    assert all(first <= second for first, second in pairwise(rules.begins.tolist()))


def test_states_that_multiply_are_refused() -> None:
    """Right-linear rules are an automaton that guesses, and states are sets of its states: 2^40."""
    text = 'start: "a" start | "b" start | "a" t1\n' + "".join(f't{i}: ("a" | "b") t{i + 1}\n' for i in range(1, 40))
    with pytest.raises(LimitExceeded, match="states"):
        tables_of(load(text + 't40: "a"\n', "start", None))


def test_tables_that_are_too_large_are_refused() -> None:
    names = [f"T{i}" for i in range(4500)]
    text = f"start: ({' | '.join(names)})+\n" + "".join(f'{name}: "{name}"\n' for name in names)
    with pytest.raises(LimitExceeded, match="states for 4,500 terminals"):
        gl.compile(gl.Lark(text), gl.Vocabulary([*(bytes([b]) for b in range(256)), b"</s>"], stop_ids=[256]))


def test_the_clock_is_asked() -> None:
    loaded = load("start: " + " ".join(f'"{n}"' for n in range(300)), "start", None)

    def over() -> None:
        raise LimitExceeded("time is over")

    lexer = make_lexer(loaded, Algebra(500, nothing, 1 << 30), nothing, shifts=True)
    with pytest.raises(LimitExceeded, match="time is over"):
        lr_tables(loaded, lexer, entries.lalr, over)


@pytest.mark.parametrize("bound", ["MOST_ITEMS", "MOST_WORK"])
def test_the_work_of_the_kernel_is_bounded(bound: str, monkeypatch: pytest.MonkeyPatch) -> None:
    loaded = load('start: ("a" | "b" x)+\nx: "c" x | "d"', "start", None)
    monkeypatch.setattr(lalr_states, bound, 3)
    with pytest.raises(LimitExceeded, match="too many, too long or too ambiguous"):
        tables_of(loaded)


def test_the_end_of_the_text_wins_over_a_rule_that_is_itself() -> None:
    """`?start: start` may be reduced at the end of the text, where the text may end; that it is not is lost to the rule."""
    assert check(load('?start: start | "x"', "start", None)) == "without conflicts"
    assert tables_of(load('?start: start | "x"', "start", None)).lost
