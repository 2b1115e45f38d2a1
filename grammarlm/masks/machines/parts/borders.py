"""The tokens that cross the end of a part: a prefix of the token ends the part, the rest begins what follows.

Both are found by walks over pieces of the vocabulary's trie (forests.py), made where a mask needs them:

    a JSON object, then "\\n```"
    1  the part's automaton, over the nodes that lead to a split (sieves.py): where do prefixes end the part?
           }   }}   "}   ...                at } alone, if one object is open
    2  what follows, over all that is below those nodes; again from 2 where that ends in the middle of a token, too
           }\\n   }\\n`   }\\n```             the tokens among them cross

The result of 2 depends on the nodes and on what follows, not on where the text stands: it is cached.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from typing import Any

import numpy as np

from grammarlm.masks.automaton import Automaton
from grammarlm.masks.filters.budget import costs_of
from grammarlm.masks.protocol import Epoch
from grammarlm.masks.shared_rows import SharedRows
from grammarlm.masks.token_facts import tokens_at

from .forests import (
    MOST_CLOSERS,
    Forest,
    Piece,
    below,
    has_below,
    none_left_out,
    paths_of,
    pieces,
    trees,
    walked,
    walked_pieces,
)
from .reader import Parts, PartsReader, Place, Tally
from .sieves import JSON_NEEDS, NOTHING_NEEDED, Needs, Rim, Sieve, json_lasts, sieves_of

NO_NODES = np.zeros(0, np.int64)
FEW_WANTED = 8  # tokens not yet allowed are rare if at most one in so many is
FEWEST_NODES, FEW_NODES, MANY_NODES = 1 << 6, 1 << 9, 1 << 14
KEY_BYTES = 300  # approximate size of a cached row's key and entry, besides row and nodes
FEW_ENDS = 128  # with at most as many nodes, what follows walks the vocabulary's trie itself


class Borders:
    """The ends of all parts. All methods run under the program's lock."""

    def __init__(self, program: Parts, reader: PartsReader):
        self._program, self._reader = program, reader
        self._trie, self._paths, self._sieves = program.vocab.trie, paths_of(program.vocab), sieves_of(program.vocab)
        self._firsts: dict[int, np.ndarray] = {}  # by automaton
        self._rows: dict[Hashable, np.ndarray] = {}  # by what follows and nodes
        self._key_bytes = 0
        self._shared_rows = SharedRows()
        self._room = program.limits.max_bytes // 8
        self.times_forgotten = 0  # how often cached rows were dropped: their other users drop them, too
        self.rims = [self._rim(part) for part in range(len(program.automata))]
        self._crossing = [None if rim is None else self._sieves.crossing(rim) for rim in self.rims]
        for rim in dict.fromkeys(self.rims):  # made ahead: most of what the first masks need
            if rim is not None:
                program.clock.check()
                for needs in JSON_NEEDS if rim.lasts is not None else [NOTHING_NEEDED]:
                    self._sieves.sieve(rim, needs)
        for automaton in program.machines:
            if automaton.epoch.has_table:
                program.clock.check()
                automaton.epoch.row(automaton.epoch.state_of(automaton.program.start))

    @property
    def nbytes(self) -> int:
        return self._shared_rows.nbytes + self._key_bytes

    def _rim(self, part: int) -> Rim | None:
        """The bytes at a border; None where no token crosses it."""
        program = self._program
        if not program.graph.edges[part] or program.has_items[part]:
            return None
        firsts = np.zeros(256, bool)
        for follower in self._followers(part):
            firsts |= self._first_bytes(program.automata[follower])
        automaton = program.automata[part]
        lasts = json_lasts(self._first_bytes(automaton)) if automaton.epoch.writes_json else None
        return Rim(firsts.tobytes(), lasts)

    def _followers(self, part: int) -> set[int]:
        """The parts in which the rest of a token may begin, whatever was counted: not items, which are whole tokens."""
        found, waiting = set[int](), [part]
        while waiting:
            for edge in self._program.graph.edges[waiting.pop()]:
                if edge.part not in found:
                    found.add(edge.part)
                    epoch, state = self._program.automata[edge.part].renew(
                        self._program.automata[edge.part].program.start
                    )
                    waiting += [edge.part] if epoch.accepting[state] else []
        return {follower for follower in found if not self._program.has_items[follower]}

    def _places_behind(self, part: int, tally: Tally) -> list[Place]:
        """Where the rest of a token may begin after a part has ended."""
        found: dict[Place, None] = {}
        self._reader.go_on(part, tally, found)
        return [place for place in found if not self._program.has_items[place[0]]]

    def coarse(self, part: int, tally: Tally) -> Tally:
        """The same for all tallies between which no token of the vocabulary makes a difference by what it counts."""
        if not tally.counts:
            return tally
        steps, loops = self._program.facts.deepest, self._program.graph.loops[part]
        counts = tuple(loop.coarse(turns, steps) for turns, loop in zip(tally.counts, loops, strict=True))
        return tally._replace(counts=counts)

    def _first_bytes(self, automaton: Automaton) -> np.ndarray:
        """The bytes that an automaton's texts begin with."""
        if id(automaton) not in self._firsts:
            epoch, state = automaton.renew(automaton.program.start)
            self._firsts[id(automaton)] = epoch.next_bytes(state)
        return self._firsts[id(automaton)]

    # ------------------------------------------------------------------ where tokens may cross

    def may_cross(self, part: int, token: int) -> bool:
        """Can a token cross the end of a part? Decided by single bytes, so a yes may be wrong, a no never is."""
        tokens = self._crossing[part]
        return tokens is not None and bool(tokens[token >> 5] >> (token & 31) & 1)

    def _make_room(self, nbytes: int) -> None:
        """Clears the caches where they would take too much; they are refilled on demand."""
        if self.nbytes + nbytes > self._room:
            self._rows.clear()
            self._shared_rows.clear()
            self._key_bytes = 0
            self.times_forgotten += 1

    # ------------------------------------------------------------------ masks

    def crossing(self, place: Place, own: np.ndarray, known: np.ndarray) -> np.ndarray | None:
        """The tokens that cross the part's end from a place whose own row is `own`; tokens in `known` may be left out.

        A regular part's crossing does not depend on `known`.
        """
        part, epoch, state, tally = place
        rim = self.rims[part]
        if rim is None:
            return None
        if epoch.has_table:
            ends = self._regular_ends(place, self._sieves.sieve(rim), own)
        else:
            sieve = self._sieves.sieve(rim, _needs(epoch, state) if epoch.writes_json else NOTHING_NEEDED)
            count = len(sieve.forest.node)
            is_left_out = self._useless(own, known, count > FEW_NODES) if count > FEWEST_NODES else none_left_out
            ends = self._ends(place, sieve, is_left_out)
        if not len(ends):
            return None
        if part in self._program.graph.words:
            rows = [self._row_behind(part, ended, nodes) for ended, nodes in self._words_at(tally, ends)]
            return np.bitwise_or.reduce(rows) if rows else None
        return self._row_behind(part, tally, ends)

    def _words_at(self, tally: Tally, ends: np.ndarray) -> list[tuple[Tally, np.ndarray]]:
        """The nodes at which words end, by the word."""
        found: dict[bytes, list[int]] = {}
        for node in ends.tolist():
            found.setdefault(tally.read + self._paths.bytes_to(self._trie, node), []).append(node)
        return [(tally._replace(read=word), np.array(nodes)) for word, nodes in found.items()]

    def _regular_ends(self, place: Place, sieve: Sieve, known: np.ndarray) -> np.ndarray:
        wanted = self._paths.text_row & ~known
        ends = self._ends(place, sieve) if wanted.any() else NO_NODES
        if int((self._trie.end[ends] - ends).sum()) > MANY_NODES:
            ends = ends[has_below(self._trie, self._nodes_of(wanted), ends)]
        return ends

    def _useless(self, own: np.ndarray, known: np.ndarray, is_large: bool) -> Callable[[int], bool]:
        """Which nodes need no walk: the part cannot read them, or no token below them is still wanted."""
        tokens, wanted = self._trie.token, _flags(self._paths.text_row & ~known)
        token, end, depth, is_refused = tokens.data, self._trie.end.data, self._trie.depth.data, _flags(~own).data
        deepest = 0  # up to this depth the subtree is searched, which takes as long as reading some bytes
        if is_large:
            is_rare = FEW_WANTED * int(np.count_nonzero(wanted)) < len(self._program.vocab.text_ids)
            deepest = self._program.facts.deepest if is_rare else 1

        def is_useless(node: int) -> bool:
            if is_refused[token[node]]:
                return True
            looks = depth[node] <= deepest and end[node] - node < MANY_NODES
            return looks and not wanted[tokens[node + 1 : end[node]]].any()

        return is_useless

    def _nodes_of(self, row: np.ndarray) -> np.ndarray:
        return self._paths.node_of[np.flatnonzero(np.unpackbits(row.view(np.uint8), bitorder="little"))]

    def _ends(self, place: Place, sieve: Sieve, is_left_out: Callable[[int], bool] = none_left_out) -> np.ndarray:
        """The splits at which the part may end."""
        if not len(sieve.forest.node):
            return NO_NODES
        if place[1].has_table:
            epoch, (at, states) = self._reader.inside(
                place,
                lambda epoch, state: walked_pieces(epoch, state, sieve.forest, _readable(epoch, state, sieve.forest)),
            )
        else:
            epoch, at, states = self._walked(place, sieve.forest, is_left_out)
        if not len(at):
            return NO_NODES
        is_split = sieve.is_split[at]
        at, states = at[is_split], states[is_split]
        return sieve.forest.node[at[_accepting(epoch, states)]]

    def _walked(
        self, place: Place, forest: Forest, is_left_out: Callable[[int], bool] = none_left_out
    ) -> tuple[Epoch, np.ndarray, np.ndarray]:
        program = self._program
        epoch, (at, states) = self._reader.inside(
            place, lambda epoch, state: walked(epoch, state, forest, program.byte_tokens, program.clock, is_left_out)
        )
        return epoch, at, states

    def _row_behind(self, part: int, tally: Tally, ends: np.ndarray) -> np.ndarray:
        """The tokens below nodes whose remainders can be read where the part ends at the node."""
        behind = self._reader.behind(part, self.coarse(part, tally))
        key = behind, ends.tobytes()
        if key not in self._rows:
            made = self._made_row(part, tally, ends)
            self._make_room(made.nbytes + len(key[1]))
            self._rows[key] = self._shared_rows.shared(made)
            self._key_bytes += len(key[1]) + KEY_BYTES
        return self._rows[key]

    def _made_row(self, part: int, tally: Tally, ends: np.ndarray) -> np.ndarray:
        program, trie = self._program, self._trie
        alive = np.zeros(len(trie.byte), bool)
        row = np.zeros(program.vocab.words + 1, np.int32)
        waiting, seen = [(part, tally, ends)], dict[tuple[int, Tally], np.ndarray]()
        while waiting:
            part, tally, nodes = waiting.pop()
            seen_here = seen.setdefault((part, tally), np.zeros(len(trie.byte), bool))
            nodes = nodes[~seen_here[nodes]]
            seen_here[nodes] = True
            to_walk = []
            for place in self._places_behind(part, tally):
                if len(nodes) <= FEW_ENDS and place[1].has_table and place[3].left is None:
                    self._reader.inside(place, _below(nodes, row))
                    waiting += self._ends_below(place, nodes)
                else:
                    to_walk.append(place)
            for forest in self._rests(part, nodes) if to_walk else ():
                program.clock.check()
                for place in to_walk:
                    epoch, at, states = self._walked(place, forest)
                    left = place[3].left
                    if left is not None:  # the token counts
                        in_time = self._in_time(place, epoch, states, left - 1)
                        at, states = at[in_time], states[in_time]
                    alive[forest.node[at]] = True
                    waiting += self._going_on(place, nodes, self._ended(place[0], epoch, forest.node[at], states))
        return tokens_at(program.vocab, alive) | row[:-1]

    def _in_time(self, place: Place, epoch: Epoch, states: np.ndarray, left: int) -> np.ndarray:
        """Can the part be ended with so many tokens?"""
        kinds, of = np.unique(states, return_inverse=True)
        fewest = [
            self._reader.inside(
                (place[0], epoch, state, place[3]), lambda inner, at: costs_of(inner).falling(inner, at)
            )[1]
            for state in kinds.tolist()
        ]
        return (np.array(fewest, np.int64) <= left)[of]

    def _going_on(self, place: Place, begun: np.ndarray, ended: np.ndarray) -> list[tuple[int, Tally, np.ndarray]]:
        """The ends of a part that begins at some nodes, with what was counted."""
        part, _, _, tally = place
        if not len(ended):
            return []
        if part not in self._program.graph.words:
            return [(part, tally, ended)]
        found: dict[bytes, list[int]] = {}
        for node in ended.tolist():
            for above in self._paths.ancestors(node):
                if begun[np.searchsorted(begun, above) % len(begun)] == above:
                    word = self._paths.bytes_to(self._trie, node)[int(self._trie.depth[above]) :]
                    found.setdefault(word, []).append(node)
        return [(part, tally._replace(read=word), np.array(nodes)) for word, nodes in found.items()]

    def _rests(self, part: int, ends: np.ndarray) -> Iterator[Forest]:
        """The remainders of tokens after the end of a part at these nodes, filtered by their first bytes."""
        rim = self.rims[part]
        starts = self._sieves.starts(rim.firsts) if rim is not None else ends[:0]
        if len(starts) > MANY_NODES:  # most of what is below
            for piece in pieces(self._trie, ends):
                yield below(self._trie, piece)
        else:
            is_end = np.zeros(len(self._trie.byte), bool)
            is_end[ends] = True
            for piece in pieces(self._trie, starts[is_end[self._paths.parent[starts]]]):
                yield trees(self._trie, piece)

    def _ends_below(self, place: Place, nodes: np.ndarray) -> list[tuple[int, Tally, np.ndarray]]:
        """The splits below nodes at which a regular part may end that begins at them; none where no token crosses its end."""
        rim = self.rims[place[0]]
        if rim is None:
            return []
        forest, trie = self._sieves.sieve(rim).forest, self._trie
        first, end = np.searchsorted(forest.node, nodes + 1), np.searchsorted(forest.node, trie.end[nodes])
        some = first < end
        pieces = list(zip(trie.depth[nodes][some].tolist(), first[some].tolist(), end[some].tolist(), strict=True))
        epoch, (at, states) = self._reader.inside(
            place, lambda epoch, state: walked_pieces(epoch, state, forest, pieces)
        )
        return self._going_on(place, nodes, self._ended(place[0], epoch, forest.node[at], states))

    def _ended(self, part: int, epoch: Epoch, nodes: np.ndarray, states: np.ndarray) -> np.ndarray:
        """Of nodes and the states there, the splits at which the part may end, sorted and distinct."""
        rim = self.rims[part]
        if rim is None:
            return nodes[:0]
        is_split = self._sieves.splits(rim)[nodes]
        ended = np.sort(nodes[is_split][_accepting(epoch, states[is_split])])
        return ended[np.diff(ended, prepend=-1) > 0]


