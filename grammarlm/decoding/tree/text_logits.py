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
        self.kept: KeptRows | None = None  # where texts are asked about in any order

    def after(self, texts: list[TextNode]) -> np.ndarray:
        """float32 [texts, V], the caller's: the logits after each text."""
        self.forwards += 1
        if self.kept is not None:
            return self._on_kept_rows(self.kept, texts)
        shared = self._shared(texts)
        if self._reader is None or shared is None:
            self._reader = self._opened(texts)
            chunks = [[*begin, *text.tokens()] for begin, text in zip(self._reader.beginnings, texts, strict=True)]
        else:
            rows, prefixes = [row for row, _ in shared], [prefix for _, prefix in shared]
            self._reader.select(rows)
            self._reader.rollback(
                [self._texts[row].length - prefix.length for row, prefix in zip(rows, prefixes, strict=True)]
            )
            chunks = [text.tokens(prefix.length) for text, prefix in zip(texts, prefixes, strict=True)]
        self._texts = texts
        return self._read(self._reader, chunks)

    def _opened(self, texts: Sequence[TextNode]) -> Reader:
        """A new reader of their prompts."""
        prompts, settings = [self._request.prompts[text.prompt] for text in texts], self._request.specs[0].settings
        return open_reader(self._request.model, prompts, settings.max_tokens, settings.cache)

    def _read(self, reader: Reader, chunks: Sequence[Sequence[int]]) -> np.ndarray:
        logits: np.ndarray = reader.read(chunks, [1] * len(chunks)).numpy()
        if self.forwards == 1 and reader.width is None:  # of a bare callable it is known only now
            warn_of_width(self._request.specs[0].vocab.size, logits.shape[1])
        return logits

    def _on_kept_rows(self, kept: KeptRows, texts: list[TextNode]) -> np.ndarray:
        readers, chunks = list[Reader](), list[list[int]]()
        for text in texts:
            beginning, reader = kept.beginning(text) or (None, self._opened([text]))
            readers.append(reader)
            unread = text.tokens(0 if beginning is None else beginning.length)
            chunks.append([*reader.beginnings[0], *unread] if beginning is None else unread)
        whole = readers[0]
        for reader in readers[1:]:
            whole.join(reader)
        logits = self._read(whole, chunks)
        for at, text in enumerate(texts):
            kept.keep(text, whole.taken([at]) if len(texts) > 1 else whole)
        return logits

    def _shared(self, texts: Sequence[TextNode]) -> list[tuple[int, TextNode]] | None:
        """For each text the row that has read the longest part of it, and this part, which is never the whole text: its last token
        is read for its logits. None where a text shares nothing with any row, not even a prompt that it goes on from.
        """
        row_of = {text: row for row, text in enumerate(self._texts)}
        if all(text.parent in row_of for text in texts):
            return [(row_of[text.parent], text.parent) for text in texts if text.parent is not None]
        return shared_beginnings(self._texts, texts)


def shared_beginnings(read: Sequence[TextNode], texts: Sequence[TextNode]) -> list[tuple[int, TextNode]] | None:
    """For each text one that was read and begins like it, by its number, and the longest beginning that they share, never all of
    the text; None where one has none."""
    row_of = {text: row for row, text in enumerate(read)}
    for row, text in enumerate(read):
        for node in text.ancestors():
            row_of.setdefault(node, row)
    found = [next((one for one in text.ancestors() if one in row_of), None) for text in texts]
    known = [(row_of[one], one) for one in found if one is not None]
    return known if len(known) == len(texts) else None


class KeptRows:
    """A reader of its own for each of the latest texts, within so many bytes: what goes on from one of them reads what is new.

    The first text is kept whatever it takes: with it the prompt is read once.
    """

    def __init__(self, room: int):
        self._room = room
        self._readers: dict[TextNode, Reader] = {}  # the latest ones last, but for the first

    def beginning(self, text: TextNode) -> tuple[TextNode, Reader] | None:
        """The longest text here that it goes on from, and a copy of its reader."""
        found = next((one for one in text.ancestors() if one in self._readers), None)
        if found is None:
            return None
        reader = self._readers[found]
        if found.parent is not None:
            self._readers[found] = self._readers.pop(found)
        return found, reader.taken([0])

    def keep(self, text: TextNode, reader: Reader) -> None:
        self._readers[text] = reader
        taken = sum(one.nbytes for one in self._readers.values())
        for one in list(self._readers)[1:]:
            if taken <= self._room:
                break
            taken -= self._readers.pop(one).nbytes
