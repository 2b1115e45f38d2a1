"""What ends a string, a number, a literal or one of the words of a table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from heapq import nsmallest

from grammarlm.errors import LimitExceeded
from grammarlm.layout.json import ANY_STRING, FIELD, ROW, Key, Kind, Shape
from grammarlm.layout.json_strings import BODY, LAST_1, LOW_BACKSLASH, LOW_U
from grammarlm.masks.filters.budget import INFINITE
from grammarlm.masks.machines.regular.completion import LONGEST

from .languages import LanguageEndings, bytes_missing
from .numbers import NumberEndings
from .reader import Reader
from .texts import Replayed, decoded, joined, short_names, spelled

MOST_RECORDED = 256  # numbers half read, the ends of which are kept
ENOUGH = 4096  # values of one node tried while looking for a new one
LITERAL_TEXT = b" truefalsenull"
SHORTEST = 32  # words of a table, of which that with the fewest tokens is taken
SAMPLE = 128  # characters, by which the filler of a longer text is chosen
FILLERS = (b" ", b"-", b"=", b"*", b"a", b"0", b"_", b".")


class LexemeEndings:
    """What ends strings, numbers, literals and words of one program."""

    def __init__(self, reader: Reader, languages: LanguageEndings):
        self._reader, self.languages = reader, languages
        self.numbers = NumberEndings(reader)
        self._fillers: dict[int, bytes] = {}  # by number of characters
        self._several: dict[tuple[int, int, int], Replayed[bytes]] = {}
        self._words: dict[int, Replayed[tuple[bytes, int]]] = {}

    def begun(self, kind: int, row: int) -> tuple[bytes, int, int]:
        """The beginning of a string or number of a shape: its quote, and the thread after it."""
        rows = self._reader.rows
        if kind == Shape.NUMBER:
            return b"", int(Kind.NUMBER) | row << 11, 0
        if kind == Shape.WORDS:
            return b'"', int(Kind.WORD) | rows[row] << 11, rows[row + 1] | rows[row + 2] << 21
        return b'"', int(Kind.STRING) | row << 11, rows[row + 2]

    def lexeme(self, c: int, x: int, y: int) -> bytes | None:
        """The rest of a string, number or literal, its closing quote included."""
        key = c, x, y
        if key not in self._reader.strings:
            found = self._rest_of_lexeme(c, x, y)
            self._reader.note(len(found or b""))
            self._reader.strings[key] = found
        return self._reader.strings[key]

    def _rest_of_lexeme(self, c: int, x: int, y: int) -> bytes | None:
        kind, sub = c & 31, c >> 5 & 63
        if kind == Kind.LITERAL:
            end = 5 if sub <= 4 else 10 if sub <= 9 else 14
            return LITERAL_TEXT[sub:end]
        if kind == Kind.NUMBER:
            return self.numbers.shortest(c, x, y)
        if not is_inside(kind, sub, x):
            return self._string(c, x, y) if kind == Kind.STRING else self._word(c, x)
        with self._reader.scratch():
            text, c, x, y, _ = self.to_body(c, x, y, 0)
        return joined(text, self._string(c, x, y) if kind == Kind.STRING else self._word(c, x))

    def to_body(self, c: int, x: int, y: int, f: int) -> tuple[bytes, int, int, int, int]:
        """The rest of an escape or character, and the thread after it."""
        text = b""
        while c >> 5 & 63 != BODY:
            record = self._reader.record(c, x, y, f)
            tried = ((byte, self._reader.read(record, bytes([byte]))) for byte in _continuing(c >> 5 & 63))
            byte, after = next((pair for pair in tried if pair[1]), (0, 0))
            if not after:
                raise LimitExceeded("the end of half a character is not known")
            c, x, y, f = self._reader.threads(after)[0]
            text += bytes([byte])
        return text, c, x, y, f

    def _string(self, c: int, x: int, y: int) -> bytes | None:
        row, count = c >> 11 & ROW, y >> 24
        rows = self._reader.rows
        least, most, lengths = rows[row], rows[row + 1], rows[row + 3]
        if x == 0:
            missing = least - count
            return None if missing > LONGEST else self._filler(max(missing, 0)) + b'"'
        if lengths:
            return joined(
                self.languages.of_length(
                    x, bytes_missing(c >> 5 & 63), max(least - count, 0), most - count if most >= 0 else -1
                ),
                b'"',
            )
        return joined(self.languages.of_language(x), b'"')

    def _filler(self, count: int) -> bytes:
        """`count` characters, in few tokens."""
        sample = min(count, SAMPLE)
        known = self._fillers.get(sample)
        if known is None:
            known = self._fillers[sample] = min(FILLERS, key=lambda filler: self._reader.tokens(filler * sample))
        return known * count

    def longest_string(self, c: int, x: int, y: int) -> int:
        """Upper bound on the tokens that end a string of a language after any token that stays in it."""
        least, most, _, lengths = (self._reader.rows[(c >> 11 & ROW) + i] for i in range(4))
        count = y >> 24 if lengths else 0
        return self.longest_end(
            x, max(least - count, 0) if lengths else 0, most - count if lengths and most >= 0 else -1
        )

    def longest_end(self, language: int, least: int, most: int) -> int:
        """Upper bound on the tokens of the shortest end of a string of a language, from any state that is reachable: at least
        `least` and at most `most` characters more (-1: any number). Any end leads past the least length, and from there the
        nearest is not too long.
        """
        bound = self.languages.ceiling(language) + 6 * least
        return min(bound, 6 * most if most >= 0 else INFINITE, INFINITE - 2) + 2

    def _word(self, c: int, x: int) -> bytes | None:
        """The rest of the word that is shortest, its quote included."""
        rows, table = self._reader.rows, c >> 11 & ROW
        low, high, read = x & FIELD, x >> 21 & FIELD, x >> 42 & FIELD
        shortest = nsmallest(SHORTEST, range(low, high), key=lambda i: rows[table + i * Key.LENGTH + Key.SIZE])
        texts = [spelled(self._reader.name(table + i * Key.LENGTH)[read:]) + b'"' for i in shortest]
        return min(texts, key=self._reader.measure, default=None)

    def lexemes(self, c: int, x: int, y: int) -> Iterator[bytes]:
        """Different ways to end a lexeme, short ones first."""
        kind, sub = c & 31, c >> 5 & 63
        if kind == Kind.NUMBER:
            if (c, x, y) not in self._several:
                if len(self._several) == MOST_RECORDED:
                    self._several.clear()
                self._several[c, x, y] = Replayed(partial(self.numbers.several, c, x, y))
            yield from self._several[c, x, y]
            return
        if kind == Kind.LITERAL:
            yield from filter(None, [self.lexeme(c, x, y)])
        elif is_inside(kind, sub, x):
            with self._reader.scratch():
                text, c, x, y, _ = self.to_body(c, x, y, 0)
            yield from (text + t for t in self.lexemes(c, x, y))
        elif kind == Kind.WORD:
            table = c >> 11 & ROW
            low, high, read = x & FIELD, x >> 21 & FIELD, x >> 42 & FIELD
            for i in range(low, high):
                yield spelled(self._reader.name(table + i * Key.LENGTH)[read:]) + b'"'
        elif x == 0:
            missing = max(self._reader.rows[c >> 11 & ROW] - (y >> 24), 0)
            for name in short_names():
                yield name + self._filler(max(missing - len(name), 0)) + b'"'
        else:
            yield from self._strings_of(c, x, y)

    def _strings_of(self, c: int, x: int, y: int) -> Iterator[bytes]:
        """Strings of a language: each prefix, short ones first, with its shortest rest."""
        known = set()
        row = c >> 11 & ROW
        counted = self._reader.rows[row] > 0 or self._reader.rows[row + 1] >= 0
        for text, state, inside in self.languages.beginnings(x, c >> 5 & 63):
            count = y >> 24
            if counted:
                count += sum(byte & 0xC0 != 0x80 for byte in text)
            rest = self.lexeme(int(Kind.STRING) | inside << 5 | row << 11, state, count << 24)
            if rest is not None and (whole := spelled(text) + rest) not in known:
                known.add(whole)
                yield whole

    def words(self, language: int) -> Iterator[tuple[bytes, int]]:
        """Words of a language, decoded, and the states where they end."""
        if language not in self._words:
            self._words[language] = Replayed(partial(self._new_words, language))
        return iter(self._words[language])

    def _new_words(self, language: int) -> Iterator[tuple[bytes, int]]:
        for text in self._strings_of(int(Kind.STRING) | ANY_STRING << 11, language, 0):
            word = decoded(text[:-1])
            yield word, self.languages.after(language, word)


def is_inside(kind: int, sub: int, x: int) -> bool:
    """Must an escape, or a character of an unrestricted string, be finished first?"""
    return sub != BODY and (sub < LAST_1 or (kind == Kind.STRING and x == 0))


def _continuing(sub: int) -> Iterable[int]:
    """Bytes that may come within an escape or a character, first those that end it soon."""
    if sub == 1:
        return b'nrtbf/\\"u'
    if sub == LOW_BACKSLASH:
        return b"\\"
    if sub == LOW_U:
        return b"u"
    if sub < LAST_1:
        return b"0123456789abcdefABCDEF"
    return (0x80, 0x90, 0xA0, *range(0x81, 0xC0))
