"""The JSON machine's tables of a vocabulary, independent of the schema: made once, shared by all constraints.

    base rows    the body of a string, and by state of white space: white space alone, white space and the beginning of
                 a string
    remainders   of the tokens that close a string: what remains after the quote, merged into one small trie
    entries      nodes of the vocabulary's trie after white space and one byte
    rows         of everything that does not depend on a schema: any value, any object, any number

A string's body allows 123,000 of Llama 3.1's 128,000 tokens, and only 1,300 tokens close it, with 576 different
remainders: so a mask in a string is a copy of a row and a walk over a tiny trie.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import count

import numpy as np

from ...grammars.json_schema.number_rows import digits_ahead
from ...kernels.cpu.jit import load_all
from ...kernels.cpu.json_call import BASE, BELOW, FORGET, json_call
from ...kernels.cpu.json_masks import WHOLE_MASKS
from ...kernels.cpu.json_rows import KEY_WORDS
from ...kernels.cpu.json_runs import RUN_ROWS
from ...layout.json import (
    BARRIER,
    BRACKET,
    FOLLOWS,
    SHARED_BIT,
    WIDEST,
    At,
    Frame,
    Kind,
    Spot,
    Store,
    Suspended,
    Trie,
)
from ...vocab.byte_trie import ByteTrie
from ...vocab.vocabulary import Vocabulary
from ..shared_lock import TABLES, shared_lock
from ..token_facts import token_facts
from .alphabets import CLASSES, alphabets, first_backslashes, parents, token_alphabets
from .blanks import BLANK_BYTES, Blanks
from .formats import format_automata
from .rows.template import TEMPLATE_AT, TEMPLATE_ROWS

SERIALS = count(1)  # At.SERIAL of each epoch, renewed when it reuses record numbers
SHARED_ROWS = 8192  # slots in the hash table of rows that do not depend on a schema
SHARED_POOL = 8 << 20  # words of those rows; memory is touched only as it is used
FIRST_CROSSINGS, FIRST_PENDING, FIRST_NOTED = 4096, 4096, 8192


CROSSED = (At.CROSSED, At.CROSS_CAPACITY, 3)
PENDING = (At.PENDING, At.PENDING_CAPACITY, 5)
NOTED = [(At.CLOSED, At.NOTED_CAPACITY, 3), (At.ESCAPED, At.NOTED_CAPACITY, 3)]
TWO_KEYS, WHOLE_KEYS = re.compile(rb'"\s*:.*,', re.DOTALL), re.compile(rb'"\s*:.*,\s*".*"', re.DOTALL)
TWO_ITEMS = re.compile(rb'"\s*,.*".*"', re.DOTALL)
CLOSING_BYTES = tuple(b"]}")
MANY_CHILDREN = 8  # nodes with more children get a table, in which walks look a child up


@dataclass(frozen=True)
class RemainderTrie:
    """Like ByteTrie, but several tokens may end at a node: of node i tokens[first[i + 1] : first[i + 2]], of the root node -1."""

    byte: np.ndarray  # uint8
    depth: np.ndarray  # uint16
    end: np.ndarray  # int32
    first: np.ndarray  # int32 [N + 2]
    tokens: np.ndarray  # int32


def remainder_trie(pairs: Iterable[tuple[bytes, int]]) -> RemainderTrie:
    by_rest: dict[bytes, list[int]] = {}
    for rest, token in pairs:
        by_rest.setdefault(rest, []).append(token)
    byte, depth, first = bytearray(), [], [0]
    tokens = by_rest.pop(b"", [])
    first.append(len(tokens))
    path = b""
    for rest in sorted(by_rest):
        shared = 0
        while shared < len(path) and shared < len(rest) and path[shared] == rest[shared]:
            shared += 1
        for i in range(shared, len(rest)):
            byte.append(rest[i])
            depth.append(i + 1)
            first.append(first[-1])
        tokens = tokens + by_rest[rest]
        first[-1] = len(tokens)
        path = rest
    count = len(byte)
    end = [count] * count
    open_nodes: list[int] = []
    for node, deep in enumerate(depth):
        while open_nodes and depth[open_nodes[-1]] >= deep:
            end[open_nodes.pop()] = node
        open_nodes.append(node)
    return RemainderTrie(
        np.frombuffer(bytes(byte), np.uint8).copy(), np.array(depth, np.uint16), np.array(end, np.int32),
        np.array(first, np.int32), np.array(tokens, np.int32),
    )  # fmt: skip


def wide_nodes(trie: ByteTrie) -> tuple[np.ndarray, np.ndarray]:
    """Of nodes with many children: the number of their table (-1: none; the root comes first), and the tables."""
    count = len(trie.byte)
    parent = parents(trie)
    wide = np.full(count + 1, -1, np.int32)
    chosen = np.flatnonzero(np.bincount(parent + 1, minlength=count + 1) > MANY_CHILDREN)
    wide[chosen] = np.arange(len(chosen))
    children = np.full((max(len(chosen), 1), 256), -1, np.int32)
    below = np.flatnonzero(wide[parent + 1] >= 0)
    children[wide[parent[below] + 1], trie.byte[below]] = below
    return wide, children


class JsonTables:
    """The tables of one vocabulary, one kind of white space and one spelling."""

    def __init__(self, vocab: Vocabulary, blanks: Blanks, spelling: str = "any"):
        load_all([json_call], large=True)
        self.vocab, self.blanks, self.spelling = vocab, blanks, spelling
        self.lock = shared_lock(TABLES)  # of what is made for all schemas
        self.facts = token_facts(vocab)
        trie, self.width = vocab.trie, vocab.words
        spots = len(blanks.table)
        self.tries = np.zeros((3 + spots, Trie.LENGTH), np.int64)
        self.bases = np.zeros(2 + 2 * spots + RUN_ROWS, np.int64)
        self.spots = np.zeros((spots, Spot.LENGTH), np.int64)
        self.version = 0  # of the arena that epochs begin with
        self.has_formats = False  # they are read when a schema asks for one
        self.kept: list[np.ndarray] = []  # keeps arrays alive whose addresses are in the tables
        self.tries[0, :5] = [len(trie.byte), *(self._keep(a) for a in (trie.byte, trie.depth, trie.end, trie.token))]
        self.tries[0, Trie.WIDE], self.tries[0, Trie.CHILDREN] = (self._keep(a) for a in wide_nodes(trie))
        self.arena = np.zeros(At.LENGTH, np.int64)
        self._fill_arena()
        self._find_blank_runs()
        self._place_runs(2 + 2 * spots)
        self.bases[0] = self._keep(np.zeros(self.width, np.int32))
        self._make_body()
        self.make_spot(blanks.start)

    def _keep(self, array: np.ndarray) -> int:
        self.kept.append(array)
        return int(array.ctypes.data)

    def _place_runs(self, first: int) -> None:
        """Reserves base rows of runs, which kernels make; memory is touched only as it is used."""
        rows = np.empty((RUN_ROWS, self.width), np.int32)
        address = self._keep(rows)
        self.arena[At.RUN_ROWS], self.arena[At.RUN_BASE] = address, first
        self.bases[first:] = address + 4 * self.width * np.arange(RUN_ROWS)

    def _fill_arena(self) -> None:
        """The entries common to all arenas over this vocabulary; the rest is each constraint's (epoch.py)."""
        vocab, facts, arena, keep = self.vocab, self.facts, self.arena, self._keep
        program = np.array(TEMPLATE_ROWS[self.spelling], np.int64)
        # The position of a suspended walk.
        self.suspended = np.zeros(Suspended.STACK + 6 * (facts.deepest + 2), np.int64)
        table = np.full((SHARED_ROWS, KEY_WORDS + 1), -1, np.int64)
        self.pool = np.zeros(SHARED_POOL, np.int32)
        self.store = np.zeros(Store.LENGTH, np.int64)
        self.store[:] = [keep(table), SHARED_ROWS, 0, keep(self.pool), 0, len(self.pool)]
        self.shared_table = table
        for place, array in (
            (At.PROGRAM, program), (At.BLANKS, self.blanks.table), (At.SHARED_STORE, self.store), (At.STORE, self.store),
            (At.BASES, self.bases), (At.TRIES, self.tries), (At.SPOTS, self.spots), (At.TWINS, vocab.trie.twins),
            (At.STOP_ROW, facts.stop_row), (At.OFFSETS, vocab.offsets), (At.DATA, vocab.data), (At.IS_TEXT, facts.is_text),
            (At.MISSING, np.zeros(256, np.int64)), (At.CROSSED, np.zeros((FIRST_CROSSINGS, 3), np.int64)),
            (At.STACK, np.zeros((facts.deepest + 2, 6), np.int64)), (At.PENDING, np.zeros((FIRST_PENDING, 5), np.int64)),
            (At.SET_A, np.zeros((WIDEST, 4), np.int64)), (At.SET_B, np.zeros((WIDEST, 4), np.int64)),
            (At.ALLOWED, np.zeros((facts.deepest + 2, 4), np.uint64)), (At.JUMPS, np.full((facts.deepest + 2, 2), -1, np.int64)),
            (At.CLOSED, np.zeros((FIRST_NOTED, 3), np.int64)), (At.ESCAPED, np.zeros((FIRST_NOTED, 3), np.int64)),
            (At.CLOSER_ROW, np.zeros(self.width + 1, np.int32)),
            (At.SCRATCH_ROW, np.zeros(self.width + 1, np.int32)), (At.SECOND_ROW, np.zeros(self.width + 1, np.int32)),
            (At.SUSPENDED, self.suspended), (At.SUSPENDED_ROW, np.zeros(self.width + 1, np.int32)),
            (At.WHOLE_TAGS, np.zeros((WHOLE_MASKS, 2), np.int64)), (At.WHOLE_ROWS, np.empty((WHOLE_MASKS, self.width), np.int32)),
            (At.TOKEN_ALPHABETS, token_alphabets(vocab, facts.is_text)), (At.RUN_KEYS, np.zeros(1 + 2 * RUN_ROWS, np.int64)),
            (At.CLASSES, CLASSES), (At.ALPHABETS, alphabets(vocab.trie)),
            (At.FRAMES, np.zeros((64, Frame.LENGTH), np.int64)), (At.CHAINS, np.zeros((64, 2), np.int64)),
        ):  # fmt: skip
            arena[place] = keep(array)
        for place, number in (
            (At.CROSS_CAPACITY, FIRST_CROSSINGS), (At.PENDING_CAPACITY, FIRST_PENDING), (At.SHARED_END, TEMPLATE_AT["end"]),
            (At.BASE_WORDS, self.width), (At.TWIN_COUNT, len(vocab.trie.twins)), (At.NOTHING, vocab.words * 32),
            (At.VOCABULARY, len(facts.is_text)), (At.FRAME_COUNT, BARRIER + 1), (At.FRAME_CAPACITY, 64),
            (At.CHAIN_COUNT, 32), (At.CHAIN_CAPACITY, 64), (At.NOTED_CAPACITY, FIRST_NOTED),
            (At.PLAIN, int(self.spelling == "plain")), (At.NATURAL, int(self.blanks.is_natural)),
        ):  # fmt: skip
            arena[place] = number

    def format_state(self, name: str) -> int | None:
        """The start of a format's automaton, which all schemas share; None where it is not one of those."""
        if not name:
            return None
        automata = format_automata()
        if not self.has_formats:
            none = np.zeros(len(automata.accepts), np.uint8)  # no state of these accepts every string
            table = np.where(automata.table > 0, automata.table | SHARED_BIT, -1).astype(np.int32)
            for place, array in (
                (At.SHARED_STATES, table), (At.SHARED_ACCEPTS, automata.accepts),
                (At.SHARED_UNIVERSAL, none), (At.SHARED_TOTAL, none), (At.SHARED_LOOPS, np.zeros(len(none), np.int64)),
            ):  # fmt: skip
                self.arena[place] = self._keep(array)
            self.version += 1
            self.has_formats = True
        start = automata.start(name)
        return None if start is None else start | SHARED_BIT

    def spelled(self, token: int) -> bytes:
        low, high = self.vocab.offsets[token : token + 2]
        return self.vocab.data[low:high].tobytes()

    def _call(self, what: int, first: int, second: int, row: np.ndarray) -> np.ndarray:
        """json_call for a base row of the vocabulary; returns the nodes where the walk met the barrier."""
        arena = self.arena.copy()  # a copy, with its own crossings: other threads' calls would overwrite them
        crossed = np.zeros((FIRST_CROSSINGS, 3), np.int64)
        while True:
            before = row.copy()
            arena[At.WANTED], arena[At.CROSSED], arena[At.CROSS_CAPACITY] = 0, crossed.ctypes.data, len(crossed)
            count = json_call(arena.ctypes.data, what, first, second, row.ctypes.data)
            if arena[At.WANTED] == 0:
                return crossed[:count]
            row[:] = before
            crossed = np.zeros((2 * len(crossed), 3), np.int64)
            self.grow_walks(arena, [PENDING])

    def _take_closers(self, row: np.ndarray, crossed: np.ndarray) -> list[tuple[bytes, int, bytes]]:
        """(what remains after the quote, token, what stands before it) of all tokens below the crossings; their bits
        are cleared."""
        trie, found = self.vocab.trie, []
        nothing = self.vocab.words * 32
        for node in crossed[:, 0].tolist():
            depth = int(trie.depth[node])
            for below in range(node, int(trie.end[node])):
                token = int(trie.token[below])
                if token != nothing:
                    text = self.spelled(token)
                    found.append((text[depth:], token, text[: depth - 1]))
                    row[token >> 5] &= ~np.int32(1 << (token & 31)) if token & 31 != 31 else np.int32(0x7FFFFFFF)
        return found

    def _add_trie(self, place: int, made: RemainderTrie) -> None:
        keep = self._keep
        wide, children = np.full(len(made.byte) + 1, -1, np.int32), np.full((1, 256), -1, np.int32)
        wide[0] = 0  # the root only: walks begin there
        node = 0
        while node < len(made.byte):
            children[0, made.byte[node]] = node
            node = int(made.end[node])
        self.tries[place] = [
            len(made.byte), keep(made.byte), keep(made.depth), keep(made.end), 0, keep(made.first), keep(made.tokens),
            keep(wide), keep(children),
        ]  # fmt: skip

    def _make_body(self) -> None:
        """The row of tokens that stay in a string, and the tokens that close it."""
        row = np.zeros(self.width + 1, np.int32)
        trie, nothing = self.vocab.trie, self.vocab.words * 32
        word = int(Kind.STRING) | TEMPLATE_AT["string"] << 11
        crossed = self._call(BASE, word, 0, row)
        closers = self._take_closers(row, crossed)
        self.bases[1] = self._keep(row)
        self._add_trie(1, remainder_trie((rest, token) for rest, token, _ in closers))
        self.arena[At.CLOSER_TRIE] = len(self.tries) - 1
        self._add_trie(len(self.tries) - 1, remainder_trie((text, i) for i, (_, _, text) in enumerate(closers)))
        closing = [[node, 0, 0] for node in crossed[:, 0].tolist()]
        at = 0
        for entry in closing:
            entry[1:] = [at, int((trie.token[entry[0] : trie.end[entry[0]]] != nothing).sum())]
            at += entry[2]
        self.arena[At.CLOSING], self.arena[At.CLOSING_COUNT] = (
            self._keep(np.array(closing, np.int32).reshape(-1, 3)),
            len(closing),
        )
        escaping = first_backslashes(trie)
        self.arena[At.ESCAPING], self.arena[At.ESCAPING_COUNT] = self._keep(escaping), len(escaping)
        self.arena[At.FILTER] = self._keep(np.zeros(len(closers) // 32 + 1, np.int32))
        counted = np.array([(t, len(json.loads(b'"' + text + b'"', strict=False))) for _, t, text in closers], np.int32)
        counted = counted.reshape(-1, 2)
        self.characters = self._count_characters(row)
        most = max(int(self.characters.max(initial=0)), int(counted[:, 1].max(initial=0)))
        self.limited = np.zeros(most + 2, np.int64)
        arena = self.arena
        arena[At.CLOSERS], arena[At.CLOSER_COUNT] = self._keep(counted), len(counted)
        arena[At.LIMITED], arena[At.MOST_CHARACTERS] = self._keep(self.limited), most + 1
        texts = [self.spelled(i) for i in range(len(self.vocab.offsets) - 1) if self.facts.is_text[i]]
        self._find_suspects()
        arena[At.MOST_ITEMS] = 1 + max((t.count(b",") for t in texts if b"," in t), default=0)
        arena[At.DIGITS_MOST], arena[At.DIGITS_AFTER] = digits_ahead(texts)

    def _find_suspects(self) -> None:
        """Tokens that contain the end of a key or string and then another that may have to differ from it."""
        arena = self.arena
        several = [t for t in np.flatnonzero(self.facts.is_text).tolist() if _holds_several(self.spelled(t))]
        beginnings = [t for t in several if TWO_KEYS.search(self.spelled(t))]
        whole = [t for t in beginnings if WHOLE_KEYS.search(self.spelled(t))]
        beginnings = [t for t in beginnings if t not in whole]
        items = [t for t in several if TWO_ITEMS.search(self.spelled(t))]
        arena[At.SUSPECTS] = self._keep(np.array([*whole, *beginnings, *items], np.int32))
        arena[At.SUSPECT_COUNT], arena[At.SUSPECT_BEGINNINGS] = len(whole), len(whole) + len(beginnings)
        arena[At.SUSPECT_ITEMS] = len(whole) + len(beginnings) + len(items)

    def _count_characters(self, row: np.ndarray) -> np.ndarray:
        """Of each token that stays in a string: how many characters begin in it; -1 for all others."""
        count = len(self.vocab.offsets) - 1
        bits = np.unpackbits(row[: self.width].view(np.uint8), bitorder="little")[:count].astype(bool)
        begins = np.concatenate([[0], np.cumsum((self.vocab.data & 0xC0) != 0x80)])
        counts = begins[self.vocab.offsets[1:]] - begins[self.vocab.offsets[:-1]]
        for token in np.flatnonzero(bits & (self._holds_backslash() > 0)).tolist():
            counts[token] = _characters(self.spelled(token))
        return np.where(bits, counts, -1).astype(np.int32)

    def _holds_backslash(self) -> np.ndarray:
        so_far = np.concatenate([[0], np.cumsum(self.vocab.data == 0x5C)])
        return so_far[self.vocab.offsets[1:]] - so_far[self.vocab.offsets[:-1]]

    def make_limited(self, most: int) -> None:
        """The row of tokens that stay in a string and begin at most `most` characters."""
        if self.limited[most]:
            return
        bits = np.zeros(self.width * 32, np.uint8)
        bits[: len(self.characters)] = (self.characters >= 0) & (self.characters <= most)
        self.limited[most] = self._keep(np.packbits(bits, bitorder="little").view(np.int32).copy())

    # ------------------------------------------------------------------ white space

    def _find_blank_runs(self) -> None:
        """All nodes of the trie that stand for white space alone, and their children."""
        trie = self.vocab.trie
        byte, end = trie.byte, trie.end
        self.run_nodes, self.run_parent, self.run_byte = [-1], [-1], [-1]
        children: list[tuple[int, int, int]] = []  # run, byte, node
        place = 0
        while place < len(self.run_nodes):
            run = self.run_nodes[place]
            node, stop = run + 1, int(end[run]) if run >= 0 else len(byte)
            while node < stop:
                b = int(byte[node])
                children.append((place, b, node))
                if b in BLANK_BYTES:
                    self.run_nodes.append(node)
                    self.run_parent.append(place)
                    self.run_byte.append(BLANK_BYTES.index(b))
                node = int(end[node])
            place += 1
        self.run_children = np.array(children, np.int64).reshape(-1, 3)

    def make_spot(self, spot: int) -> None:
        """Rows and entries of one state of white space."""
        if self.spots[spot][Spot.MADE]:
            return
        table, nothing = self.blanks.table, self.vocab.words * 32
        states = [spot]
        blank_row = np.zeros(self.width + 1, np.int32)
        for place in range(1, len(self.run_nodes)):
            before = states[self.run_parent[place]]
            state = int(table[before, self.run_byte[place]]) if before >= 0 else -1
            states.append(state)
            token = int(self.vocab.trie.token[self.run_nodes[place]])
            if state >= 0 and token != nothing:
                blank_row.view(np.uint32)[token >> 5] |= np.uint32(1 << (token & 31))
        follows = np.array([int(table[state, 4]) if state >= 0 else 0 for state in states])[self.run_children[:, 0]]
        is_bracket = np.isin(self.run_children[:, 1], CLOSING_BYTES)
        chosen = self.run_children[follows & np.where(is_bracket, BRACKET, FOLLOWS) != 0]
        chosen = chosen[np.argsort(chosen[:, 1], kind="stable")]
        offsets = np.searchsorted(chosen[:, 1], np.arange(257)).astype(np.int32)
        nodes = chosen[:, 2].astype(np.int32)
        start_row, closers = self._start_row(blank_row, nodes[offsets[34] : offsets[35]])
        self._add_trie(2 + spot, remainder_trie(closers))
        self.bases[2 + 2 * spot], self.bases[3 + 2 * spot] = self._keep(blank_row), self._keep(start_row)
        self.spots[spot] = [2 + 2 * spot, 3 + 2 * spot, self._keep(offsets), self._keep(nodes), 2 + spot, 1]

    def _start_row(self, blank_row: np.ndarray, quotes: np.ndarray) -> tuple[np.ndarray, list[tuple[bytes, int]]]:
        """Tokens of white space, a quote and a part of a string; and those that close it: what remains, token."""
        row = blank_row.copy()
        word = int(Kind.STRING) | TEMPLATE_AT["string"] << 11
        closers: list[tuple[bytes, int]] = []
        for node in quotes.tolist():
            crossed = self._call(BELOW, node, word, row)
            closers += [(rest, token) for rest, token, _ in self._take_closers(row, crossed)]
        return row, closers

    def grow_walks(self, arena: np.ndarray, places: Iterable[tuple[At, At, int]]) -> None:
        """Doubles the room for what walks record: (array, its capacity, its width). Later epochs begin with it."""
        wanted = {capacity: 2 * int(arena[capacity]) for _, capacity, _ in places}
        for place, capacity, width in places:
            if self.arena[capacity] < wanted[capacity]:
                self.arena[place] = self._keep(np.zeros((wanted[capacity], width), np.int64))
            arena[place] = self.arena[place]
        self.version += 1
        self.suspended[Suspended.SERIAL] = 0  # the suspended walk's notes are in the old arrays: it is dropped
        for _, capacity, _ in places:
            arena[capacity] = self.arena[capacity] = max(wanted[capacity], int(self.arena[capacity]))

    def clear_rows(self) -> None:
        """Clears the rows that do not depend on a schema, where there is no room for more."""
        json_call(int(self.store.ctypes.data), FORGET, 0, 0, 0)


def _holds_several(text: bytes) -> bool:
    quote = text.find(b'"')
    return quote >= 0 and text.find(b",", quote) > 0


def _characters(text: bytes) -> int:
    """How many characters of a string begin in a part of it that begins at a character."""
    count, at, high = 0, 0, False
    while at < len(text):
        if text[at] != 0x5C:
            count += text[at] & 0xC0 != 0x80
            at += 1
            high = False
            continue
        digits = text[at + 2 : at + 6].decode("ascii", "replace").lower()
        is_low = high and text[at + 1 : at + 2] in (b"u", b"")
        count += not is_low
        high = (
            not high and text[at + 1 : at + 2] == b"u" and len(digits) == 4 and digits[:2] in ("d8", "d9", "da", "db")
        )
        at += 6 if text[at + 1 : at + 2] == b"u" else 2
    return count
