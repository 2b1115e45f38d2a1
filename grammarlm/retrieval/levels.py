"""The levels of a beam search: logits in, kept entries out.

    levels = Levels(searched, settings)
    while levels.rows:                                       # open prefixes, over all searches
        levels.advance(step(levels.tokens, levels.parents))
    found = results(levels, ids)

A policy (policies.py) chooses the entries: the best by score, by a value function, or sampled.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import torch

from grammarlm.layout.items import FINISHED, Beams, Level, Sets

from .item_step import allowed_norms
from .result import BeamResult, merge_groups
from .search import Searched

NONE = np.zeros(0)
NO_PENALTIES = np.zeros((0, 0), np.float32)


@dataclass(frozen=True)
class Settings:
    """Arguments of a search."""

    beams: int
    stop: int  # -1: items end without a token
    normalise: str  # "full" or "allowed"
    groups: int = 1
    diversity: float = 0.0


class Policy(Protocol):
    """How a group keeps entries; may hold state for each entry."""

    def choose(self, sets: Sets, beams: Beams, level: Level, out: Beams) -> tuple[np.ndarray, np.ndarray]:
        """Writes the kept entries; returns the tokens added to open entries, and their parents' rows, as `item_step` does."""

    @property
    def keys(self) -> np.ndarray | None:
        """[B, M] keys that order the entries, where that is not their score."""


@dataclass(eq=False)
class Group:
    """Beams that compete with each other: all of a search's, or one group of a diverse search."""

    width: int
    policy: Policy
    beams: Beams
    spare: Beams  # buffer for the next level

    def advance(self, sets: Sets, level: Level, rows: int) -> tuple[np.ndarray, np.ndarray]:
        """Moves to the next level; `rows` rows of its logits belong to earlier groups."""
        opened = self.policy.choose(sets, self.beams, level._replace(width=self.width), self.spare)
        if rows:
            self.spare.rows[self.spare.rows != FINISHED] += rows
        self.beams, self.spare = self.spare, self.beams
        if level.depth == 0:  # `spare` is now the roots, which other groups read too
            self.spare = Beams.empty(len(sets.selections), self.width, len(sets.segments))
        return opened


class Levels:
    """Searches side by side, all at one depth."""

    def __init__(self, searched: Searched, settings: Settings, policies: list[Policy]):
        self.settings, self.searched, self.sets = settings, searched, searched.sets
        self.searches, self.depth = len(self.sets.selections), 0
        roots = searched.roots(ends_are_free=settings.stop < 0)
        widths = [
            settings.beams // settings.groups + (g < settings.beams % settings.groups) for g in range(settings.groups)
        ]
        segments = len(self.sets.segments)
        self.groups = [
            Group(width, policy, roots, Beams.empty(self.searches, width, segments))
            for width, policy in zip(widths, policies, strict=True)
        ]
        self.largest = max(segment.largest - segment.shift for segment in self.sets.segments)
        self.tokens: list[int] | None = None
        self.parents = number_rows(roots)

    @property
    def rows(self) -> int:
        """Number of open prefixes, each of which needs a row of logits."""
        return len(self.parents)

    def advance(self, logits: Any) -> None:
        """Reads one token more."""
        full = self.settings.normalise == "full"
        checked = checked_logits(logits, self.rows, max(self.largest, self.settings.stop)).detach()
        on_device = torch.log_softmax(checked, -1, dtype=torch.float32) if full else checked.float()
        table = on_device.cpu().contiguous().numpy()
        tokens: list[int] = []
        parents: list[int] = []
        penalties = NO_PENALTIES
        if len(self.groups) > 1:
            penalties = np.zeros((self.searches, table.shape[1]), np.float32)
        level = Level(self.depth, 0, self.settings.stop, table, NONE if full else np.empty(self.rows), penalties)
        for group in self.groups:
            if not full:
                allowed_norms(self.sets, group.beams, level, level.norms)
            added, above = group.advance(self.sets, level, len(tokens))
            tokens += added.tolist()
            parents += above.tolist()
            if len(self.groups) > 1:
                self._penalise(penalties, group.beams)
        self.tokens, self.parents, self.depth = tokens, parents, self.depth + 1

    def _penalise(self, counts: np.ndarray, beams: Beams) -> None:
        """Adds the diversity penalty for the tokens that this group has just taken."""
        for search, count in enumerate(beams.counts):
            taken = beams.tokens[search, :count]
            np.add.at(counts[search], taken[taken >= 0], np.float32(self.settings.diversity))


def number_rows(roots: Beams) -> list[int]:
    """The searches that have an open root: row i of the first logits belongs to search [i]."""
    reading: list[int] = []
    for search, count in enumerate(roots.counts):
        is_open = roots.rows[search, :count] != FINISHED
        if is_open.any():
            roots.rows[search, :count][is_open] = len(reading)
            reading.append(search)
    return reading


def checked_logits(logits: Any, rows: int, largest: int) -> torch.Tensor:
    """[rows, V], V above the largest token; ValueError where the logits have the wrong shape or type."""
    if not isinstance(logits, torch.Tensor):
        if not isinstance(logits, np.ndarray):
            raise TypeError(f"step returned {type(logits).__name__}; it returns its logits as one tensor [{rows}, V]")
        logits = torch.from_numpy(logits)
    if logits.ndim != 2 or len(logits) != rows or not logits.is_floating_point():
        raise ValueError(
            f"step returned {logits.dtype} {list(logits.shape)} for {rows} prefixes; it returns logits [{rows}, V], "
            "one row for each of `parents`"
        )
    if logits.shape[1] <= largest:
        raise ValueError(
            f"the logits are {logits.shape[1]} wide, and {largest} is a token of an item, or stop; is it another model's?"
        )
    return logits


def results(levels: Levels, ids: np.ndarray | None) -> list[BeamResult]:
    """The result of each search; all entries are finished."""
    made = []
    for search in range(levels.searches):
        of_groups = [_result(levels, group, search, ids) for group in levels.groups]
        made.append(of_groups[0] if len(of_groups) == 1 else merge_groups(of_groups, ids, levels.settings.beams))
    return made


def _result(levels: Levels, group: Group, search: int, ids: np.ndarray | None) -> BeamResult:
    beams, keys = group.beams, group.policy.keys
    count = int(beams.counts[search])
    ranges, depths = beams.ranges[search, :count], beams.depths[search, :count]
    rows = levels.searched.numbers(ranges)
    return BeamResult(
        levels.searched.tokens(ranges, depths),
        beams.scores[search, :count].tolist(),
        rows.tolist(),
        None if ids is None else ids[rows],
        levels.settings.beams,
        None if keys is None else keys[search, :count].tolist(),
    )
