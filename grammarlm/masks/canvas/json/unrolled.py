"""The states of a text from some beginnings, with what the tokens of a vocabulary do to them: classes and a stack table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from grammarlm.errors import LimitExceeded
from grammarlm.layout.json_canvas import MARKS, MARKS_BEHIND
from grammarlm.masks.canvas.classes import TokenClasses, classes_of
from grammarlm.masks.canvas.stack.table import StackTable
from grammarlm.masks.runtime.limits import Clock

from .automaton import ByteAutomaton
from .capped import LongBlanks
from .table import FIRST_CONTROL, JsonTable
from .tokens import NOWHERE, TokenEffects, TrieVocabulary

if TYPE_CHECKING:
    from grammarlm.masks.automaton import Automaton
    from grammarlm.vocab.vocabulary import Vocabulary

Starts = list[tuple[int, tuple[int, ...]]]


class Tokens(NamedTuple):
    """A vocabulary as some states read it."""

    vocab: TrieVocabulary
    long: Sequence[LongBlanks]  # with more blanks than may stand between tokens of JSON, where states do not count them
    marked: np.ndarray | None  # with bytes that are marks; None where states know none


@dataclass(frozen=True, eq=False)
class Unrolled:
    """All states of a text from some beginnings, with what tokens do to them. `source` says where they are from."""

    source: Any
    machine: ByteAutomaton
    classes: TokenClasses
    table: StackTable
    has_marks: bool
    symbol_of: dict[int, int]
    has_loose: bool
    begins: Starts  # where texts begin, of unrolled states
    byte_classes: np.ndarray  # int32 [256]: the class of each byte, and of each mark; NEVER where no state reads it

    def starts(self, found: Starts) -> Starts:
        """(control, stack) of (unrolled state, states to return to)."""
        block = self.machine.block_of
        return [
            (FIRST_CONTROL + int(block[s]), tuple(self.symbol_of[int(block[r])] for r in stack)) for s, stack in found
        ]


def unrolled(
    automaton: Automaton,
    source: Any,
    machine: ByteAutomaton,
    has_loose: bool,
    begins: Starts,
    tokens: Tokens,
    most_states: int | None = None,
) -> Unrolled:
    """`most_states`: beyond which it is not made, LimitExceeded."""
    program: Any = automaton.program
    clock = Clock(program.limits)
    if most_states is not None and machine.states > most_states:
        raise LimitExceeded(f"a canvas over this schema needs more than {most_states:,} states")
    effects = TokenEffects(machine, program.limits.max_bytes, clock.check)
    kinds = effects.of_tokens(tokens.vocab)
    effects.forbid_long_blanks(tokens.long, kinds)
    kinds[list(tokens.vocab.special_ids)] = NOWHERE
    byte_classes, has_tokens, size = np.zeros(256, np.int32), None, len(kinds)
    if tokens.marked is not None:
        kinds[tokens.marked] = NOWHERE
        kinds = np.concatenate([kinds, effects.of_bytes()])
    kinds[kinds == NOWHERE] = -1
    classes, vectors = classes_of(kinds + 1, tokens.vocab.stop_ids)
    if tokens.marked is not None:
        byte_classes = classes.of[size:]
        classes = TokenClasses(classes.of[:size], classes.count)
        has_tokens = classes.sizes > 0
    behind = byte_classes[list(MARKS_BEHIND)].tolist() if tokens.marked is not None else []
    made = JsonTable(machine, effects, (vectors - 1).tolist(), has_tokens, behind, clock.check)
    has_marks = tokens.marked is not None
    return Unrolled(source, machine, classes, made.table, has_marks, made.symbol_of, has_loose, begins, byte_classes)


@lru_cache(maxsize=4)
def marked_tokens(vocab: Vocabulary) -> np.ndarray:
    """The tokens with bytes that are marks."""
    before = np.concatenate([[0], np.cumsum(np.isin(vocab.data, MARKS))])
    return np.flatnonzero(np.diff(before[vocab.offsets]))
