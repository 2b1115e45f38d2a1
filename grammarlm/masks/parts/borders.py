"""The tokens that cross the end of a part: a beginning ends the part, the rest begins what follows.

Both are walks over pieces of the vocabulary's trie (forests.py), made where a mask needs them:

    a JSON object, then "\\n```"
    1  the part's automaton, over the nodes that lead to a split (sieves.py): where do beginnings end the part?
           }   }}   "}   ...                at } alone, if one object is open
    2  what follows, over all that is below those nodes; again from 2 where that ends in the midst of a token, too
           }\\n   }\\n`   }\\n```             the tokens among them cross

What is found in 2 depends on the nodes and on what follows, not on where the text stands: it is kept.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...kernels.cpu.json_places import Frame, Kind
from ..epoch import Epoch
from ..json_schema.epoch import JsonEpoch
from ..shared_rows import SharedRows
from ..token_facts import pack_ids
from .forests import MOST_CLOSERS, Forest, below, has_below, narrowed, paths_of, pieces, walked
from .sieves import JSON_NEEDS, NOTHING_NEEDED, Needs, Rim, Sieve, json_lasts, sieves_of

if TYPE_CHECKING:
    from .epoch import Place, Reader
    from .program import PartsProgram

FEW_NODES, MANY_NODES = 1 << 9, 1 << 14
KEY_BYTES = 300  # what a kept row takes beside row and nodes, roughly
FEW_WANTED = 8  # of as many tokens one is still wanted: then nodes that lead to none are not walked
IN_STRINGS = (Kind.STRING, Kind.WORD, Kind.KEY)


class Borders:
    """The ends of all parts. All methods run under the program's lock."""

    def __init__(self, program: PartsProgram, reader: Reader):
        self._program, self._reader = program, reader
        self._trie, self._paths, self._sieves = program.vocab.trie, paths_of(program.vocab), sieves_of(program.vocab)
        self._text_row = pack_ids(program.vocab.text_ids, program.vocab.words)
        self._firsts: dict[int, np.ndarray] = {}  # by automaton
        self._rows: dict[tuple[tuple[int, ...], bytes], np.ndarray] = {}  # by what follows and nodes
        self._key_bytes = 0
        self._shared_rows = SharedRows()
        self._room = program.limits.max_bytes // 8
        self.times_forgotten = 0  # of rows: whoever has some drops them, too
        self.rims = [self._rim(part) for part in range(len(program.automata))]
        for rim in set(self.rims) - {None}:  # much of what the first masks would take
            program.clock.check()
            for needs in JSON_NEEDS if rim.lasts is not None else [NOTHING_NEEDED]:
                self._sieves.sieve(rim, needs)
        for automaton in program.machines:
            if isinstance(automaton.epoch, Epoch):
                program.clock.check()
                automaton.epoch.row(automaton.epoch.start)

    @property
    def nbytes(self) -> int:
        return self._shared_rows.nbytes + self._key_bytes

    def _rim(self, part: int) -> Rim | None:
        """What is known of a border by single bytes; None where no token crosses it."""
        program = self._program
        if not program.graph.follow[part] or program.has_items[part]:
            return None
        firsts = np.zeros(256, bool)
        for follower, _, _ in program.behind(part):
            if not program.has_items[follower]:
                firsts |= self._first_bytes(follower)
        is_json = isinstance(program.automata[part].epoch, JsonEpoch)
        return Rim(firsts.tobytes(), json_lasts(self._first_bytes(part)) if is_json else None)

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

    # ------------------------------------------------------------------ masks

    def crossing(self, place: Place, known: np.ndarray) -> np.ndarray | None:
        """The tokens that cross the part's end from a place; of those that are known to be allowed some may be left out."""
        part, epoch, state = place
        rim = self.rims[part]
        if rim is None:
            return None
        wanted = self._text_row & ~known
        if not wanted.any():
            return None
        is_regular = isinstance(epoch, Epoch)
        sieve = self._sieves.sieve(rim, _needs(epoch, state) if isinstance(epoch, JsonEpoch) else NOTHING_NEEDED)
        if not is_regular and len(sieve.forest.node) > FEW_NODES and self._are_few(wanted):
            sieve = self._narrowed(sieve, wanted)
        ends = self._ends(place, sieve)
        if is_regular and int((self._trie.end[ends] - ends).sum()) > MANY_NODES:
            ends = ends[has_below(self._trie, self._nodes_of(wanted), ends)]
        return self._row_behind(part, ends) if len(ends) else None

    def _are_few(self, wanted: np.ndarray) -> bool:
        return FEW_WANTED * int(np.bitwise_count(wanted).sum()) < len(self._program.vocab.text_ids)

    def _nodes_of(self, row: np.ndarray) -> np.ndarray:
        return self._paths.node_of[np.flatnonzero(np.unpackbits(row.view(np.uint8), bitorder="little"))]

    def _narrowed(self, sieve: Sieve, wanted: np.ndarray) -> Sieve:
        """The nodes that lead to splits below which there are tokens that are wanted."""
        marked = self._nodes_of(wanted)
        at = np.flatnonzero(sieve.is_split)
        is_split = np.zeros(len(sieve.is_split), bool)
        is_split[at] = has_below(self._trie, marked, sieve.forest.node[at])
        return Sieve(*narrowed(sieve.forest, is_split))

    def _ends(self, place: Place, sieve: Sieve) -> np.ndarray:
        """The splits at which the part may end."""
        epoch, at, states = self._walked(place, sieve.forest)
        is_split = sieve.is_split[at]
        at, states = at[is_split], states[is_split]
        return sieve.forest.node[at[_accepting(epoch, states)]]

    def _walked(self, place: Place, forest: Forest) -> tuple[Any, np.ndarray, np.ndarray]:
        program = self._program
        epoch, (at, states) = self._reader.inside(
            place, lambda epoch, state: walked(epoch, state, forest, program.byte_tokens, program.clock)
        )
        return epoch, at, states

    def _row_behind(self, part: int, ends: np.ndarray) -> np.ndarray:
        """The tokens below nodes whose rests can be read where the part ends at the node."""
        key = self._program.graph.follow[part], ends.tobytes()
        if key not in self._rows:
            made = self._made_row(part, ends)
            if self.nbytes + made.nbytes + len(key[1]) > self._room:
                self._rows.clear()
                self._shared_rows.clear()
                self._key_bytes = 0
                self.times_forgotten += 1
            self._rows[key] = self._shared_rows.shared(made)
            self._key_bytes += len(key[1]) + KEY_BYTES
        return self._rows[key]

    def _made_row(self, part: int, ends: np.ndarray) -> np.ndarray:
        program, trie = self._program, self._trie
        found = np.zeros(program.vocab.words * 32 + 1, np.uint8)
        waiting, seen = [(part, ends)], dict[int, np.ndarray]()
        while waiting:
            part, nodes = waiting.pop()
            seen_here = seen.setdefault(part, np.zeros(len(trie.byte), bool))
            nodes = nodes[~seen_here[nodes]]
            seen_here[nodes] = True
            places = [place for place in program.behind(part) if not program.has_items[place[0]]]
            for piece in pieces(trie, nodes):
                program.clock.check()
                forest = below(trie, piece)
                for place in places:
                    epoch, at, states = self._walked(place, forest)
                    alive = forest.node[at]
                    found[trie.token[alive]] = 1
                    ended = self._ended(place[0], epoch, alive, states)
                    if len(ended):
                        waiting.append((place[0], ended))
        found[trie.twins[:, 0]] |= found[trie.twins[:, 1]]
        return np.packbits(found[:-1], bitorder="little").view(np.int32)

    def _ended(self, part: int, epoch: Any, nodes: np.ndarray, states: np.ndarray) -> np.ndarray:
        """Of nodes, and the states there, the splits at which the part may end, each once and in order."""
        rim = self.rims[part]
        if rim is None:
            return nodes[:0]
        is_split = self._sieves.splits(rim)[nodes]
        ended = np.sort(nodes[is_split][_accepting(epoch, states[is_split])])
        return ended[np.diff(ended, prepend=-1) > 0]


def _accepting(epoch: Any, states: np.ndarray) -> np.ndarray:
    """May the text end in these states?"""
    if isinstance(epoch, Epoch):
        return np.array(epoch.accepting, bool)[states]
    known = {state: bool(epoch.accepting[state]) for state in set(states.tolist())}
    return np.array([known[state] for state in states.tolist()], bool)


def _needs(epoch: JsonEpoch, state: int) -> Needs:
    """What must come to end the text: brackets, as many as are open in each thread, and a quote if all are in strings."""
    if epoch.accepting[state]:
        return NOTHING_NEEDED
    closers, quote = MOST_CLOSERS, True
    while state:
        c, _, _, frame, state = epoch.arrays["records"][state].tolist()
        quote &= c & 31 in IN_STRINGS
        depth = 0
        while frame and depth < closers:
            depth += 1
            frame = int(epoch.arrays["frames"][frame, Frame.PARENT])
        closers = depth
    return Needs(closers, quote, True)