def _readable(epoch: Epoch, state: int, forest: Forest) -> list[Piece]:
    """The trees of a sieve's forest that begin with bytes that can come next."""
    pieces: list[Piece] = []
    for first, end in np.searchsorted(forest.node, epoch.program.facts.trees[epoch.next_bytes(state)]).tolist():
        if pieces and pieces[-1][2] == first:
            pieces[-1] = (0, pieces[-1][1], end)
        elif first < end:
            pieces.append((0, first, end))
    return pieces


def _below(nodes: np.ndarray, row: np.ndarray) -> Callable[[Any, int], None]:
    return lambda epoch, state: epoch.add_below(state, nodes, row)


def _flags(row: np.ndarray) -> np.ndarray:
    """The bits of a row, and one more that is not set: that of nodes without a token."""
    found = np.zeros(32 * len(row) + 1, bool)
    found[:-1] = np.unpackbits(row.view(np.uint8), bitorder="little")
    return found


def _accepting(epoch: Epoch, states: np.ndarray) -> np.ndarray:
    """May the text end in these states?"""
    if epoch.has_table:
        return np.array(epoch.accepting, bool)[states]
    known = {state: bool(epoch.accepting[state]) for state in set(states.tolist())}
    return np.array([known[state] for state in states.tolist()], bool)


def _needs(epoch: Epoch, state: int) -> Needs:
    """What a prefix must contain to end the text: as many closing brackets as are open in each thread, and a quote if
    all are in strings."""
    if epoch.accepting[state]:
        return NOTHING_NEEDED
    closers, quote = epoch.closing(state, MOST_CLOSERS)
    return Needs(closers, quote, True)
