"""The states of a text from some beginnings, with what the tokens of a vocabulary do to them: classes and a stack table."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from grammarlm.layout.json_canvas import MARKS, MARKS_BEHIND
from grammarlm.masks.canvas.classes import TokenClasses, classes_of
from grammarlm.masks.canvas.stack.table import StackTable
from grammarlm.masks.runtime.limits import Clock

from .automaton import ByteAutomaton
from .table import FIRST_CONTROL, TableMaker
from .tokens import NOWHERE, TokenEffects, TrieVocabulary

if TYPE_CHECKING:
    from grammarlm.masks.automaton import Automaton
    from grammarlm.vocab.vocabulary import Vocabulary

Starts = list[tuple[int, tuple[int, ...]]]


class Tokens(NamedTuple):
    """A vocabulary as some states read it."""

    vocab: TrieVocabulary
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
    begins: Starts  # where texts begin, of unrolled states
    byte_classes: np.ndarray  # int32 [256]: the class of each byte, and of each mark; NEVER where no state reads it

    def starts(self, found: Starts) -> Starts:
        """(control, stack) of (unrolled state, states to return to)."""
        block = self.machine.block_of
        return [
            (FIRST_CONTROL + int(block[s]), tuple(self.symbol_of[int(block[r])] for r in stack)) for s, stack in found
        ]


def unrolled(automaton: Automaton, source: Any, machine: ByteAutomaton, begins: Starts, tokens: Tokens) -> Unrolled:
    program: Any = automaton.program
    clock = Clock(program.limits)
    effects = TokenEffects(machine, program.limits.max_bytes, clock.check)
    kinds = effects.of_tokens(tokens.vocab)
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
    made = TableMaker(machine, effects, (vectors - 1).tolist(), has_tokens, behind, clock.check)
    has_marks = tokens.marked is not None
    return Unrolled(source, machine, classes, made.table, has_marks, made.symbol_of, begins, byte_classes)


@lru_cache(maxsize=4)
def marked_tokens(vocab: Vocabulary) -> np.ndarray:
    """The tokens with bytes that are marks."""
    before = np.concatenate([[0], np.cumsum(np.isin(vocab.data, MARKS))])
    return np.flatnonzero(np.diff(before[vocab.offsets]))
