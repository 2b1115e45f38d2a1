"""What one step of infilling did: `out.stats.trace` is a list of these."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class TraceStep:
    """Positions committed after one look at the row, and what that took.

    `model_calls`   calls of the model since the step before; a batch is one call
    `committed`     the positions, in the order in which they were committed; each masked position is in one step of a trace
    `tokens`        their ids
    `rejected`      positions whose proposed id could not be committed together with those before it; they got another id in this
                    step, or wait for a later one
    `model_ms`, `canvas_ms`   milliseconds in the model, and in the canvas: allowed rows, commits, fills
    `notes`         what the sampler says about its decision: thresholds, bits, ends of blocks
    """

    model_calls: int
    committed: list[int]
    tokens: list[int]
    rejected: list[int] = field(default_factory=list)
    model_ms: float = 0.0
    canvas_ms: float = 0.0
    notes: dict[str, Any] = field(default_factory=dict)
