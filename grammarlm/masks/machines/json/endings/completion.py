"""How a JSON text can end: completions, from anywhere in any text under a schema, as bytes that the machine accepts.

A thread still needs the rest of what it is in (a string, a number, a key), then the rest of each frame around it: the
keys or items that must come, each with the shortest value known, and the closing bracket.

    {"name": "Ad     b'","age":0}'        where "age" is required, too
    [[1, {"a":       b'0}]]'

A node's shortest value follows from those of its parts (`value`): nodes contain each other, so a worklist improves all
of them until none gets shorter. A frame's rest depends on the frame's content, not on what is around it; the cache key
is that content. Each rest is *read* by the machine before it counts. Where it is refused (items must differ, keys
exclude each other) it is built step by step with the machine: every live thread can be completed, so always taking the
first live choice ends somewhere.

Texts are compared by number of tokens, then by bytes. The result is an upper bound, not the minimum: keys and items are
chosen one by one. endings/ computes what a lexeme, an object, an array, a node needs, a file each; here they come together.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from itertools import chain, islice

from grammarlm.layout.json import ANY_STRING, ESCAPE, FIELD, FOLLOWS, NO_LANGUAGE, ROW, Frame, Gap, Key, Kind, Object
from grammarlm.layout.json_calls import QUOTED
from grammarlm.layout.json_strings import BODY, LAST_1
from grammarlm.masks.machines.json.machine import Machine

from .frames import MOST_ENTRIES, FrameEndings
from .languages import LanguageEndings
from .lexemes import ENOUGH, LexemeEndings, is_inside
from .reader import AFTER, COMMA, OPEN, Reader, Tail
from .texts import Pieces, Thread, spelled

BETWEEN = frozenset(
    map(int, (Kind.AFTER, Kind.COLON, Kind.VALUE, Kind.KEYS, Kind.ENTRY))
)  # where a thread is in no lexeme
SEGMENT = 1024  # bytes of a tail that are tokenized together
FEW_KEYS, MORE_NAMES = 3, 32  # keys that fit are enough; names tried beside those that have come


class Endings:
    """The completions of one epoch's texts. Used under the automaton's lock."""

    def __init__(self, machine: Machine):
        self.reader = Reader(machine)
        self.languages = LanguageEndings(self.reader)
        self.lexemes = LexemeEndings(self.reader, self.languages)
        self.frames = FrameEndings(self.reader, self.lexemes)
        self.values = self.frames.values
        self._program, self._rows = machine.program, self.reader.rows
        self._between: dict[tuple[int, int], bytes | None] = {}  # own ends of threads between lexemes

    def pieces(self, state: int) -> list[bytes] | None:
        """A completion of a config: pieces, tokenized one by one, whose tokens end the text. None: no completion can be
        written down."""
        threads = self.reader.threads_of(state)
        with self.reader.scratch():
            return self.pieces_of(threads)

    def pieces_of(self, threads: list[Thread]) -> list[bytes] | None:
        """The same from threads of the reader. To be called within `scratch`."""
        found = [whole for thread in threads if (whole := self.whole(thread)) is not None]
        if not found:
            return None
        _, pieces, tail = min(found, key=lambda whole: whole[0])
        while tail.more is not None:
            tail = tail.more
            pieces.append(tail.text)
        return pieces

    def whole(self, thread: Thread) -> tuple[int, list[bytes], Tail] | None:
        """All that ends a text: its tokens; pieces, joined where that takes no more of them; and the tail that they end with."""
        own, tail = self.own_pieces(*thread), self.around(thread[3])
        if own is None or tail is None:
            return None
        pieces = [piece for piece in (*own, tail.text) if piece]
        joined = b"".join(pieces)
        together, apart = self.reader.tokens(joined), sum(map(self.reader.tokens, pieces))
        if together <= apart:
            return together + tail.cost, [joined], tail
        return apart + tail.cost, pieces, tail

    def own_pieces(self, c: int, x: int, y: int, f: int) -> Pieces | None:
        """The rest of what the thread is in and of the frame around it, its closing bracket included: what is the thread's own, and
        what other threads share."""
        if c & 31 == Kind.KEY:
            return min(self.key_ends(c, x, y, f), key=self._measure, default=None)
        if self.ends_frame(c, f):
            text = self._item_rest(c, x, y, f)
            return None if text is None else (text, b"")
        own, rest = self.own_end(c, x, y), self.frames.rest(f, self.where(c, y))
        return None if own is None or rest is None else (own, rest)

    def ends_frame(self, c: int, f: int) -> bool:
        """Does the rest of the frame depend on how a lexeme ends? A key decides what must come, an item what others may be."""
        return c & 31 == Kind.KEY or (f != 0 and c & 31 not in BETWEEN and self.frames.is_unique(f))

    def own_end(self, c: int, x: int, y: int) -> bytes | None:
        """What ends a thread's own lexeme, or comes next between two of them."""
        kind = c & 31
        if kind not in BETWEEN:
            return self.lexemes.lexeme(c, x, y)
        known = self._between.get((c, y), b"")
        if known == b"":
            blanks, is_quoted = self._program.tables.blanks, c & QUOTED != 0 and kind in (Kind.AFTER, Kind.COLON)
            text = b'"' * is_quoted + blanks.rest(gap_of(c, y) if blanks.has_gaps else y)
            if kind in (Kind.COLON, Kind.VALUE):
                value = self.values.value(c >> 11 & ROW)
                known = None if value is None else text + blanks.colon * (kind == Kind.COLON) + value
            else:
                known = text
            if self.values.are_final:
                self._between[c, y] = known
        return known

    def where(self, c: int, y: int) -> int:
        """Where a thread's end stands in its frame."""
        if c & 31 not in (Kind.KEYS, Kind.ENTRY):
            return AFTER
        return COMMA if c >> 5 & 63 or not self._may_close(y) else OPEN

    def _may_close(self, state: int) -> bool:
        """May a closing bracket follow white space?"""
        return bool(self._program.tables.blanks.table[state, 4] != FOLLOWS)

    def around(self, f: int) -> Tail | None:
        """What follows a frame: the rests of those around it."""
        tails, way, parents = self.reader.tails, list[int](), self.reader.machine.arrays["frames"][:, Frame.PARENT]
        f = int(parents[f])
        while f not in tails:
            way.append(f)
            f = int(parents[f])
        tail = tails[f]
        for number in reversed(way):
            rest = None if tail is None else self.frames.rest(number, AFTER)
            if tail is None or rest is None:
                tail = None
            elif len(rest) + len(tail.text) > SEGMENT and tail.text:
                tail = Tail(rest, tail, self.reader.tokens(tail.text) + tail.cost)
            else:
                tail = Tail(rest + tail.text, tail.more, tail.cost)
            if number < self.reader.stable:
                tails[number] = tail
        return tail

    def _item_rest(self, c: int, x: int, y: int, f: int) -> bytes | None:
        """The rest of an item that must differ from others, and of its array."""
        words = self.reader.frame(f)
        begun, alone, kind = b"", self.reader.alone(words), c & 31
        if kind in (Kind.STRING, Kind.WORD) and is_inside(kind, c >> 5 & 63, x):  # not all ends of an escape are new
            begun, c, x, y, alone = self.lexemes.to_body(c, x, y, alone)
        record = self.reader.record(c, x, y, alone)
        first = self.lexemes.lexeme(c, x, y)
        # Another item refuses one value of this one, in several spellings; so few ends are refused, or all.
        most = min(ENOUGH, 32 + 4 * words[Frame.COUNT])
        for text in chain(filter(None, [first]), islice(self.lexemes.lexemes(c, x, y), most)):
            after = self.reader.read(record, text)
            if not after:
                continue
            rest, g = None, self.reader.threads(after)[0][3]
            if kind != Kind.NUMBER:
                rest = self.frames.rest(g, AFTER)
            elif self.reader.read(after, b"]") or self.reader.read(after, b","):  # a number ends with what follows it
                rest = self.frames.by_entry(after, self.reader.frame(g), AFTER)
            if rest is not None:
                return begun + text + rest
        return None

    def key_ends(self, c: int, x: int, y: int, f: int) -> Iterator[Pieces]:
        """Ends of a key, and then of its object: as keys that have an entry, the likely ones first, and as any other."""
        begun, row = b"", c >> 11 & ROW
        if (c >> 5 & 63) != BODY and (c >> 5 & 63) < LAST_1:
            begun, c, x, y, f = self.lexemes.to_body(c, x, y, f)
        read, found, words = x >> 42 & FIELD, 0, self.reader.frame(f)
        content = self.frames.content(words, AFTER, is_key=True)
        for i in self._own_keys(row, x, words):
            then = self._after_key(row, f, i, content)
            if then is not None:
                name = self.reader.name(self._rows[row + Object.KEYS] + i * Key.LENGTH)
                yield begun, spelled(name[read:]) + b'"', then
                found += 1
                if found == FEW_KEYS:
                    break
        if c >> 35 != NO_LANGUAGE:
            record = self.reader.record(c, x, y, f)
            for text in self._other_ends(c, y, f):
                after = self.reader.read(record, text)
                own = self.own_pieces(*self.reader.threads(after)[0]) if after else None
                if own is not None:
                    yield begun, text + own[0], *own[1:]
                    break

    def _measure(self, pieces: Pieces) -> tuple[int, int]:
        return sum(map(self.reader.tokens, pieces)), sum(map(len, pieces))

    def _own_keys(self, row: int, x: int, words: list[int]) -> list[int]:
        """Keys that have an entry, have not come and may be this one: the required ones first, then the short ones."""
        own = [i for i in range(x & FIELD, x >> 21 & FIELD) if not self.frames.is_seen(words, i)]
        if len(own) < 2:
            return own
        keys, rows, needed = self._rows[row + Object.KEYS], self._rows, set(self.frames.needed(words))
        return sorted(own, key=lambda i: (i not in needed, rows[keys + i * Key.LENGTH + Key.SIZE]))

    def _after_key(self, row: int, f: int, i: int, content: Hashable) -> bytes | None:
        """What ends an object after the name of a key; None where the key may not come."""
        known = "after", i, content
        if known not in self.reader.rests:
            name = spelled(self.reader.name(self._rows[row + Object.KEYS] + i * Key.LENGTH))
            begun = int(Kind.KEY) | row << 11 | NO_LANGUAGE << 35
            after = self.reader.read(self.reader.record(begun, self._rows[row + Object.COUNT] << 21, 0, f), name + b'"')
            own = self.own_pieces(*self.reader.threads(after)[0]) if after else None
            found = None if own is None else b"".join(own)
            self.reader.note(len(found or b""))
            self.reader.rests[known] = found
        return self.reader.rests[known]

    def _other_ends(self, c: int, y: int, f: int) -> Iterator[bytes]:
        """What may end a key without an entry, the shortest first: it ends as a string does."""
        state = c >> 35
        string = int(Kind.STRING) | (c >> 5 & 63) << 5 | ANY_STRING << 11, state, y & ESCAPE
        most = MOST_ENTRIES if state else len(self.reader.other_names(self.reader.frame(f))) + MORE_NAMES
        return chain(filter(None, [self.lexemes.lexeme(*string)]), islice(self.lexemes.lexemes(*string), most))


def gap_of(c: int, y: int) -> int:
    """The white space state of a thread between lexemes, where each gap has one of its own. A class of threads (ends.py) of which
    some stand at the start of a gap is in CAN_START."""
    kind, is_after_comma = c & 31, c >> 5 & 63 != 0
    if y not in (Gap.START, Gap.CAN_START) or kind not in (Kind.VALUE, Kind.KEYS, Kind.ENTRY):
        return y
    return int(Gap.AFTER_COLON if kind == Kind.VALUE else Gap.AFTER_COMMA if is_after_comma else y)
