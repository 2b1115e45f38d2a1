"""Constraints that live on a device: masks and steps of a whole batch without the host.

    automaton = DeviceAutomaton(gl.compile(grammar, vocab), device="cuda")
    automaton.complete()                    # True where the automaton is finite and fits: no edge can be missing
    texts = automaton.batch(64)
    mask = texts.fill_mask()                # int32 [64, W] on the device, one kernel
    texts.advance_(tokens)                  # tokens int64 [64] on the device, one kernel
    texts.settle()                          # computes missing edges; synchronises, so only needed where edges can be missing

A text is a state, a number on the device; the automaton's CSR arrays (kernels/reference/csr.py) hold each state's mask and edges.
An edge that has not been computed leads to MISS. A text in MISS stands still: its mask is the stop ids, and they change nothing.
`settle` asks the constraint on the host for the missing edges and patches the arrays in place. When these are full, they are
cleared, and only the current states of texts are added again.
"""

from __future__ import annotations

import os
import weakref
from typing import Any

import numpy as np
import torch

from grammarlm.errors import LimitExceeded, MaskError, check_type
from grammarlm.grammars.items.tokens import Tokens
from grammarlm.layout.csr import FIRST, MISS, Csr
from grammarlm.masks.constraint import Constraint
from grammarlm.masks.csr import fixed as files
from grammarlm.masks.csr.automaton import CsrAutomaton, Place
from grammarlm.masks.csr.fixed import FixedAutomaton
from grammarlm.masks.csr.item_states import item_automaton
from grammarlm.masks.csr.tables import Room, TablesFull
from grammarlm.vocab.vocabulary import Vocabulary

from . import host_csr

NEAR = 4096  # patches with a gap of at most so many entries are merged into one copy

MOST_TEXTS = 1 << 20


