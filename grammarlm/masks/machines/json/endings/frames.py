"""What ends an object or an array, bracket included, and the shortest values of nodes: read by the machine entry after entry.

    {"name":"Ad",     b'"age":0}'       where "age" is required, too
    [[1,{"a":0        b'}'              and for the array around it b']', or b',0]' where two items must come

The entries that must come by the schema alone (required keys, the least number of items), each with its shortest value, are read at
once. Where the machine refuses them (items must differ or be contained, keys are too few, exclude or imply each other) it takes the
first entry that it reads, and so on until it takes the bracket: every live thread can be completed, so always taking the first live
choice ends somewhere. A frame's rest depends on what the frame still has to reach, not on what is around it.

Entries are chosen one by one, so the result is an upper bound, not the minimum.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from heapq import merge
from itertools import chain, islice

from grammarlm.layout.json import (
    ARRAY_BIT,
    FIRST_OBLIGATION,
    INLINE,
    MOST_OBLIGATIONS,
    ROW,
    Array,
    Frame,
    Gap,
    Key,
    Kind,
    Object,
    Shape,
)
from grammarlm.masks.machines.json.configs import chain_of
from grammarlm.masks.machines.regular.completion import LONGEST

from .lexemes import ENOUGH, LexemeEndings
from .reader import AFTER, COMMA, OPEN, Reader
from .texts import joined, short_names, spelled
from .values import Values

LITERALS = {1: b"true", 2: b"false", 3: b"null"}
MOST_ENTRIES = 4096  # that are read one by one
REFUSED = 64  # names of other keys that are tried one after the other


class FrameEndings:
    """What ends objects and arrays of one program."""

    def __init__(self, reader: Reader, lexemes: LexemeEndings):
        self._reader, self._lexemes, self._rows = reader, lexemes, reader.rows
        self._languages = lexemes.languages
        self._blanks = reader.program.tables.blanks
        self.values = Values(reader, self._shortest)
        self._by_cost: dict[int, list[tuple[int, bytes]]] = {}  # by row of an object

    # ------------------------------------------------------------------ values

    def _shortest(self, node: int) -> bytes | None:
        found = [self.of_shape(kind, row) for kind, row in self._reader.shapes(node)]
        texts = [text for text in found if text is not None and len(text) <= LONGEST]
        return min(texts, key=self._reader.measure, default=None)

    def of_shape(self, kind: int, row: int) -> bytes | None:
        """The shortest text known of one alternative of a node."""
        if kind == Shape.LITERAL:
            return LITERALS[row]
        if kind != Shape.OBJECT and kind != Shape.ARRAY:
            prefix, c, x = self._lexemes.begun(kind, row)
            return joined(prefix, self._lexemes.lexeme(c, x, 0))
        with self._reader.scratch():
            return joined(b"[" if kind == Shape.ARRAY else b"{", self._rest_of(self.opened(kind, row), OPEN))

    def _several(self, node: int) -> Iterator[bytes]:
        """Different values of a node, short ones first."""
        for kind, row in self._reader.shapes(node):
            if kind == Shape.LITERAL or kind == Shape.OBJECT or kind == Shape.ARRAY:
                yield from filter(None, [self.of_shape(kind, row)])
            else:
                prefix, c, x = self._lexemes.begun(kind, row)
                yield from (prefix + text for text in self._lexemes.lexemes(c, x, 0))

    # ------------------------------------------------------------------ frames

    def opened(self, kind: int, row: int) -> list[int]:
        """The words of a frame after its bracket."""
        if kind == Shape.ARRAY:
            return [0, row | ARRAY_BIT, 0, 0, 0, 0, 0, 0]
        return [0, row, 0, 0, 0, 0, self._rows[row + Object.NEEDED], 0]

    def rest(self, f: int, where: int) -> bytes | None:
        """What ends the frame, its bracket included; "" below the whole text."""
        return self._rest_of(self._reader.frame(f), where) if f else b""

    def _rest_of(self, words: list[int], where: int) -> bytes | None:
        key, known = self.content(words, where), self._reader.rests
        if key in known:
            return known[key]
        text = self._found(words, where)
        for bit in self._met(words):  # what meets an obligation again ends the frame, too, and may be found shorter
            others = [*words]
            others[Frame.NEEDED] |= bit
            other = self._rest_of(others, where)
            if other is not None and (text is None or self._reader.measure(other) < self._reader.measure(text)):
                text = other
        if self.values.are_final:
            self._reader.note(len(text or b""))
            known[key] = text
        return text

    def _met(self, words: list[int]) -> list[int]:
        """The bits of the obligations that an object has met, where other keys have to come."""
        row = words[Frame.ROW]
        if (
            row & ARRAY_BIT
            or not self._rows[row + Object.OBLIGATIONS]
            or words[Frame.COUNT] >= self._rows[row + Object.LEAST]
        ):
            return []
        asked = 0
        for bits, _, _ in self.obligations(row):
            asked |= bits & ~words[Frame.NEEDED]
        return [1 << at for at in range(FIRST_OBLIGATION, FIRST_OBLIGATION + MOST_OBLIGATIONS) if asked >> at & 1]

    def is_unique(self, f: int) -> bool:
        row = self._reader.frame(f)[Frame.ROW]
        return bool(row & ARRAY_BIT and self._rows[(row & ROW) + Array.UNIQUE])

    def content(self, words: list[int], where: int, is_key: bool = False) -> Hashable:
        """What the rest of a frame depends on; of an object with `is_key`, what its rest after a key that has not come does."""
        row, rows, count = words[Frame.ROW], self._rows, words[Frame.COUNT]
        others: Hashable
        if row & ARRAY_BIT:
            at = row & ROW
            is_enough = where != COMMA and count >= rows[at + Array.LEAST]
            if is_enough and not rows[at + Array.CONTAINS]:
                return row, where
            if is_enough or not rows[at + Array.UNIQUE]:
                return row, where, count, words[Frame.LAST]
            others = tuple(sorted(self._reader.other_names(words)))
            return row, where, count, words[Frame.LAST], others, chain_of(self._reader.machine, words[Frame.TEXT])
        many = rows[row + Object.COUNT] > INLINE
        needed: Hashable = tuple(self.needed(words)) if many else words[Frame.NEEDED]
        is_enough = count >= rows[row + Object.LEAST] and not (
            rows[row + Object.OBLIGATIONS] or rows[row + Object.IMPLIED]
        )
        if is_enough and not is_key and (where != COMMA or needed):
            return row, where, needed
        if is_enough and is_key and rows[row + Object.MOST] < 0:
            return row, where, needed, words[Frame.LAST] if self._reader.ordered else 0
        seen = self._reader.many_seen(words) if many else words[Frame.SEEN]
        others = tuple(sorted(self._reader.other_names(words)))
        return row, where, needed, is_key, seen, count, words[Frame.LAST], others

    def _found(self, words: list[int], where: int) -> bytes | None:
        row, is_array = words[Frame.ROW] & ROW, bool(words[Frame.ROW] & ARRAY_BIT)
        must = self._least_items(row, words, where) if is_array else self._required(row, words)
        if must is None:
            return None
        kind = Kind.AFTER if where == AFTER else Kind.ENTRY if is_array else Kind.KEYS
        c = int(kind) | (where == COMMA) << 5 | (0 if where == AFTER else row << 11)
        begun = Gap.GOES_ON if where == COMMA else Gap.START  # the white space after a comma is the thread's own
        start = self._reader.record(c, 0, int(begun), self._reader.alone(words))
        comma = self._blanks.comma
        text = (comma if where == AFTER and must else b"") + comma.join(must) + (b"]" if is_array else b"}")
        if len(text) <= LONGEST and self._reader.read(start, text):
            return text
        return self.by_entry(start, words, where)

    def by_entry(self, record: int, words: list[int], where: int) -> bytes | None:
        """The rest of a frame, the first entry that the machine reads after the other."""
        row, is_array = words[Frame.ROW] & ROW, bool(words[Frame.ROW] & ARRAY_BIT)
        end, text, comma, may_end = (
            b"]" if is_array else b"}",
            b"",
            self._blanks.comma if where == AFTER else b"",
            where != COMMA,
        )
        supplies: dict[int, Iterator[bytes]] = {}
        for _ in range(MOST_ENTRIES):
            if may_end and self._reader.read(record, end):
                return text + end
            choices = self._items(row, words, supplies) if is_array else self._entries(row, words)
            for entry in islice(choices, ENOUGH):
                self._reader.program.clock.check()
                after = self._reader.read(record, comma + entry)
                if after and (self._reader.read(after, b",") or self._reader.read(after, end)):  # else a number goes on
                    break
            else:
                return None
            record, text = after, text + comma + entry
            if len(text) > LONGEST:
                return None
            words, comma, may_end = self._reader.frame(self._reader.threads(record)[0][3]), self._blanks.comma, True
        return None

    # ------------------------------------------------------------------ arrays

    def _ways(self, row: int, position: int) -> list[tuple[int, int]]:
        """The nodes that an item may have, and which `contains` it then counts for."""
        rows = self._rows
        at = rows[rows[row + Array.ITEMS] + min(position, rows[row + Array.PREFIX])]
        return [(rows[at + 1 + 2 * i], rows[at + 2 + 2 * i]) for i in range(rows[at])]

    def _least_items(self, row: int, words: list[int], where: int) -> list[bytes] | None:
        """As many of the shortest items as must come; None where one is not known."""
        count, prefix = words[Frame.COUNT], self._rows[row + Array.PREFIX]
        missing = max(self._rows[row + Array.LEAST] - count, int(where == COMMA))
        if missing > LONGEST:
            return None
        found: list[bytes] = []
        for position in range(count, min(count + missing, max(prefix, count) + 1)):
            texts = [text for node, _ in self._ways(row, position) if (text := self.values.value(node)) is not None]
            if not texts:
                return None
            found.append(min(texts, key=self._reader.measure))
        return found + found[-1:] * (missing - len(found))

    def _items(self, row: int, words: list[int], supplies: dict[int, Iterator[bytes]]) -> Iterator[bytes]:
        """What the next item may be: first what counts for `contains` that are not met, then short ones. Where items must differ,
        each value is tried once (`supplies`, by node)."""
        rows, bounds, count = self._rows, self._rows[row + Array.BOUNDS], words[Frame.COUNT]
        missing = 0  # bits of what must still be contained
        for k in range(rows[row + Array.CONTAINS]):
            missing |= (words[Frame.LAST] >> 16 * k & 0xFFFF < rows[bounds + 2 * k]) << k
        ranked = []
        for node, counts in self._ways(row, count):
            value = self.values.value(node)
            helps = (counts & missing).bit_count()
            if value is not None and (
                helps or not missing or count < max(rows[row + Array.PREFIX], rows[row + Array.LEAST])
            ):
                ranked.append((-helps, *self._reader.measure(value), value, node))
        for *_, value, node in sorted(ranked):
            if rows[row + Array.UNIQUE]:
                for another in supplies.setdefault(node, self._several(node)):  # noqa: UP028 (`yield from` would close it)
                    yield another
            else:
                yield value

    # ------------------------------------------------------------------ objects

    def needed(self, words: list[int]) -> list[int]:
        """The keys that a frame still needs, in the schema's order."""
        rows, row = self._rows, words[Frame.ROW]
        if rows[row + Object.COUNT] <= INLINE:
            bits, found = words[Frame.NEEDED], list[int]()
            if rows[row + Object.OBLIGATIONS]:
                bits &= (1 << FIRST_OBLIGATION) - 1
            while bits:
                found.append((bits & -bits).bit_length() - 1)
                bits &= bits - 1
        else:
            seen, at = self._reader.many_seen(words), rows[row + Object.NEEDED_LIST]
            listed = [rows[at + 1 + i] for i in range(rows[at])]
            found = [i for i in listed if not seen or not seen[i // INLINE] >> (i % INLINE) & 1]
        keys = rows[row + Object.KEYS]
        return sorted(found, key=lambda i: rows[keys + i * Key.LENGTH + Key.RANK]) if len(found) > 1 else found

    def takes_others(self, row: int) -> bool:
        """Must more keys come than those that are required, of names that no other key may have?"""
        rows, required = self._rows, len(self.needed(self.opened(Shape.OBJECT, row)))
        return rows[row + Object.OTHERS] != -1 and bool(
            rows[row + Object.LEAST] > required or rows[row + Object.OBLIGATIONS]
        )

    def entry(self, row: int, i: int) -> bytes | None:
        """A key that has an entry in the schema, with its value."""
        key = self._rows[row + Object.KEYS] + i * Key.LENGTH
        node = self._rows[key + Key.NODE]
        value = None if node < 0 else self.values.value(node)
        return None if value is None else self._member(self._reader.name(key), value)

    def _member(self, name: bytes, value: bytes) -> bytes:
        return b'"' + spelled(name) + b'"' + self._blanks.colon + value

    def _required(self, row: int, words: list[int]) -> list[bytes] | None:
        """The entries that a frame needs, and others that meet the obligations that are left; None where one is not known."""
        found = [self.entry(row, i) for i in self.needed(words)]
        if words[Frame.NEEDED] >> FIRST_OBLIGATION and self._rows[row + Object.OBLIGATIONS]:
            found += self._meeting(row, words)
        return None if None in found else found  # type: ignore[return-value]

    def _shortest_entries(self, row: int, words: list[int]) -> Iterator[bytes]:
        """The entries that are not needed and may come, by their tokens."""
        needed = self.needed(words)
        own = (entry for i, entry in self._ranked(row) if i not in needed and not self.is_seen(words, i))
        return merge(own, (entry for _, entry in self.other_entries(row, words)), key=self._reader.measure)

    def is_seen(self, words: list[int], i: int) -> bool:
        if self._rows[words[Frame.ROW] + Object.COUNT] <= INLINE:
            return bool(words[Frame.SEEN] >> i & 1)
        seen = self._reader.many_seen(words)
        return bool(seen and seen[i // INLINE] >> (i % INLINE) & 1)

    def _entries(self, row: int, words: list[int]) -> Iterator[bytes]:
        """What the next entry may be: those that are needed, then short ones."""
        more = islice(self._shortest_entries(row, words), self._rows[row + Object.COUNT] + REFUSED)
        return chain(self._required(row, words) or (), more)

    def _ranked(self, row: int) -> list[tuple[int, bytes]]:
        """The keys that have an entry in the schema, by the tokens of it and the value."""
        known = self._by_cost.get(row)
        if known is None:
            found = [(i, self.entry(row, i)) for i in range(self._rows[row + Object.COUNT])]
            known = [(i, entry) for i, entry in found if entry is not None]
            known.sort(key=lambda ranked: self._reader.measure(ranked[1]))
            if self.values.are_final:
                self._by_cost[row] = known
        return known

    def obligations(self, row: int) -> list[tuple[int, int, int]]:
        """The ways to meet an object's obligations: their bits, the node of the key's values, the node of those that meet them."""
        rows, at = self._rows, self._rows[row + Object.OBLIGATIONS]
        return [(rows[at + i], rows[at + i + 1], rows[at + i + 2]) for i in range(1, 1 + 3 * rows[at], 3)] if at else []

    def _meeting(self, row: int, words: list[int]) -> list[bytes | None]:
        """Other keys with values that meet the obligations that are left, one each, and None where that is not known."""
        left, found = words[Frame.NEEDED] >> FIRST_OBLIGATION << FIRST_OBLIGATION, list[bytes | None]()
        ways, known = self.obligations(row), set[bytes]()
        while left:
            if not any(bits & left for bits, _, _ in ways):
                return [*found, None]
            bits, node, meeting = ways.pop(max(range(len(ways)), key=lambda i: (ways[i][0] & left).bit_count()))
            value = self.values.value(meeting)
            names = (name for name, _ in self._other_names(row, words, node) if name not in known)
            name = next(names, None) if value is not None else None
            if name is not None and value is not None:
                known.add(name)
                found.append(self._member(name, value))
                left &= ~bits
        return found

    def implied(self, row: int) -> dict[int, list[int]]:
        """The keys that a key asks for."""
        rows, at = self._rows, self._rows[row + Object.IMPLIED]
        if not at:
            return {}
        return {
            rows[at + 1 + 2 * k]: [i for i in range(INLINE) if rows[at + 2 + 2 * k] >> i & 1] for k in range(rows[at])
        }

    def other_nodes(self, row: int) -> list[int]:
        """The nodes of the values of keys that have no entry in the schema, by case of the key's language."""
        rows, node, at = self._rows, self._rows[row + Object.OTHERS], self._rows[row + Object.CASES]
        if node >= 0:
            return [node]
        return [rows[at + i] for i in range(rows[row + Object.CASE_COUNT])] if node < -1 else []

    def other_entries(self, row: int, words: list[int]) -> Iterator[tuple[bytes, bytes]]:
        """Keys that have no entry in the schema and have not come, each alone and with its value."""
        if all(self.values.value(node) is None for node in self.other_nodes(row)):
            return
        for name, node in self._other_names(row, words):
            value = self.values.value(node)
            if value is not None:
                yield name, self._member(name, value)

    def _other_names(self, row: int, words: list[int], of: int | None = None) -> Iterator[tuple[bytes, int]]:
        """New names of keys without an entry, and the node of their values: all, or those of one node."""
        keys, nodes = self._rows[row + Object.KEYS], self.other_nodes(row)
        language, count = self._rows[row + Object.LANGUAGE], self._rows[row + Object.COUNT]
        known = {self._reader.name(keys + i * Key.LENGTH) for i in range(count)}
        known.update(self._reader.other_names(words))
        if language == 0:
            found: Iterator[tuple[bytes, int]] = ((name, nodes[0]) for name in short_names())
        elif of is None or len(nodes) == 1:
            words_of, last = islice(self._lexemes.words(language), MOST_ENTRIES), len(nodes) - 1
            found = ((name, nodes[min(self._languages.case(at) - 1, last)]) for name, at in words_of)
        else:
            alone = [self._languages.states.alone(language, case) for case, node in enumerate(nodes) if node == of]
            found = ((name, of) for state in alone for name, _ in islice(self._lexemes.words(state), MOST_ENTRIES))
        yield from (each for each in found if each[0] not in known)
