"""Copies from the text itself: what followed the last place where it had the same last tokens (prompt look-up, CopySpec).

A copy that came to another token goes on after it (aggressive decoding): most edits of a text leave what follows as it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from grammarlm.decoding.arguments import check_integer
from grammarlm.decoding.loop.row import Row
from grammarlm.decoding.readers.draft_tree import DraftTree
from grammarlm.decoding.speculative.draft_builder import DraftBuilder

from .drafter import RunDrafter

PLACES = 7  # where the last pair of tokens has been before are looked at
LONGEST = 32  # tokens are compared backwards
PATIENCE = 2  # drafts without a token that was drawn, before a copy that lost its place is given up
NEAR = 8  # tokens that an edit may have left out


@dataclass
class Index:
    """Where each pair of tokens ends in a text. Integers alone: thousands of small lists would keep the garbage collector busy."""

    ids: list[int] = field(default_factory=list)
    latest: dict[int, int] = field(default_factory=dict)  # of each pair
    # Of each place, the last one before it where the same pair ends, or -1.
    earlier: list[int] = field(default_factory=list)

    def extend(self, tokens: Sequence[int]) -> None:
        ids, latest, earlier = self.ids, self.latest, self.earlier
        for token in tokens:
            at = len(ids)
            pair = ids[-1] << 32 | token if ids else -1
            earlier.append(latest.get(pair, -1))
            latest[pair] = at
            ids.append(token)

    def matches(self) -> list[tuple[int, int]]:
        """(tokens in common with the end of the text, place after them) of earlier places, the best first."""
        if len(self.ids) < 3:
            return []
        found: list[tuple[int, int]] = []
        end = self.earlier[-1]
        while end >= 0 and len(found) < PLACES:
            found.append((self._common(end), end + 1))
            end = self.earlier[end]
        return sorted(found, reverse=True)

    def _common(self, end: int) -> int:
        ids, last, length = self.ids, len(self.ids) - 1, 2
        while length < LONGEST and end - length >= 0 and ids[end - length] == ids[last - length]:
            length += 1
        return length


@dataclass
class Source:
    """Where a text copies from: the place of the next token, and how often in a row it was of no use."""

    at: int
    missed: int = 0


class Copy(RunDrafter):
    """`least`: so many last tokens must be the same, unless a copy goes on after a token that was another one than there."""

    length = 10

    def __init__(self, least: int = 2):
        check_integer("least", least, 2)
        self.least = least
        self._texts = self.by_row()  # an Index of each
        self._sources = self.by_row()

    def learn(self, row: Row, tokens: Sequence[int]) -> None:
        self._texts.setdefault(row, Index()).extend(tokens)

    def drawn(self, row: Row, tree: DraftTree, nodes: Sequence[int]) -> None:
        source: Source | None = self._sources.get(row)
        if source is not None:
            source.missed = 0 if nodes else source.missed + 1
            source.at = realigned(self._texts[row].ids, source.at + len(nodes))

    def runs(self, growth: DraftBuilder, length: int, count: int) -> list[list[int]]:
        index: Index = self._texts[growth.row]
        places = [at for common, at in index.matches() if common >= self.least]
        source = self._sources.get(growth.row)
        if places:
            self._sources[growth.row] = Source(places[0], source.missed if source else 0)
        elif source is not None and source.missed < PATIENCE:
            places = [source.at]
        return [index.ids[at : at + length] for at in places[:count]]


def realigned(ids: Sequence[int], at: int) -> int:
    """The place that a copy goes on from, where the text's last token stands instead of, or before, `ids[at]`.

    If the token follows soon in the source, what lies between was left out; else it has taken the place of one token.
    """
    last = ids[-1]
    near = range(at, min(at + NEAR, len(ids) - 1))
    return next((place + 1 for place in near if ids[place] == last), at + 1)
