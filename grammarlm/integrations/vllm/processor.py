"""The logits processor: one class for both of vLLM's model runners, which have an interface each.

    V1 tells which requests were added, moved and removed, with a list of output ids that grows (v1.py)
    V2 tells a slot for each row of logits, drafts included (v2.py)

Every row is written by serving/served_row.py, which never raises. Where other options of a request have forbidden all that its
grammar allows (min_tokens, bad_words, allowed_token_ids), the grammar prevails: its tokens get equal scores.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import torch
import vllm
from vllm.v1.sample.logits_processor import LogitsProcessor as V1Processor

from grammarlm.integrations.serving.interfaces import check_functions

from . import params as requests
from .engine import Engine
from .signatures import PROCESSOR_V1, PROCESSOR_V2, TESTED
from .step_mask import StepMask
from .v1 import V1Rows
from .v2 import V2Rows

if TYPE_CHECKING:
    from vllm.config import VllmConfig
    from vllm.sampling_params import SamplingParams
    from vllm.v1.sample.logits_processor import BatchUpdate

try:
    from vllm.v1.worker.gpu.sample.logits_processor import LogitsProcessor as V2Processor  # vLLM 0.31
except ImportError:

    class V2Processor:  # type: ignore[no-redef]
        """vLLM before 0.31 has one runner that takes processors."""


LOGGER = logging.getLogger("grammarlm.serving")


class LogitsProcessor(V1Processor, V2Processor):
    """Holds each request that has extra_args["grammarlm"] to its grammar; the others are not touched."""

    @classmethod
    def validate_params(cls, sampling_params: SamplingParams) -> None:
        requests.check(sampling_params)

    def __init__(self, vllm_config: VllmConfig, *runner: Any):
        """V1 passes (device, is_pin_memory), V2 its state of requests."""
        used = PROCESSOR_V2 if len(runner) == 1 else PROCESSOR_V1
        check_functions("vLLM", vllm.__version__, TESTED, used, "Use one of those, or leave grammarlm's processor out")
        self._engine = Engine(vllm_config)
        self._v1 = V1Rows(self._engine)
        self._v2 = V2Rows(self._engine, runner[0]) if len(runner) == 1 else None
        self._mask = StepMask(self._engine.vocab)

    def is_argmax_invariant(self) -> bool:
        return False

    # ------------------------------------------------------------------ V1

    def update_state(self, batch_update: BatchUpdate | None) -> None:
        if batch_update is not None:
            self._v1.update(batch_update)

    # ------------------------------------------------------------------ V2

    def add_request(self, req_idx: int, sampling_params: SamplingParams) -> bool:
        assert self._v2 is not None
        return self._v2.add(req_idx, sampling_params)

    # ------------------------------------------------------------------ both

    def apply(self, logits: torch.Tensor, ctx: Any = None) -> torch.Tensor:
        """Masks the rows of logits that belong to our requests, in place."""
        rows = self._v1 if ctx is None else self._v2
        if rows is None or not rows.are_any(ctx):
            return logits
        try:
            self._mask.begin(len(logits))
            rows.fill(self._mask, ctx)
            self._mask.fill()
        except Exception:  # nothing in there should raise; if it does, no text of ours goes on
            LOGGER.exception("a step could not be masked: its requests end early")
            self._mask.begin(len(logits))
            rows.fail_all("a step could not be masked", self._mask, ctx)
            self._mask.fill()
        return self._mask.apply(logits)
