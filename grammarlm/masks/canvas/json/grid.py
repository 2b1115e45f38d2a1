"""Rows of one length as a canvas sees them; passes are made of tokens, since a key is more than classes."""

from __future__ import annotations

from collections.abc import Sequence

from grammarlm.masks.canvas.json.duplicate_keys.witness import settled
from grammarlm.masks.canvas.protocol import Passes, TokenPasses

from .known_row import JsonRow
from .passes import JsonPasses
from .rows import JsonRows


class JsonGrid:
    """Passes over a row take what is known of the row before."""

    def __init__(self, rows: JsonRows):
        self._rows, self.classes = rows, rows.classes

    def token_passes(self, tokens: Sequence[int], before: Passes | None) -> TokenPasses:
        rows, row, like = self._rows, list(tokens), before if isinstance(before, JsonPasses) else None
        if like is not None and like.row.grid is rows and like.row.tokens == row:
            return like
        return JsonPasses(settled(JsonRow(rows, row, rows.needed(row))), like)
