"""A trie of the texts that draws have come to: what the model says after each, and how much of that may still be valid."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from grammarlm.decoding.tree.branches import Branches
from grammarlm.decoding.tree.steps import Steps, log_sum
from grammarlm.decoding.tree.text_node import TextNode

MOST_BYTES = 256 << 20  # of distributions; texts that come after that are not remembered


@dataclass
class Node:
    """`left`: log p plus the log of the share; `shares`: logs of those below 1; `answers`: the predicate's, by token."""

    steps: Steps
    left: np.ndarray
    shares: dict[int, float] = field(default_factory=dict)
    answers: dict[int, bool] = field(default_factory=dict)

    def learn(self, token: int, share: float) -> None:
        self.shares[token], self.left[token] = share, self.steps.allowed[0, token] + np.float32(share)

    def learn_answers(self) -> None:
        """What the predicate refuses is refuted."""
        for token, is_fine in self.answers.items():
            if not is_fine and token not in self.shares:
                self.learn(token, -math.inf)


class Trie:
    """The nodes of all prompts."""

    def __init__(self, branches: Branches):
        self._branches, self._room = branches, MOST_BYTES
        self._nodes: dict[TextNode, Node] = {}

    def node(self, text: TextNode) -> Node:
        """That of a text, which is read where it is new."""
        found = self._nodes.get(text)
        if found is None:
            steps = self._branches.steps([text])
            found = Node(steps, steps.allowed[0].copy())
            self._room -= 4 * steps.allowed.nbytes
            if self._room >= 0:
                self._nodes[text] = found
        return found

    @staticmethod
    def learn(way: Sequence[tuple[Node, int]]) -> None:
        """What is left after each token of a draw, from its end to its beginning."""
        for (before, token), (after, _) in zip(way[-2::-1], way[:0:-1], strict=True):
            before.learn(token, min(log_sum(after.left), 0.0))
