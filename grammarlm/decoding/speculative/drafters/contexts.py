"""Prompts that a draft model gets instead of the target's: shorter ones, or what was retrieved for them.

A draft model reads texts of its own, so its positions are its own too: after a prompt of 5 ids for the draft and 500 for the target
the answer's first token is number 6 for one and number 501 for the other.
"""

from __future__ import annotations

from collections.abc import Callable, MutableMapping, Sequence

from grammarlm.decoding.arguments import check_function
from grammarlm.decoding.loop.row import Row

Context = Callable[[list[int]], list[int]]


class Contexts:
    """`of(ids of a prompt)`: the ids that the draft model gets instead; None: the same. `prompts`: a table of these."""

    def __init__(self, of: Context | None, prompts: MutableMapping[Row, list[int]]):
        check_function("context", of)
        self._of, self._prompts = of, prompts

    def prompt(self, ids: Sequence[int]) -> list[int]:
        return list(ids) if self._of is None else list(self._of(list(ids)))

    def text(self, row: Row, ids: Sequence[int]) -> list[int]:
        """The draft model's text where the target has these ids."""
        if self._of is None:
            return list(ids)
        own = self._prompts.get(row)
        if own is None:
            own = self._prompts[row] = self.prompt(row.spec.prompt)
        return [*own, *ids[len(row.spec.prompt) :]]
