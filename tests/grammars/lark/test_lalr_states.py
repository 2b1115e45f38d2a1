"""LALR(1) tables against those that lark's own analysis makes, state for state."""

from collections import Counter
from collections.abc import Callable
from dataclasses import astuple
from itertools import product

import pytest

import grammarlm as gl
from grammarlm.errors import GrammarError, LimitExceeded, UnsupportedFeature
from grammarlm.grammars.lark.lalr import lr_tables, numbered
from grammarlm.grammars.lark.lalr_states import Rules, construct, nullable, united
from grammarlm.grammars.lark.loading import Loaded, load, make_lexer
from grammarlm.grammars.lark.tables import LrTables
from grammarlm.grammars.regular.derivatives import Algebra
from tests.grammars.lark.lark_texts import RandomText, written_grammars
from tests.oracles.lark_tables import lark_tables
from tests.oracles.random_lark import RandomLark

FIELDS = ("shift_won", "lost")
MOST_RULES = 400  # of random grammars: lark would need minutes for more


def nothing() -> None:
    pass


def tables_of(loaded: Loaded, tick: Callable[[], None] = nothing) -> LrTables | None:
    return lr_tables(loaded, make_lexer(loaded, Algebra(500, tick, 1 << 30), tick, shifts=True), tick)


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


def check_random_grammars(seed: str, count: int) -> Counter[str]:
    outcomes, drawn, texts = Counter[str](), RandomLark(f"tables {seed}"), RandomText(f"tables {seed}")
    for case in range(count):
        text = texts.with_templates() if case % 4 == 0 else drawn.grammar().text
        try:
            loaded = load(text, "start", None)
            if len(loaded.rules) <= MOST_RULES:
                outcomes[check(loaded)] += 1
        except GrammarError:
            outcomes["refused"] += 1
    return outcomes


@pytest.mark.parametrize("seed", range(2))
def test_random_grammars(seed: int) -> None:
    outcomes = check_random_grammars(str(seed), 60)
    assert all(outcomes[kind] >= 4 for kind in ("not LALR(1)", "with conflicts", "without conflicts")), outcomes


@pytest.mark.proof
@pytest.mark.parametrize("seed", range(4))
def test_many_random_grammars(seed: int, record_property: Callable[[str, object], None]) -> None:
    outcomes = check_random_grammars(f"many {seed}", 500)
    record_property("cases", sum(outcomes.values()))
    assert all(outcomes[kind] >= 40 for kind in ("not LALR(1)", "with conflicts", "without conflicts")), outcomes


def test_priorities_decide_between_rules() -> None:
    for one, other, outcome in ((2, 1, "without"), (1, 2, "without"), (1, 1, "not LALR(1)")):
        text = f'start: a | b\na.{one}: "x"\nb.{other}: "x"'
        assert check(load(text, "start", None)).startswith(outcome)


def test_unions_of_what_is_reached() -> None:
    """All graphs of three nodes."""
    pairs = [*product(range(3), repeat=2)]
    for case in range(1 << len(pairs)):
        edges = [[b for place, (a, b) in enumerate(pairs) if a == node and case >> place & 1] for node in range(3)]
        found, is_cyclic = united([1, 2, 4], edges)
        everything = []
        for node in range(3):
            reached = [node]
            for other in reached:
                reached += [after for after in edges[other] if after not in reached]
            assert found[node] == sum(1 << other for other in set(reached)), edges
            everything.append(set(reached))
        assert is_cyclic == any(a in everything[b] and b in everything[a] for a in range(3) for b in range(a)), edges


def test_empty_rules_in_a_circle_have_the_lookaheads_of_lark() -> None:
    text = 'start.1: r r | p\np.8: r p* p* | p p "b"\nq.6: "a"\nr.6: | "a"'
    loaded = load(text, "start", None)
    assert construct(numbered(loaded)[1], 1 << 14, nothing).lookaheads is None
    with pytest.raises(UnsupportedFeature, match="without reading"):  # with the others its parser would seem to end
        tables_of(loaded)


def test_rules_that_may_be_empty() -> None:
    # 0: 1 1 | 3    1: (nothing) | 2    2: 3    4: 0 2
    rules = Rules(5, [True, True, True, False, True], [0, 0, 1, 1, 2, 4], [(1, 1), (3,), (), (2,), (3,), (0, 2)], 3)
    assert nullable(rules) == [True, True, False, False, False]


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

    with pytest.raises(LimitExceeded, match="time is over"):
        construct(numbered(loaded)[1], 1 << 14, over)
