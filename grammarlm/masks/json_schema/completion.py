"""How a JSON text can end: from any place of any text under a schema, bytes that the machine reads to the end.

A thread still needs the rest of what it is in (a string, a number, a key), then the rest of each frame around it: the keys or items
that must come, each with the shortest value known, and the closing bracket.

    {"name": "Ad     b'","age":0}'        where "age" is required, too
    [[1, {"a":       b'0}]]'

What a node's shortest value is follows from those of its parts (`value`): nodes contain each other, so all that are met are kept in
a list of work until none gets shorter. A frame's rest hangs on what is in the frame and not on what is around it, and is kept by
that. Each rest is *read* by the machine before it counts; where it is refused (items must differ, keys exclude each other)
the machine is asked step by step: since every thread that it leaves alive can be completed, going on with the first that lives ends
somewhere.

Texts are compared by how many tokens they take, then by bytes. It is a bound, not the minimum: keys and items are chosen one by
one.
"""

from __future__ import annotations

import functools
import itertools
import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from ...errors import LimitExceeded
from ...grammars.terms import NOTHING, Term
from ...kernels.cpu.json_call import ENDS, READ, json_call
from ...kernels.cpu.json_ends import QUOTED
from ...kernels.cpu.json_places import (
    ARRAY_BIT,
    BARRIER,
    ESCAPE,
    FIELD,
    INLINE,
    NO_FRAME,
    SHARED_BIT,
    Array,
    At,
    Frame,
    Key,
    Kind,
    Object,
    Shape,
)
from ...kernels.cpu.json_step import NO_LANGUAGE, ROW
from ...kernels.cpu.json_text import BODY, LAST_1, LAST_2, LEAD_E0, LEAD_ED, LOW_BACKSLASH, LOW_U
from .. import greedy
from ..budget import INFINITE
from ..completion import LONGEST, Completions
from .formats import format_automata

if TYPE_CHECKING:
    from .epoch import JsonEpoch

Item = TypeVar("Item")
Thread = tuple[int, int, int, int]
Pieces = tuple[bytes, bytes]
AFTER, OPEN, COMMA = 0, 1, 2  # where in a frame: behind a value, behind its bracket, behind a comma
SPARE = 2
RECORD_COUNT = int(At.RECORD_COUNT)
SAVED = 4  # tokens, where pieces of a text are cut together: most often fewer
SHORT = 100  # bytes that are read again and again
SEGMENT = 1024  # bytes of a tail that are cut into tokens together
MOST_STATES = 400  # of a language, where its states must be looked at
MOST_KEYS, FEW_KEYS = 32, 3  # that are tried as the end of one; of which so many fit
MOST_EXTRA = 4096  # keys that an object needs only to have enough of them
BEAM, WIDE_BEAM = 8, 40  # numbers that are tried side by side
MOST_BRANCHES, MOST_BEGINNINGS = 40, 256  # of languages, where many of their strings are wanted
ENOUGH = 4096  # values of one node that are looked at for one that is new
DIGITS = b"e1234567890-.+"
LITERALS = {1: b"true", 2: b"false", 3: b"null"}
LITERAL_TEXT = b" truefalsenull"
FILLERS = (b" ", b"-", b"=", b"*", b"a", b"0", b"_", b".")
_SHORT = {0x22: b'\\"', 0x5C: b"\\\\", 8: b"\\b", 9: b"\\t", 10: b"\\n", 12: b"\\f", 13: b"\\r"}
_SPELLED = [
    _SHORT.get(byte, bytes([byte]) if byte >= 0x20 else b"\\u%04x" % byte) for byte in range(256)
]  # within a string
_FIRST_BITS = [
    sum(1 << byte for byte in group)
    for group in (
        range(97, 123), range(48, 58), range(65, 91), [b for b in range(0x20, 0x7F) if b not in (0x22, 0x5C)], range(0x7F, 256),
    )
]  # fmt: skip


def spelled(text: bytes) -> bytes:
    """Bytes of a decoded string as JSON has them between quotes."""
    if text.isalnum():
        return text
    return b"".join(map(_SPELLED.__getitem__, text))


def preferred(bits: int) -> int:
    """Of a set of bytes, one that is short to spell."""
    for group in _FIRST_BITS:
        if bits & group:
            bits &= group
            break
    return (bits & -bits).bit_length() - 1


class SpelledCompletions(Completions):
    """The shortest rests of strings in a language, as JSON spells them."""

    def _letter(self, bits: int) -> Any:
        return _SPELLED[preferred(bits)]

    def _word(self, term: Term) -> Any:
        return spelled(super()._word(term))


class Tail:
    """What follows a frame: the bytes next to it, and what is far behind, whose tokens are counted apart."""

    __slots__ = ("cost", "more", "text")

    def __init__(self, text: bytes, more: Tail | None, cost: int):
        self.text, self.more, self.cost = text, more, cost  # `cost`: tokens of `more` and all behind it


NO_TAIL = Tail(b"", None, 0)


class Replayed:
    """An endless list, made as far as somebody has looked."""

    def __init__(self, source: Iterator[Any]):
        self._made: list[Any] = []
        self._source = source

    def __iter__(self) -> Iterator[Any]:
        at = 0
        while True:
            if at == len(self._made):
                try:
                    self._made.append(next(self._source))
                except StopIteration:
                    return
            yield self._made[at]
            at += 1


