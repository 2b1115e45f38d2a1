"""Masks of many texts at once: a batch of matchers, or the draft tree of one."""

from __future__ import annotations

import os
import time
from collections import Counter, deque
from collections.abc import Hashable, Iterable, Sequence

import numpy as np

from grammarlm.errors import MaskError

from .beside import Job, NotNow, SideBySide
from .mask_array import as_integer, as_mask
from .matcher import Matcher
from .trail import Head

# Seconds that one thread works before it starts workers: starting them and handing over costs half a millisecond.
ALONE = 2e-3


def fill_masks(matchers: Sequence[Matcher | None], mask: np.ndarray, *, threads: int | None = None) -> list[bool]:
    """Fills row i of the mask for matcher i; returns what each fill_mask returns. None in place of a matcher: every bit
    set, nothing to apply.

    Cached rows are copied. The others are made by `threads` threads. None: by one, and after a short time by as many as
    the machine has cores, unless all would take turns at one lock. If a row cannot be made within its limits it allows
    the stop ids only, the other rows are filled nevertheless, and the first such LimitExceeded is raised.
    """
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
    known: dict[int, Matcher] = {}  # by row
    missing: dict[int, list[int]] = {}  # rows by matcher: one matcher belongs to one thread at a time
    for row, matcher in enumerate(matchers):
        if matcher is None:
            array[row] = -1
        elif matcher._words != words:
            raise MaskError(f"matcher {row} has another vocabulary: its masks have {matcher._words} words, not {words}")
        elif matcher._known_row() is None:
            known[row] = matcher
            missing.setdefault(id(matcher), []).append(row)
        else:
            needed[row] = matcher.fill_mask(array, row)
    if not missing:
        return needed
    errors: list[tuple[int, Exception]] = []

    def make(job: Job) -> None:
        for row in job.rows:
            try:
                needed[row] = known[job.rows[0]].fill_mask(array, row)
            except Exception as error:  # the other rows are made all the same
                needed[row] = True
                errors.append((row, error))

    def beside(job: Job) -> NotNow | None:
        try:
            found = known[job.rows[0]]._row_beside()
        except Exception:  # raised again, and reported, where the row is made alone
            return NotNow.UNDER_THE_LOCK
        return found if isinstance(found, NotNow) else None

    jobs = deque(_in_turns([Job(rows, id(known[rows[0]]._automaton)) for rows in missing.values()]))
    cores = os.cpu_count() or 1
    workers = min(threads or cores, cores)
    if threads is None and len({job.constraint for job in jobs}) == 1 and not known[jobs[0].rows[0]]._makes_beside:
        workers = 1  # they would take turns at one lock
    alone_until = time.perf_counter() + ALONE if threads is None else 0.0
    while jobs and (workers == 1 or time.perf_counter() < alone_until):
        make(jobs.popleft())
    if jobs:
        SideBySide(make, beside, jobs).run(workers)
    if errors:
        raise min(errors, key=lambda e: e[0])[1]
    return needed


def _in_turns(jobs: list[Job]) -> list[Job]:
    """The jobs, those of one constraint as far apart as possible, since they wait for each other."""
    counts: Counter[Hashable] = Counter()
    turns = []
    for job in jobs:
        turns.append((counts[job.constraint], job))
        counts[job.constraint] += 1
    return [job for _, job in sorted(turns, key=lambda turn: turn[0])]


def fill_tree(matcher: Matcher, tokens: Iterable[int], parents: Iterable[int], mask: np.ndarray) -> list[bool]:
    """The masks of a draft tree: row 0 for the current state, row i + 1 for the state after node i; returns what each
    fill_mask returns.

    Node i is tokens[i], read after node parents[i], or from the current state where that is -1. A node that is refused
    gets a row of zeros, and so do all below it. The matcher and the rows beyond the tree do not change.
    """
    if not isinstance(matcher, Matcher):
        raise TypeError(f"fill_tree(matcher, ...) takes a matcher, not {type(matcher).__name__}")
    read = _integers(tokens, "tokens")
    above = _integers(parents, "parents")
    if len(read) != len(above):
        raise ValueError(f"fill_tree: {len(read)} tokens, but {len(above)} parents; each node has one of both")
    for node, parent in enumerate(above):
        if not -1 <= parent < node:
            raise ValueError(f"fill_tree: parents[{node}] is {parent}; it takes -1 (the state now) or an earlier node")
    array = as_mask(mask, matcher._words)
    if len(array) < len(read) + 1:
        raise MaskError(f"the mask has {len(array)} rows, too few for the state now and {len(read)} nodes")
    walker = matcher._probe()
    heads: list[Head | None] = [walker._head]
    needed = []
    try:
        needed.append(walker.fill_mask(array, 0))
        for row, (token, parent) in enumerate(zip(read, above, strict=True), 1):
            head = heads[parent + 1]
            if head is None or not walker._at(head).advance(token):
                heads.append(None)
                array[row] = 0
                needed.append(True)
            else:
                heads.append(walker._head)
                needed.append(walker.fill_mask(array, row))
    except BaseException:  # fail closed: only stop tokens are allowed where no row was made
        array[len(needed) : len(read) + 1] = matcher._automaton.program.facts.stop_row
        raise
    return needed


def _integers(values: object, name: str) -> list[int]:
    """A list of integers, from a list or an array of one dimension."""
    values = getattr(values, "tolist", lambda: values)()
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        raise TypeError(f"fill_tree({name}=...) takes a list or an array of integers, not {type(values).__name__}")
    return [
        as_integer(value, f"fill_tree({name}=...) takes integers: a list or an array with one number a node")
        for value in values
    ]
