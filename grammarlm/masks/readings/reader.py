"""Reads a text along the parts of its grammar, token by token, in all readings at once.

    reader = Reader(ways)
    for token in tokens:
        reader.feed(token, vocab.token_bytes(token))
        reader.told()           # what has become certain: bytes, and which parts begin and end between them
    reader.finish()             # the rest, of the reading that comes first (ways.py says which does)

As sets of states read a regular expression: each byte is read once in every place where the text may stand, and readings that come
to one place go on as the first of them. What a reading has begun and ended is a list that is linked backwards, and readings share
their beginnings, so what all of them agree on is the stem of a tree.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import NamedTuple
from weakref import WeakValueDictionary

from grammarlm.errors import LimitExceeded

from .pieces import Borders, Held, Stand, State, are_over, entrance, held
from .ways import Label, Marks, Next, Way, Ways

WIDEST = 4096  # places of one text


class At(NamedTuple):
    """A place in a text."""

    byte: int
    complete: int  # tokens that have ended before it
    begun: int  # tokens that have begun before it


class Begun(NamedTuple):
    label: Label


class Ended(NamedTuple):
    label: Label
    span: tuple[int, int]  # in bytes
    tokens: range  # those that have some of them


Told = bytes | Begun | Ended


class History:
    """What a reading has begun and ended: the last mark, and those before it."""

    __slots__ = ("__weakref__", "at", "before", "further", "is_end", "label")

    def __init__(self, before: History | None, label: Label | None, is_end: bool, at: At):
        self.before, self.label, self.is_end, self.at = before, label, is_end, at
        self.further: WeakValueDictionary[object, History] = WeakValueDictionary()  # of the readings that are left

    def then(self, marks: Marks, at: At) -> History:
        found = self
        for mark in marks:
            before, found = found, found.further.get((mark, at)) or History(found, *mark, at)
            before.further[mark, at] = found
        return found


Thread = tuple[History, Way, Stand]


class Gap(NamedTuple):
    """A piece has ended, and the next one has not begun."""

    history: History
    next: Next
    borders: Borders


class Reader:
    """One text."""

    def __init__(self, ways: Ways):
        self._ways = ways
        self._at = At(0, 0, 0)
        self._stem = History(None, None, False, self._at)  # all up to here is told
        self._open: list[tuple[Label, At]] = []
        self._untold = bytearray()
        # The first reading comes first. The threads of a group are equal until one of them ends its piece.
        self._groups: list[Gap | list[Thread]] = [Gap(self._stem, ways.start(), ())]

    def feed(self, token: int | None, data: bytes) -> None:
        """Reads a token; a special one has no bytes. None: bytes that are no whole token.

        ValueError where no text of the grammar goes on so.
        """
        byte, count = self._at.byte, self._at.complete
        if not data:
            assert token is not None
            self._step(~token, At(byte, count + 1, count + 1))
        elif self._ways.watches_tokens:
            self._groups = [group for one in self._groups for group in self._begin_token(one, token, len(data))]
        for offset, each in enumerate(data, 1):
            if len(self._groups) == 1 and type(only := self._groups[0]) is list and len(only) == 1:
                history, way, stand = only[0]
                after = stand.after(each)
                if after is not None and not after.ends:  # within a piece, as most bytes are
                    only[0] = history, way, after
                    continue
            self._step(each, At(byte + offset, count + (offset == len(data)), count + 1))
        self._at = At(byte + len(data), count + 1, count + 1)
        self._untold += data

    def _begin_token(self, group: Gap | list[Thread], token: int | None, size: int) -> Iterator[Gap | list[Thread]]:
        """The same at the beginning of a token: with readings of it by its id, without texts that have no tokens left."""
        if not isinstance(group, Gap):
            yield list(self._with_token(group, token, size))
        elif token is None or not any(way.piece.names(token) for one in group.next.groups for _, way in one):
            yield group
        else:
            for entries in group.next.groups:
                threads = [
                    (group.history.then(marks, self._at), way, stand)
                    for marks, way in entries
                    if (stand := entrance(way.piece, group.borders)) is not None
                ]
                yield list(self._with_token(threads, token, size))

    def _with_token(self, threads: Iterable[Thread], token: int | None, size: int) -> Iterator[Thread]:
        for history, way, stand in threads:
            if isinstance(stand, Held) and stand.left is not None:
                if stand.left:
                    yield history, way, replace(stand, left=stand.left - 1)
                continue
            yield history, way, stand
            if token is not None and way.piece.names(token) and isinstance(after := stand.after(~token), State):
                yield history, way, held(after, size)

    def _step(self, key: int, at: At) -> None:
        """Reads a byte, or the token ~key."""
        before, self._groups = self._groups, []
        seen: set[object] = set()
        for group in before:
            if isinstance(group, Gap):
                for entries in group.next.begin(key, group.borders):
                    if entries:
                        threads = [(group.history.then(marks, self._at), way, stand) for marks, way, stand in entries]
                        self._land(threads, seen)
            else:
                self._land([(h, way, after) for h, way, stand in group if (after := stand.after(key))], seen)
        if not self._groups:
            raise ValueError(f"no text of the grammar goes on after {self._at.byte:,} bytes as this one does")
        if len(seen) > WIDEST:
            raise LimitExceeded(
                f"the parts of the text can be told apart in more than {WIDEST:,} ways at once; make them end where only one can"
            )
        self._at = at

    def _land(self, threads: list[Thread], seen: set[object]) -> None:
        """Adds threads, those that end their piece first. `seen`: what better readings have come to."""
        further = []
        for thread in threads:
            history, way, stand = thread
            if stand.ends and (way, stand.borders) not in seen:
                seen.add((way, stand.borders))
                self._groups.append(Gap(history, self._ways.after(way), stand.borders))
            if (way, stand) not in seen:
                seen.add((way, stand))
                further.append(thread)
        if further:
            self._groups.append(further)

    # ------------------------------------------------------------------ what is certain

    def told(self) -> list[Told]:
        """What has become certain since the last call: bytes, and the parts that begin and end between them."""
        within = [group for group in self._groups if not isinstance(group, Gap)]
        if len(self._groups) > 1:  # a piece that cannot go on would hold up what is certain after it
            for group in within:
                group[:] = [thread for thread in group if not (thread[2].ends and thread[2].is_over)]
        tips = {history for group in within for history, _, _ in group}
        for gap in self._groups:
            if isinstance(gap, Gap) and gap.history not in tips:
                tips.add(gap.history.then(gap.next.sure, self._at))
        certain, stem = [], self._stem
        while stem not in tips and len(stem.further) == 1:
            (stem,) = stem.further.values()
            certain.append(stem)
        open_ends = [other.at.byte for other in stem.further.values()] if stem.further else []
        return self._tell(certain, min(open_ends, default=self._at.byte))

    def finish(self) -> list[Told]:
        """The text is complete: what has not been told. ValueError where it is no text of the grammar."""
        for gap in self._groups:
            if isinstance(gap, Gap) and gap.next.end is not None and are_over(gap.borders):
                history, certain = gap.history.then(gap.next.end, self._at), list[History]()
                while history is not self._stem:
                    assert history.before is not None
                    certain.append(history)
                    history = history.before
                return self._tell(certain[::-1], self._at.byte)
        raise ValueError(f"the text ends after {self._at.byte:,} bytes, where none of its grammar does")

    @property
    def untold(self) -> bytes:
        """The bytes of which it is not known yet whose they are."""
        return bytes(self._untold)

    def _tell(self, certain: list[History], end: int) -> list[Told]:
        told: list[Told] = []
        if certain:
            self._stem.before = None  # no reading that is left has another beginning
        for stem in certain:
            at, label = stem.at, stem.label
            assert label is not None
            told.append(self._take(at.byte))
            if stem.is_end:
                _, start = self._open.pop()
                tokens = range(start.complete, start.complete if at == start else at.begun)
                told.append(Ended(label, (start.byte, at.byte), tokens))
            else:
                self._open.append((label, at))
                told.append(Begun(label))
            self._stem = stem
        told.append(self._take(end))
        return [one for one in told if one != b""]

    def _take(self, end: int) -> bytes:
        """The bytes up to here that have not been told."""
        count = end - (self._at.byte - len(self._untold))
        taken = bytes(self._untold[:count])
        del self._untold[:count]
        return taken
