"""How rows were filled, in lines: a step, and the whole."""

from __future__ import annotations

from typing import Any


def line_of(number: int, step: Any) -> str:
    refused = f", {len(step.rejected)} refused" if step.rejected else ""
    notes = "".join(
        f", {name} {value:.3g}" if isinstance(value, float) else f", {name} {value}"
        for name, value in step.notes.items()
    )
    return f"step {number}: {len(step.committed)} committed{refused}, model calls {step.model_calls}{notes}"


def summary(result: Any) -> str:
    trace = result.stats.trace
    filled, refused = sum(len(step.committed) for step in trace), sum(len(step.rejected) for step in trace)
    return (
        f"tokens filled in {filled}, steps {len(trace)}, model calls {result.stats.forwards}, ids refused {refused}; model "
        f"{1000 * result.stats.model_seconds:.1f} ms, canvas {1000 * result.stats.mask_seconds:.1f} ms"
    )
