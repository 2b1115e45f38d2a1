"""Runs a clone of the STATIC repository (youtube/static-constraint-decoding) in the same process, on the same items and logits."""

import importlib
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch


class StaticClone:
    """Their whole search, and how long each of its sparse steps takes on the way."""

    def __init__(self, path: str):
        if not (Path(path) / "static_decoding" / "decoding_pt.py").exists():
            raise SystemExit(f"--static {path}: there is no static_decoding/decoding_pt.py; give the root of a clone")
        sys.path.insert(0, path)
        self.build = importlib.import_module("static_decoding.csr_utils").build_static_index
        self.module: Any = importlib.import_module("static_decoding.decoding_pt")
        self.sparse = self.module.generate_and_apply_logprobs_mask
        self.module.generate_and_apply_logprobs_mask = self._timed
        self.steps: list[float] = []

    def _timed(self, *arguments: Any, **options: Any) -> Any:
        start = time.perf_counter_ns()
        result = self.sparse(*arguments, **options)
        self.steps.append((time.perf_counter_ns() - start) / 1e3)
        return result

    def index(self, matrix: np.ndarray, vocabulary: int) -> None:
        """Builds their index of sorted rows."""
        packed, pointers, branches, first, mask, states = self.build(matrix, vocabulary)
        self.branches, self.vocabulary, self.length = branches, vocabulary, matrix.shape[1]
        self.arrays = [torch.from_numpy(np.ascontiguousarray(a)) for a in (packed, pointers, first, mask, states)]

    @property
    def nbytes(self) -> int:
        return sum(a.numel() * a.element_size() for a in self.arrays)

    def search(self, tables: list[torch.Tensor], beams: int) -> torch.Tensor:
        """Token ids [searches, beams, L] for logits that are there already, one table a level."""
        waiting = iter(tables)
        searches = len(tables[0])
        sizes = (searches, beams, beams, 0, self.length, self.vocabulary, self.branches)
        found: torch.Tensor = self.module.sparse_transition_torch(
            lambda ids: next(waiting)[:, None], *sizes, *self.arrays, torch.device("cpu")
        )
        return found
