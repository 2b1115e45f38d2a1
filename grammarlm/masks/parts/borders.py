"""The tokens that cross the end of a part: a beginning ends the part, the rest begins what follows.

Both are walks over pieces of the vocabulary's trie (forests.py), made where a mask needs them:

    a JSON object, then "\\n```"
    1  the part's automaton, over the nodes that lead to a split: a node from which a byte goes on that can begin what follows
           }   }}   "}   ...                the part may end at }
    2  what follows, over all that is below the nodes where the part may end; again from 2 where that ends in the midst of a token
           }\\n   }\\n`   }\\n```             the tokens among them cross

Of JSON texts it is known how they end: with a bracket, a quote, a digit or a letter, and white space. Nor does a beginning end one
that closes fewer brackets than are open, or no string where one is: where a text stands in a string few nodes are walked.

What is found in 2 depends on the nodes and on what follows, not on where the text stands: it is kept.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from ...kernels.cpu.json_places import Frame, Kind
from ..epoch import Epoch
from ..json_schema.epoch import JsonEpoch
from ..shared_rows import SharedRows
from ..token_facts import pack_ids
from .forests import (
    MOST_CLOSERS,
    WHITE,
    Forest,
    below,
    has_below,
    leading,
    narrowed,
    paths_of,
    pieces,
    states_over,
)

if TYPE_CHECKING:
    from .epoch import Place, Reader
    from .program import PartsProgram

DIGITS = range(0x30, 0x3A)
Needs = tuple[int, bool]  # so many closing brackets, and a quote
NOTHING_NEEDED: Needs = (0, False)
IN_STRINGS = (Kind.STRING, Kind.WORD, Kind.KEY)
# the byte that a JSON value begins with, and those that it may end with
ENDS_BY_START = {
    0x7B: (0x7D,), 0x5B: (0x5D,), 0x22: (0x22,), 0x74: (0x65,), 0x66: (0x65,), 0x6E: (0x6C,), 0x2D: DIGITS,
    **dict.fromkeys(DIGITS, DIGITS),
}  # fmt: skip
Bytes = tuple[
    bytes | None, bytes
]  # a flag for each byte: may a part end with it (None: with any)? may what follows begin with it?


@dataclass(frozen=True)
class Sieve:
    """The nodes that lead to splits of a border, and which of them are splits."""

    forest: Forest
    splits: np.ndarray  # bool [M]

    @property
    def nbytes(self) -> int:
        return self.forest.nbytes + len(self.splits)


class Borders:
    """The ends of all parts. All methods run under the program's lock."""

    def __init__(self, program: PartsProgram, reader: Reader):
        self._program, self._reader = program, reader
        self._trie = program.vocab.trie
        self._text_row = pack_ids(program.vocab.text_ids, program.vocab.words)
        self._firsts: dict[int, np.ndarray] = {}  # by automaton
        self._lasts: dict[int, bytes | None] = {}
        self._bytes: dict[int, Bytes] = {}  # by part
        self._splits: dict[Bytes, np.ndarray] = {}  # bool [N]
        self._sieves: dict[tuple[Bytes, Needs], Sieve] = {}
        self._rows: dict[tuple[int, bytes], np.ndarray] = {}
        self._shared_rows = SharedRows()
        self._room = program.limits.max_bytes // 8

    @property
    def nbytes(self) -> int:
        made = sum(array.nbytes for array in self._splits.values()) + sum(s.nbytes for s in self._sieves.values())
        return made + self._shared_rows.nbytes + sum(len(nodes) for _, nodes in self._rows)

    # ------------------------------------------------------------------ single bytes

    def bytes_of(self, part: int) -> Bytes | None:
        """What is known of a border by single bytes; None where no token crosses it."""
        if not self._program.graph.follow[part] or self._program.has_items[part]:
            return None
        if part not in self._bytes:
            follow = {place[0] for place in self._program.behind(part)}
            firsts = np.zeros(256, bool)
            for next_part in follow:
                if not self._program.has_items[next_part]:
                    firsts |= self._first_bytes(next_part)
            self._bytes[part] = self._last_bytes(part), firsts.tobytes()
        return self._bytes[part]

    def may_cross(self, part: int, data: bytes) -> bool:
        """Can a token cross a border, as far as single bytes tell?"""
        known = self.bytes_of(part)
        if known is None:
            return False
        lasts, firsts = known
        if lasts is None:
            return any(firsts[byte] for byte in data[1:])
        last = -1
        for byte, following in pairwise(data):
            if byte not in WHITE:
                last = byte
            if firsts[following] and (last < 0 or lasts[last]):
                return True
        return False

    def _first_bytes(self, part: int) -> np.ndarray:
        """The bytes that a part's texts begin with."""
        automaton = self._program.automata[part]
        if id(automaton) not in self._firsts:
            epoch, state = automaton.renew(automaton.program.start)
            tokens = self._program.byte_tokens
            found = [
                epoch.after_token(state, token) if token >= 0 else epoch.after_bytes(state, bytes([byte]))
                for byte, token in enumerate(tokens)
            ]
            self._firsts[id(automaton)] = np.array(found) > 0
        return self._firsts[id(automaton)]

    def _last_bytes(self, part: int) -> bytes | None:
        """The bytes that a JSON text may end with, before white space; None: the part is no JSON, and any byte may be its last."""
        automaton = self._program.automata[part]
        if id(automaton) not in self._lasts:
            epoch, flags = automaton.epoch, np.zeros(256, bool)
            if isinstance(epoch, JsonEpoch):
                for first, lasts in ENDS_BY_START.items():
                    if self._first_bytes(part)[first]:
                        flags[list(lasts)] = True
            self._lasts[id(automaton)] = flags.tobytes() if isinstance(epoch, JsonEpoch) else None
        return self._lasts[id(automaton)]

    # ------------------------------------------------------------------ splits

    def _splits_of(self, known: Bytes) -> np.ndarray:
        """At which nodes a part may end and something may follow, as far as single bytes tell; bool [N]."""
        if known not in self._splits:
            lasts, firsts = known
            paths = paths_of(self._program.vocab)
            goes_on = np.flatnonzero(np.frombuffer(firsts, bool)[self._trie.byte])
            found = np.zeros(len(self._trie.byte) + 1, bool)  # of the root, too
            found[paths.parent[goes_on]] = True
            found = found[:-1]
            if lasts is not None:
                found &= np.append(np.frombuffer(lasts, bool), True)[paths.last]
            self._make_room()
            self._splits[known] = found
        return self._splits[known]

    def _sieve(self, known: Bytes, needs: Needs) -> Sieve:
        if (known, needs) not in self._sieves:
            if needs == NOTHING_NEEDED:
                splits = self._splits_of(known)
                forest = leading(self._trie, splits)
                made = Sieve(forest, splits[forest.node])
            else:
                closers, quote = needs
                wide, paths = self._sieve(known, NOTHING_NEEDED), paths_of(self._program.vocab)
                is_split = wide.splits & (paths.closers[wide.forest.node] >= closers)
                if quote:
                    is_split &= paths.quote[wide.forest.node]
                made = Sieve(*narrowed(wide.forest, is_split))
            self._make_room()
            self._sieves[known, needs] = made
        return self._sieves[known, needs]

    def _make_room(self) -> None:
        """Forgets what takes too much; it is made again."""
        if self.nbytes > self._room:
            for kept in (self._splits, self._sieves, self._rows, self._shared_rows):
                kept.clear()

    # ------------------------------------------------------------------ masks

    def crossing(self, place: Place, own: np.ndarray) -> np.ndarray | None:
        """The tokens that cross the part's end from a place; of those that its own row allows some may be left out."""
        part, epoch, state = place
        known = self.bytes_of(part)
        if known is None:
            return None
        sieve = self._sieve(known, _needs(epoch, state) if isinstance(epoch, JsonEpoch) else NOTHING_NEEDED)
        if not len(sieve.forest.node):
            return None
        ends = self._ends(place, sieve.forest, np.flatnonzero(sieve.splits))
        if isinstance(epoch, Epoch) and len(ends):
            ends = self._still_wanted(ends, own)
        if not len(ends):
            return None
        key = part, ends.tobytes()
        if key not in self._rows:
            made = self._row_after(part, ends)
            self._make_room()
            self._rows[key] = self._shared_rows.shared(made)
        return self._rows[key]

    def _still_wanted(self, nodes: np.ndarray, own: np.ndarray) -> np.ndarray:
        """Of the nodes those below which there are tokens that are not allowed yet."""
        wanted = np.append(np.unpackbits((self._text_row & ~own).view(np.uint8), bitorder="little"), 0)
        return nodes[has_below(self._trie, wanted[self._trie.token] > 0, nodes)]

    def _ends(self, place: Place, forest: Forest, at: np.ndarray) -> np.ndarray:
        """The nodes, of those at some places of a forest, at which the part may end."""
        epoch, states = self._states(place, forest)
        return forest.node[_accepted(epoch, states, at)]

    def _states(self, place: Place, forest: Forest) -> tuple[Any, np.ndarray]:
        program = self._program
        return self._reader.inside(
            place, lambda epoch, state: states_over(epoch, state, forest, program.byte_tokens, program.clock)
        )

    def _row_after(self, part: int, ends: np.ndarray) -> np.ndarray:
        """The tokens below nodes whose rests can be read where the part ends at the node."""
        program, trie = self._program, self._trie
        found = np.zeros(program.vocab.words * 32 + 1, np.uint8)
        waiting, seen = [(part, ends)], {part: np.zeros(len(trie.byte), bool)}
        while waiting:
            part, nodes = waiting.pop()
            nodes = nodes[~seen[part][nodes]]
            seen[part][nodes] = True
            places = [place for place in program.behind(part) if not program.has_items[place[0]]]
            for piece in pieces(trie, nodes):
                program.clock.check()
                forest = below(trie, piece)
                for place in places:
                    epoch, states = self._states(place, forest)
                    alive = np.flatnonzero(states)
                    found[trie.token[forest.node[alive]]] = 1
                    known = self.bytes_of(place[0])
                    if known is not None:
                        at = alive[self._splits_of(known)[forest.node[alive]]]
                        ended = np.unique(forest.node[_accepted(epoch, states, at)])
                        if len(ended):
                            seen.setdefault(place[0], np.zeros(len(trie.byte), bool))
                            waiting.append((place[0], ended))
        found[trie.twins[:, 0]] |= found[trie.twins[:, 1]]
        return np.packbits(found[:-1], bitorder="little").view(np.int32)


def _accepted(epoch: Any, states: np.ndarray, at: np.ndarray) -> np.ndarray:
    """Of some places of a forest those at which the text may end."""
    at = at[states[at] > 0]
    if isinstance(epoch, Epoch):
        return at[np.array(epoch.accepting, bool)[states[at]]]
    known = {state: bool(epoch.accepting[state]) for state in set(states[at].tolist())}
    return at[[known[state] for state in states[at].tolist()]] if len(at) else at


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
