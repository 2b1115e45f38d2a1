"""method="masked": at each step the tokens that cannot be continued to a text of the grammar lose their logits, one of the rest is drawn."""

from __future__ import annotations

from .decoding import Decoding
from .request import Request
from .result import Result


def masked(request: Request) -> list[Result]:
    """The answers to all prompts, in one batch."""
    return start(request).results()


def start(request: Request) -> Decoding:
    """All that comes before the first token."""
    reader, known = request.reader()
    return Decoding(reader, request.tasks, request.n, known)
