"""The mask of a text near the end of its budget: the tokens after which enough are left to end it."""

from __future__ import annotations

import numpy as np

from grammarlm.layout.json import FIELD, NO_LANGUAGE, ROW, Key, Kind, Object
from grammarlm.layout.json_calls import BODY_REMAINDERS
from grammarlm.layout.json_strings import BODY
from grammarlm.masks.filters.budget import INFINITE
from grammarlm.masks.machines.json.endings.completion import Endings
from grammarlm.masks.machines.json.endings.texts import Thread, spelled
from grammarlm.masks.token_facts import pack_ids

from .bodies import bodies_of
from .prices import Prices
from .survey import Survey

CHARACTER = 11  # bytes that end a character or an escape, at most
MANY = 4096  # tokens that stay in a string of a language: too many to be checked one by one
FEW_NODES = 8  # values that may follow a key
LETTERS = (b"~~", b"x~", b"q7", b"zz", b"~", b"0")  # continuations of a key that are likely to make a new one


class Near:
    """What the rows of one epoch near the end of a budget are made with."""

    def __init__(self, endings: Endings):
        self.endings, self.prices, self.survey = endings, Prices(endings), Survey(endings.reader)
        self.bodies = bodies_of(endings.reader, self.survey)


class NarrowMask:
    """The mask of a config: tokens after which fewer than `left` more can end the text. Stop ids left out."""

    def __init__(self, near: Near, left: int):
        self._endings, self._prices, self._survey, self._left = near.endings, near.prices, near.survey, left
        self._bodies = near.bodies
        self._reader, self._program = near.endings.reader, near.endings.reader.program
        self._rows, self._words = self._program.json.rows, self._program.vocab.words
        self.row = np.zeros(self._words, np.int32)
        self._is_first = True  # of the threads

    def fill(self, state: int) -> np.ndarray:
        for number, thread in enumerate(self._reader.threads_of(state)):
            self._is_first = number == 0
            with self._reader.scratch():
                self._prices.begin(self._is_first)
                self._add(thread)
        row, twins = self.row, self._program.vocab.trie.twins.reshape(-1, 2)
        for token, same in twins.tolist():
            if row[same >> 5] >> (same & 31) & 1:
                row.view(np.uint32)[token >> 5] |= np.uint32(1 << (token & 31))
        return row

    def _add(self, thread: Thread) -> None:
        c, x, y, f = thread
        kind, is_unique = c & 31, f != 0 and self._endings.frames.is_unique(f)
        is_free = kind == Kind.STRING and self._is_unrestricted(c, x)
        if c >> 5 & 63 != BODY or kind not in (Kind.STRING, Kind.KEY):
            self._add_tokens(*self._survey.of(thread))
        elif is_free and not is_unique:
            self._add_alike(thread, thread, (int(Kind.AFTER), 0, 0, f))
        elif (is_free or kind == Kind.KEY) and (found := self._with_new_key(thread)) is not None:
            new, closed = found
            before, self.row = self.row, np.zeros(self._words, np.int32)
            self._add_alike(thread, new if kind == Kind.KEY else (c, x, y, new[3]), closed)
            self._correct(thread, before)
        elif (
            not is_unique
            and (kind == Kind.STRING or c >> 35 != NO_LANGUAGE)
            and count_bits((plain := self._ordinary_row(thread)) & self._bodies.row) > MANY
        ):
            self._add_coarsely(thread, plain)
        else:
            self._add_tokens(*self._survey.of(thread))

    def _correct(self, thread: Thread, before: np.ndarray) -> None:
        """The row is right for keys (items) that are new. The tokens that make the key another are checked one by one, then
        `before` is added."""
        classes, pairs = self._survey.of(thread, ordinary=True)
        self.row &= ~pack_ids(pairs[:, 0], self._words)
        self._add_tokens(classes, pairs)
        self.row |= before

    def _with_new_key(self, thread: Thread) -> tuple[Thread, Thread] | None:
        """A thread of this key (item) that goes on as one without an entry that was not read before, and the thread after
        its quote; None where there may be none."""
        endings, kind, state = self._endings, thread[0] & 31, thread[0] >> 35
        if kind == Kind.KEY and state == NO_LANGUAGE:
            return None
        if kind == Kind.KEY and state and not endings.languages.is_universal(state):
            return None
        record = endings.reader.record(*thread)
        for letters in LETTERS:
            after = endings.reader.read(record, letters)
            closed = endings.reader.read(after, b'"') if after else 0
            if not closed:
                continue
            found = endings.reader.threads(after)[0]
            if kind == Kind.STRING or (found[1] & FIELD >= found[1] >> 21 & FIELD and found[0] >> 35 != NO_LANGUAGE):
                return found, endings.reader.threads(closed)[0]
        return None

    def _add_tokens(self, classes: list[Thread], pairs: np.ndarray, only: np.ndarray | None = None) -> None:
        """Adds the tokens of a survey that fit the budget."""
        fits, left = self._prices.fits, self._left
        if not self._is_first:  # what other threads have added need not be priced again
            ids = pairs[:, 0]
            pairs = pairs[self.row.view(np.uint32)[ids >> 5] >> (ids & 31).astype(np.uint32) & 1 == 0]
            wanted = set(pairs[:, 1].tolist())
        enough = np.array(
            [*((self._is_first or i in wanted) and fits(thread, left) for i, thread in enumerate(classes)), False]
        )
        chosen = pairs[enough[pairs[:, 1]], 0]
        found = pack_ids(chosen, self._words)
        self.row |= found if only is None else found & only

    def _is_unrestricted(self, c: int, x: int) -> bool:
        """Is the string unrestricted by a language?"""
        row = c >> 11 & ROW
        return x == 0 or (self._rows[row + 3] == 0 and self._endings.languages.is_universal(x))

    def _ordinary_row(self, thread: Thread) -> np.ndarray:
        """The ordinary mask of a thread."""
        row = np.zeros(self._words, np.int32)
        self._reader.machine.fill(self._reader.record(*thread), row)
        return row

    def _add_alike(self, thread: Thread, inside: Thread, closed: Thread) -> None:
        """In a string, or a key without an entry: the tokens that stay in it, after which it goes on as `inside`, and those that
        close it, after which it is `closed`."""
        c, x, y, f = inside
        missing, only = 0, None
        if c & 31 == Kind.STRING:
            least, most = self._rows[c >> 11 & ROW : (c >> 11 & ROW) + 2]
            missing, x = max(least - (y >> 24), 0), 0
            only = self._ordinary_row(thread) if missing or most >= 0 else None
        stays = np.zeros(self._words, np.int32)
        for count in range(min(missing, self._bodies.longest) + 1):  # of the characters that begin in a token
            after, (every, whole) = (c, x, y + (count << 24), f), self._bodies.of(count, or_more=count == missing)
            if self._prices.price(after) + CHARACTER < self._left:
                stays |= every
            elif self._prices.fits(after, self._left):
                stays |= whole
        self.row |= stays if only is None else stays & only
        self._add_tokens(*self._survey.of(closed, BODY_REMAINDERS), only)

    def _add_coarsely(self, thread: Thread, plain: np.ndarray) -> None:
        """In a string or key of a language that allows nearly everything: adds all tokens that stay in it at once, where the budget
        is enough for any of them."""
        c, x, y, f = thread
        if c & 31 == Kind.STRING:
            longest, starts = self._endings.lexemes.longest_string(c, x, y), [(int(Kind.AFTER), 0, 0, f)]
        else:
            longest, nodes = self._ends_of_key(c, x)
            starts = [(int(Kind.COLON) | node << 11, 0, 0, f) for node in nodes]
        if longest + max(map(self._prices.price, starts), default=INFINITE) < self._left:
            self.row |= plain & self._bodies.row
        fits, fails = np.zeros(self._words, np.int32), np.zeros(self._words, np.int32)
        for start in starts[:FEW_NODES]:
            classes, pairs = self._survey.of(start, BODY_REMAINDERS)
            enough = np.array([*(self._prices.fits(each, self._left) for each in classes), False])[pairs[:, 1]]
            fits |= pack_ids(pairs[enough, 0], self._words)
            fails |= pack_ids(pairs[~enough, 0], self._words)
        if len(starts) <= FEW_NODES:  # whichever of the values follows
            self.row |= plain & fits & ~fails

    def _ends_of_key(self, c: int, x: int) -> tuple[int, list[int]]:
        """An upper bound on the tokens that end a key, whichever it becomes; the nodes of the values that may follow."""
        row, state, endings = c >> 11 & ROW, c >> 35, self._endings
        keys = [self._rows[row + Object.KEYS] + i * Key.LENGTH for i in range(x & FIELD, x >> 21 & FIELD)]
        nodes = {int(self._rows[key + Key.NODE]) for key in keys if self._rows[key + Key.NODE] >= 0}
        other = endings.languages.ceiling(state) if state else 0
        longest = max([other, *(len(spelled(self._reader.name(key))) for key in keys)]) + 2
        is_known = not self._rows[row + Object.IMPLIED]  # else other keys may have to follow
        return longest if is_known else INFINITE, sorted(nodes.union(endings.frames.other_nodes(row)))


def count_bits(row: np.ndarray) -> int:
    return int(np.count_nonzero(np.unpackbits(row.view(np.uint8)).view(bool)))
