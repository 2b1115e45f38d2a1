"""The bytes of a text that has been read."""

from __future__ import annotations

CHUNK = 128  # bytes that are copied at most


class Text:
    """What is longer shares what it was made of: each step of a text keeps its own, so copies would take memory by the square
    of the text's length."""

    __slots__ = ("_before", "_chunk", "escapes", "length")

    def __init__(self, before: Text | None = None, chunk: bytes = b"", escapes: bool = False):
        self._before, self._chunk = before, chunk
        self.length: int = len(chunk) + (before.length if before is not None else 0)
        self.escapes = escapes  # is the next character escaped?

    def with_(self, data: bytes) -> Text:
        rest = data.rstrip(b"\\")
        escapes = ((len(data) - len(rest)) % 2 == 1) ^ (self.escapes and not rest)
        if len(self._chunk) < CHUNK:
            return Text(self._before, self._chunk + data, escapes)
        return Text(self, data, escapes)

    def after(self, begin: int) -> bytes:
        """The bytes from an offset on."""
        found: list[bytes] = []
        here: Text | None = self
        while here is not None and here.length > begin:
            found.append(here._chunk)
            here = here._before
        whole = b"".join(reversed(found))
        return whole[len(whole) - self.length + begin :]
