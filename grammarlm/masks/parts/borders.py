"""The tokens that cross the end of a part: a beginning ends the part, the rest begins what follows.

The rest does not hang on where the part's text stands, so it is read once, here: what is left for a mask is which beginnings end
the part from its state. They lie in a trie, which is walked in the part's own automaton:

    part: a JSON object, then "\\n```"        tokens "}\\n", "}}\\n", "\\"}\\n", "}\\n``" ...
    trie of beginnings                        }  ->  {"}\\n", "}\\n``"}        }}  ->  {"}}\\n"}        "}  ->  {"\\"}\\n"}

What is tried at all is sieved with numpy first: the rest must begin with a byte that can begin what follows, and the beginning of
the token must be able to end the part. Of JSON texts that is known: they end with a bracket, a quote, a digit or a letter, and
white space. Nor is a beginning tried that closes fewer brackets than are open, or no string where one is.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from ...kernels.cpu.json_places import Frame, Kind
from ...vocab.vocabulary import Vocabulary
from ..json_schema.epoch import JsonEpoch
from ..token_facts import pack_ids
from .epoch import Place, Reader

if TYPE_CHECKING:
    from .program import PartsProgram

WHITE = (0x09, 0x0A, 0x0D, 0x20)
DIGITS = range(0x30, 0x3A)
Needs = tuple[int, bool]  # so many closing brackets, and a quote
NOTHING_NEEDED: Needs = (0, False)
MOST_CLOSERS = 3  # there is a trie for each number of closing brackets
CLOSERS = (b"}", b"]")
IN_STRINGS = (Kind.STRING, Kind.WORD, Kind.KEY)
# the byte that a JSON value begins with, and those that it may end with
ENDS_BY_START = {
    0x7B: (0x7D,), 0x5B: (0x5D,), 0x22: (0x22,), 0x74: (0x65,), 0x66: (0x65,), 0x6E: (0x6C,), 0x2D: DIGITS,
    **dict.fromkeys(DIGITS, DIGITS),
}  # fmt: skip


class Beginning:
    """A node of the trie of beginnings: tokens that may cross behind it, packed as a mask."""

    __slots__ = ("children", "row", "tokens")

    def __init__(self) -> None:
        self.children: dict[int, Beginning] = {}
        self.tokens: list[int] = []
        self.row: np.ndarray | None = None


class Border:
    """The end of one part."""

    def __init__(self, program: PartsProgram, part: int):
        self._words = program.vocab.words
        self._beginnings: dict[bytes, list[int]] = {}  # the tokens that may cross behind a beginning
        self._tries: dict[Needs, Beginning] = {}
        self.splits: dict[int, list[int]] = {}  # token -> lengths of the beginnings behind which it may cross
        if not program.graph.follow[part] or program.has_items[part]:
            return
        rests = _Rests(program, part)
        can_begin = np.array([rests.can_be_read(bytes([b])) for b in range(256)])
        for token, length in _pairs(program.vocab, _may_end(program, part), can_begin):
            data = program.vocab.token_bytes(token)
            if rests.can_be_read(data[length:]):
                self.splits.setdefault(token, []).append(length)
                self._beginnings.setdefault(data[:length], []).append(token)

    def beginnings(self, epoch: Any, state: int) -> Beginning | None:
        """The trie of the beginnings that may end the part from this state, as far as can be told without reading them."""
        if not self._beginnings:
            return None
        needs = _needs(epoch, state) if isinstance(epoch, JsonEpoch) else NOTHING_NEEDED
        if needs not in self._tries:
            self._tries[needs] = self._trie(*needs)
        return self._tries[needs]

    def _trie(self, closers: int, quote: bool) -> Beginning:
        root = Beginning()
        for beginning, tokens in self._beginnings.items():
            if sum(map(beginning.count, CLOSERS)) >= closers and (not quote or b'"' in beginning):
                node = root
                for byte in beginning:
                    node = node.children.setdefault(byte, Beginning())
                node.tokens = tokens
                if len(tokens) > self._words // 8:
                    node.row = pack_ids(tokens, self._words)
        return root


class _Rests:
    """Which bytes can be read where a part has just ended. Each is read from where the bytes before it have led."""

    def __init__(self, program: PartsProgram, part: int):
        self.reader = Reader(program)
        self.known: dict[bytes, dict[Place, None]] = {b"": program.behind(part)}

    def can_be_read(self, rest: bytes) -> bool:
        length = len(rest)
        while rest[:length] not in self.known:
            length -= 1
        while length < len(rest):
            places = self.reader.read(self.known[rest[:length]], rest[length : length + 1])
            length += 1
            self.known[rest[:length]] = places
        return bool(self.known[rest])


def _needs(epoch: JsonEpoch, state: int) -> Needs:
    """How many brackets must be closed to end the text, up to MOST_CLOSERS, and whether a string must be."""
    closers, quote = MOST_CLOSERS, True
    while state:
        c, _, _, frame, state = epoch.arrays["records"][state].tolist()
        quote &= c & 31 in IN_STRINGS
        depth = 0
        while frame and depth < closers:
            depth += 1
            frame = int(epoch.arrays["frames"][frame, Frame.PARENT])
        closers = depth
    return closers, quote


def _may_end(program: PartsProgram, part: int) -> np.ndarray | None:
    """The bytes that a JSON text may end with, before white space; None: the part is no JSON, and any byte may be its last."""
    automaton = program.automata[part]
    epoch = automaton.epoch
    if not isinstance(epoch, JsonEpoch):
        return None
    found = np.zeros(256, bool)
    for first, lasts in ENDS_BY_START.items():
        if epoch.after_bytes(epoch.start, bytes([first])):
            found[list(lasts)] = True
    return found


def _pairs(vocab: Vocabulary, may_end: np.ndarray | None, can_begin: np.ndarray) -> list[tuple[int, int]]:
    """Tokens and lengths of beginnings, both sides not empty, as far as single bytes tell that they may cross."""
    data, token_of, at = _text_bytes(vocab)
    crosses = can_begin[data] & (at > 0)
    if may_end is not None:
        is_white = np.zeros(256, bool)
        is_white[list(WHITE)] = True
        places = np.arange(len(data))
        last = np.maximum.accumulate(np.where(is_white[data], -1, places))  # the last byte up to here that is not white
        before = np.concatenate([[-1], last[:-1]]) if len(data) else last
        starts = places - at
        only_white = before < starts
        crosses &= only_white | may_end[data[np.maximum(before, 0)]]
    return list(zip(token_of[crosses].tolist(), at[crosses].tolist(), strict=True))


@lru_cache(maxsize=2)
def _text_bytes(vocab: Vocabulary) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The bytes of all tokens that are text, one behind another; the token of each, and its place in the token."""
    ids = vocab.text_ids
    first, lengths = vocab.offsets[ids].astype(np.int64), (vocab.offsets[ids + 1] - vocab.offsets[ids]).astype(np.int64)
    ends = np.cumsum(lengths)
    at = np.arange(int(ends[-1]) if len(ends) else 0) - np.repeat(ends - lengths, lengths)
    data: Any = vocab.data[np.repeat(first, lengths) + at]
    return data, np.repeat(ids, lengths), at
