"""A token budget for JSON texts: the matcher, and the parts of its masks.

Near the end of the budget every token is checked, but not one by one: a kernel groups the tokens by the state that they
lead to (kernels/cpu/json_ends.py; in a string nearly all lead to one), and for each such class completion.py bounds the
number of tokens that end the text from there. Far from the end none of this is needed: growth.py bounds how much one
token can lengthen the shortest completion, so the number of safe steps is known ahead, and until then masks are the
ordinary ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import LimitExceeded
from ...kernels.cpu.json_call import SURVEY
from ...kernels.cpu.json_closers import BODY_REMAINDERS
from ...kernels.cpu.json_ends import CLASS_WORDS, QUOTED
from ...kernels.cpu.json_ends import Survey as Places
from ...kernels.cpu.json_step import NO_LANGUAGE, ROW
from ...kernels.cpu.json_text import BODY
from ...layout.json import ANY_STRING, ESCAPE, FIELD, Kind
from .. import greedy
from ..budget import costs_of
from ..budgeted import BudgetedMatcher, _ordinary
from ..canonical_matcher import _CanonicalRows
from ..epoch import FINISHED
from ..mask_array import as_integer
from ..matcher import Matcher
from .completion import Endings, endings_of
from .growth import growth_of
from .matcher import JsonMatcher

if TYPE_CHECKING:
    from ..constraint import Constraint

MOST_CLASSES = 1024  # tokens of further classes are forbidden: only near the end, where many keys or items must differ
TABLE = 4096
MANY = 4096  # tokens that stay in a string of a language: too many to be checked one by one
FEW_NODES = 8  # values that may follow a key
VOCABULARY = 0  # the number of the vocabulary's trie
LETTERS = (b"~~", b"x~", b"q7", b"zz", b"~", b"0")  # possible continuations of an ordinary key
Thread = tuple[int, int, int, int]


class Survey:
    """The kernel's survey of one thread, and its buffers."""

    def __init__(self, epoch: Any):
        self._epoch = epoch
        self.classes = np.zeros((MOST_CLASSES, CLASS_WORDS), np.int64)
        self.table = np.zeros(TABLE, np.int32)
        self.words = words = np.zeros(Places.LENGTH, np.int64)
        words[Places.CLASSES], words[Places.CAPACITY] = self.classes.ctypes.data, MOST_CLASSES
        words[Places.TABLE], words[Places.SIZE] = self.table.ctypes.data, TABLE
        self._address = int(words.ctypes.data)
        self._make_room(1 << 14)

    def _make_room(self, count: int) -> None:
        self.pairs = np.zeros((count, 2), np.int32)
        self.words[Places.PAIRS], self.words[Places.PAIR_CAPACITY] = self.pairs.ctypes.data, count

    def of(self, thread: Thread, which: int = VOCABULARY, ordinary: bool = False) -> tuple[list[Thread], np.ndarray]:
        """A thread of each class; pairs (token, class). They are valid until the caller's scratch ends."""
        self.words[Places.C : Places.ORDINARY + 1] = [*thread, which, ordinary]
        count = self._epoch.call(SURVEY, self._address)
        if count > len(self.pairs):
            self._make_room(2 * count)
            count = self._epoch.call(SURVEY, self._address)
        return self.classes[: int(self.words[Places.COUNT]), :4].tolist(), self.pairs[:count]


@dataclass(frozen=True)
class Body:
    """Tokens that stay in a string and end at the same place of a character or escape, by how many characters begin in them."""

    sub: int
    escape: int
    sample: bytes  # the bytes of one of them
    rows: dict[int, np.ndarray]  # by the number of characters
    row: np.ndarray  # all of them


def bodies_of(endings: Endings) -> list[Body]:
    """The vocabulary's bodies: computed once, from an unrestricted string."""
    tables = endings.machine.program.tables
    known: list[Body] | None = getattr(tables, "bodies", None)
    if known is None:
        known = tables.bodies = _make_bodies(endings)
    return known


def _make_bodies(endings: Endings) -> list[Body]:
    program = endings.machine.program
    with endings.scratch():
        classes, pairs = survey_of(endings.machine).of((int(Kind.STRING) | ANY_STRING << 11, 0, 0, 0))
        pairs = pairs.copy()
    bodies, characters, words = [], program.tables.strings.characters, program.vocab.words
    for number, (c, _, y, _) in enumerate(classes):
        if c & 31 != Kind.STRING and not c & QUOTED:
            continue
        sub, escape = (c >> 5 & 63, y & ESCAPE) if c & 31 == Kind.STRING else (int(BODY), 0)
        tokens = pairs[pairs[:, 1] == number, 0]
        counts = characters[tokens]
        rows = {int(n): packed(tokens[counts == n], words) for n in np.unique(counts)}
        sample = program.tables.shared.spelled(int(tokens[0]))
        bodies.append(Body(sub, escape, sample, rows, packed(tokens, words)))
    return bodies


