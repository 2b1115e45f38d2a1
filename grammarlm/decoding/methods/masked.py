"""method="masked": each step masks the tokens that cannot be continued to a text of the grammar, and draws one of the others from
the model's own distribution, renormalised step by step.
"""

from __future__ import annotations

from grammarlm.decoding.loop.loop import Decoding
from grammarlm.decoding.request import Request
from grammarlm.decoding.result import Result


def masked(request: Request) -> list[Result]:
    """The answers to all prompts, in one batch."""
    return start(request).results()


def start(request: Request) -> Decoding:
    """All that comes before the first token."""
    drafting, reader = request.drafting(), request.reader()
    if drafting is not None:
        reader = drafting.reader(reader)
    return Decoding(reader, request.specs, request.n, drafting)
