"""How rows were filled, in lines: a step, and the whole."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from grammarlm.errors import brief

if TYPE_CHECKING:
    from grammarlm.decoding.diffusion.report import Frame

NAMED = 3  # ids of a step that are shown, the first of them that were committed
LEGEND = "░ masked (red: an id was refused there), · the text's end and what follows it, green: committed in this step"


def line_of(frame: Frame) -> str:
    step = frame.step
    assert step is not None
    refused = f", {len(step.rejected)} refused" if step.rejected else ""
    notes = "".join(
        f", {name} {value:.3g}" if isinstance(value, float) else f", {name} {value}"
        for name, value in step.notes.items()
    )
    return (
        f"step {frame.number}: {len(step.committed)} committed ({named(frame)}){refused}, model calls {step.model_calls}, "
        f"model {step.model_ms:.1f} ms, canvas {step.canvas_ms:.1f} ms{notes}"
    )


def named(frame: Frame) -> str:
    """The texts of a step's first ids, and where they stand."""
    assert frame.step is not None
    pieces = {piece.position: piece for piece in frame.pieces}
    first = [pieces[position] for position in frame.step.committed[:NAMED]]
    texts = [f"{'end' if piece.is_end else brief(piece.text, 20)} at {piece.position}" for piece in first]
    return ", ".join(texts) + (", ..." if len(frame.step.committed) > NAMED else "")


def summary(result: Any) -> str:
    trace = result.stats.trace
    filled, refused = sum(len(step.committed) for step in trace), sum(len(step.rejected) for step in trace)
    return (
        f"tokens filled in {filled}, steps {len(trace)}, model calls {result.stats.forwards}, ids refused {refused}; model "
        f"{1000 * result.stats.model_seconds:.1f} ms, canvas {1000 * result.stats.mask_seconds:.1f} ms"
    )
