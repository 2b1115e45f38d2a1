"""What a view of JSON Schema (view.py) and one of texts with schemas in them (parts/view.py) have in common."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from grammarlm.errors import LimitExceeded
from grammarlm.layout.table import DEAD
from grammarlm.masks.canvas.json.states.explored import States
from grammarlm.masks.canvas.protocol import Undecided
from grammarlm.masks.canvas.stack.grid import StackGrid
from grammarlm.masks.canvas.tables.unrolled import Starts, Tokens, Unrolled, marked_tokens
from grammarlm.masks.filters.budget import costs_of
from grammarlm.masks.protocol import FINISHED, Epoch

if TYPE_CHECKING:
    from grammarlm.masks.automaton import Automaton
    from grammarlm.masks.machines.json.configs import Config
    from grammarlm.masks.matcher import Matcher
    from grammarlm.vocab.vocabulary import Vocabulary

MOST_KNOWN = 32


class UnrolledView:
    """States of the unrolled machine, and what the vocabulary's tokens do to them."""

    vocab: Vocabulary
    has_free_keys: bool
    long_lengths: tuple[int, ...]  # the maxLengths that are not always counted, sorted
    spelled: tuple[bytes, ...]  # keys of languages of few strings

    def __init__(self, automaton: Automaton):
        self._automaton = automaton
        self.vocab = automaton.program.vocab
        self._known: dict[States, Unrolled] = {}
        self._unmade: dict[States, str] = {}  # those that would have too many states, and what is said of it

    def _made(self, states: States) -> Unrolled:
        raise NotImplementedError

    def _after(
        self, found: Unrolled, matcher: Matcher, keys: tuple[bytes, ...] = (), begun: int = -1
    ) -> tuple[Unrolled, Starts]:
        """Where a matcher stands: its states are there, but for texts that no token of the vocabulary spells. `keys` and `begun`:
        see Explorer.starts_of."""
        raise NotImplementedError

    def configs_of(self, matcher: Matcher) -> list[Config]:
        """Of the schemas that a matcher stands in, the config of each."""
        raise NotImplementedError

    def reads(self, after: Matcher | None, tokens: Sequence[int], ends: bool) -> bool:
        """Does the machine itself read these tokens, after what a matcher has read? `ends`: and may the text end there?"""
        with self._automaton.lock:
            epoch, state = self._read(after, tokens)
            return state != DEAD and (not ends or bool(epoch.accepting[state]))

    def fewest_after(self, after: Matcher | None, tokens: Sequence[int]) -> int:
        """So many more tokens are enough to end a text that begins with these; INFINITE where that is not known."""
        with self._automaton.lock:
            epoch, state = self._read(after, tokens)
            return costs_of(epoch).falling(epoch, state)

    def _read(self, after: Matcher | None, tokens: Sequence[int]) -> tuple[Epoch, int]:
        """The state after these tokens, or DEAD. An epoch that many completions have filled is renewed once."""
        program = self._automaton.program
        program.clock.begin_call()
        term = program.start if after is None else after._head[1].terms[after._head[2]]
        for is_last in (False, True):
            epoch, state = self._automaton.renew(term)
            try:
                for token in tokens:
                    state = epoch.after_token(state, token)
                    if state == DEAD:
                        break
                return epoch, state
            except LimitExceeded:
                if is_last or not epoch.is_full:
                    raise
        raise AssertionError

    def lattice(
        self, states: States, length: int, after: Matcher | None, room: int, check: Callable[[], None]
    ) -> StackGrid:
        """Rows of states that know this."""
        found = self._of(states._replace(keys=tuple(sorted({*states.keys, *self.spelled}))))
        if after is None:
            starts = found.starts(found.begins)
        elif after.is_finished:
            starts = [(FINISHED, ())]
        else:
            found, starts = self._after(found, after)
        return StackGrid(found.table, found.classes, length, starts, room, check)

    def marked(
        self, states: States, after: Matcher | None, keys: tuple[bytes, ...], begun: int
    ) -> tuple[Unrolled, Starts]:
        """States that know marks, and (control, stack) where rows begin: see Explorer.starts_of."""
        found = self._of(states._replace(keys=tuple(sorted({*states.keys, *self.spelled}))))
        if after is not None and not after.is_finished:
            return self._after(found, after, keys, begun)
        return found, [(FINISHED, ())] if after is not None else found.starts(found.begins)

    def tokens(self, states: States) -> Tokens:
        """The tokens as these states read them."""
        return Tokens(self.vocab, marked_tokens(self.vocab) if states.marks else None)

    def _of(self, states: States) -> Unrolled:
        found = self._known.get(states)
        if found is None:
            if states in self._unmade:
                raise Undecided(self._unmade[states])
            try:
                found = self._keep(states, self._made(states))
            except Undecided as error:  # seconds, that each row would take again
                self._unmade[states] = str(error)
                raise
        return found

    def _keep(self, states: States, found: Unrolled) -> Unrolled:
        if len(self._known) >= MOST_KNOWN:
            self._known.clear()
        self._known[states] = found
        return found
