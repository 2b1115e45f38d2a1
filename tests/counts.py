"""Counts of what a law has met, for the table of the proof."""

from collections.abc import Mapping
from typing import Any


def record_counts(record_property: Any, outcomes: Mapping[str, Any], about: str = "") -> None:
    for outcome, count in sorted(outcomes.items()):
        record_property(about + outcome, count)
