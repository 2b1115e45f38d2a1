"""Model runner V2: requests are slots; each step says which slot a row of logits belongs to, with a row for each draft.

What a slot has read is compared with the position of its first row: tokens that are accepted at once, or that a request brings
along after preemption, are read from vLLM's table of committed tokens. Drafts are in the input of this step alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from grammarlm.integrations.serving.served_row import ServedRow

from . import params as requests
from .step_mask import StepMask
from .v1 import row_of

if TYPE_CHECKING:
    from vllm.sampling_params import SamplingParams

    from .engine import Engine


@dataclass
class Slot:
    """A request: its row, and the number of its tokens, prompt included, that the row has read."""

    row: ServedRow
    taken: int
    may_be_silenced: bool


@dataclass(frozen=True)
class Rows:
    """The rows of logits of one request: the first, one past the last, the input of each, the position of the first."""

    slot: int
    first: int
    end: int
    position: int


class V2Rows:
    """The slots whose requests have a grammar."""

    def __init__(self, engine: Engine, states: Any):
        self._engine, self._states = engine, states
        self._slots: dict[int, Slot] = {}

    def add(self, slot: int, params: SamplingParams) -> bool:
        """A request enters a slot, for the first time or after preemption. False where it is none of ours."""
        self._slots.pop(slot, None)
        length = int(self._states.prompt_len.np[slot])

        def prompt() -> list[int]:
            tokens: list[int] = self._states.all_token_ids.gpu[slot, :length].tolist()
            return tokens

        row = row_of(self._engine, params, length, prompt)
        if row is None:
            return False
        self._slots[slot] = Slot(row, length, requests.may_forbid_all(params))
        return True

    def are_any(self, ctx: Any) -> bool:
        """Without a transfer: the slots of a step are known to the host."""
        return bool(self._slots) and any(slot in self._slots for slot in ctx.idx_mapping_np.tolist())

    def fill(self, mask: StepMask, ctx: Any) -> None:
        table = torch.stack([ctx.expanded_idx_mapping.long(), ctx.input_ids.long(), ctx.pos.long()])
        slots, inputs, positions = table.cpu().numpy()  # the one transfer of a step
        ours = [rows for rows in split(slots, positions) if rows.slot in self._slots]
        self._catch_up(ours, inputs)
        for rows in ours:
            held = self._slots[rows.slot]
            drafts = inputs[rows.first + 1 : rows.end].tolist()
            mask.add(held.row, rows.first, drafts, may_be_silenced=held.may_be_silenced)

    def _catch_up(self, ours: list[Rows], inputs: np.ndarray) -> None:
        """Reads what was committed since the last step: usually one token, the input of the first row."""
        behind: list[tuple[Slot, Rows, int]] = []
        for rows in ours:
            held = self._slots[rows.slot]
            missing = rows.position + 1 - held.taken
            if missing == 1:
                held.row.read(int(inputs[rows.first]))
                held.taken += 1
            elif missing > 1:
                behind.append((held, rows, missing))
        if not behind:
            return
        slots = np.concatenate([np.full(missing, rows.slot) for _, rows, missing in behind])
        places = np.concatenate([np.arange(held.taken, rows.position + 1) for held, rows, _ in behind])
        table = self._states.all_token_ids.gpu
        at = (torch.from_numpy(each).to(table.device) for each in (slots, places))
        tokens = iter(table[tuple(at)].cpu().tolist())
        for held, _, missing in behind:
            for _ in range(missing):
                held.row.read(next(tokens))
            held.taken += missing

    def fail_all(self, reason: str, mask: StepMask, ctx: Any) -> None:
        slots = ctx.expanded_idx_mapping.cpu().numpy()
        for place, slot in enumerate(slots.tolist()):
            if slot in self._slots:
                self._slots[slot].row.fail(reason)
                mask.add(self._slots[slot].row, place)


def split(slots: np.ndarray, positions: np.ndarray) -> list[Rows]:
    """The rows of each request: those of one stand beside each other."""
    if not len(slots):
        return []
    firsts = np.flatnonzero(np.diff(slots, prepend=slots[0] - 1)).tolist()
    ends = [*firsts[1:], len(slots)]
    return [Rows(int(slots[first]), first, end, int(positions[first])) for first, end in zip(firsts, ends, strict=True)]
