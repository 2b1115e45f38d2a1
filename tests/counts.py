"""Counts of what a law has met, for the table of the proof."""

from collections.abc import Mapping
from typing import Any


def record_counts(record_property: Any, outcomes: Mapping[str, Any], about: str = "", cases: str = "") -> None:
    """`cases`: the outcome that counts the cases."""
    for outcome, count in sorted(outcomes.items()):
        record_property("cases" if outcome == cases else about + outcome, count)
