"""Masks of many texts at once: a batch of matchers."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache

import numpy as np

from grammarlm.errors import MaskError, check_type

from .mask_array import as_integer, as_mask
from .matcher import Matcher, Target

# Seconds that one thread works before it starts workers: starting them and handing over costs half a millisecond.
ALONE = 2e-3


def fill_masks(matchers: Sequence[Matcher | None], mask: np.ndarray, *, threads: int | None = None) -> list[bool]:
    """Fills row i of the mask for matcher i; returns what each fill_mask returns. None in place of a matcher: every bit
    set, nothing to apply.

    Cached rows are copied. The others are made by `threads` threads, where they need not take one lock in turn: rows of
    a grammar with a stack, or of a JSON schema, are made by one thread at a time for each constraint. None: by one, and
    after a short time by as many as the machine has cores. If a row cannot be made within its limits it allows the stop
    ids only, the other rows are filled nevertheless, and the first such LimitExceeded is raised.
    """
    check_type(matchers, Iterable, "fill_masks(matchers, mask) takes a list of matchers")
    matchers = list(matchers)
    for matcher in matchers:
        if matcher is not None and not isinstance(matcher, Matcher):
            raise TypeError(f"fill_masks(matchers, mask) takes matchers and None, not {type(matcher).__name__}")
    if threads is not None:
        threads = as_integer(threads, "fill_masks(threads=...) takes a number of threads")
        if threads < 1:
            raise ValueError(f"fill_masks(threads={threads}): it takes 1 or more, or None")
    words = next((m._words for m in matchers if m is not None), None)
    if words is None:
        words = mask.shape[-1] if getattr(mask, "ndim", 0) == 2 else 1
    array = as_mask(mask, words)
    if len(matchers) > len(array):
        raise MaskError(f"the mask has {len(array)} rows, too few for {len(matchers)} matchers")
    needed = [False] * len(matchers)
    target: Target | None = None
    missing: dict[int, list[int]] = {}  # rows by what one thread uses at a time: a matcher, or a constraint
    for row, matcher in enumerate(matchers):
        if matcher is None:
            array[row] = -1
            continue
        if matcher._words != words:
            raise MaskError(f"matcher {row} has another vocabulary: its masks have {matcher._words} words, not {words}")
        if matcher._target[0] is not array:
            matcher._target = target = target or matcher._take(array)
        known = matcher._fill_known(array, row)
        if known is None:
            owner = matcher if matcher._rows_in_parallel else matcher._automaton
            missing.setdefault(id(owner), []).append(row)
        else:
            needed[row] = known
    errors: list[tuple[int, Exception]] = []

    def make(row: int) -> None:
        matcher = matchers[row]
        assert matcher is not None
        try:
            needed[row] = matcher.fill_mask(array, row)
        except Exception as error:  # the other rows are made all the same
            needed[row] = True
            errors.append((row, error))

    _make_all(make, list(missing.values()), threads)
    if errors:
        raise min(errors, key=lambda e: e[0])[1]
    return needed


def _make_all(make: Callable[[int], None], jobs: list[list[int]], threads: int | None) -> None:
    """Makes all rows; each job is a list of rows for one thread."""
    if threads is None:
        alone_until = time.perf_counter() + ALONE
        while jobs and time.perf_counter() < alone_until:
            make(jobs[0].pop(0))
            if not jobs[0]:
                del jobs[0]
    if not jobs:
        return
    cores = os.cpu_count() or 1
    pending = iter(jobs)  # shared: each thread takes the next

    def work() -> None:
        for rows in pending:
            for row in rows:
                make(row)

    helpers = min(threads or cores, cores, len(jobs)) - 1
    helping = [_pool(os.getpid()).submit(work) for _ in range(helpers)]
    try:
        work()
    finally:
        for future in helping:
            future.result()


@cache
def _pool(process: int) -> ThreadPoolExecutor:
    """The worker threads of this process; a forked process has none of its parent's."""
    return ThreadPoolExecutor(os.cpu_count() or 1, thread_name_prefix="grammarlm")
