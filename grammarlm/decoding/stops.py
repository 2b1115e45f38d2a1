"""stop=: strings before which an answer ends.

The one that is complete first ends it, of those that are complete with the same byte the longest. How the text falls into tokens
makes no difference, therefore.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from grammarlm.errors import brief


@dataclass(frozen=True)
class Stops:
    texts: tuple[str, ...]

    @classmethod
    def of(cls, given: object) -> Stops | None:
        """What generate() is given; None where it is nothing."""
        texts = (given,) if isinstance(given, str) else given
        if texts is None:
            return None
        if not isinstance(texts, Iterable) or isinstance(texts, (bytes, dict)):
            raise TypeError(f"stop is {brief(given, 60)}; it takes a text or a list of texts")
        listed = tuple(texts)
        for text in listed:
            if not isinstance(text, str):
                raise TypeError(
                    f"stop has {brief(text, 60)}; it takes texts. Token ids that end a text are those of vocab.stop_ids"
                )
            if not text:
                raise ValueError("stop has an empty text, which every answer begins with; leave it out")
        return cls(listed) if listed else None

    @cached_property
    def _patterns(self) -> list[tuple[bytes, str]]:
        """The longest first."""
        return sorted(((text.encode(), text) for text in self.texts), key=lambda one: -len(one[0]))

    @property
    def longest(self) -> int:
        return len(self._patterns[0][0])

    def found(self, data: bytes | bytearray, begin: int, end: int) -> list[tuple[int, int, str]]:
        """The occurrences that are completed by the bytes from `begin` to `end`: (end, start, text), the one that counts first."""
        occurrences = []
        for pattern, text in self._patterns:
            at = data.find(pattern, max(0, begin - len(pattern) + 1), end)
            while at >= 0:
                occurrences.append((at + len(pattern), at, text))
                at = data.find(pattern, at + 1, end)
        return sorted(occurrences)

    def held(self, data: bytes | bytearray, end: int) -> int:
        """How many bytes before `end` may be the beginning of a stop string."""
        for size in range(min(self.longest - 1, end), 0, -1):
            tail = bytes(data[end - size : end])
            if any(len(pattern) > size and pattern.startswith(tail) for pattern, _ in self._patterns):
                return size
        return 0
