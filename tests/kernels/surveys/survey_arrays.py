"""Surveys, tries of remainders and signatures, as sets and dicts, from the arrays of a stack machine."""

from typing import Any

from grammarlm.layout.stack import Field
from grammarlm.layout.stack_calls import DENSE, EMPTIES
from tests.kernels.stack.stack_arrays import StackArrays
from tests.kernels.token_lists import ids_in
from tests.oracles.remainders import Entry, Remainder, Survey


class SurveyArrays:
    def __init__(self, arrays: StackArrays, texts: dict[int, bytes], words: int):
        self.arrays, self.words = arrays, words
        twins = arrays.array(Field.TWINS)[:, 0].tolist()
        self.texts = {token: text for token, text in texts.items() if token not in twins}

    def _rows(self, place: Field, count: Field) -> list[Any]:
        return self.arrays.array(place)[: self.arrays.epoch.arena.words[count]].tolist()

    @property
    def keys(self) -> list[tuple[int, int, int, int]]:
        """trie, state, border and class of each survey."""
        low = (1 << 32) - 1
        rows = self._rows(Field.SURVEY_KEY, Field.SURVEY_COUNT)
        return [(one >> 32, one & low, two >> 32, two & low) for one, two in rows]

    def survey(self, number: int) -> Survey:
        kind, at, many, first, exits = self.arrays.array(Field.SURVEY)[number].tolist()
        if kind == DENSE:
            row = ids_in(self.arrays.array(Field.DENSE)[at], self.words)
        else:
            listed = self.arrays.array(Field.SPARSE)[at : at + many].tolist()
            row = set(listed)
            assert len(listed) == len(row)
        rows = self.arrays.array(Field.EXITS)[first : first + exits].tolist()
        found = {(label, border): set(self.entries(trie)) for label, border, trie in rows}
        assert len(found) == len(rows), "a way out is listed twice"
        return Survey(row, found)

    def count(self, number: int) -> int:
        return int(self.arrays.array(Field.SURVEY)[number, 2])

    # ------------------------------------------------------------------ tries

    @property
    def tries(self) -> int:
        return int(self.arrays.epoch.arena.words[Field.TRIE_COUNT])

    def entries(self, trie: int) -> list[Entry]:
        _, _, first, many = self.arrays.array(Field.TRIES)[trie].tolist()
        return [tuple(entry) for entry in self.arrays.array(Field.X_TOKEN)[first : first + many].tolist()]

    def spelled(self, trie: int) -> list[tuple[bytes, Entry]]:
        """The path to each entry, in the trie's order; the trie itself is checked along the way."""
        first, nodes, _, _ = self.arrays.array(Field.TRIES)[trie].tolist()
        entries = self.entries(trie)
        places = (Field.X_BYTE, Field.X_DEPTH, Field.X_END)
        columns = [self.arrays.array(place)[first : first + nodes].tolist() for place in places]
        begins = self.arrays.array(Field.X_FIRST)[first : first + nodes + 1].tolist()
        assert begins[-1] == len(entries)
        found = [(b"", entry) for entry in entries[: begins[0]]]
        path = b""
        siblings: dict[bytes, int] = {}  # the last child of each node so far
        for node, (byte, depth, end) in enumerate(zip(*columns, strict=True)):
            assert 1 <= depth <= len(path) + 1
            path = path[: depth - 1] + bytes([byte])
            assert siblings.get(path[:-1], -1) < byte, "children are in the order of their bytes"
            siblings[path[:-1]] = byte
            deeper = [after for after in range(node + 1, nodes) if columns[1][after] <= depth]
            assert end == (deeper[0] if deeper else nodes)
            found += [(path, entry) for entry in entries[begins[node] : begins[node + 1]]]
        return found

    def remainders(self, trie: int) -> list[Remainder]:
        """What a survey of the trie reads; trie 0 is the vocabulary's."""
        if trie == 0:
            return [Remainder(token, 0, text) for token, text in self.texts.items() if text]
        return [
            Remainder(token, gone, self.texts[token][gone:])
            for token, gone in self.entries(trie)
            if gone < len(self.texts[token])
        ]

    # ------------------------------------------------------------------ signatures

    @property
    def signatures(self) -> list[list[int]]:
        known = self.arrays.array(Field.KNOWN_SIGNATURE).tolist()
        rows = self._rows(Field.SIGNATURES, Field.SIGNATURE_COUNT)
        return [known[offset : offset + length] for offset, length in rows]

    def signed(self, signature: list[int]) -> set[int]:
        """The tokens that a signature lists."""
        found: set[int] = set()
        numbers = iter(signature[1:])
        for number in numbers:
            if number == EMPTIES:
                found |= {entry[0] for path, entry in self.spelled(next(numbers)) if not path}
            else:
                found |= self.survey(number).row
        return found
