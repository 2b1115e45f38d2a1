"""A complete automaton on its own: without a constraint, every edge there. Made from files and item sets.

    save(automaton, "lamps.npz")                      load("lamps.npz", vocab)

In a file the arrays are those of kernels/reference/csr.py. Whatever is loaded is checked before a kernel sees it: kernels check
no bounds.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from grammarlm.errors import GrammarError
from grammarlm.files import check_regular
from grammarlm.layout.csr import DEAD, FIRST, MISS, Csr
from grammarlm.masks.token_facts import token_facts
from grammarlm.vocab.vocabulary import Vocabulary

if TYPE_CHECKING:
    from .automaton import CsrAutomaton

FORMAT = 1


@dataclass(frozen=True, eq=False)
class FixedAutomaton:
    """An automaton that never changes."""

    vocab: Vocabulary
    csr: Csr
    start: int
    is_complete = True
    patches: ClassVar[list[tuple[str, int, int]]] = []  # nothing is written

    @property
    def nbytes(self) -> int:
        return sum(array.nbytes for array in self.csr)

    def complete(self) -> bool:
        return True


def fixed(automaton: CsrAutomaton | FixedAutomaton) -> FixedAutomaton:
    """The used part of an automaton's tables; ValueError where edges are missing."""
    if isinstance(automaton, FixedAutomaton):
        return automaton
    if not automaton.is_complete:
        raise ValueError(
            "the automaton has edges that have not been made; complete() makes them, where they have an end"
        )
    tables, csr = automaton.tables, automaton.tables.csr
    by_state = (array[: tables.states].copy() for array in (csr.base, csr.default, csr.first, csr.count))
    by_edge = (array[: tables.edges].copy() for array in (csr.tokens, csr.targets))
    copied = Csr(csr.rows[: tables.rows].copy(), *by_state, *by_edge)
    return FixedAutomaton(automaton.constraint.vocab, copied, automaton.start)


def save(automaton: CsrAutomaton | FixedAutomaton, path: str | os.PathLike[str]) -> None:
    """Writes a complete automaton as .npz."""
    whole = fixed(automaton)
    about = {"format": FORMAT, "start": whole.start, "vocabulary": whole.vocab.fingerprint}
    np.savez_compressed(path, **whole.csr._asdict(), **about)  # type: ignore[arg-type]


def load(path: str | os.PathLike[str], vocab: Vocabulary) -> FixedAutomaton:
    """What `save` wrote; GrammarError where the file is damaged, or made with another vocabulary."""
    try:
        check_regular(path)
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in (*Csr._fields, "format", "start", "vocabulary")}
    except FileNotFoundError:
        raise
    except Exception as error:  # zipfile and numpy's reader raise almost anything
        raise GrammarError(f"{os.fspath(path)!r:.200} is no saved automaton: {error}"[:400]) from error
    if arrays["format"].shape or arrays["format"] != FORMAT:
        raise GrammarError(f"the saved automaton has another format than {FORMAT}; make it anew")
    if str(arrays["vocabulary"]) != vocab.fingerprint:
        raise GrammarError(
            f"the automaton was saved with another vocabulary ({arrays['vocabulary']!s:.50}); this one is {vocab.fingerprint}"
        )
    csr = Csr(*(np.ascontiguousarray(arrays[name]) for name in Csr._fields))
    start = int(arrays["start"]) if arrays["start"].shape == () and arrays["start"].dtype.kind in "iu" else -1
    return checked(FixedAutomaton(vocab, csr, start))


def without_defaults(vocab: Vocabulary, count: np.ndarray, tokens: np.ndarray, targets: np.ndarray) -> Csr:
    """An automaton without default edges: of each state the number of its edges, which are sorted by token. Its base rows are none,
    and the stop ids, the mask of DEAD."""
    rows = np.stack([np.zeros(vocab.words, np.int32), token_facts(vocab).stop_row])
    base, default = np.zeros((2, len(count)), np.int32)
    base[DEAD : DEAD + 1] = 1
    first = np.cumsum(count) - count
    return Csr(rows, base, default, *(array.astype(np.int32) for array in (first, count, tokens, targets)))


def checked(automaton: FixedAutomaton) -> FixedAutomaton:
    """The automaton, if kernels can run on it; GrammarError where they would read beyond its arrays, or an edge is missing."""
    csr, vocab = automaton.csr, automaton.vocab
    for name, array in csr._asdict().items():
        if array.dtype != np.int32 or array.ndim != (2 if name == "rows" else 1):
            raise _damaged(f"{name} is {array.dtype} with {array.ndim} dimensions")
    states, edges = len(csr.base), len(csr.tokens)
    if any(len(array) != states for array in csr[1:5]) or len(csr.targets) != edges:
        raise _damaged("its arrays have different lengths")
    if csr.rows.shape[1] != vocab.words or not len(csr.rows) or not FIRST <= automaton.start < states:
        raise _damaged("its rows are not as wide as the vocabulary, or it has no start")
    beyond = np.unpackbits(csr.rows.view(np.uint8), axis=1, bitorder="little")[:, vocab.size :]
    first, count = csr.first.astype(np.int64), csr.count.astype(np.int64)
    if (
        _outside(csr.base, len(csr.rows)) or _outside(csr.default, states) or _outside(csr.targets, states)
        or _outside(first, edges + 1) or _outside(count, edges + 1) or (first + count > edges).any() or beyond.any()
        or count.sum() > edges
    ):  # fmt: skip
        raise _damaged("something in it points beyond its arrays")
    owner = np.repeat(np.arange(states), count)
    listed = np.arange(len(owner)) + np.repeat(first - (np.cumsum(count) - count), count)
    tokens, targets = csr.tokens[listed], csr.targets[listed]
    if _outside(tokens, vocab.size):
        raise _damaged("a token is beyond the vocabulary")
    if ((tokens[1:] <= tokens[:-1]) & (owner[1:] == owner[:-1])).any():
        raise _damaged("the tokens of a state are not sorted")
    if (csr.default[FIRST:] == MISS).any() or ((targets == MISS) & (owner != MISS)).any():
        raise _damaged("it has edges that were never made")
    return automaton


def _outside(array: np.ndarray, end: int) -> bool:
    return bool(len(array)) and (int(array.min()) < 0 or int(array.max()) >= end)


def _damaged(problem: str) -> GrammarError:
    return GrammarError(f"this is no automaton over the vocabulary: {problem}")
