"""How many cases a law meets: few in each run, its full count in the proof; and what it has met, for the table of the proof."""

from collections.abc import Mapping
from typing import Any

import pytest


def tiers(names: str, quick: Any, *proof: Any) -> pytest.MarkDecorator:
    """The parameters of a law in each run, and those that the proof has."""
    in_proof = [
        pytest.param(*(each if isinstance(each, tuple) else (each,)), marks=pytest.mark.proof) for each in proof
    ]
    return pytest.mark.parametrize(names, [quick, *in_proof])


def record_counts(record_property: Any, outcomes: Mapping[str, Any], about: str = "", cases: str = "") -> None:
    """`cases`: the outcome that counts the cases."""
    for outcome, count in sorted(outcomes.items()):
        record_property("cases" if outcome == cases else about + outcome, count)
