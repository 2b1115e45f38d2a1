"""Diffusion language models under a constraint: rows with masked positions, filled in any order, several a step.

    look.py       what a sampler sees (Look) and says (Choice)
    samplers.py   the core's samplers, and drivers, which say which part of the row the model reads; others are published ones
    run.py        one row being filled: calls of the model, joint commits, the trace
    boards.py     the canvas of a row, or of a part of it behind a matcher; free.py: without a grammar
    denoiser.py   a model: rows with masks in, logits of every position out
    several.py    the canvas of a | b, from those of a and b
    holes.py      text pieces and holes; shrinking.py: holes that may become shorter
    together.py   rows of several prompts, side by side
    infill.py     gl.infill; written.py: method="diffusion" of gl.generate

`SAMPLERS` has every sampler and driver under its name, as `gl.infill(sampler=)` takes it.
"""

from typing import Any

from grammarlm.decoding.systems import DRIVERS, RULES, system

__all__ = ["SAMPLERS", "Choice", "Look"]


def __getattr__(name: str) -> Any:
    if name == "SAMPLERS":
        found: Any = {key: system(place) for key, place in (RULES | DRIVERS).items()}
    elif name in ("Choice", "Look"):
        found = system(f"decoding.diffusion.look:{name}")
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}; there are {', '.join(__all__)}")
    globals()[name] = found
    return found