def every_body(endings: Endings) -> np.ndarray:
    """All tokens that stay in a string."""
    tables = endings.machine.program.tables
    known: np.ndarray | None = getattr(tables, "every_body", None)
    if known is None:
        known = np.zeros(endings.machine.program.vocab.words, np.int32)
        for body in bodies_of(endings):
            known |= body.row
        tables.every_body = known
    return known


def count_bits(row: np.ndarray) -> int:
    return int(np.unpackbits(row.view(np.uint8)).sum())


def packed(tokens: np.ndarray, words: int) -> np.ndarray:
    bits = np.zeros(words * 32, np.uint8)
    bits[tokens] = 1
    return np.packbits(bits, bitorder="little").view(np.int32)


class NarrowMask:
    """The mask of a config: tokens after which fewer than `left` more can end the text. Stop ids left out."""

    def __init__(self, epoch: Any, left: int):
        self._endings, self._left = endings_of(epoch), left
        self._epoch, self._survey = self._endings.machine, survey_of(self._endings.machine)
        self._rows = epoch.program.json.rows
        self._words = epoch.program.vocab.words
        self.row = np.zeros(self._words, np.int32)

    def fill(self, state: int) -> np.ndarray:
        for thread in self._endings.threads_of(state):
            with self._endings.scratch():
                self._add(thread)
        row, twins = self.row, self._epoch.program.vocab.trie.twins.reshape(-1, 2)
        for token, same in twins.tolist():
            if row[same >> 5] >> (same & 31) & 1:
                row.view(np.uint32)[token >> 5] |= np.uint32(1 << (token & 31))
        return row

    def _add(self, thread: Thread) -> None:
        c, x, y, f = thread
        kind, sub = c & 31, c >> 5 & 63
        if sub == BODY and kind == Kind.STRING and self._is_plain(c, x):
            if not (f and self._endings.is_unique(f)):
                self._add_string(c, y, f, (int(Kind.AFTER), 0, 0, f))
                return
            found = self._ordinary(thread)
            if found is not None:
                before = self._begin()
                self._add_string(c, y, found[0][3], found[1])
                self._put_right(thread, before)
                return
        elif sub == BODY and kind == Kind.KEY and (found := self._ordinary(thread)) is not None:
            before = self._begin()
            self._add_key(*found)
            self._put_right(thread, before)
            return
        elif sub == BODY and kind in (Kind.STRING, Kind.KEY) and not (f and self._endings.is_unique(f)):
            plain = self._plain(thread)
            if count_bits(plain & every_body(self._endings)) > MANY:
                self._add_coarsely(thread, plain)
                return
        self._add_tokens(*self._survey.of(thread))

    def _begin(self) -> np.ndarray:
        before = self.row
        self.row = np.zeros(self._words, np.int32)
        return before

    def _put_right(self, thread: Thread, before: np.ndarray) -> None:
        """The row is right for ordinary keys (items). Tokens that make the key another are surveyed and corrected, then
        `before` is added."""
        classes, pairs = self._survey.of(thread, ordinary=True)
        self.row &= ~packed(pairs[:, 0], self._words)
        self._add_tokens(classes, pairs)
        self.row |= before

    def _ordinary(self, thread: Thread) -> tuple[Thread, Thread] | None:
        """An ordinary thread of this key (item), which has no place of its own and was not read before, and the thread
        after its quote; None where there may be none."""
        endings, kind, state = self._endings, thread[0] & 31, thread[0] >> 35
        if kind == Kind.KEY and state == NO_LANGUAGE:
            return None
        if kind == Kind.KEY and state and not endings.is_universal(state):
            return None
        record = endings.record(*thread)
        for letters in LETTERS:
            after = endings.read(record, letters)
            closed = endings.read(after, b'"') if after else 0
            if not closed:
                continue
            found = endings.threads(after)[0]
            if kind == Kind.STRING or (found[1] & FIELD >= found[1] >> 21 & FIELD and found[0] >> 35 != NO_LANGUAGE):
                return found, endings.threads(closed)[0]
        return None

    def _fits(self, c: int, x: int, y: int, f: int) -> bool:
        return self._endings.fits((c, x, y, f), self._left)

    def _add_tokens(self, classes: list[Thread], pairs: np.ndarray, only: np.ndarray | None = None) -> None:
        """Adds the tokens of a survey that fit the budget."""
        enough = np.array([*(self._fits(*thread) for thread in classes), False])
        chosen = pairs[enough[pairs[:, 1]], 0]
        found = packed(chosen, self._words)
        self.row |= found if only is None else found & only

    # ------------------------------------------------------------------ languages that allow nearly everything

    def _plain(self, thread: Thread) -> np.ndarray:
        """The ordinary mask of a thread."""
        row = np.zeros(self._words, np.int32)
        self._epoch.fill(self._endings.record(*thread), row)
        return row

    def _add_coarsely(self, thread: Thread, plain: np.ndarray) -> None:
        """In a string or key of a language: adds all tokens that stay in it at once, where the budget is enough for any of them."""
        c, x, y, f = thread
        if c & 31 == Kind.STRING:
            longest = self._endings.longest_string(c, x, y)
            starts = [(int(Kind.AFTER), 0, 0, f)]
        else:
            nodes, longest = self._endings.values_of_key(c, x, f)
            starts = [(int(Kind.COLON) | node << 11, 0, 0, f) for node in nodes]
        rest = self._endings.cost((int(Kind.AFTER), 0, 0, f))
        if rest is None:
            return
        if longest + rest < self._left:
            self.row |= plain & every_body(self._endings)
        fits, fails = np.zeros(self._words, np.int32), np.zeros(self._words, np.int32)
        for start in starts[:FEW_NODES]:
            classes, pairs = self._survey.of(start, BODY_REMAINDERS)
            enough = np.array([*(self._fits(*each) for each in classes), False])[pairs[:, 1]]
            fits |= packed(pairs[enough, 0], self._words)
            fails |= packed(pairs[~enough, 0], self._words)
        if len(starts) <= FEW_NODES:  # whichever of the values follows
            self.row |= plain & fits & ~fails

    # ------------------------------------------------------------------ strings

    def _is_plain(self, c: int, x: int) -> bool:
        """Is the string unrestricted by a language?"""
        if x == 0:
            return True
        row = c >> 11 & ROW
        return self._rows[row + 3] == 0 and self._endings.is_universal(x)

    def _add_string(self, c: int, y: int, f: int, behind: Thread) -> None:
        """In a string: the tokens that stay in it, and those that close it."""
        row, count = c >> 11 & ROW, y >> 24
        least, most = (int(self._rows[row + i]) for i in range(2))
        for body in bodies_of(self._endings):
            inside = int(Kind.STRING) | body.sub << 5 | row << 11
            if count >= least and most < 0:
                if self._fits(inside, 0, count << 24 | body.escape, f):
                    self.row |= body.row
                continue
            known: dict[int, bool] = {}
            for characters, tokens in body.rows.items():
                after = count + characters
                if 0 <= most < after:
                    continue
                missing = max(least - after, 0)
                if missing not in known:
                    known[missing] = self._fits(inside, 0, after << 24 | body.escape, f)
                if known[missing]:
                    self.row |= tokens
        only = None if count >= least and most < 0 else self._closing(least - count, most - count if most >= 0 else -1)
        self._add_tokens(*self._survey.of(behind, BODY_REMAINDERS), only)

    def _closing(self, least: int, most: int) -> np.ndarray:
        """The tokens that close a string after at least `least` and at most `most` characters."""
        closers = self._epoch.program.tables.strings.closers
        good = closers[:, 1] >= least
        if most >= 0:
            good &= closers[:, 1] <= most
        return packed(closers[good, 0], self._words)

    # ------------------------------------------------------------------ keys

    def _add_key(self, ordinary: Thread, behind: Thread) -> None:
        """In a key that has no place of its own: the tokens that stay in it, and those that close it."""
        endings, record = self._endings, self._endings.record(*ordinary)
        for body in bodies_of(self._endings):
            after = endings.read(record, body.sample)
            if after and self._fits(*endings.threads(after)[0]):
                self.row |= body.row
        self._add_tokens(*self._survey.of(behind, BODY_REMAINDERS))


