"""Statistics of many records: counts of outcomes, tails of times, ratios on the cases where two engines did the same work."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from .record import Verdicts

QUANTILES = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "p99.9": 0.999, "max": 1.0}


@dataclass(frozen=True)
class Times:
    """The average and the quantiles, in microseconds."""

    count: int
    avg: float
    quantiles: dict[str, float]

    @classmethod
    def of(cls, values: Sequence[float]) -> Times:
        ordered = sorted(values)
        average = sum(ordered) / len(ordered) if ordered else math.nan
        return cls(len(ordered), average, {name: _quantile(ordered, at) for name, at in QUANTILES.items()})


@dataclass(frozen=True)
class Figures:
    """One row of the tables. A case with two outcomes is counted in both; `passing` excludes any other."""

    cases: int
    with_tests: int
    counts: dict[str, int]
    passing_with_tests: int
    unsatisfiable: int
    first_mask: Times
    masks: Times
    median_bytes: int | None
    peak_bytes: int

    @classmethod
    def of(cls, records: Sequence[Verdicts]) -> Figures:
        found = [record.outcomes() for record in records]
        sizes = sorted(record.nbytes for record in records if record.nbytes is not None)
        return cls(
            len(records),
            sum(record.tests > 0 for record in records),
            {name: sum(name in each for each in found) for name in Verdicts.OUTCOMES},
            sum(record.tests > 0 and "passing" in each for record, each in zip(records, found, strict=True)),
            sum(record.is_unsatisfiable for record in records),
            Times.of([record.first_mask for record in records if record.first_mask is not None]),
            Times.of([time for record in records for time in record.masks]),
            sizes[len(sizes) // 2] if sizes else None,
            max((record.peak_bytes for record in records), default=0),
        )


@dataclass(frozen=True)
class Ratios:
    """An engine's times divided by another's, on the cases where both made equally many masks: the same work."""

    cases: int
    first_mask: dict[str, float]
    masks: dict[str, float]

    @classmethod
    def of(cls, ours: Sequence[Verdicts], theirs: Sequence[Verdicts]) -> Ratios:
        known = {record.case: record for record in theirs}
        common = [(a, b) for a in ours if (b := known.get(a.case)) and a.masks and len(a.masks) == len(b.masks)]
        firsts = [[pair[side].first_mask or math.nan for pair in common] for side in (0, 1)]
        masks = [[time for pair in common for time in pair[side].masks] for side in (0, 1)]
        return cls(len(common), _ratios(*firsts), _ratios(*masks))


def _ratios(ours: list[float], theirs: list[float]) -> dict[str, float]:
    one, other = Times.of(ours), Times.of(theirs)
    pairs = {name: _divided(one.quantiles[name], other.quantiles[name]) for name in QUANTILES}
    return {"avg": _divided(one.avg, other.avg), **pairs}


def _divided(a: float, b: float) -> float:
    return a / b if b else math.nan


def _quantile(ordered: list[float], at: float) -> float:
    return ordered[min(len(ordered) - 1, int(len(ordered) * at))] if ordered else math.nan
