"""method="adapted": a function of the caller's adapts the model while it writes, and the model reads again.

    def step(model, logits, texts):             # of each text its ids, and the logits after them, before any mask
        if toxicity(logits).max() < 0.1:
            return False
        update_biases(model, texts)             # a gradient step on a few parameters, say
        return True                             # read the texts again, and ask once more

    gl.generate(model, prompt, schema=Reply, method="adapted", step=step, most=3)

After each forward `step` is asked, at most `most` times; where it returns True the texts are read again, by the model as it is
then. What the constraint knows of the texts does not change meanwhile: it is asked about the last logits alone. Parameters are the
caller's: nothing sets them back, neither between prompts nor after the call. All texts of a forward are read by one model, so
answers depend on their company (`batch_size=1`: each prompt by itself).

    step   a function of the model, float32 logits [texts, V] and a list of lists of ids, prompts included; it returns True or False
    most   how often it may ask for another read of one place

Purpose: steered by another model. Forwards: one a token and one for each repeat, over whole texts. Law: the masked one of the
model as it is at each token. Not where a blend of logits will do: that reads no text twice.

Source: UDDIA (Unified Detoxifying and Debiasing in Language Generation via Inference-time Adaptive Optimization).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch

from grammarlm.decoding.arguments import MOST_ANSWERS, check_function, check_integer
from grammarlm.decoding.loop.loop import Decoding
from grammarlm.decoding.readers.adapted import Adapt, AdaptedReader
from grammarlm.decoding.request import Request

from .blend import Blended


class Adapted(Blended):
    """A blend of the model's own row alone, by a reader that may read it again."""

    def start(self, request: Request, **options: Any) -> Decoding:
        given = self._with_defaults(options)
        check_function("step", given["step"], optional=False)
        check_integer("most", given["most"], 1, MOST_ANSWERS)
        reader = AdaptedReader(
            request.model,
            lambda prompts: replace(request, prompts=prompts).reader(),
            request.prompts,
            given["step"],
            given["most"],
        )
        return Decoding(reader, request.specs, request.n)


def adapting(function: Callable[..., torch.Tensor]) -> Adapted:
    return Adapted(function, [], False, None)


@adapting
def adapted(logits: torch.Tensor, *, step: Adapt, most: int = 1) -> torch.Tensor:
    """The logits as they are."""
    return logits
