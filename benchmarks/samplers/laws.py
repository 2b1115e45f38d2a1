"""Tasks with a known joint law over a few rows, and a grammar whose language is these rows.

A model of such a law knows at each position the exact distribution given what is fixed: filled one token a step, in any order, it
writes the law. Several tokens a step are drawn as if they were independent; what that costs depends on the task alone.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch

import grammarlm as gl

Row = tuple[int, ...]
MASK = 0


@dataclass(frozen=True)
class Task:
    """Words, and {row of words: probability}."""

    name: str
    about: str
    law: dict[tuple[str, ...], float]

    @cached_property
    def words(self) -> list[str]:
        return sorted({word for row in self.law for word in row})

    @cached_property
    def vocab(self) -> gl.Vocabulary:
        stop = len(self.words) + 1
        tokens = [b"<mask>", *(word.encode() for word in self.words), b"</s>"]
        return gl.Vocabulary(tokens, stop_ids=[stop], special_ids=[MASK, stop])

    @cached_property
    def rows(self) -> dict[Row, float]:
        """The law over ids."""
        ids = {word: number for number, word in enumerate(self.words, 1)}
        return {tuple(ids[word] for word in row): p for row, p in self.law.items()}

    @property
    def length(self) -> int:
        return len(next(iter(self.law)))

    @cached_property
    def grammar(self) -> gl.Choices:
        return gl.Choices(["".join(row) for row in self.law])


class Model:
    """log P(id at a position | the ids that are known)."""

    def __init__(self, task: Task):
        self.rows = np.array(list(task.rows))
        self.masses = np.array(list(task.rows.values()))
        self.width = task.vocab.size

    def __call__(self, ids: torch.Tensor) -> torch.Tensor:
        return torch.stack([self._at_each(row) for row in ids.numpy()])

    def _at_each(self, row: np.ndarray) -> torch.Tensor:
        known = np.flatnonzero(row != MASK)
        fits = (self.rows[:, known] == row[known]).all(1)
        masses = np.zeros((len(row), self.width))
        for position in range(len(row)):
            np.add.at(masses[position], self.rows[fits, position], self.masses[fits])
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = np.log(masses / masses.sum(1, keepdims=True))
        return torch.from_numpy(np.nan_to_num(logs, nan=0.0, neginf=-np.inf))  # no row fits: anything


def even(rows: list[tuple[str, ...]]) -> dict[tuple[str, ...], float]:
    return dict.fromkeys(rows, 1 / len(rows))


def skewed(rows: list[tuple[str, ...]]) -> dict[tuple[str, ...], float]:
    """The first row is the most probable."""
    weights = [math.exp(-0.35 * number) for number in range(len(rows))]
    return {row: weight / sum(weights) for row, weight in zip(rows, weights, strict=True)}


LETTERS = "abc"
TASKS = {
    task.name: task
    for task in (
        Task("independent", "three letters, each by itself", even(list(itertools.product(LETTERS, repeat=3)))),
        Task(
            "copy",
            "three letters, and the same again",
            even([(*x, *x) for x in itertools.product(LETTERS[:2], repeat=3)]),
        ),
        Task("shuffle", "four letters in any order, none twice", even(list(itertools.permutations("abcd")))),
        Task("sort", "four digits that never fall", skewed(list(itertools.combinations_with_replacement("123", 4)))),
        Task(
            "replace",
            "a list of four with one item replaced",
            even([tuple("x" if i == k else "a" for i in range(4)) for k in range(4)]),
        ),
        Task(
            "record",
            "JSON whose values go together",
            skewed(
                [
                    ('{"city":"', city, '","zip":', *code, "}")
                    for city, code in zip(("Rome", "Oslo", "Lima", "Cairo"), ("001", "025", "150", "115"), strict=True)
                ]
            ),
        ),
    )
}