def survey_of(epoch: Any) -> Survey:
    if epoch.survey is None:
        epoch.survey = Survey(epoch)
    found: Survey = epoch.survey
    return found


# Tokens left; a plan (tokens that end the text) where the computed completion takes more tokens than are left; how many
# steps are safe, whatever they are.
Budget = tuple[int, "tuple[int, ...] | None", int]


class JsonBudgetedMatcher(BudgetedMatcher, JsonMatcher):
    """A matcher of JSON texts that end, without the stop id, within `max_tokens` tokens."""

    __slots__ = ("_near",)

    def __init__(self, constraint: Constraint, max_tokens: int):
        self._near: tuple[Any, np.ndarray] | None = None  # a head, and its mask
        super().__init__(constraint, max_tokens)
        left = self._start[4][0]
        self._pay((left, None, 0))
        self._pay(self._settled(left))
        self._start = self._head

    def _settled(self, left: int) -> Budget:
        """The budget of this state, with the number of safe steps from here."""
        fewest = self._made(_fewest)
        growth = growth_of(self._head[1])
        safe = max((left - fewest) // (growth + 1), 0)
        return left, None, safe

    # ------------------------------------------------------------------ masks

    def fill_mask(self, mask: np.ndarray, row: int = 0) -> bool:
        """As Matcher's."""
        if self._head[4][2] > 0:
            return JsonMatcher.fill_mask(self, mask, row)
        return Matcher.fill_mask(self, mask, row)

    def _probe(self) -> JsonBudgetedMatcher:
        other: Any = super()._probe()
        other._near = self._near
        return other  # type: ignore[no-any-return]

    def _known_row(self) -> np.ndarray | None:
        epoch, state = self._head[1:3]
        found: np.ndarray | None = epoch.rows[state]
        return found

    def _new_row(self) -> np.ndarray:
        head = self._head
        if self._near is not None and self._near[0] is head:
            return self._near[1]
        bits = self._made(self._narrowed)
        self._near = self._head, bits
        return bits

    def _row(self) -> np.ndarray:
        bits = self._known_row()
        return self._new_row() if bits is None else bits

    def _narrowed(self, epoch: Any, state: int) -> np.ndarray:
        left, plan, safe = self._head[4]
        if safe > 0 or state == FINISHED:
            found: np.ndarray = epoch.row(state)
            return found
        row = NarrowMask(epoch, left).fill(state)
        plan = costs_of(epoch).plan(epoch, state) if plan is None else plan
        if plan:
            row.view(np.uint8)[plan[0] >> 3] |= 1 << (plan[0] & 7)
        if epoch.accepting[state]:
            row |= epoch.program.facts.stop_row
        return row

    @property
    def is_narrowed(self) -> bool:
        """As BudgetedMatcher's."""
        if self.is_finished or self._head[4][2] > 0:
            return False
        return not np.array_equal(self._new_row(), self._made(_ordinary))

    # ------------------------------------------------------------------ reading

    def advance(self, token: int) -> bool:
        """Reads one token; False where it is not allowed, and then nothing has changed."""
        head = self._head
        if type(token) is not int:
            token = as_integer(token, "advance(token) takes a token id")
        left, plan, safe = head[4]
        if safe <= 0 and head[2] != FINISHED and token not in self._stops:
            if not 0 <= token < self._ids or not self._new_row()[token >> 5] >> (token & 31) & 1:
                return False
            head = self._head
        if not super(BudgetedMatcher, self).advance(token):
            return False
        if self._head[2] == FINISHED:
            return True
        if safe > 1:
            self._pay((left - 1, None, safe - 1))
            return True
        try:
            self._pay((left - 1, None, 0))
            if self._made(_fewest) > left - 1:  # only the next token of a plan may lead to that
                plan = self._plan_of(head) if plan is None else plan
                if not plan or plan[0] != token:
                    self._return_to(head)
                    return False
                self._pay((left - 1, plan[1:], 0))
            else:
                self._pay(self._settled(left - 1))
        except LimitExceeded:
            self._return_to(head)
            raise
        return True

    def _plan_of(self, head: Any) -> tuple[int, ...]:
        here, self._head = self._head, head
        try:
            return self._made(_plan)
        finally:
            self._head = here

    def advance_bytes(self, data: bytes) -> bool:
        """Reads any bytes as one step, which costs as many tokens as the longest-match tokenization of the bytes has."""
        head = self._head
        if not super(BudgetedMatcher, self).advance_bytes(data) or self._head is head:
            return self._head is head and self.is_finished and not data
        left = head[4][0]
        if not data:
            self._pay(head[4])
            return True
        left -= greedy.cost(self._automaton.program.vocab, bytes(data))
        try:
            self._pay((left, None, 0))
            if left < 0 or self._made(_fewest) > left:
                self._return_to(head)
                return False
            self._pay(self._settled(left))
        except LimitExceeded:
            self._return_to(head)
            raise
        return True


class CanonicalJsonBudgetedMatcher(_CanonicalRows, JsonBudgetedMatcher):
    """The same, over canonical tokens."""

    __slots__ = ()


def _fewest(epoch: Any, state: int) -> int:
    return costs_of(epoch).fewest(epoch, state)


def _plan(epoch: Any, state: int) -> tuple[int, ...]:
    return costs_of(epoch).plan(epoch, state)
