"""The state of one text in its grammar.

A matcher is two references, to the constraint and to its head, a place on a trail of steps (trail.py), so `fork` copies
a reference and `rollback` goes back along the trail. It belongs to one thread at a time; the constraint is shared by
all.

In the ordinary case everything is made already: `fill_mask` is one list lookup and one row copy, `advance` one call of
a kernel. What is missing is made under the automaton's lock (`_made`). Of the automaton a matcher knows an epoch and
the number of a state in it:

    epoch.rows[state], epoch.row(state)        the mask row, None where it has not been made; makes it
    epoch.accepting[state]                     may the text end here?
    epoch.peek_token(address, state, token)    the state after a token, without the lock; negative where it must be made
    epoch.after_token(state, token)            the same, made; 0 where the token is refused
    epoch.after_bytes(state, data)             likewise for bytes
    epoch.completion(state), ...               how the text can end (budget.py)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from grammarlm.errors import GrammarError, LimitExceeded, MaskError, brief, check_type
from grammarlm.masks.filters.budget import INFINITE, costs_of
from grammarlm.masks.saved import snapshot

from . import forced
from .mask_array import as_integer, as_mask
from .messages import explain
from .protocol import FINISHED, Epoch, row_of
from .trail import FIRST_STEP, STRIDE, Budget, Head, Trail, back, before, first_head

if TYPE_CHECKING:
    from .compiled import Compiled

# The caller's mask, checked once; the same as an array; its rows; the address of the first, and the bytes from each to the
# next, 0 where a row is not contiguous.
Target = tuple[object, np.ndarray, int, int, int]
NO_TARGET: Target = (object(), np.empty((0, 0), np.int32), 0, 0, 0)
Made = TypeVar("Made")


class Matcher:
    """Reads tokens and gives the mask of those that may come next."""

    __slots__ = (
        "_automaton",
        "_constraint",
        "_everything",
        "_head",
        "_ids",
        "_narrowed",
        "_own",
        "_start",
        "_stops",
        "_target",
        "_words",
    )

    def __init__(self, constraint: Compiled):
        automaton = constraint._automaton
        facts = automaton.program.facts
        self._constraint = constraint
        self._automaton = automaton
        self._stops = facts.stops
        self._words = automaton.program.vocab.words
        self._everything = facts.everything
        self._target = NO_TARGET
        self._narrowed: tuple[Head, np.ndarray, bool] | None = None  # the last narrowed row: filters/matcher.py
        self._ids = len(facts.is_text)
        with automaton.lock:
            automaton.program.clock.begin_call()  # where the epoch is full, the start is made in a new one
            self._stand(*automaton.renew(automaton.program.start))

    def _stand(self, epoch: Epoch, state: int, budget: Budget | None = None) -> None:
        """Begins the text here."""
        self._head: Head = first_head(epoch, state, budget)
        self._start: Head = self._head
        self._own: Trail | None = self._head[0]  # no other matcher shares it, and it ends at the head

    # ------------------------------------------------------------------ masks

    def fill_mask(self, mask: np.ndarray, row: int = 0) -> bool:
        """Writes the mask of the next token into a row; False where every token is allowed, so that nothing need be applied."""
        target = self._target
        if mask is not target[0]:
            target = self._take(mask)
        _, array, rows, _, _ = target
        if type(row) is not int or not 0 <= row < rows:
            row = checked(row, rows)
        head = self._head
        bits = head[1].rows[head[2]]
        if bits is None:
            try:
                bits = self._new_row()
            except BaseException:  # fail closed: whatever the error, only stop tokens are allowed
                array[row] = self._automaton.program.facts.stop_row
                raise
        array[row] = bits
        return self._everything is None or not np.array_equal(bits, self._everything)

    def _take(self, mask: np.ndarray) -> Target:
        """Another mask than in the call before."""
        array = as_mask(mask, self._words)
        row_bytes = array.strides[0] if array.strides[1] == 4 else 0
        self._target = target = mask, array, len(array), array.ctypes.data, row_bytes
        return target

    def _fill_nodes(self, tokens: list[int], parents: list[int], array: np.ndarray) -> list[bool] | None:
        """The rows of a draft tree where nothing need be made for them; None: node by node (draft_tree.py)."""
        return None

    def _known_row(self) -> np.ndarray | None:
        """The row of fill_mask if it is cached."""
        return self._head[1].rows[self._head[2]]

    def _fill_known(self, array: np.ndarray, row: int) -> bool | None:
        """As fill_mask where nothing has to be made; else None. The array has been taken, and has this row."""
        bits = self._known_row()
        if bits is None:
            return None
        array[row] = bits
        return self._everything is None or not np.array_equal(bits, self._everything)

    def _row(self) -> np.ndarray:
        """The row of fill_mask, read only."""
        bits = self._known_row()
        return self._new_row() if bits is None else bits

    def _try_row(self) -> np.ndarray | None:
        """The row, made without the lock; None where something else must be made first."""
        epoch, state = self._head[1:3]
        found: np.ndarray | None = epoch.try_row(state)
        return found

    @property
    def _rows_in_parallel(self) -> bool:
        return bool(self._head[1].rows_in_parallel)

    def _new_row(self) -> np.ndarray:
        bits = self._try_row()
        return self._made(row_of) if bits is None else bits

    def _canonical_row(self) -> np.ndarray | None:
        """All ids that may follow the last token, whatever the grammar says; None: any (filters/matcher.py)."""
        return None

    # ------------------------------------------------------------------ reading

    def advance(self, token: int) -> bool:
        """Reads one token; False where it is not allowed, and then nothing has changed."""
        trail, epoch, state, _, budget, at = self._head
        if type(token) is not int:
            token = as_integer(token, "advance(token) takes a token id")
        if token in self._stops:
            if state == FINISHED or not epoch.accepting[state]:
                return False
            self._step(FINISHED, token, budget)
            return True
        if not 0 <= token < self._ids:
            return False
        tables = epoch.tables  # its arrays must outlive the call
        after = epoch.peek_token(tables.address, state, token)
        if after > 0 and trail is self._own and len(trail) == (at := at + STRIDE):  # _step inlined, for most tokens
            trail.append(after)
            trail.append(token)
            trail.append(None)
            self._head = (trail, epoch, after, token, None, at)
            return True
        if after < 0:
            after = self._after(token)
        if not after:
            return False
        self._step(after, token)
        return True

    def _step(self, state: int, step: int | bytes, budget: Budget | None = None) -> None:
        """One step on, to a state of the head's epoch."""
        trail, epoch, _, _, _, at = self._head
        at += STRIDE
        if trail is self._own and len(trail) == at:  # longer where Ctrl-C interrupted the lines below
            trail += (state, step, budget)
        else:  # other matchers that share this trail may have read another token here
            self._own = trail = [self._head, epoch, state, step, budget]
            at = FIRST_STEP
        self._head = (trail, epoch, state, step, budget, at)

    def _after(self, token: int) -> int:
        """Separate from advance: a closure made there would slow down every call of it."""
        return self._made(lambda epoch, state: epoch.after_token(state, token))

    def advance_bytes(self, data: bytes) -> bool:
        """Reads any bytes as one step; False where they are not allowed as a whole, and then nothing has changed."""
        check_type(data, (bytes, bytearray, memoryview), "advance_bytes(data) takes bytes", "write text.encode()")
        data = bytes(data)
        if self.is_finished:
            return not data
        after = self._made(lambda epoch, state: epoch.after_bytes(state, data))
        if not after:
            return False
        self._step(after, data)
        return True

    def validate(self, tokens: Iterable[int]) -> int:
        """The number of leading tokens that can be read in sequence; nothing changes."""
        check_type(tokens, Iterable, "validate(tokens) takes token ids one after another")
        head = self._head
        dimensions = getattr(tokens, "ndim", 1)
        if dimensions != 1:
            raise TypeError(
                f"validate(tokens) takes token ids one after another, not an array of {dimensions} dimensions"
            )
        try:
            count = 0
            for token in tokens:
                if not self.advance(token):
                    break
                count += 1
            return count
        finally:
            self._return_to(head)

    def _made(self, make: Callable[[Epoch, int], Made]) -> Made:
        """Runs something slow at this state under the lock, in a new epoch where the old one is full."""
        automaton = self._automaton
        with automaton.lock:
            automaton.program.clock.begin_call()
            epoch, state = self._head[1:3]
            for last in (False, True):
                if epoch is not automaton.epoch or epoch.is_full:
                    if state != FINISHED:
                        epoch, state = automaton.renew(epoch.terms[state])
                    self._renew(epoch, state)
                try:
                    return make(epoch, state)
                except LimitExceeded:
                    if last or not epoch.is_full:
                        raise
                except RecursionError:
                    epoch.close()
                    raise LimitExceeded("the grammar is nested too deeply for this process's recursion limit") from None
                except GrammarError:
                    raise
                except BaseException:  # Ctrl-C halfway: half-made states are not used again
                    epoch.close()
                    raise
        raise AssertionError("unreachable")

    def _renew(self, epoch: Epoch, state: int) -> None:
        """Continues at the same place of the text, with a new epoch's numbers."""
        _, _, _, step, budget, _ = self._head
        trail = [before(self._head), epoch, state, step, budget]
        self._own, self._head = trail, (trail, epoch, state, step, budget, FIRST_STEP)

    # ------------------------------------------------------------------ rollback, fork, snapshot

    def rollback(self, n: int) -> None:
        """Takes back the last n accepted steps (tokens, stop ids, or byte strings)."""
        n = as_integer(n, "rollback(n) takes the number of steps to take back")
        if n < 0:
            raise ValueError(f"rollback({n}): it takes the number of steps to take back, 0 or more")
        self._return_to(back(self._head, n))

    def _return_to(self, head: Head) -> None:
        self._head = head
        if head[0] is self._own:
            del self._own[head[5] + STRIDE :]

    def fork(self) -> Matcher:
        """An independent matcher at the same place."""
        self._own = None  # both begin trails of their own
        return self._probe()

    def _probe(self) -> Matcher:
        """A temporary fork for one call; this matcher does not change."""
        other = object.__new__(type(self))
        for name in Matcher.__slots__:
            setattr(other, name, getattr(self, name))
        other._own = None
        return other

    __copy__ = fork

    def __deepcopy__(self, memo: object) -> Matcher:
        return self.fork()

    def __reduce__(self) -> tuple[object, ...]:
        """Pickled as its constraint and the steps it has read."""
        return snapshot.restore, (self._constraint, self.snapshot())

    def _at(self, head: Head) -> Matcher:
        """This matcher, moved to a head of its own past or future."""
        self._head, self._own = head, None
        return self

    def reset(self) -> None:
        """Goes back to the start of the text."""
        _, epoch, state, _, budget, _ = self._start
        self._stand(epoch, state, budget)

    def snapshot(self) -> bytes:
        """The steps read so far, to continue elsewhere: `constraint.restore(snapshot)`, in this process or another."""
        budget = self._start[4]
        return snapshot.take(self._constraint.fingerprint, self._head, None if budget is None else budget[0])

    def __repr__(self) -> str:
        state = "finished" if self.is_finished else "may end" if self.is_accepting else "open"
        return f"<{type(self).__name__} of {brief(self._constraint.grammar, 100)}, {state}>"

    # ------------------------------------------------------------------ state

    @property
    def is_accepting(self) -> bool:
        """Is a stop id allowed now?"""
        head = self._head
        return head[2] == FINISHED or bool(head[1].accepting[head[2]])

    @property
    def is_finished(self) -> bool:
        """Has a stop id been read?"""
        return self._head[2] == FINISHED

    @property
    def min_tokens_left(self) -> int:
        """This many tokens are enough to end the text, stop id not counted; the true minimum may be lower."""
        if self.is_finished:
            return 0
        fewest = self._made(lambda epoch, state: costs_of(epoch).falling(epoch, state))
        if fewest >= INFINITE:
            raise LimitExceeded(
                "no end of the text is known, or the shortest is too long to be written down, so its tokens are not counted"
            )
        return fewest

    @property
    def is_narrowed(self) -> bool:
        """Does a budget forbid a token now that the grammar allows?"""
        return False

    # ------------------------------------------------------------------ forced tokens and bytes, refusals

    def forced_tokens(self, limit: int = 256) -> list[int]:
        """The tokens that must come next: each the only bit of its mask. At most `limit`; they end before a stop id."""
        return forced.tokens(self, as_integer(limit, "forced_tokens(limit) takes a number of tokens"))

    def forced_bytes(self, limit: int = 4096) -> bytes:
        """The bytes that must come next, in any tokenization. At most `limit`; they end where the text may."""
        return forced.text(self, as_integer(limit, "forced_bytes(limit) takes a number of bytes"))

    def explain(self, token: int) -> str:
        """Why the token may not come next, in at most 500 characters; "allowed" where it may."""
        return explain.explain(self, as_integer(token, "explain(token) takes a token id"))


def checked(row: int, rows: int) -> int:
    row = as_integer(row, "fill_mask(mask, row) takes a row number")
    if not 0 <= row < rows:
        raise MaskError(f"row {row} is beyond the mask: its {rows} rows are 0 to {rows - 1}")
    return row
