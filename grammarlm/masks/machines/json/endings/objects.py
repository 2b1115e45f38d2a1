"""What ends an object: the keys that must come, and as many more as are needed, each with its shortest value."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain

from grammarlm.layout.json import FIRST_OBLIGATION, INLINE, Frame, Key, Object
from grammarlm.masks.machines.regular.completion import LONGEST

from .languages import LanguageEndings
from .reader import AFTER, COMMA, Reader, Step
from .texts import chained, few, short_names, spelled

MOST_EXTRA = 4096  # keys that an object needs only to reach its least number


class ObjectEndings:
    """What ends objects of one program. `value`: the shortest text known of a node's values."""

    def __init__(self, reader: Reader, languages: LanguageEndings, value: Callable[[int], bytes | None]):
        self._reader, self._languages, self._value = reader, languages, value

    def entry(self, key: int) -> bytes | None:
        """A key that has an entry in the schema, with its value."""
        node = self._reader.rows[key + Key.NODE]
        value = None if node < 0 else self._value(node)
        return None if value is None else b'"' + spelled(self._reader.name(key)) + b'":' + value

    def text(self, row: int, words: list[int], where: int) -> bytes | None:
        """The required keys, and as many more as are needed."""
        rows = self._reader.rows
        count, keys = rows[row + Object.COUNT], rows[row + Object.KEYS]
        chosen = set(self.needed(row, words))
        others = self.meeting_entries(row, words)
        if others is None:
            return None
        extra = rows[row + Object.LEAST] - words[Frame.COUNT] - len(chosen) - len(others)
        if where == COMMA and not chosen and not others:
            extra = max(extra, 1)
        if extra > 0 and not self._add_keys(row, words, chosen, others, extra):
            return None
        found = []
        ranked = sorted(chosen, key=lambda i: self._turn(row, i)) if count > 1 else list(chosen)
        for i in ranked:
            entry = self.entry(keys + i * Key.LENGTH)
            if entry is None:
                return None
            found.append(entry)
        text = b",".join(found + others)
        if len(text) > LONGEST:
            return None
        return (b"," if where == AFTER and text else b"") + text + b"}"

    def needed(self, row: int, words: list[int]) -> list[int]:
        rows = self._reader.rows
        if rows[row + Object.COUNT] <= INLINE:
            bits, found = words[Frame.NEEDED], []
            if rows[row + Object.OBLIGATIONS]:
                bits &= (1 << FIRST_OBLIGATION) - 1
            while bits:
                found.append((bits & -bits).bit_length() - 1)
                bits &= bits - 1
            return found
        seen, at = self._reader.many_seen(words), rows[row + Object.NEEDED_LIST]
        listed = [rows[at + 1 + i] for i in range(rows[at])]
        return [i for i in listed if not seen or not seen[i // INLINE] >> (i % INLINE) & 1]

    def obligations(self, row: int) -> list[tuple[int, int, int]]:
        """The ways to meet an object's obligations: their bits, the node of the key's values, the node of those that meet them."""
        rows, at = self._reader.rows, self._reader.rows[row + Object.OBLIGATIONS]
        return [(rows[at + i], rows[at + i + 1], rows[at + i + 2]) for i in range(1, 1 + 3 * rows[at], 3)] if at else []

    def meeting_entries(self, row: int, words: list[int]) -> list[bytes] | None:
        """Keys with values that meet the obligations that are left, one each; None where they are not known."""
        left = words[Frame.NEEDED] >> FIRST_OBLIGATION << FIRST_OBLIGATION
        ways, found = self.obligations(row), list[bytes]()
        known = set(self._reader.other_names(words)) if ways and left else set()
        while ways and left:
            entry = None
            for bits, node, meeting in sorted(ways, key=lambda way: -(way[0] & left).bit_count()):
                value = self._value(meeting) if bits & left else None
                name = next(self._names_of(row, node, known), None) if value is not None else None
                if name is not None and value is not None:
                    known.add(name)
                    entry, left = b'"' + spelled(name) + b'":' + value, left & ~bits
                    break
            if entry is None:
                return None
            found.append(entry)
        return found

    def _names_of(self, row: int, node: int, known: set[bytes]) -> Iterator[bytes]:
        """New names of keys without an entry whose values have the node."""
        rows, language = self._reader.rows, self._reader.rows[row + Object.LANGUAGE]
        known = known | self._declared(row)
        if language == 0:
            yield from (name for name in short_names() if name not in known)
            return
        cases = rows[row + Object.CASES]
        for case in range(rows[row + Object.CASE_COUNT]):
            if rows[cases + case] == node:
                words = self._languages.words(self._languages.states.alone(language, case))
                yield from (name for name, _ in few(words, MOST_EXTRA) if name not in known)

    def _declared(self, row: int) -> set[bytes]:
        keys = self._reader.rows[row + Object.KEYS]
        return {self._reader.name(keys + i * Key.LENGTH) for i in range(self._reader.rows[row + Object.COUNT])}

    def _add_keys(self, row: int, words: list[int], chosen: set[int], others: list[bytes], extra: int) -> bool:
        """Adds keys until there are enough, greedily by the length of text per key."""
        if extra > MOST_EXTRA:
            return False
        rows = self._reader.rows
        keys, least, most = rows[row + Object.KEYS], rows[row + Object.LEAST], rows[row + Object.MOST]
        wanted = max(least - words[Frame.COUNT], len(chosen) + 1 if extra else 0)
        free = self.free_keys(row, words, chosen)
        implied = self.implied(row)
        texts = {i: entry for i in free if (entry := self.entry(keys + i * Key.LENGTH)) is not None}
        met = {entry.split(b'":', 1)[0][1:] for entry in others}
        others_at = (e for e in self._other_entries(row, words) if e.split(b'":', 1)[0][1:] not in met)
        other = next(others_at, None)
        while len(chosen) + len(others) < wanted:
            best: tuple[float, int, set[int]] | None = None
            for i in texts:
                more = {i, *implied.get(i, ())} - chosen
                seen = words[Frame.SEEN] if rows[row + Object.COUNT] <= INLINE else 0
                more = {j for j in more if not seen >> j & 1}
                if not all(j in texts for j in more):
                    continue
                if most >= 0 and words[Frame.COUNT] + len(chosen) + len(others) + len(more) > most:
                    continue
                price = sum(len(texts[j]) + 1 for j in more) / min(
                    len(more), max(wanted - len(chosen) - len(others), 1)
                )
                if best is None or price < best[0]:
                    best = price, i, more
            if other is not None and (best is None or len(other) + 1 < best[0]):
                others.append(other)
                other = next(others_at, None)
            elif best is not None:
                chosen |= best[2]
                for j in best[2]:
                    texts.pop(j, None)
            else:
                return False
        return True

    def free_keys(self, row: int, words: list[int], chosen: set[int]) -> list[int]:
        """The keys with an entry that may still come, those chosen aside."""
        rows = self._reader.rows
        keys, many = rows[row + Object.KEYS], rows[row + Object.COUNT] > INLINE
        seen = self._reader.many_seen(words) if many else (words[Frame.SEEN],)
        found = []
        for i in range(rows[row + Object.COUNT]):
            key = keys + i * Key.LENGTH
            if rows[key + Key.NODE] < 0 or i in chosen:
                continue
            if seen and seen[i // INLINE if many else 0] >> (i % INLINE if many else i) & 1:
                continue
            if not self._reader.ordered or self._turn(row, i) >= (words[Frame.LAST], False):
                found.append(i)
        return found

    def _turn(self, row: int, i: int) -> tuple[int, bool]:
        """The sort key of a key in the schema's order; those after the declared ones come last, in any order."""
        rows = self._reader.rows
        rank = rows[rows[row + Object.KEYS] + i * Key.LENGTH + Key.RANK]
        is_free = rows[row + Object.COUNT] <= INLINE and rows[rows[row + Object.RANKS] + rank + 1] >> i & 1
        return (rows[row + Object.COUNT], True) if is_free else (rank, False)

    def implied(self, row: int) -> dict[int, list[int]]:
        rows, at = self._reader.rows, self._reader.rows[row + Object.IMPLIED]
        if not at:
            return {}
        return {
            rows[at + 1 + 2 * k]: [i for i in range(INLINE) if rows[at + 2 + 2 * k] >> i & 1] for k in range(rows[at])
        }

    def _other_entries(self, row: int, words: list[int]) -> Iterator[bytes]:
        return (entry for _, entry in self.other_entries(row, words))

    def other_entries(self, row: int, words: list[int]) -> Iterator[tuple[bytes, bytes]]:
        """Keys that have no entry in the schema and have not come, each alone and with its value."""
        rows = self._reader.rows
        node, language = rows[row + Object.OTHERS], rows[row + Object.LANGUAGE]
        if node == -1:
            return
        known = set(self._reader.other_names(words)) | self._declared(row)
        if language == 0:
            value = self._value(node)
            if value is not None:
                yield from ((name, b'"' + name + b'":' + value) for name in short_names() if name not in known)
            return
        cases = len(self._languages.states._vectors[language])
        nodes = [node] * cases if node >= 0 else [rows[rows[row + Object.CASES] + i] for i in range(cases)]
        values = [self._value(at) for at in nodes]
        if values.count(None) == cases:
            return
        for name, state in few(self._languages.words(language), MOST_EXTRA):
            value = values[self._languages.case(state) - 1]
            if name not in known and value is not None:
                yield name, b'"' + spelled(name) + b'":' + value

    def text_by_reading(self, record: int, row: int, words: list[int], where: int) -> bytes | None:
        """Key by key: the first that is allowed, of the required ones, then of the short ones."""
        rows = self._reader.rows
        needed = set(self.needed(row, words))
        keys = range(
            rows[row + Object.KEYS], rows[row + Object.KEYS] + rows[row + Object.COUNT] * Key.LENGTH, Key.LENGTH
        )
        entries = [(i not in needed, len(e), e) for i, key in enumerate(keys) if (e := self.entry(key)) is not None]
        entries.sort(key=lambda ranked: ranked[:2])
        others = chain(self.meeting_entries(row, words) or (), self._other_entries(row, words))

        def following(record: int, comma: bytes, number: int) -> Step | None:
            for entry in chained([e for _, _, e in entries], others, 64):
                after = self._reader.read(record, comma + entry)
                if after:
                    return after, entry
            return None

        return self._reader.text_by_reading(record, where, b"}", MOST_EXTRA, following)
