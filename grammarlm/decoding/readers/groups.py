"""Texts that are read in changing company: which of them share a forward is said anew before each.

    groups = Groups()
    groups.open([ada, tom], open_reader(model, [[1, 5], [1, 9]], room=20))
    groups.open([eva], open_reader(model, [[1, 7, 7]], room=20))
    groups.gather([tom, eva]).read(...)         # one forward of these two; the other text waits, and keeps what it has read

Texts that were read together stay together until others are asked for: a batch that does not change costs nothing.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from .reader import Reader

Key = TypeVar("Key", bound=Hashable)


@dataclass
class Group(Generic[Key]):
    """A reader, and whose texts it reads, in its order."""

    keys: list[Key]
    reader: Reader


class Groups(Generic[Key]):
    def __init__(self) -> None:
        self._groups: list[Group[Key]] = []

    def __contains__(self, key: Key) -> bool:
        return any(key in group.keys for group in self._groups)

    def open(self, keys: Sequence[Key], reader: Reader) -> None:
        """A new reader, of the texts of these keys."""
        self._groups.append(Group(list(keys), reader))

    def gather(self, keys: Sequence[Key]) -> Reader:
        """The reader of these texts, in this order."""
        wanted, parts, others = set(keys), list[Group[Key]](), list[Group[Key]]()
        for group in self._groups:
            if group.keys == keys:
                return group.reader
            if wanted.isdisjoint(group.keys):
                others.append(group)
            elif wanted.issuperset(group.keys):
                parts.append(group)
            else:
                parts.append(taken(group, wanted))
                others.append(group)
        whole = parts[0]
        for part in parts[1:]:
            whole.reader.join(part.reader)
            whole.keys += part.keys
        if whole.keys != list(keys):
            whole.reader.select([whole.keys.index(key) for key in keys])
            whole.keys = list(keys)
        self._groups = [*others, whole]
        return whole.reader

    def replace(self, keys: Sequence[Key], new: Sequence[Key], texts: Sequence[int]) -> None:
        """Of texts that are read together: text i is from now on a copy of what was text `texts[i]` of them, under its new key."""
        group = next(group for group in self._groups if group.keys == keys)
        if list(texts) != list(range(len(keys))):
            group.reader.select(texts)
        group.keys = list(new)

    def drop(self, keys: Iterable[Key]) -> None:
        gone = set(keys)
        for group in self._groups:
            left = [at for at, key in enumerate(group.keys) if key not in gone]
            if left and len(left) < len(group.keys):
                group.reader.select(left)
            group.keys = [group.keys[at] for at in left]
        self._groups = [group for group in self._groups if group.keys]


def taken(group: Group[Key], wanted: set[Key]) -> Group[Key]:
    """Takes these texts out of a group."""
    going = [at for at, key in enumerate(group.keys) if key in wanted]
    staying = [at for at, key in enumerate(group.keys) if key not in wanted]
    part = Group([group.keys[at] for at in going], group.reader.taken(going))
    group.reader.select(staying)
    group.keys = [group.keys[at] for at in staying]
    return part
