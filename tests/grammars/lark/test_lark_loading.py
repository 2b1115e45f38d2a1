"""Grammars loaded without lark are what lark's loader makes of them: rules, terminals, names, order."""

import re
from collections import Counter
from collections.abc import Callable

import pytest

from grammarlm.errors import GrammarError, LimitExceeded
from grammarlm.grammars.lark.loading import read_parts
from tests.corpus_files import tables
from tests.counts import tiers
from tests.grammars.lark.lark_texts import RandomText, written_grammars
from tests.oracles.lark_loader import NamedParts, by_name, load_with_lark
from tests.oracles.random_lark import RandomLark


def ours(text: str, start: str = "start", kept: frozenset[str] = frozenset()) -> NamedParts:
    return by_name(read_parts(text, start, {*kept}, lambda: None))


def one_order(regex: str) -> str:
    """lark writes several flags in an order that depends on hashes."""
    return re.sub(r"(\(\?[imslux]:)+", lambda found: "".join(sorted(found[0])), regex)


def check(text: str, start: str = "start") -> str:
    """Compares both; says what happened."""
    try:
        found = ours(text, start)
    except LimitExceeded:
        return "beyond a limit"
    except GrammarError:
        return "refused"
    theirs = load_with_lark(text, start, set())
    assert found.rules == theirs.rules
    assert found.ignored == theirs.ignored
    assert [t.name for t in found.terminals] == [t.name for t in theirs.terminals]
    for one, other in zip(found.terminals, theirs.terminals, strict=True):
        assert (one.priority, one.pattern.kind) == (other.priority, other.pattern.kind)
        assert one.pattern.flags == other.pattern.flags
        assert one_order(one.pattern.value) == one_order(other.pattern.value)
        assert one_order(one.pattern.regex) == one_order(other.pattern.regex)
        assert one.pattern.widths == other.pattern.widths
    return "equal"


@pytest.mark.parametrize(("text", "start"), written_grammars())
def test_written_grammars(text: str, start: str, request: pytest.FixtureRequest) -> None:
    """One has a pattern that `re` and `regex` refuse, so that nothing can be read with it."""
    is_refused = request.node.callspec.id == "regular expressions"
    assert check(text, start) == ("refused" if is_refused else "equal")
    assert lark_refuses(text, start) is is_refused


def lark_refuses(text: str, start: str = "start") -> bool:
    try:
        load_with_lark(text, start, set())
    except GrammarError:
        return True
    return False


@tiers(("seed", "count"), ("some", 150), *((f"many {seed}", 1500) for seed in range(4)))
def test_random_grammars(seed: str, count: int, record_property: Callable[[str, object], None]) -> None:
    outcomes, drawn, texts = Counter[str](), RandomLark(f"loading {seed}"), RandomText(f"loading {seed}")
    for case in range(count):
        text = (texts.with_templates(), texts.changed(), drawn.grammar().text)[case % 3]
        outcome = check(text)
        if outcome == "refused":
            assert lark_refuses(text), text
        outcomes[outcome] += 1
    record_property("cases", outcomes.total())
    assert outcomes["equal"] > count // 2, outcomes
    assert outcomes["refused"] > count // 15, outcomes


@pytest.mark.parametrize("names", [("NEWLINE",), ("NEWLINE", "X")])
def test_terminals_that_are_kept(names: tuple[str, ...]) -> None:
    text = 'start: "a"\nNEWLINE: /\\n/\nX: "x"'
    assert ours(text, kept=frozenset(names)).terminals == load_with_lark(text, "start", {*names}).terminals


@pytest.mark.parametrize("text", tables("lark_texts")["written"])
def test_what_is_written_in_many_ways(text: str) -> None:
    if check(text) == "refused":
        assert lark_refuses(text)
