"""What the model says after texts of a tree: one reader, which goes back to what a text shares with those read last."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from grammarlm.decoding.fit import warn_of_width
from grammarlm.decoding.readers.reader import Reader, open_reader
from grammarlm.decoding.request import Request

from .text_node import TextNode


class TextLogits:
    """Each text is read on top of the row of the last call with which it shares the most; one call is one forward."""

    def __init__(self, request: Request):
        self._request = request
        self.forwards = 0
        self._texts: list[TextNode] = []  # those that the reader has read, row by row
        self._reader: Reader | None = None

    def after(self, texts: list[TextNode]) -> np.ndarray:
        """float32 [texts, V], the caller's: the logits after each text."""
        self.forwards += 1
        shared = self._shared(texts)
        if self._reader is None or shared is None:
            prompts = [self._request.prompts[text.prompt] for text in texts]
            settings = self._request.specs[0].settings
            self._reader = open_reader(self._request.model, prompts, settings.max_tokens, settings.cache)
            chunks = [[*begin, *text.tokens()] for begin, text in zip(self._reader.beginnings, texts, strict=True)]
        else:
            rows, prefixes = [row for row, _ in shared], [prefix for _, prefix in shared]
            self._reader.select(rows)
            self._reader.rollback(
                [self._texts[row].length - prefix.length for row, prefix in zip(rows, prefixes, strict=True)]
            )
            chunks = [text.tokens(prefix.length) for text, prefix in zip(texts, prefixes, strict=True)]
        self._texts = texts
        logits = self._reader.read(chunks, [1] * len(texts)).numpy()
        if self.forwards == 1 and self._reader.width is None:  # of a bare callable it is known only now
            warn_of_width(self._request.specs[0].vocab.size, logits.shape[1])
        return logits

    def _shared(self, texts: Sequence[TextNode]) -> list[tuple[int, TextNode]] | None:
        """For each text the row that has read the longest part of it, and this part, which is never the whole text: its last token
        is read for its logits. None where a text shares nothing with any row, not even a prompt that it goes on from.
        """
        row_of = {text: row for row, text in enumerate(self._texts)}
        if all(text.parent in row_of for text in texts):
            return [(row_of[text.parent], text.parent) for text in texts if text.parent is not None]
        for row, text in enumerate(self._texts):
            for node in text.ancestors():
                row_of.setdefault(node, row)
        found = [next((one for one in text.ancestors() if one in row_of), None) for text in texts]
        known = [(row_of[one], one) for one in found if one is not None]
        return known if len(known) == len(texts) else None
