"""method="masked": at each step tokens that could not be continued to a text of the grammar lose their logits, and one of the
others is drawn: from the model's own distribution, cut down and renormalised, step by step."""

from __future__ import annotations

from .decoding import Decoding
from .request import Request
from .result import Result


def masked(request: Request) -> list[Result]:
    """The answers to all prompts, in one batch."""
    return start(request).results()


def start(request: Request) -> Decoding:
    """All that comes before the first token."""
    return Decoding(request.reader(), request.tasks, request.n)
