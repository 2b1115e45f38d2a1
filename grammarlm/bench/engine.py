"""The interface of engines: compile a schema, reset to the start of a text, fill a mask, read a token, may the text end."""

from __future__ import annotations

from typing import Any

import numpy as np


class Engine:
    """What the worker drives. Times are taken around `compile` + `reset` + `mask`, and around `mask` + `commit`.

    By default nothing is constrained, compiled or cached.
    """

    package = "grammarlm"  # whose version a report names
    refusals: tuple[
        type[Exception], ...
    ] = ()  # what `compile` raises for a schema that is not supported; all else is a fault

    def __init__(self, tokenizer: Any):
        """The tokenizer that all engines share."""

    def forget(self) -> None:
        """Clears caches of earlier schemas."""

    def compile(self, schema: Any) -> None:
        """Makes the schema ready."""

    def reset(self, most: int | None = None) -> None:
        """To the start of a text; of at most so many tokens, where it can."""

    def mask(self) -> None:
        """Makes the mask of the next token."""

    def words(self) -> np.ndarray | None:
        """The mask, 32 tokens a word, stop ids among them; None: all tokens."""
        return None

    def commit(self, token: int) -> bool:
        """Reads a token. False: the mask forbids it (or the engine refuses it)."""
        return True

    def can_stop(self) -> bool:
        return True

    def nbytes(self) -> int | None:
        """Size of the compiled schema, where the engine reports it."""
        return None
