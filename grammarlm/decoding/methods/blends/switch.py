"""method="switch": a large model where the text is uncertain, a small one elsewhere.

    out = gl.generate(small, prompt, schema=Order, method="switch", large=large, above=0.5, window=5)
    sum(step["large"] for step in out.stats.log) / len(out.stats.log)       # the share of choices that the large one has made

The next token is drawn from the large model's logits where the mean entropy of the last `window` tokens is `above` or more, in
nats; else from those of generate()'s own model. Entropies are of the masked distributions, each of the model that was asked; tokens
that are the only allowed ones have none, and so have those before the answer: it begins small. Each model has a cache of its own,
and reads what the other one has written when it is asked again; tokens that are forced ask neither.

    large    a model, another prompt, or (model, prompt): sources.py
    above    nats: 0 is the large model alone, math.inf the small one
    window   tokens

out.stats.log has a dict for each choice: "token" (its number in the answer, from 0), "entropy" and "large" (1 or 0).

Purpose: steered by another model. Forwards: one a token, of one of the models; each reads an id once. Law: the masked one of the
model that is asked, which depends on the text so far. Not where answers must be the large model's own: take it alone, with the
small one as its `draft=`.

Source: EAD (Entropy Adaptive Decoding: Dynamic Model Switching for Efficient Inference).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import torch

from grammarlm.decoding.arguments import check_integer, check_number
from grammarlm.decoding.loop.blending import Blending, BlendRow
from grammarlm.decoding.loop.loop import Decoding
from grammarlm.decoding.loop.row import Row
from grammarlm.decoding.readers.model_facts import width_of
from grammarlm.decoding.readers.switching import SwitchingReader
from grammarlm.decoding.request import Request

from .blend import Blended
from .sources import Source

SMALL, LARGE = 0, 1


class Switch(Blended):
    """A masked blend of one row: its reader asks the model that the entropies before choose."""

    def start(self, request: Request, **options: Any) -> Decoding:
        given = self._with_defaults(options)
        sources = [Source("the model", request.model, request.prompts), self._source(2, "large", given, request)]
        check_number("above", given["above"], lambda nats: nats >= 0, "0 (the large model alone) or more, in nats")
        check_integer("window", given["window"], 1)
        openers = [lambda prompts, of=of: replace(of, prompts=prompts).reader(request) for of in sources]
        widths = [width for of in sources if (width := width_of(of.model)) is not None]
        reader = SwitchingReader(
            openers,
            list(zip(*(of.prompts for of in sources), strict=True)),
            min(widths) if len(widths) == len(sources) else None,
        )
        switching = Switching(partial(self.function, **given), self.__name__, reader, given["above"], given["window"])
        return Decoding(reader, request.specs, request.n, blending=switching)


class Switching(Blending):
    """Says before each forward which model reads each text."""

    def __init__(
        self, function: Callable[..., torch.Tensor], name: str, reader: SwitchingReader, above: float, window: int
    ):
        super().__init__(function, name, [], [{} for _ in reader.beginnings])
        self._reader, self._above, self._window = reader, above, window

    def before_read(self, rows: Sequence[Row]) -> None:
        for row in rows:
            row.memory["large"] = self._model_of(row)
        self._reader.chosen = [row.memory["large"] for row in rows]

    def _model_of(self, row: Row) -> int:
        """What is read only for the figures of forced tokens at the end is no reason to ask the large one."""
        if not self._above:
            return LARGE
        last = [nats for at, nats in row.memory.get("entropies", ()) if at >= row.count - self._window]
        return LARGE if row.goes_on and math.fsum(last) / self._window >= self._above else SMALL


def switching(function: Callable[..., torch.Tensor]) -> Switch:
    return Switch(function, ["large"], True, None)


@switching
def switch(rows: Sequence[BlendRow], logits: torch.Tensor, *, above: float, window: int = 5) -> torch.Tensor:
    """The logits as they are; notes their entropies."""
    log_p = logits.log_softmax(-1)
    entropies = -(log_p.exp() * log_p.masked_fill(log_p == -math.inf, 0.0)).sum(-1)
    for row, nats in zip(rows, entropies.clamp(min=0).tolist(), strict=True):
        now = len(row.tokens)
        before = [one for one in row.memory.get("entropies", ()) if one[0] > now - window]
        row.memory["entropies"] = (*before, (now, nats))
        row.log.append({"token": float(now), "entropy": nats, "large": float(row.memory["large"])})
    return logits
