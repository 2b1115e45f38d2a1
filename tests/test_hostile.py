"""Hostile grammars end: compiled or refused in time and memory, walked in with every promise kept, and the next request is served.

The corpus is corpus/hostile.toml; each batch of it runs in a process of its own (hostile.py), so that a crash is seen and named.
"""

from itertools import cycle
from typing import Any

import pytest

from tests.hostile import CASES, GRACE, LIMITS, attack

ENDS = {"built", "GrammarError", "LimitExceeded", "UnsatisfiableGrammar", "UnsupportedFeature"}
BATCH = 45  # a process takes two seconds to start
QUICK = [name for name, case in CASES.items() if not case.get("slow") and "xfail" not in case]
FAULTY = {name: case["xfail"] for name, case in CASES.items() if "xfail" in case}
BATCHES: list[Any] = [QUICK[at : at + BATCH] for at in range(0, len(QUICK), BATCH)]


def wrong(name: str, limits: str, facts: dict[str, Any]) -> str | None:
    """What is wrong with the end of a case; None where it ended as it should."""
    outcome, expected = facts["outcome"], CASES[name].get("outcome")
    if outcome not in ENDS:
        return outcome
    if facts["slowest"] > LIMITS[limits].max_ms / 1e3 + CASES[name].get("grace", GRACE):
        return f"a call took {facts['slowest']:.1f} s of CPU time"
    in_time = limits == "ordinary" or (limits == "short" and outcome != "LimitExceeded")  # a busy machine is slow
    if expected not in (None, outcome) and in_time:
        return f"{outcome} instead of {expected}"
    return None


def check(names: list[str], limits: str) -> None:
    ends = {name: wrong(name, limits, facts) for name, facts in attack(names, limits).items()}
    assert list(ends) == names
    faults = [f"{name}: {fault}" for name, fault in ends.items() if fault is not None]
    assert not faults, "\n".join(faults)


def test_the_corpus_is_large_and_its_names_are_unique() -> None:
    assert len(CASES) >= 60
    assert {case["kind"] for case in CASES.values() if "kind" in case} >= {"Regex", "Gbnf", "Ebnf", "Lark"}


@pytest.mark.parametrize(
    ("names", "limits"), zip(BATCHES, cycle(["short", "tiny"])), ids=[f"{b[0]} to {b[-1]}" for b in BATCHES]
)
def test_hostile_grammars_end(names: list[str], limits: str) -> None:
    check(names, limits)


FAULTS = [pytest.param(name, marks=pytest.mark.xfail(strict=True, reason=why)) for name, why in FAULTY.items()]


@pytest.mark.parametrize("name", FAULTS)
def test_known_faults(name: str) -> None:
    check([name], "ordinary")


@pytest.mark.proof
@pytest.mark.parametrize("limits", ["ordinary", "short", "tiny", "tiny and slow"])
def test_all_hostile_grammars_end(limits: str, record_property: Any) -> None:
    check([name for name in CASES if name not in FAULTY], limits)
    record_property("cases", len(CASES))
