"""The protocol of machines: what a Program and an Epoch offer to matchers, batches, budgets, explanations, parts and CSR.

A **program** is what all texts of a constraint share; it never changes. An **epoch** is one generation of states: it owns
the numbers of states and everything that depends on them. An epoch that is full is replaced by a new, empty one
(automaton.py), so a number is valid in its epoch only; a **term** is what a state stands for without numbers.

    state 0 DEAD        a refused text
    state 1 FINISHED    a text whose stop token has been read
    other states        a text that can be completed

`tests/masks/machines/machine_law.py` holds every machine to this protocol, by brute force over a small vocabulary. A new machine
derives from `ProgramDefaults` and `EpochDefaults`, which have the members that most machines need not define, and defines those of
`Program` and `Epoch`.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

import numpy as np

from grammarlm.errors import GrammarError, UnsatisfiableGrammar
from grammarlm.layout.table import DEAD

from .token_facts import TokenFacts, allowed_bytes

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from grammarlm.masks.runtime.limits import Clock, Limits
    from grammarlm.vocab.vocabulary import Vocabulary

FINISHED = 1  # the state after a stop token
Value = TypeVar("Value")
Value_co = TypeVar("Value_co", covariant=True)
StateTerm = Any  # what a state stands for, without numbers: only its machine reads it


class ByState(Protocol[Value_co]):
    """Something that each state has: a list, or an object that computes it."""

    def __getitem__(self, state: int, /) -> Value_co: ...


class Computed(Generic[Value]):
    """Something that is computed when it is asked for, by state."""

    __slots__ = ("_of",)

    def __init__(self, of: Callable[[int], Value]):
        self._of = of

    def __getitem__(self, state: int, /) -> Value:
        return self._of(state)


class Tables(Protocol):
    """What a kernel reads while a caller holds it."""

    @property
    def address(self) -> int: ...


class ProgramDefaults:
    """The members of a program that most machines need not define."""

    matcher_class: type | None = None  # instead of Matcher
    filtered_class: type | None = None  # instead of FilteredMatcher
    costs_class: Callable[[], Any] | None = None  # instead of CompletionCosts (filters/budget.py)
    reads_whole_tokens = False  # are there given tokens in a text, which no bytes spell?

    named_texts: frozenset[int] = frozenset()  # tokens of ordinary text that the grammar asks for by id
    caps: tuple[str, ...] = ()  # bounds of the language beyond its grammar, for the report
    tokens_spell_all: bool

    @property
    def checks_ends(self) -> bool:
        """Does an epoch decide state by state whether tokens can complete a text (`is_usable`)?"""
        return not self.tokens_spell_all

    def refuse_tokens(self) -> GrammarError:
        """The error where no tokens of the vocabulary spell a text."""
        return UnsatisfiableGrammar(
            "no sequence of this vocabulary's tokens spells a text of the grammar; "
            "the vocabulary is missing tokens for some of its bytes"
        )

    def forget(self) -> None:
        """Drops what was derived, when an epoch is replaced; it is derived again on demand. By default nothing is kept."""


class Program(Protocol):
    """What all texts of a constraint share: what a machine adds to `ProgramDefaults`."""

    vocab: Vocabulary
    limits: Limits
    facts: TokenFacts
    tokens_spell_all: bool  # can tokens spell whatever bytes can? Else an epoch `checks_ends`

    @property
    def lock(self) -> AbstractContextManager[object]: ...  # of the automaton: whoever makes states or rows holds it

    @property
    def start(self) -> StateTerm: ...  # the term of a text's beginning

    @property
    def clock(self) -> Clock: ...  # restarted with each call of a matcher

    @property
    def checks_ends(self) -> bool: ...

    def refuse_tokens(self) -> GrammarError: ...


class Bordered(Protocol):
    """What borders ask of the epochs of their parts (machines/parts)."""

    has_table: bool = False  # are transitions in a table that kernels walk (machines/regular/epoch.py)?
    writes_json: bool = False  # are its texts JSON values? Then `closing` says how far they are from their end
    has_tags: bool = (
        False  # are its texts parts with fixed texts between them, so that it pays to look for what is forced?
    )

    def next_bytes(self: Epoch, state: int) -> np.ndarray:
        """bool [256]: which bytes can come next; read from the row where each byte is a token."""
        tokens = self.program.facts.byte_tokens
        if (tokens < 0).any():
            return np.array([self.after_bytes(state, bytes([byte])) for byte in range(256)]) > DEAD
        return allowed_bytes(self.row(state), tokens)

    def closing(self, state: int, most: int) -> tuple[int, bool]:
        """Of JSON: at least how many brackets close before the text may end (counted up to `most`), and does a quote come
        first?"""
        return 0, False

    def spelled(self, state: int, data: bytes, at: int) -> list[tuple[int, int]]:
        """(number of bytes, state after) of each token that may come and whose bytes stand in `data` at an offset: asked
        where texts are whole tokens."""
        return []


class Enumerable(Protocol):
    """How the states after many tokens are found (budgets, and automata for devices in masks/csr)."""

    targets_at_once: int = 0  # the targets of up to so many tokens are found by one walk, and not token by token

    def targets(self: Epoch, state: int, tokens: np.ndarray) -> np.ndarray:
        """The states after allowed tokens."""
        return np.fromiter((self.after_token(state, token) for token in tokens.tolist()), np.int64, len(tokens))


class EpochDefaults(Bordered, Enumerable, Protocol):
    """The members of an epoch that most machines need not define."""

    is_full: bool  # no more states can be made here
    rows_in_parallel: bool = False  # are most rows made without the lock, by several threads at once?
    costs: Any = None  # of token budgets, made on first use: CompletionCosts (filters/budget.py)

    def key(self: Epoch, state: int) -> Hashable:
        """Equal keys have equal futures, in whatever epochs."""
        term: Hashable = self.terms[state]
        return term

    def close(self: Epoch) -> None:
        """A call was interrupted halfway: the epoch is declared full, so that nothing more is made here and its
        matchers move on."""
        self.is_full = True

    def is_usable(self: Epoch, state: int) -> bool:
        """Can tokens complete a text from here? A machine whose program `checks_ends` has its own."""
        if self.program.checks_ends:
            raise NotImplementedError(f"{type(self).__name__}.is_usable: not every state has an end by tokens here")
        return state != DEAD

    def try_row(self, state: int) -> np.ndarray | None:
        """row(), without the lock; None where it must be made under it."""
        return None

    def completion_limit(self, state: int) -> int | None:
        """Upper bound in bytes (tokens, where texts are whole tokens) on the completion of every state that tokens reach;
        None where it is not known."""
        return None

    def special_tokens(self, state: int) -> list[int]:
        """The tokens that may come next by their ids."""
        return []

    def refusal(self, state: int, token: int) -> str:
        """Why a token may not come, in words; empty where the general explanation will do."""
        return ""

    def describe(self, state: int) -> str:
        """Where the text stands, in words."""
        return ""


class Epoch(EpochDefaults, Protocol):
    """One generation of states. All methods run under the automaton's lock, except where they say otherwise."""

    @property
    def program(self) -> Any: ...

    @property
    def start(self) -> int: ...  # the first state

    @property
    def nbytes(self) -> int: ...

    @property
    def terms(self) -> ByState[StateTerm]: ...

    @property
    def accepting(self) -> ByState[bool]: ...  # may the text end here? True for FINISHED; read without the lock

    @property
    def rows(self) -> ByState[np.ndarray | None]: ...  # the mask row, None where it is not made; read without the lock

    @property
    def tables(self) -> Tables: ...  # read without the lock

    def state_of(self, term: StateTerm) -> int:
        """The number of a term's state, made where it is new; DEAD where no text is left. Where limits are reached: sets
        `is_full`, and raises LimitExceeded; the caller goes on in a new epoch, made from the program alone."""

    def row(self, state: int) -> np.ndarray:
        """The mask row, made (read only): tokens that can be read and completed; stop ids iff the text may end."""

    def after_token(self, state: int, token: int) -> int:
        """The state after a token, DEAD where it is refused."""

    def after_bytes(self, state: int, data: bytes) -> int:
        """The state after bytes, in any tokenization; DEAD where they are refused."""

    def peek_token(self, address: int, state: int, token: int) -> int:
        """The answer of after_token without the lock; negative where something must be made first. `address` is that of
        `tables`, which the caller keeps a reference to."""

    def completion(self, state: int) -> Sequence[bytes | int] | None:
        """Bytes and tokens that end the text; None where none are known, or they are too many to be written down."""


def row_of(epoch: Epoch, state: int) -> np.ndarray:
    return epoch.row(state)
