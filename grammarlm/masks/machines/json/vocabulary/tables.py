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

from itertools import count

import numpy as np

from grammarlm.kernels import entries
from grammarlm.layout.json import BARRIER, SHARED_BIT, WIDEST, At, Crossing, Frame, Store
from grammarlm.layout.json_calls import FORGET, KEY_WORDS, WHOLE_MASKS
from grammarlm.masks.machines.json.formats import format_automata
from grammarlm.masks.machines.json.rows.template import TEMPLATE_AT, TEMPLATE_ROWS
from grammarlm.masks.runtime.shared_lock import TABLES, shared_lock
from grammarlm.masks.token_facts import token_facts
from grammarlm.vocab.vocabulary import Vocabulary

from .alphabets import CLASSES, alphabets
from .arena import FIRST_CROSSINGS, FIRST_NOTED, FIRST_PENDING, SharedArena
from .blanks import Blanks
from .strings import StringTables
from .white_space import WhiteSpaceTables

SERIALS = count(1)  # At.SERIAL of each epoch, renewed when it reuses record numbers
SHARED_ROWS = 8192  # slots in the hash table of rows that do not depend on a schema
SHARED_POOL = 8 << 20  # words of those rows; memory is touched only as it is used


class JsonTables:
    """The tables of one vocabulary, one kind of white space and one spelling."""

    IS_SHARED = True  # not counted as a constraint's (object_sizes.py)

    def __init__(self, vocab: Vocabulary, blanks: Blanks, spelling: str = "any"):
        entries.load("json")
        self.vocab, self.blanks, self.spelling = vocab, blanks, spelling
        self.lock = shared_lock(TABLES)  # of what is made for all schemas
        self.facts = token_facts(vocab)
        self.formats = 0  # of how many the automata are here: they are read when a schema asks for one
        self.shared = shared = SharedArena(vocab, len(blanks.table))
        self._fill_arena()
        self.white_space = WhiteSpaceTables(shared, blanks.table)
        shared.bases[0] = shared.keep(np.zeros(vocab.words, np.int32))
        self.strings = StringTables(shared)
        self.white_space.make_spot(blanks.start)

    def _fill_arena(self) -> None:
        """The entries common to all arenas over this vocabulary; the rest is each constraint's (epoch.py)."""
        shared, vocab, facts = self.shared, self.vocab, self.facts
        arena, keep = shared.arena, shared.keep
        program = np.array(TEMPLATE_ROWS[self.spelling], np.int64)
        table = np.full((SHARED_ROWS, KEY_WORDS + 1), -1, np.int64)
        self.pool = np.zeros(SHARED_POOL, np.int32)
        self.store = np.zeros(Store.LENGTH, np.int64)
        self.store[:] = [keep(table), SHARED_ROWS, 0, keep(self.pool), 0, len(self.pool)]
        self.shared_table = table
        for slot, array in (
            (At.PROGRAM, program), (At.BLANKS, self.blanks.table), (At.SHARED_STORE, self.store), (At.STORE, self.store),
            (At.BASES, shared.bases), (At.TRIES, shared.tries), (At.SPOTS, shared.spots), (At.TWINS, vocab.trie.twins),
            (At.STOP_ROW, facts.stop_row), (At.OFFSETS, vocab.offsets), (At.DATA, vocab.data), (At.IS_TEXT, facts.is_text),
            (At.MISSING, np.zeros(256, np.int64)), (At.CROSSED, np.zeros((FIRST_CROSSINGS, Crossing.LENGTH), np.int64)),
            (At.STACK, np.zeros((facts.deepest + 2, 6), np.int64)), (At.PENDING, np.zeros((FIRST_PENDING, 5), np.int64)),
            (At.SET_A, np.zeros((WIDEST, 4), np.int64)), (At.SET_B, np.zeros((WIDEST, 4), np.int64)),
            (At.ALLOWED, np.zeros((facts.deepest + 2, 4), np.uint64)), (At.JUMPS, np.full((facts.deepest + 2, 2), -1, np.int64)),
            (At.CLOSED, np.zeros((FIRST_NOTED, 3), np.int64)), (At.ESCAPED, np.zeros((FIRST_NOTED, 3), np.int64)),
            (At.CLOSER_ROW, np.zeros(vocab.words + 1, np.int32)),
            (At.SCRATCH_ROW, np.zeros(vocab.words + 1, np.int32)), (At.SECOND_ROW, np.zeros(vocab.words + 1, np.int32)),
            (At.SUSPENDED, shared.suspended), (At.SUSPENDED_ROW, np.zeros(vocab.words + 1, np.int32)),
            (At.WHOLE_TAGS, np.zeros((WHOLE_MASKS, 2), np.int64)), (At.WHOLE_ROWS, np.empty((WHOLE_MASKS, vocab.words), np.int32)),
            (At.CLASSES, CLASSES), (At.ALPHABETS, alphabets(vocab.trie)),
            (At.FRAMES, np.zeros((64, Frame.LENGTH), np.int64)), (At.CHAINS, np.zeros((64, 2), np.int64)),
        ):  # fmt: skip
            arena[slot] = keep(array)
        for slot, number in (
            (At.CROSS_CAPACITY, FIRST_CROSSINGS), (At.PENDING_CAPACITY, FIRST_PENDING), (At.SHARED_END, TEMPLATE_AT["end"]),
            (At.BASE_WORDS, vocab.words), (At.TWIN_COUNT, len(vocab.trie.twins)), (At.NOTHING, vocab.words * 32),
            (At.VOCABULARY, len(facts.is_text)), (At.FRAME_COUNT, BARRIER + 1), (At.FRAME_CAPACITY, 64),
            (At.CHAIN_COUNT, 32), (At.CHAIN_CAPACITY, 64), (At.NOTED_CAPACITY, FIRST_NOTED),
            (At.PLAIN, int(self.spelling == "plain")), (At.NATURAL, int(self.blanks.has_gaps)),
        ):  # fmt: skip
            arena[slot] = number

    def format_state(self, name: str) -> int | None:
        """The start of a format's automaton, which all schemas share; None where it is not one of those."""
        if not name:
            return None
        automata = format_automata(name)
        if len(automata.names) > self.formats:
            table = automata.table.astype(np.int32)
            table[table >= 0] |= SHARED_BIT
            for slot, array in (
                (At.SHARED_STATES, table), (At.SHARED_ACCEPTS, automata.accepts),
                (At.SHARED_LOOPS, np.zeros(len(table), np.int64)),
            ):  # fmt: skip
                self.shared.arena[slot] = self.shared.keep(array)
            self.shared.version += 1
            self.formats = len(automata.names)
        start = automata.start(name)
        return None if start is None else start | SHARED_BIT

    def clear_rows(self) -> None:
        """Clears the rows that do not depend on a schema, where there is no room for more."""
        entries.json_call(int(self.store.ctypes.data), FORGET, 0, 0, 0)
