"""Model runner V1: rows of logits are places in a batch, whose requests come, move and go."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from vllm.v1.sample.logits_processor import MoveDirectionality

from grammarlm.integrations.serving.served_row import ServedRow

from . import params as requests
from .step_mask import StepMask

if TYPE_CHECKING:
    from vllm.sampling_params import SamplingParams
    from vllm.v1.sample.logits_processor import BatchUpdate

    from .engine import Engine

PLACEHOLDER = (
    "vLLM passes -1 in place of the tokens of the last step; start it with --logits-processors "
    "grammarlm.integrations.vllm:LogitsProcessor beside the installed entry point, or with --no-async-scheduling"
)


@dataclass
class Followed:
    """A request: its row, the list of its output ids, which vLLM appends to, and how many of these the row has read."""

    row: ServedRow
    output: list[int]
    may_be_silenced: bool
    taken: int = 0

    def follow(self) -> None:
        for token in self.output[self.taken :]:
            if token < 0:
                self.row.fail(PLACEHOLDER)
            else:
                self.row.read(token)
        self.taken = len(self.output)


class V1Rows:
    """The requests of the batch that have a grammar, by their places."""

    def __init__(self, engine: Engine):
        self._engine = engine
        self._rows: dict[int, Followed] = {}

    def update(self, change: BatchUpdate) -> None:
        """In vLLM's order: removed, added, moved."""
        rows = self._rows
        for place in change.removed:
            rows.pop(place, None)
        for place, params, prompt, output in change.added:
            rows.pop(place, None)
            if (found := self._followed(params, prompt or (), output)) is not None:
                rows[place] = found
        for here, there, direction in change.moved:
            one, other = rows.pop(here, None), rows.pop(there, None)
            if one is not None:
                rows[there] = one
            if other is not None and direction == MoveDirectionality.SWAP:
                rows[here] = other

    def _followed(self, params: SamplingParams, prompt: Sequence[int], output: list[int]) -> Followed | None:
        row = row_of(self._engine, params, len(prompt), lambda: prompt)
        return None if row is None else Followed(row, output, requests.may_forbid_all(params))

    def are_any(self, _: object) -> bool:
        return bool(self._rows)

    def fill(self, mask: StepMask, _: object) -> None:
        for place, followed in self._rows.items():
            followed.follow()  # here, and not in update: with asynchronous scheduling the last ids are known only now
            mask.add(followed.row, place, may_be_silenced=followed.may_be_silenced)

    def fail_all(self, reason: str, mask: StepMask, _: object) -> None:
        for place, followed in self._rows.items():
            followed.row.fail(reason)
            mask.add(followed.row, place)


def row_of(
    engine: Engine, params: SamplingParams, length: int, prompt: Callable[[], Sequence[int]]
) -> ServedRow | None:
    """The row of a request, None where it has no grammar of ours. Never raises: what it was admitted with is read again. `length`:
    of the prompt, whose tokens are seldom asked for."""
    try:
        options = requests.options_of(params)
        options = options and engine.after_prompt(options, prompt)
    except Exception as error:
        row = ServedRow(engine.vocab, params.all_stop_token_ids)
        row.fail(error)
        return row
    if options is None or options.grammar is None:
        return None
    most = engine.room(params.max_tokens, length)
    return engine.row(options, params.all_stop_token_ids, most)