class Endings:
    """How the texts of one epoch can end. All under the automaton's lock."""

    def __init__(self, epoch: JsonEpoch):
        self._source, self._program = epoch, epoch.program
        self.nbytes = 0  # about what the texts take
        self._begin()
        self._vocab = epoch.program.vocab
        self._rows = memoryview(epoch.program.json.rows)
        self._blob = self._rows.cast("B")[epoch.program.json.blob_at :]
        self._ordered = epoch.program.mode == 1
        self._values: dict[int, bytes] = {}  # of nodes, the shortest known
        self._settled: set[int] = set()
        self._solving: int | None = None
        self._users: dict[int, set[int]] = {}
        self._queue: list[int] = []
        self._pending: set[int] = set()
        self._met: set[int] = set()
        self._rests: dict[Any, bytes | None] = {}
        self._strings: dict[Any, bytes | None] = {}
        self._blanks: dict[int, bytes] = {}
        self._costs: dict[bytes, int] = {}
        self._placed: dict[bytes, tuple[np.ndarray, int]] = {}  # bytes that kernels read, and where they are
        self._word_lists: dict[int, Replayed] = {}
        self._branches: dict[int, list[tuple[bytes, int]]] = {}

    def _begin(self) -> None:
        """Arenas of our own: texts are read to and fro here, while other threads go on in those of the epoch."""
        self.machine: JsonEpoch = type(self._source)(self._program)
        self._frames = {NO_FRAME: NO_FRAME, BARRIER: BARRIER}  # the epoch's numbers, and ours
        self._chains, self._others = {0: 0}, {0: 0}
        self._tails: dict[int, Tail | None] = {0: NO_TAIL}
        self._stable = 0

    # ------------------------------------------------------------------ what is asked

    def parts(self, state: int) -> list[bytes] | None:
        """How the text can end from a config: pieces, whose tokens end the text one after another. None: not to be written down."""
        threads = self.threads_of(state)
        best: tuple[int, list[bytes], Tail] | None = None
        with _Scratch(self):
            for thread in threads:
                found = self._priced(thread)
                if found is not None and (best is None or found[0] < best[0]):
                    best = found
        if best is None:
            return None
        _, pieces, tail = best
        while tail.more is not None:
            tail = tail.more
            pieces.append(tail.text)
        return pieces

    def fits(self, thread: Thread, left: int) -> bool:
        """Do fewer than `left` tokens end the text from a thread, and from those like it? To be asked within `scratch`."""
        f = thread[3]
        own, tail = self._pieces(*thread), self._tail(f)
        if own is None or tail is None:
            return False
        left -= tail.cost + self._spare(f)
        apart = sum(map(self.tokens, (*own, tail.text)))  # most likely known
        if left <= 0 or not left <= apart < left + SAVED:
            return apart < left
        return self.tokens(own[0] + own[1] + tail.text) < left

    def cost(self, thread: Thread) -> int | None:
        """How many tokens end the text from a thread. To be asked within `scratch`."""
        found = self._priced(thread)
        return None if found is None else found[0]

    def _spare(self, f: int) -> int:
        """Keys or items that must come and must differ may be longer behind other ones: tokens to spare for that."""
        if not f:
            return 0
        words = self._frame(f)
        row = words[Frame.ROW]
        if row & ARRAY_BIT:
            least = self._rows[(row & ROW) + Array.LEAST] if self._rows[(row & ROW) + Array.UNIQUE] else 0
        else:
            least = self._rows[row + Object.LEAST] if self._rows[row + Object.OTHERS] != -1 else 0
        return SPARE * max(least - words[Frame.COUNT], 0)

    def scratch(self) -> _Scratch:
        """What is made within is forgotten at its end."""
        return _Scratch(self)

    def _priced(self, thread: Thread) -> tuple[int, list[bytes], Tail] | None:
        own, tail = self._pieces(*thread), self._tail(thread[3])
        if own is None or tail is None:
            return None
        whole = own[0] + own[1] + tail.text
        together, apart = self.tokens(whole), sum(map(self.tokens, (*own, tail.text)))
        if together <= apart:
            return together + tail.cost, [whole], tail
        return apart + tail.cost, [piece for piece in (*own, tail.text) if piece], tail

    def tokens(self, text: bytes) -> int:
        """How many tokens the bytes take."""
        known = self._costs.get(text)
        if known is None:
            known = greedy.cost(self._vocab, text)
            self._note(len(text))
            self._costs[text] = known
        return known

    def _note(self, size: int) -> None:
        """Texts take memory, and are made again where they are forgotten."""
        self.nbytes += size + 200
        if self.nbytes > self._program.limits.max_bytes // 8:
            for known in (self._costs, self._rests, self._strings, self._placed):
                known.clear()  # type: ignore[attr-defined]
            self._tails = {0: NO_TAIL}
            self.nbytes = 0

    # ------------------------------------------------------------------ from the epoch's arenas to ours

    def threads_of(self, state: int) -> list[Thread]:
        """The threads of a config of the epoch, in our arenas."""
        if self.machine.is_full:
            self._begin()
        self.machine._place_languages()
        found, records = [], self._source.arrays["records"]
        while state:
            c, x, y, f, state = records[state].tolist()
            if c & 31 == Kind.KEY:
                y = y & ESCAPE | self._chain_of(y >> 24) << 24
            found.append((c, x, y, self._frame_of(f)))
        return found

    def _frame_of(self, frame: int) -> int:
        way, known = [], self._frames
        while frame not in known:
            way.append(frame)
            frame = int(self._source.arrays["frames"][frame, Frame.PARENT])
        for number in reversed(way):
            words = self._source.arrays["frames"][number].tolist()
            words[Frame.PARENT] = known[words[Frame.PARENT]]
            words[Frame.OTHERS] = self._others_of(words[Frame.OTHERS])
            words[Frame.TEXT] = self._chain_of(words[Frame.TEXT])
            many = self._source._many(words[Frame.ROW])
            if many and words[Frame.SEEN]:
                words[Frame.SEEN] = self._bits_of(words[Frame.SEEN], many)
            known[number] = self.machine._put("frames", words)
            frame = number
        return known[frame]

    def _chain_of(self, chain: int) -> int:
        way, known = [], self._chains
        while chain not in known:
            way.append(chain)
            chain = int(self._source.arrays["chains"][chain, 0])
        for entry in reversed(way):
            before, word = self._source.arrays["chains"][entry].tolist()
            known[entry] = self.machine._put_entry(known[before], word)
            chain = entry
        return known[chain]

    def _others_of(self, entry: int) -> int:
        way, known = [], self._others
        while entry not in known:
            way.append(entry)
            entry = int(self._source.arrays["chains"][entry, 0])
        for number in reversed(way):
            before, chain = self._source.arrays["chains"][number].tolist()
            known[number] = self.machine._put_entry(known[before], self._chain_of(chain))
            entry = number
        return known[entry]

    def _bits_of(self, entry: int, words: int) -> int:
        """The set of keys seen, of an object of many."""
        bits = self._source.arrays["chains"][entry : entry + (words + 1) // 2].tolist()
        entries = [self.machine._put_entry(*pair) for pair in bits]
        return entries[0]

    # ------------------------------------------------------------------ the machine

    def threads(self, record: int) -> list[Thread]:
        found, records = [], self.machine.arrays["records"]
        while record:
            c, x, y, f, record = records[record].tolist()
            found.append((c, x, y, f))
        return found

    def record(self, c: int, x: int, y: int, f: int) -> int:
        """A config of one thread."""
        machine = self.machine
        number = int(machine.arena[RECORD_COUNT])
        records = machine.arrays["records"]
        if number + 1 >= len(records):
            return machine._record([(c, x, y, f)])
        records[number] = (c, x, y, f, 0)
        machine.arena[RECORD_COUNT] = number + 1
        return number

    def read(self, record: int, data: bytes) -> int:
        """The config behind some bytes, 0 where they are refused."""
        known = self._placed.get(data)
        if known is None:
            if not data or len(data) > SHORT:
                return self.machine.after_bytes(record, data)
            self._note(len(data))
            array = np.frombuffer(data, np.uint8)
            known = self._placed[data] = array, int(array.ctypes.data)
        return self.machine.call(READ, record, known[1], len(data))

    def _ends(self, record: int) -> bool:
        return bool(json_call(self.machine.address, ENDS, record, 0, 0))

    def _frame(self, f: int) -> list[int]:
        found: list[int] = self.machine.arrays["frames"][f].tolist()
        return found

    def _alone(self, words: list[int]) -> int:
        """The frame with nothing around it."""
        return self.machine._put("frames", [0, *words[1:]])

    # ------------------------------------------------------------------ from a thread to the end of its frame

    def own(self, c: int, x: int, y: int, f: int) -> bytes | None:
        """The rest of what the thread is in and of the frame around it, its closing bracket included."""
        return _joined(*(self._pieces(c, x, y, f) or (None,)))

    def _pieces(self, c: int, x: int, y: int, f: int) -> Pieces | None:
        """The same in two pieces: what is the thread's own, and what others may have, too."""
        kind, sub, row = c & 31, c >> 5 & 63, c >> 11 & ROW
        if kind == Kind.AFTER or kind == Kind.COLON:
            text: bytes | None = b'"' + self._blank(y) if c & QUOTED else self._blank(y)
            if kind == Kind.COLON:
                text = _joined(text, b":", self.value(row))
            return _paired(text, self.rest(f, AFTER))
        if kind == Kind.VALUE:
            return _paired(_joined(self._blank(y), self.value(row)), self.rest(f, AFTER))
        if kind == Kind.KEYS or kind == Kind.ENTRY:
            return _paired(self._blank(y), self.rest(f, COMMA if sub else OPEN))
        if kind == Kind.KEY:
            return self._key_rest(c, x, y, f)
        if f and self.is_unique(f):
            return _paired(self._item_rest(c, x, y, f), b"")
        return _paired(self._lexeme(c, x, y), self.rest(f, AFTER))

    def _blank(self, state: int) -> bytes:
        """White space that must come before anything else may."""
        known = self._blanks.get(state)
        if known is None:
            table = self._program.tables.blanks.table
            queue = [(state, b"")]
            for here, text in queue:
                if table[here, 4]:
                    known = text
                    break
                queue += [(int(to), text + b" \t\n\r"[i : i + 1]) for i, to in enumerate(table[here, :4]) if to >= 0]
            assert known is not None
            self._blanks[state] = known
        return known

    def _tail(self, f: int) -> Tail | None:
        """What follows the frame."""
        way = []
        here = f
        while here and here not in self._tails:
            way.append(here)
            here = self._frame(here)[Frame.PARENT]
        tail = self._tails[here]
        for number in reversed(way):
            parent = self._frame(number)[Frame.PARENT]
            if parent:
                rest = None if tail is None else self.rest(parent, AFTER)
                above = self._tails.get(parent) if tail is None else tail
                if rest is None or above is None:
                    tail = None
                elif len(rest) + len(above.text) > SEGMENT and above.text:
                    tail = Tail(rest, above, self.tokens(above.text) + above.cost)
                else:
                    tail = Tail(rest + above.text, above.more, above.cost)
            else:
                tail = NO_TAIL
            if number < self._stable:
                self._tails[number] = tail
        return tail

    # ------------------------------------------------------------------ rests of frames

    def rest(self, f: int, where: int) -> bytes | None:
        """What ends the frame, its bracket included; "" below the whole text."""
        if f == 0:
            return b""
        words = self._frame(f)
        key = (where, *self._content(words, where))
        if key not in self._rests:
            found = self._checked_rest(words, where)
            self._note(len(found or b""))
            self._rests[key] = found
        return self._rests[key]

    def _content(self, words: list[int], where: int) -> tuple[Any, ...]:
        """What the rest of a frame hangs on."""
        row = words[Frame.ROW]
        if row & ARRAY_BIT:
            at = row & ROW
            told: Any = 0
            if self._rows[at + Array.UNIQUE] and (where == COMMA or words[Frame.COUNT] < self._rows[at + Array.LEAST]):
                told = (tuple(sorted(self._other_names(words))), self.machine._chain(words[Frame.TEXT]))
            return row, words[Frame.COUNT], words[Frame.LAST], told
        seen: Any = words[Frame.SEEN]
        if self._rows[row + Object.COUNT] > INLINE:
            seen = self._many_seen(words)
        is_short = where == COMMA or words[Frame.COUNT] < self._rows[row + Object.LEAST]
        told = tuple(sorted(self._other_names(words))) if is_short else 0
        return row, seen, words[Frame.COUNT], words[Frame.LAST], words[Frame.NEEDED], told

    def _many_seen(self, words: list[int]) -> tuple[int, ...]:
        """Which keys were read, of an object of many."""
        if not words[Frame.SEEN]:
            return ()
        count = -(-self._rows[words[Frame.ROW] + Object.COUNT] // INLINE)
        chains = self.machine.arrays["chains"].reshape(-1)
        return tuple(chains[2 * words[Frame.SEEN] : 2 * words[Frame.SEEN] + count].tolist())

    def _other_names(self, words: list[int]) -> tuple[bytes, ...]:
        found, entry = [], words[Frame.OTHERS]
        while entry:
            entry, chain = self.machine.arrays["chains"][entry].tolist()
            found.append(self.machine._chain(chain))
        return tuple(found)

    def _checked_rest(self, words: list[int], where: int) -> bytes | None:
        row = words[Frame.ROW]
        frame = self._alone(words)
        if row & ARRAY_BIT:
            begun = Kind.AFTER if where == AFTER else Kind.ENTRY
            start = self.record(
                int(begun) | (where == COMMA) << 5 | (0 if where == AFTER else (row & ROW) << 11), 0, 0, frame
            )
            text = None if self._rows[(row & ROW) + Array.UNIQUE] else self._array(row & ROW, words, where)
        else:
            begun = Kind.AFTER if where == AFTER else Kind.KEYS
            start = self.record(int(begun) | (where == COMMA) << 5 | (0 if where == AFTER else row << 11), 0, 0, frame)
            text = self._object(row, words, where)
        if text is not None:
            after = self.read(start, text)
            if after and self._ends(after):
                return text
        if row & ARRAY_BIT:
            return self._array_by_machine(start, row & ROW, words, where)
        return self._object_by_machine(start, row, words, where)

    # ------------------------------------------------------------------ objects

    def _name(self, key: int) -> bytes:
        start, size = self._rows[key + Key.BYTES], self._rows[key + Key.SIZE]
        return bytes(self._blob[start : start + size])

    def _entry(self, key: int) -> bytes | None:
        """A key that has a place, with its value."""
        node = self._rows[key + Key.NODE]
        value = None if node < 0 else self.value(node)
        return None if value is None else b'"' + spelled(self._name(key)) + b'":' + value

    def _object(self, row: int, words: list[int], where: int) -> bytes | None:
        """The keys that must come, and as many more as are needed."""
        rows = self._rows
        count, keys = rows[row + Object.COUNT], rows[row + Object.KEYS]
        chosen = set(self._needed(row, words))
        extra = rows[row + Object.LEAST] - words[Frame.COUNT] - len(chosen)
        if where == COMMA and not chosen:
            extra = max(extra, 1)
        others: list[bytes] = []
        if extra > 0 and not self._add_keys(row, words, chosen, others, extra):
            return None
        found = []
        ranked = sorted(chosen, key=lambda i: rows[keys + i * Key.LENGTH + Key.RANK]) if count > 1 else list(chosen)
        for i in ranked:
            entry = self._entry(keys + i * Key.LENGTH)
            if entry is None:
                return None
            found.append(entry)
        text = b",".join(found + others)
        if len(text) > LONGEST:
            return None
        return (b"," if where == AFTER and text else b"") + text + b"}"

    def _needed(self, row: int, words: list[int]) -> list[int]:
        rows = self._rows
        if rows[row + Object.COUNT] <= INLINE:
            bits, found = words[Frame.NEEDED], []
            while bits:
                found.append((bits & -bits).bit_length() - 1)
                bits &= bits - 1
            return found
        seen, at = self._many_seen(words), rows[row + Object.NEEDED_LIST]
        listed = [rows[at + 1 + i] for i in range(rows[at])]
        return [i for i in listed if not seen or not seen[i // INLINE] >> (i % INLINE) & 1]

    def _add_keys(self, row: int, words: list[int], chosen: set[int], others: list[bytes], extra: int) -> bool:
        """Adds keys until there are enough; those that bring shorter texts first."""
        if extra > MOST_EXTRA:
            return False
        rows = self._rows
        keys, least, most = rows[row + Object.KEYS], rows[row + Object.LEAST], rows[row + Object.MOST]
        wanted = max(least - words[Frame.COUNT], len(chosen) + 1 if extra else 0)
        free = self._free_keys(row, words, chosen)
        implied = self._implied(row)
        texts = {i: entry for i in free if (entry := self._entry(keys + i * Key.LENGTH)) is not None}
        others_at = self._other_entries(row, words)
        other = next(others_at, None)
        while len(chosen) + len(others) < wanted:
            best: tuple[float, int, set[int]] | None = None
            for i, text in texts.items():
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
                del text
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

    def _free_keys(self, row: int, words: list[int], chosen: set[int]) -> list[int]:
        rows = self._rows
        keys, many = rows[row + Object.KEYS], rows[row + Object.COUNT] > INLINE
        seen = self._many_seen(words) if many else (words[Frame.SEEN],)
        found = []
        for i in range(rows[row + Object.COUNT]):
            key = keys + i * Key.LENGTH
            if rows[key + Key.NODE] < 0 or i in chosen:
                continue
            if seen and seen[i // INLINE if many else 0] >> (i % INLINE if many else i) & 1:
                continue
            if not self._ordered or rows[key + Key.RANK] >= words[Frame.LAST]:
                found.append(i)
        return found

    def _implied(self, row: int) -> dict[int, list[int]]:
        rows, at = self._rows, self._rows[row + Object.IMPLIED]
        if not at:
            return {}
        return {
            rows[at + 1 + 2 * k]: [i for i in range(INLINE) if rows[at + 2 + 2 * k] >> i & 1] for k in range(rows[at])
        }

    def _other_entries(self, row: int, words: list[int]) -> Iterator[bytes]:
        """Keys that have no place of their own, with their values."""
        rows = self._rows
        node, language = rows[row + Object.OTHERS], rows[row + Object.LANGUAGE]
        if node == -1:
            return
        known = set(self._other_names(words))
        for i in range(rows[row + Object.COUNT]):
            known.add(self._name(rows[row + Object.KEYS] + i * Key.LENGTH))
        if language == 0:
            value = self.value(node)
            if value is not None:
                yield from (b'"' + name + b'":' + value for name in _names() if name not in known)
            return
        cases = len(self.languages._vectors[language])
        nodes = [node] * cases if node >= 0 else [rows[rows[row + Object.CASES] + i] for i in range(cases)]
        values = [self.value(at) for at in nodes]
        if values.count(None) == cases:
            return
        for name, state in _few(self._words(language), MOST_EXTRA):
            value = values[self._case(state) - 1]
            if name not in known and value is not None:
                yield b'"' + spelled(name) + b'":' + value

    def _object_by_machine(self, record: int, row: int, words: list[int], where: int) -> bytes | None:
        """Key by key: the first that is allowed, of those that are needed, then of those that are short."""
        text, first = b"", where != AFTER
        is_closed = where != COMMA
        rows = self._rows
        keys = rows[row + Object.KEYS]
        needed = set(self._needed(row, words))
        entries = [
            (i, e) for i in range(rows[row + Object.COUNT]) if (e := self._entry(keys + i * Key.LENGTH)) is not None
        ]
        entries.sort(key=lambda pair: (pair[0] not in needed, len(pair[1])))
        others = self._other_entries(row, words)
        for _ in range(MOST_EXTRA):
            if is_closed and (after := self.read(record, b"}")) and self._ends(after):
                return text + b"}"
            is_closed = True
            comma = b"" if first else b","
            first = False
            for entry in _chained([e for _, e in entries], others, 64):
                after = self.read(record, comma + entry)
                if after:
                    record, text = after, text + comma + entry
                    break
            else:
                return None
        return None

    # ------------------------------------------------------------------ arrays

    def _ways(self, row: int, position: int) -> list[tuple[int, int]]:
        rows = self._rows
        at = rows[rows[row + Array.ITEMS] + min(position, rows[row + Array.PREFIX])]
        return [(rows[at + 1 + 2 * i], rows[at + 2 + 2 * i]) for i in range(rows[at])]

    def _array(self, row: int, words: list[int], where: int) -> bytes | None:
        rows = self._rows
        count, least, most, prefix = (
            words[Frame.COUNT],
            rows[row + Array.LEAST],
            rows[row + Array.MOST],
            rows[row + Array.PREFIX],
        )
        kinds, bounds = rows[row + Array.CONTAINS], rows[row + Array.BOUNDS]
        so_far = [words[Frame.LAST] >> 16 * k & 0xFFFF for k in range(kinds)]
        must = where == COMMA
        found: list[bytes] = []
        length, position = 0, count
        while must or position < least or any(so_far[k] < rows[bounds + 2 * k] for k in range(kinds)):
            must = False
            lacks = [so_far[k] < rows[bounds + 2 * k] for k in range(kinds)]
            fitting = []
            for node, counts in self._ways(row, position):
                full = any(counts >> k & 1 and 0 <= rows[bounds + 2 * k + 1] <= so_far[k] for k in range(kinds))
                value = None if full else self.value(node)
                if value is not None:
                    helps = sum(lacks[k] for k in range(kinds) if counts >> k & 1)
                    fitting.append((-helps, len(value), value, counts))
            if not fitting or 0 <= most <= position:
                return None
            useful, _, value, counts = min(fitting)
            if useful == 0 and position >= max(prefix, least):
                return None  # what must be contained has no text yet
            for k in range(kinds):
                so_far[k] += counts >> k & 1
            found.append(value)
            position += 1
            length += len(value) + 1
            if length > LONGEST:
                return None
            if not kinds and position >= prefix and position < least:  # all that follow are alike
                rest = self._cheapest([node for node, _ in self._ways(row, position)])
                if rest is None or (least - position) * (len(rest) + 1) > LONGEST:
                    return None
                found += [rest] * (least - position)
                position = least
        text = b",".join(found)
        return (b"," if where == AFTER and text else b"") + text + b"]"

    def _cheapest(self, nodes: list[int]) -> bytes | None:
        texts = [value for node in nodes if (value := self.value(node)) is not None]
        return min(texts, key=lambda t: (self.tokens(t), len(t)), default=None)

    def _array_by_machine(self, record: int, row: int, words: list[int], where: int) -> bytes | None:
        """Item by item: the first that is allowed."""
        text, first, position = b"", where != AFTER, words[Frame.COUNT]
        is_closed = where != COMMA
        supplies: dict[int, list[Any]] = {}
        for _ in range(MOST_EXTRA):
            if is_closed and (after := self.read(record, b"]")) and self._ends(after):
                return text + b"]"
            is_closed = True
            comma = b"" if first else b","
            first = False
            for node, _ in sorted(self._ways(row, position), key=lambda way: -way[1].bit_count()):
                supply = supplies.setdefault(node, [[], self._several(node)])
                made = self._next_item(record, comma, supply)
                if made is not None:
                    record, text = made[0], text + comma + made[1]
                    break
            else:
                return None
            position += 1
            if len(text) > LONGEST:
                return None
            self._program.clock.check()
        return None

    def _next_item(self, record: int, comma: bytes, supply: list[Any]) -> tuple[int, bytes] | None:
        """The first value that may come and be followed by something; those that may not be used are passed by for good."""
        passed = supply[0]
        for value in [*passed, None]:
            if value is None:
                break
            after = self.read(record, comma + value)
            if after and (self.read(after, b",") or self.read(after, b"]")):
                return after, value
        for _ in range(ENOUGH):
            value = next(supply[1], None)
            if value is None:
                return None
            after = self.read(record, comma + value)
            if after and (self.read(after, b",") or self.read(after, b"]")):
                if not self._repeats(record, comma, value):
                    passed.append(value)
                return after, value
        return None

    def _repeats(self, record: int, comma: bytes, value: bytes) -> bool:
        """May it not come a second time? Then it need not be tried again."""
        again = self.read(record, comma + value + b"," + value)
        return not (again and (self.read(again, b",") or self.read(again, b"]")))

    def is_unique(self, f: int) -> bool:
        row = self._frame(f)[Frame.ROW]
        return bool(row & ARRAY_BIT and self._rows[(row & ROW) + Array.UNIQUE])

    def _item_rest(self, c: int, x: int, y: int, f: int) -> bytes | None:
        """The rest of an item that must differ from others, and of its array."""
        words = self._frame(f)
        record = self.record(c, x, y, self._alone(words))
        kind = c & 31
        first = self._lexeme(c, x, y)
        tried = 0
        for text in _chained([] if first is None else [first], self._lexemes(c, x, y), ENOUGH):
            tried += 1
            after = self.read(record, text)
            if not after:
                continue
            if kind == Kind.NUMBER:  # which ends with what follows it
                closed = self.read(after, b"]") or self.read(after, b",")
                if not closed:
                    continue
                rest = self._rest_behind_number(after)
            else:
                _, _, _, g = self.threads(after)[0]
                rest = self.rest(g, AFTER)
            if rest is not None:
                return text + rest
        return None

    def _rest_behind_number(self, record: int) -> bytes | None:
        """The array's rest where its last item is a number that has not been closed."""
        f = self.threads(record)[0][3]
        words = self._frame(f)
        row = words[Frame.ROW] & ROW
        return self._array_by_machine(record, row, words, AFTER)

    # ------------------------------------------------------------------ values

    def value(self, node: int) -> bytes | None:
        """The shortest text known of a node's values."""
        if self._solving is not None:
            self._users.setdefault(node, set()).add(self._solving)
            if node not in self._settled and node not in self._met:
                self._met.add(node)
                self._pending.add(node)
                self._queue.append(node)
            return self._values.get(node)
        if node not in self._settled:
            self._solve(node)
        return self._values.get(node)

    def _solve(self, root: int) -> None:
        self._queue, self._users = [root], {}
        self._pending, self._met = {root}, {root}
        try:
            while self._queue:
                self._program.clock.check()
                node = self._queue.pop()
                self._pending.discard(node)
                if node in self._settled:
                    continue
                self._solving = node
                found = self._shortest(node)
                self._solving = None
                known = self._values.get(node)
                if found is None or (known is not None and self._measure(known) <= self._measure(found)):
                    continue
                self._values[node] = found
                for user in self._users.get(node, ()):
                    if user not in self._pending:
                        self._pending.add(user)
                        self._queue.append(user)
        finally:
            self._solving = None
        self._settled |= self._met

    def _measure(self, text: bytes) -> tuple[int, int]:
        return self.tokens(text), len(text)

    def _shortest(self, node: int) -> bytes | None:
        rows = self._rows
        found = [self._of_shape(rows[node + 2 + 2 * i], rows[node + 3 + 2 * i]) for i in range(rows[node])]
        texts = [text for text in found if text is not None and len(text) <= LONGEST]
        return min(texts, key=self._measure, default=None)

    def _of_shape(self, kind: int, row: int) -> bytes | None:
        if kind == Shape.LITERAL:
            return LITERALS[row]
        if kind in (Shape.STRING, Shape.WORDS, Shape.NUMBER):
            return self._lexeme_of(kind, row)
        rows = self._rows
        if kind == Shape.OBJECT:
            words = [0, row, 0, 0, 0, 0, rows[row + Object.NEEDED], 0]
            return _joined(b"{", self._object(row, words, OPEN))
        words = [0, row | ARRAY_BIT, 0, 0, 0, 0, 0, 0]
        if rows[row + Array.UNIQUE] and rows[row + Array.LEAST] > 1:
            return self._unique_array(row, words)
        return _joined(b"[", self._array(row, words, OPEN))

    def _unique_array(self, row: int, words: list[int]) -> bytes | None:
        """Its items contain no other nodes: strings, numbers and literals."""
        solving, self._solving = self._solving, None
        known = ("unique", row)
        try:
            if known not in self._rests:
                if self._rows[row + Array.LEAST] > MOST_EXTRA:
                    return None
                with _Scratch(self):
                    start = self.record(int(Kind.ENTRY) | row << 11, 0, 0, self._alone(words))
                    self._rests[known] = _joined(b"[", self._array_by_machine(start, row, words, OPEN))
            return self._rests[known]
        finally:
            self._solving = solving

    def _lexeme_of(self, kind: int, row: int) -> bytes | None:
        """A string or number, from its beginning."""
        rows = self._rows
        if kind == Shape.NUMBER:
            return self._lexeme(int(Kind.NUMBER) | row << 11, 0, 0)
        if kind == Shape.WORDS:
            x = rows[row + 1] | rows[row + 2] << 21
            return _joined(b'"', self._lexeme(int(Kind.WORD) | rows[row] << 11, x, 0))
        return _joined(b'"', self._lexeme(int(Kind.STRING) | row << 11, rows[row + 2], 0))

    def _several(self, node: int) -> Iterator[bytes]:
        """Different values of a node, short ones first."""
        rows = self._rows
        for i in range(rows[node]):
            kind, row = rows[node + 2 + 2 * i], rows[node + 3 + 2 * i]
            if kind == Shape.LITERAL:
                yield LITERALS[row]
            elif kind == Shape.NUMBER:
                yield from self._lexemes(int(Kind.NUMBER) | row << 11, 0, 0)
            elif kind == Shape.WORDS:
                x = rows[row + 1] | rows[row + 2] << 21
                yield from (b'"' + t for t in self._lexemes(int(Kind.WORD) | rows[row] << 11, x, 0))
            elif kind == Shape.STRING:
                yield from (b'"' + t for t in self._lexemes(int(Kind.STRING) | row << 11, rows[row + 2], 0))
            elif (value := self.value(node)) is not None:
                yield value

    # ------------------------------------------------------------------ strings, numbers, literals

    def _lexeme(self, c: int, x: int, y: int) -> bytes | None:
        """The rest of a string, number or literal, its closing quote included."""
        key = c, x, y
        if key not in self._strings:
            found = self._rest_of_lexeme(c, x, y)
            self._note(len(found or b""))
            self._strings[key] = found
        return self._strings[key]

    def _rest_of_lexeme(self, c: int, x: int, y: int) -> bytes | None:
        kind, sub = c & 31, c >> 5 & 63
        if kind == Kind.LITERAL:
            end = 5 if sub <= 4 else 10 if sub <= 9 else 14
            return LITERAL_TEXT[sub:end]
        if kind == Kind.NUMBER:
            return self._number(c, x, y)
        inside = sub != BODY and (sub < LAST_1 or (kind == Kind.STRING and x == 0))
        if not inside:
            return self._string(c, x, y) if kind == Kind.STRING else self._word(c, x)
        with _Scratch(self):
            text, c, x, y, _ = self._to_body(c, x, y, 0)
        return _joined(text, self._string(c, x, y) if kind == Kind.STRING else self._word(c, x))

    def _to_body(self, c: int, x: int, y: int, f: int) -> tuple[bytes, int, int, int, int]:
        """The rest of an escape or character, and the thread behind it."""
        text = b""
        while c >> 5 & 63 != BODY:
            record = self.record(c, x, y, f)
            for byte in _going_on(c >> 5 & 63):
                after = self.read(record, bytes([byte]))
                if after:
                    c, x, y, f = self.threads(after)[0]
                    text += bytes([byte])
                    break
            else:
                raise LimitExceeded("the end of half a character is not known")
        return text, c, x, y, f

    def _string(self, c: int, x: int, y: int) -> bytes | None:
        row, count = c >> 11 & ROW, y >> 24
        rows = self._rows
        least, most, lengths = rows[row], rows[row + 1], rows[row + 3]
        if x == 0:
            missing = least - count
            return None if missing > LONGEST else self._filler(max(missing, 0)) + b'"'
        if lengths:
            return _joined(
                self._of_length(x, _bytes_to_come(c), max(least - count, 0), most - count if most >= 0 else -1), b'"'
            )
        return _joined(self._of_language(x), b'"')

    @functools.lru_cache(maxsize=256)  # noqa: B019 - as long as the epoch lives
    def _filler(self, count: int) -> bytes:
        """So many characters, in few tokens."""
        return min((f * count for f in FILLERS), key=self.tokens) if count else b""

    @property
    def languages(self) -> Any:
        """The states of the schema's own languages."""
        return self._program.states

    def is_universal(self, state: int) -> bool:
        return not state & SHARED_BIT and bool(self.languages.universal[state])

    def _case(self, state: int) -> int:
        if state & SHARED_BIT:
            return int(format_automata().accepts[state & (SHARED_BIT - 1)])
        return int(self.languages.accepts[state])

    def _completions(self) -> Completions:
        kept = self._program
        if "spelled" not in kept.__dict__:
            algebra = self.languages._algebra
            kept.spelled = SpelledCompletions(algebra, kept.limits.max_states, kept.clock.check)
        found: Completions = kept.spelled
        return found

    def _of_language(self, state: int) -> bytes | None:
        """What ends a string of a language."""
        known = ("language", state)
        if known not in self._strings:
            self._strings[known] = self._of_format(state) if state & SHARED_BIT else self._of_terms(state)
        return self._strings[known]

    def _of_terms(self, state: int) -> bytes | None:
        texts = [self._completions().of(term) for term in self.languages._vectors[state] if term is not NOTHING]
        return min((t for t in texts if t is not None), key=lambda t: (len(t), t), default=None)

    def _of_format(self, state: int) -> bytes:
        automata, at, text = format_automata(), state & (SHARED_BIT - 1), b""
        distances = automata.distances
        while distances[at] > 0:
            row = automata.table[at]
            nearer = np.flatnonzero((row > 0) & (distances[row] == distances[at] - 1))
            byte = preferred(sum(1 << int(b) for b in nearer))
            text, at = text + _SPELLED[byte], int(row[byte])
        return text

    def ceiling(self, state: int) -> int:
        """The most bytes that the shortest end of a string in the language has, wherever it leads; INFINITE: not known."""
        known = self._program.__dict__.setdefault("ceilings", {})
        if state not in known:
            known[state] = self._find_ceiling(state)
        found: int = known[state]
        return found

    def _find_ceiling(self, state: int) -> int:
        if state & SHARED_BIT:
            return 6 * format_automata().farthest(state & (SHARED_BIT - 1))
        known = [self._completions().ceiling(t) for t in self.languages._vectors[state] if t is not NOTHING]
        if None not in known:
            return 6 * max(k for k in known if k is not None)
        seen, queue, longest = {state}, [state], 0
        while queue:
            here = queue.pop()
            end = self._of_language(here)
            if end is None or len(seen) > MOST_STATES:
                return INFINITE
            longest = max(longest, len(end))
            row = self._row_of(here)
            for after in set(row[row > 0].tolist()) - seen:
                seen.add(after)
                queue.append(after)
        return longest

    def longest_string(self, c: int, x: int, y: int) -> int:
        """At least the tokens that end a string of a language behind any token that stays in it."""
        least, most, _, lengths = (self._rows[(c >> 11 & ROW) + i] for i in range(4))
        if not lengths:
            return min(self.ceiling(x) + 2, INFINITE)
        if most >= 0:
            return 6 * (most - (y >> 24)) + 2
        return min(self.ceiling(x) + 6 * max(least - (y >> 24), 0) + 2, INFINITE)

    def values_of_key(self, c: int, x: int, f: int) -> tuple[list[int], int]:
        """The nodes that may follow a key; at least the tokens that end it and its value, whichever it becomes."""
        row, state, rows = c >> 11 & ROW, c >> 35, self._rows
        low, high = x & FIELD, x >> 21 & FIELD
        keys = [rows[row + Object.KEYS] + i * Key.LENGTH for i in range(low, high)]
        nodes = {rows[key + Key.NODE] for key in keys if rows[key + Key.NODE] >= 0}
        longest = max((len(spelled(self._name(key))) for key in keys), default=0)
        if state != NO_LANGUAGE:
            node, at = rows[row + Object.OTHERS], rows[row + Object.CASES]
            nodes.update([node] if node >= 0 else [rows[at + i] for i in range(rows[row + Object.CASE_COUNT])])
            longest = max(longest, self.ceiling(state) if state else 0)
        prices = [INFINITE if (value := self.value(node)) is None else self.tokens(value) for node in nodes]
        implied = {i for found in self._implied(row).values() for i in found}
        entries = [self._entry(rows[row + Object.KEYS] + i * Key.LENGTH) for i in implied]
        more = sum(INFINITE if entry is None else self.tokens(entry) + 1 for entry in entries)
        return sorted(nodes), min(max(prices, default=0) + longest + more + 4, INFINITE)

    def _row_of(self, state: int) -> np.ndarray:
        """Where bytes lead from a state of a language: the next state, not above 0 where they are refused."""
        found: np.ndarray
        if state & SHARED_BIT:
            found = format_automata().table[state & (SHARED_BIT - 1)].astype(np.int64)
            return np.where(found > 0, found | SHARED_BIT, found)
        states = self.languages
        if not states._made[state]:
            states.make([state])
            self.machine._place_languages()
        found = states.table[state]
        return found

    def _lengths(self, state: int) -> tuple[int, bool]:
        """(bits of how many characters can come, whether longer ones than these bits tell)."""
        states = self._program.states
        at = int(states.lengths_at[state])
        words = int(states.lengths[at])
        bits = int.from_bytes(states.lengths[at + 2 : at + 2 + words].tobytes(), "little")
        return bits, bool(states.lengths[at + 1])

    def _of_length(self, state: int, inside: int, least: int, most: int) -> bytes | None:
        """What ends a string of a language, of at least so many and at most so many characters more; `inside`: bytes to come of the
        character that has begun."""
        bits, has_longer = self._lengths(state)
        wanted = bits >> least << least
        if most >= 0:
            wanted &= (2 << most) - 1
        if not wanted and not (has_longer and most < 0):
            return None
        exact = (wanted & -wanted).bit_length() - 1 if wanted else None
        left, text = least if exact is None else exact, b""
        while left > 0 or inside:
            row = self._row_of(state)
            after = left if inside else left - 1
            good: dict[int, bool] = {}
            chosen = 0
            for byte in np.flatnonzero(row > 0).tolist():
                target = int(row[byte])
                if target not in good:
                    bits, has_longer = self._lengths(target)
                    good[target] = bool(bits >> after & 1) if exact is not None else has_longer
                if good[target]:
                    chosen |= 1 << byte
            if not chosen:
                return None
            byte = preferred(chosen)
            text += _SPELLED[byte]
            state, left = int(row[byte]), after
            inside = inside - 1 if inside else (byte >= 0xC0) + (byte >= 0xE0) + (byte >= 0xF0)
        return text if exact is not None else _joined(text, self._of_language(state))

    def _is_inside(self, text: bytes) -> bool:
        """Does the text end within a character?"""
        for back in range(1, min(len(text), 4) + 1):
            byte = text[-back]
            if byte & 0xC0 != 0x80:
                size = 1 if byte < 0x80 else 2 if byte < 0xE0 else 3 if byte < 0xF0 else 4
                return back < size
        return False

    def _word(self, c: int, x: int) -> bytes | None:
        """The rest of the word that is shortest, its quote included."""
        table = c >> 11 & ROW
        low, high, read = x & FIELD, x >> 21 & FIELD, x >> 42 & FIELD
        if high - low > 32:
            sizes = np.array([self._rows[table + i * Key.LENGTH + Key.SIZE] for i in range(low, high)])
            chosen = [low + int(i) for i in np.argsort(sizes, kind="stable")[:32]]
        else:
            chosen = list(range(low, high))
        texts = [spelled(self._name(table + i * Key.LENGTH)[read:]) + b'"' for i in chosen]
        return min(texts, key=self._measure, default=None)

    def _number(self, c: int, x: int, y: int) -> bytes | None:
        """The rest of a number: all short ones side by side, as far as they are not too many."""
        found = next(self._numbers(c, x, y, WIDE_BEAM if x == 0 else BEAM), None)
        return None if found is None else min(found, key=self._measure)

    def _numbers(self, c: int, x: int, y: int, beam: int) -> Iterator[list[bytes]]:
        """Rests of a number, by length."""
        level = [(b"", x, y)]
        if x and self._ends(self.record(c, x, y, 0)):
            yield [b""]
        while level:
            families, ended = [], []
            for text, x0, y0 in level:
                children = []
                with _Scratch(self):
                    record = self.record(c, x0, y0, 0)
                    for byte in DIGITS:
                        after = self.read(record, bytes([byte]))
                        if after:
                            _, x2, y2, _ = self.threads(after)[0]
                            children.append((text + bytes([byte]), x2, y2))
                            if self._ends(after):
                                ended.append(text + bytes([byte]))
                families.append(children)
            if ended:
                yield ended
            # One of each in turn: numbers that begin alike have most likely the same fault.
            turns = itertools.zip_longest(*families)
            level = [child for turn in turns for child in turn if child is not None][:beam]

    def _lexemes(self, c: int, x: int, y: int) -> Iterator[bytes]:
        """Different ways to end a lexeme, short ones first."""
        kind, sub = c & 31, c >> 5 & 63
        if kind == Kind.NUMBER:
            for texts in self._numbers(c, x, y, ENOUGH):
                yield from texts
            return
        if kind == Kind.LITERAL:
            yield from filter(None, [self._lexeme(c, x, y)])
        elif sub != BODY and (sub < LAST_1 or (kind == Kind.STRING and x == 0)):
            with _Scratch(self):
                text, c, x, y, _ = self._to_body(c, x, y, 0)
            yield from (text + t for t in self._lexemes(c, x, y))
        elif kind == Kind.WORD:
            table = c >> 11 & ROW
            low, high, read = x & FIELD, x >> 21 & FIELD, x >> 42 & FIELD
            for i in range(low, high):
                yield spelled(self._name(table + i * Key.LENGTH)[read:]) + b'"'
        elif x == 0:
            missing = max(self._rows[c >> 11 & ROW] - (y >> 24), 0)
            for name in _names():
                yield name + self._filler(max(missing - len(name), 0)) + b'"'
        else:
            yield from self._strings_of(c, x, y)

    def _strings_of(self, c: int, x: int, y: int) -> Iterator[bytes]:
        """Strings of a language: each beginning, short ones first, with the shortest rest behind it."""
        known = set()
        row = c >> 11 & ROW
        counted = self._rows[row] > 0 or self._rows[row + 1] >= 0
        for text, state, inside in self._beginnings(x, c >> 5 & 63):
            count = y >> 24
            if counted:
                count += sum(byte & 0xC0 != 0x80 for byte in text)
            rest = self._lexeme(int(Kind.STRING) | inside << 5 | row << 11, state, count << 24)
            if rest is not None and (whole := spelled(text) + rest) not in known:
                known.add(whole)
                yield whole

    def _words(self, state: int) -> Iterator[tuple[bytes, int]]:
        """Words of a language, decoded, and the states where they end."""
        if state not in self._word_lists:
            self._word_lists[state] = Replayed(self._new_words(state))
        return iter(self._word_lists[state])

    def _new_words(self, state: int) -> Iterator[tuple[bytes, int]]:
        known = set()
        for text, here, _ in self._beginnings(state, BODY):
            rest = self._of_language(here)
            if rest is None:
                continue
            word = text + json.loads(b'"' + rest + b'"').encode() if rest.isascii() else text + _decoded(rest)
            if word not in known:
                known.add(word)
                end = state
                for byte in word:
                    end = int(self._row_of(end)[byte])
                yield word, end

    def _beginnings(self, state: int, inside: int) -> Iterator[tuple[bytes, int, int]]:
        """What strings of a language may begin with, decoded, short ones first; the state behind it; is it within a character?"""
        level = [(b"", state)]
        yield b"", state, inside
        while level:
            following = []
            for text, here in level:
                if here not in self._branches:
                    row = self._row_of(here)
                    chosen = sorted(np.flatnonzero(row > 0).tolist(), key=_turn)[:MOST_BRANCHES]
                    self._branches[here] = [(bytes([byte]), int(row[byte])) for byte in chosen]
                following += [(text + byte, after) for byte, after in self._branches[here]]
            level = following[:MOST_BEGINNINGS]
            yield from ((text, here, LAST_1 if self._is_inside(text) else BODY) for text, here in level)

    # ------------------------------------------------------------------ keys

    def _key_rest(self, c: int, x: int, y: int, f: int) -> Pieces | None:
        """The rest of a key, and what ends its object then: a key that has a place, or any other, whichever is shorter."""
        begun, row = b"", c >> 11 & ROW
        if (c >> 5 & 63) != BODY and (c >> 5 & 63) < LAST_1:
            begun, c, x, y, f = self._to_body(c, x, y, f)
        read, found = x >> 42 & FIELD, list[Pieces]()
        for i in self._own_keys(row, x, f):
            behind = self._behind_key(row, f, i)
            if behind is not None:
                name = self._name(self._rows[row + Object.KEYS] + i * Key.LENGTH)
                found.append((begun + spelled(name[read:]) + b'"', behind))
                if len(found) == FEW_KEYS:
                    break
        if c >> 35 != NO_LANGUAGE:
            record = self.record(c, x, y, f)
            for text in self._other_ends(c, x, y, f):
                after = self.read(record, text)
                own = self._pieces(*self.threads(after)[0]) if after else None
                if own is not None:
                    found.append((begun + text + own[0], own[1]))
                    break
        return min(
            found, key=lambda own: (self.tokens(own[0]) + self.tokens(own[1]), len(own[0]) + len(own[1])), default=None
        )

    def _own_keys(self, row: int, x: int, f: int) -> list[int]:
        """Keys that have a place and may be this one: the needed ones first, then the short ones."""
        low, high = x & FIELD, x >> 21 & FIELD
        if low >= high:
            return []
        keys, rows = self._rows[row + Object.KEYS], self._rows
        needed = set(self._needed(row, self._frame(f))) if high - low > 1 else set()
        inside = sorted(range(low, high), key=lambda i: (i not in needed, rows[keys + i * Key.LENGTH + Key.SIZE]))
        return inside[:MOST_KEYS]

    def _behind_key(self, row: int, f: int, i: int) -> bytes | None:
        """What ends an object behind the name of a key; None where the key may not come."""
        known = ("behind", i, *self._content(self._frame(f), AFTER))
        if known not in self._rests:
            name = spelled(self._name(self._rows[row + Object.KEYS] + i * Key.LENGTH))
            begun = int(Kind.KEY) | row << 11 | NO_LANGUAGE << 35
            after = self.read(self.record(begun, self._rows[row + Object.COUNT] << 21, 0, f), name + b'"')
            found = self.own(*self.threads(after)[0]) if after else None
            self._note(len(found or b""))
            self._rests[known] = found
        return self._rests[known]

    def _other_ends(self, c: int, x: int, y: int, f: int) -> Iterator[bytes]:
        """What may end a key that has no place, the shortest first."""
        state = c >> 35
        if state == NO_LANGUAGE:
            return
        if (c >> 5 & 63) >= LAST_1 and state == 0:
            more, c, x, y, f = self._to_body(c, x, y, f)
            yield from (more + end for end in self._other_ends(c, x, y, f))
        elif state == 0:
            known = self._other_names(self._frame(f))
            yield from (name + b'"' for name in _few(_names(), len(known) + MOST_KEYS))
        else:
            rest = self._of_language(state)
            if rest is not None:
                yield rest + b'"'
            yield from (spelled(text) + b'"' for text, _ in _few(self._words(state), MOST_EXTRA))


class _Scratch:
    """Arenas are put back as they were: what is made within is forgotten."""

    __slots__ = ("_counts", "_endings", "_stable")

    def __init__(self, endings: Endings):
        self._endings = endings

    def __enter__(self) -> None:
        arena = self._endings.machine.arena
        self._counts = arena[At.FRAME_COUNT], arena[At.CHAIN_COUNT], arena[At.RECORD_COUNT]
        self._stable = self._endings._stable
        if not self._stable:  # what was there before stays
            self._endings._stable = int(self._counts[0])

    def __exit__(self, *_: object) -> None:
        arena = self._endings.machine.arena
        arena[At.FRAME_COUNT], arena[At.CHAIN_COUNT], arena[At.RECORD_COUNT] = self._counts
        self._endings._stable = self._stable


def _bytes_to_come(c: int) -> int:
    """Of the character that a string's thread stands in."""
    sub = c >> 5 & 63
    return 0 if sub < LAST_1 else 1 if sub == LAST_1 else 2 if sub in (LAST_2, LEAD_E0, LEAD_ED) else 3


def _paired(one: bytes | None, other: bytes | None) -> Pieces | None:
    return None if one is None or other is None else (one, other)


def _joined(*parts: bytes | None) -> bytes | None:
    """The parts one after another; None where one of them is not known."""
    if None in parts:
        return None
    return b"".join(parts)  # type: ignore[arg-type]


def _names() -> Iterator[bytes]:
    """Short names: "", "a", ..., "z", "aa", ..."""
    yield b""
    names = [b""]
    while True:
        names = [name + bytes([letter]) for name in names for letter in range(97, 123)]
        yield from names


def _few(found: Iterator[Item], most: int) -> Iterator[Item]:
    return (each for each, _ in zip(found, range(most), strict=False))


def _turn(byte: int) -> tuple[int, int]:
    """Bytes that are short to spell come first."""
    return next((i for i, group in enumerate(_FIRST_BITS) if group >> byte & 1), len(_FIRST_BITS)), byte


def _decoded(text: bytes) -> bytes:
    """What `spelled` makes `text` of."""
    return json.loads(b'"' + text.decode("utf-8", "surrogateescape").encode("utf-8", "surrogatepass") + b'"').encode(
        "utf-8", "surrogateescape"
    )


def _chained(first: list[bytes], then: Iterator[bytes], most: int) -> Iterator[bytes]:
    yield from first
    yield from _few(then, most)


def _going_on(sub: int) -> Any:
    """Bytes that may come within an escape or a character, those first that end it soon."""
    if sub == 1:
        return b'nrtbf/\\"u'
    if sub == LOW_BACKSLASH:
        return b"\\"
    if sub == LOW_U:
        return b"u"
    if sub < LAST_1:
        return b"0123456789abcdefABCDEF"
    return (0x80, 0x90, 0xA0, *range(0x81, 0xC0))