class DeviceAutomaton:
    """A constraint's states, masks and edges on the CPU or a CUDA device, shared by any number of batches.

    `states`, `edges` and `rows` are capacities: 24 bytes a state and an edge, a mask's width a row. An item set is converted whole,
    with the capacity that it needs.
    """

    def __init__(
        self,
        constraint: Constraint | FixedAutomaton,
        *,
        device: str | torch.device = "cpu",
        states: int = 4096,
        edges: int = 1 << 20,
        rows: int = 256,
    ):
        check_type(constraint, (Constraint, FixedAutomaton), "DeviceAutomaton(constraint) takes what gl.compile makes")
        self.device = torch.device(device)
        if self.device.type not in ("cpu", "cuda"):
            raise MaskError(f"device={device!r}: an automaton lives on the CPU or on a CUDA device")
        room = Room(states, edges, rows)
        self.host: Any = _on_host(constraint, room)
        self.vocab: Vocabulary = constraint.vocab
        self.misses = 0  # missing edges that decoding has asked for
        self.restarts = 0  # how often the arrays were full and cleared
        self._batches: weakref.WeakSet[TextBatch] = weakref.WeakSet()
        shared = map(torch.from_numpy, self.host.csr)
        self.csr = Csr(*(shared if self.device.type == "cpu" else (array.to(self.device) for array in shared)))
        self.host.patches.clear()

    def __repr__(self) -> str:
        return f"<DeviceAutomaton on {self.device}, {self.vocab.size:,} tokens>"

    def __reduce__(self) -> tuple[object, ...]:
        raise TypeError(
            "a DeviceAutomaton lives on its device: pickle the constraint, or save() it where it is complete, and load() it there"
        )

    @classmethod
    def load(
        cls, path: str | os.PathLike[str], vocab: Vocabulary, *, device: str | torch.device = "cpu"
    ) -> DeviceAutomaton:
        """An automaton that `save` wrote: complete, without its grammar."""
        return cls(files.load(path, vocab), device=device)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes .npz; ValueError where edges are missing: complete() it first."""
        files.save(self.host, path)

    @property
    def start(self) -> int:
        return self.host.start

    @property
    def is_complete(self) -> bool:
        """Have all edges been computed, so that none can be missing?"""
        return self.host.is_complete

    @property
    def nbytes(self) -> int:
        """Bytes of the states, edges and rows computed so far."""
        return self.host.nbytes

    def complete(self) -> bool:
        """Computes all states and edges; False where they exceed the capacity, or are infinitely many."""
        done: bool = self.host.complete()
        self.update()
        return done

    def batch(self, size: int) -> TextBatch:
        """A batch of so many texts, at the start state."""
        if isinstance(size, bool) or not isinstance(size, int) or not 1 <= size <= MOST_TEXTS:
            raise ValueError(f"batch({size!r:.30}): it takes a number of texts, 1 or more, at most {MOST_TEXTS:,}")
        made = TextBatch(self, size)
        self._batches.add(made)
        return made

    def update(self) -> None:
        """Copies what the host has computed since to the device."""
        if self.device.type != "cpu":
            for name, first, end in _joined(self.host.patches):
                part = torch.from_numpy(getattr(self.host.csr, name)[first:end])
                getattr(self.csr, name)[first:end].copy_(part, non_blocking=True)
        self.host.patches.clear()

    def _start_anew(self) -> None:
        """Clears the arrays; the texts of every batch get new states."""
        kept = [(batch, batch._places()) for batch in self._batches]
        self.restarts += 1
        self.host.clear()
        for batch, places in kept:
            batch._put(places)


class TextBatch:
    """A batch of texts, each a state on the device. `states` (int32) may be read, copied, and written back to roll back."""

    def __init__(self, automaton: DeviceAutomaton, size: int):
        self.automaton = automaton
        self.states = torch.full((size,), automaton.start, dtype=torch.int32, device=automaton.device)
        self._asked = torch.zeros((size, 2), dtype=torch.int32, device=automaton.device)

    def __repr__(self) -> str:
        return f"<TextBatch of {len(self)} texts on {self.automaton.device}>"

    def __len__(self) -> int:
        return len(self.states)

    def fill_mask(self, mask: torch.Tensor | None = None) -> torch.Tensor:
        """int32 [B, W]: the tokens that each text may take next; stop ids for a finished, refused or missed text."""
        words = self.automaton.vocab.words
        if mask is None:
            mask = torch.empty((len(self), words), dtype=torch.int32, device=self.automaton.device)
        elif mask.shape != (len(self), words) or mask.dtype != torch.int32 or not mask.is_contiguous():
            raise MaskError(
                f"the mask is {mask.dtype} {list(mask.shape)}; this batch takes contiguous torch.int32 [{len(self)}, {words}]"
            )
        elif mask.device != self.states.device:
            raise MaskError(f"the mask is on {mask.device}, the texts are on {self.states.device}")
        self._run("fill_mask_", self.states, mask)
        return mask

    def advance_(self, tokens: torch.Tensor) -> None:
        """Reads one token each. A refused one leads to DEAD (0), a stop id to FINISHED (1), a missing edge to MISS (2)."""
        if tokens.shape != self.states.shape or tokens.dtype != torch.int64 or not tokens.is_contiguous():
            raise MaskError(
                f"tokens are {tokens.dtype} {list(tokens.shape)}; this batch takes contiguous torch.int64 [{len(self)}]"
            )
        if tokens.device != self.states.device:
            raise MaskError(f"tokens are on {tokens.device}, the texts are on {self.states.device}")
        self._run("advance_", self.states, tokens, self._asked)

    def settle(self) -> int:
        """Computes the true state of each text in MISS; returns how many there were. Waits for the device."""
        automaton, host = self.automaton, self.automaton.host
        states = self.states.cpu().numpy().copy()
        missed = np.flatnonzero(states == MISS)
        if not len(missed):
            return 0
        asked = self._asked.cpu().numpy()
        for text in missed.tolist():
            state, token = asked[text].tolist()
            try:
                states[text] = host.follow(state, token)
            except TablesFull:
                self._write(states)
                automaton._start_anew()
                states = self.states.cpu().numpy().copy()
                break
        automaton.misses += len(missed)
        automaton.update()
        self._write(states)
        return len(missed)

    def reset(self) -> None:
        """All texts back to the start."""
        self.states.fill_(self.automaton.start)

    def _write(self, states: np.ndarray) -> None:
        self.states.copy_(torch.from_numpy(states))

    def _places(self) -> list[Place | int]:
        """The texts' positions, to be moved to new arrays: places in the constraint, or DEAD or FINISHED."""
        host, asked = self.automaton.host, self._asked.cpu().numpy()
        found: list[Place | int] = []
        for text, state in enumerate(self.states.cpu().tolist()):
            if state == MISS:
                found.append(host.place_after(*asked[text].tolist()))
            else:
                found.append(state if state < FIRST else host.place(state))
        return found

    def _put(self, places: list[Place | int]) -> None:
        host = self.automaton.host
        try:
            states = [place if isinstance(place, int) else host.number(place) for place in places]
        except TablesFull:
            raise LimitExceeded(
                "the states in which texts stand have no room in the device automaton; give it more states, edges or rows"
            ) from None
        self._write(np.array(states, np.int32))

    def _run(self, name: str, *tensors: torch.Tensor) -> None:
        csr = self.automaton.csr
        if self.states.is_cuda:
            from grammarlm.kernels.gpu import csr as gpu

            with torch.cuda.device(self.states.device):
                getattr(gpu, name)(csr, *tensors)
        else:
            getattr(host_csr, name)(self.automaton.host.csr, *(tensor.numpy() for tensor in tensors))


def _on_host(constraint: Constraint | FixedAutomaton, room: Room) -> Any:
    if isinstance(constraint, FixedAutomaton):
        return constraint
    if isinstance(constraint.grammar, Tokens):
        return item_automaton(constraint._automaton.program.index, constraint.vocab)
    return CsrAutomaton(constraint, room)


def _joined(patches: list[tuple[str, int, int]]) -> list[tuple[str, int, int]]:
    """Merges patches that overlap or are close."""
    found: list[tuple[str, int, int]] = []
    for name, first, end in sorted(patches):
        if found and found[-1][0] == name and first <= found[-1][2] + NEAR:
            found[-1] = (name, found[-1][1], max(end, found[-1][2]))
        elif first < end:
            found.append((name, first, end))
    return found
