"""Shares and times of many records, with bootstrapped intervals; denominators are all schemas, unless named otherwise."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from .record import Generated, Output

RESAMPLES = 1000


@dataclass(frozen=True)
class Median:
    """A median with its 95 % interval, and the 99th percentile."""

    count: int
    value: float
    low: float
    high: float
    p99: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Median:
        if not values:
            return cls(0, math.nan, math.nan, math.nan, math.nan)
        found = np.asarray(values, float)
        picks = np.random.default_rng(0).integers(len(found), size=(RESAMPLES, len(found)))
        low, high = np.quantile(np.median(found[picks], axis=1), [0.025, 0.975])
        return cls(len(found), float(np.median(found)), float(low), float(high), float(np.quantile(found, 0.99)))


@dataclass(frozen=True)
class Figures:
    """One row of the tables."""

    schemas: int
    declared: int
    empirical: int  # schemas all of whose outputs are valid
    by_reference: int  # the same, as the reference implementation judges
    finished: int  # declared ones all of whose outputs have ended by themselves
    counts: dict[str, int]  # schemas with each outcome
    compile_time: Median
    first_token: Median
    later_token: Median
    total: Median
    # Of a scripted model: instances of declared schemas.
    valid_instances: int
    reproduced: int
    exact: int
    fields: float
    invalid_instances: int
    let_through: int
    token_times: dict[str, float] = field(default_factory=dict, repr=False)  # by schema, for ratios

    @classmethod
    def of(cls, records: Sequence[Generated]) -> Figures:
        declared = [record for record in records if record.is_declared]
        finished = [
            record
            for record in declared
            if all(output.is_finished or output.is_turned_away for output in record.outputs) and _ran(record)
        ]
        outputs = [output for record in declared for output in record.outputs]
        valid = [output for output in outputs if output.label is True]
        invalid = [output for output in outputs if output.label is False]
        outcomes = [record.outcomes() for record in records]
        per_token = {record.case: time for record in declared if (time := later_token(record.outputs)) is not None}
        written = [record for record in declared if record.outputs]
        return cls(
            len(records),
            len(declared),
            sum(all(output.is_valid or output.is_turned_away for output in record.outputs) for record in finished),
            sum(
                all((output.is_finished and output.by_reference) or output.is_turned_away for output in record.outputs)
                for record in finished
            ),
            len(finished),
            {name: sum(name in each for each in outcomes) for name in Generated.OUTCOMES},
            Median.of([record.compile_time for record in declared if record.compile_time is not None]),
            Median.of([first_token(record) for record in written]),
            Median.of(list(per_token.values())),
            Median.of([total(record) for record in written]),
            len(valid),
            sum(output.is_reproduced for output in valid),
            sum(output.is_finished and output.is_exact for output in valid),
            sum(output.fields for output in valid) / len(valid) if valid else math.nan,
            len(invalid),
            sum(output.is_reproduced for output in invalid),
            per_token,
        )

    def as_json(self) -> dict[str, object]:
        kept = {name: value for name, value in vars(self).items() if name != "token_times"}
        return {name: vars(value) if isinstance(value, Median) else value for name, value in kept.items()}


def _ran(record: Generated) -> bool:
    return not record.timeout and record.crash is None


def first_token(record: Generated) -> float:
    """From the schema to the first token of the first text, microseconds."""
    return (record.compile_time or 0) + record.outputs[0].first_token


def later_token(outputs: Sequence[Output]) -> float | None:
    """Microseconds a token, the first of each text aside; a stop counts as one."""
    count = sum(output.tokens for output in outputs)
    return sum(output.later_tokens for output in outputs) / count if count else None


def total(record: Generated) -> float:
    """Compile and the first text, microseconds."""
    return first_token(record) + record.outputs[0].later_tokens


def ratio(ours: Figures, theirs: Figures) -> tuple[int, float]:
    """The ratio of times per output token, over schemas that both have: their number, and the median of the ratios."""
    common = [(ours.token_times[case], time) for case, time in theirs.token_times.items() if case in ours.token_times]
    found = [one / other for one, other in common if other]
    return len(found), float(np.median(found)) if found else math.nan
