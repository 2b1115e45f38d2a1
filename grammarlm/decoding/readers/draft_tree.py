"""A draft tree: tokens that may come next, each after an earlier one or after the text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

ROOT = -1  # the parent of a node that follows the text


@dataclass
class DraftTree:
    """Node i is tokens[i], after node parents[i] < i."""

    tokens: list[int] = field(default_factory=list)
    parents: list[int] = field(default_factory=list)
    # Where tokens after a node (ROOT: after the text) were drawn: those tokens in order, and what they were drawn from.
    drawn: dict[int, tuple[list[int], np.ndarray]] = field(default_factory=dict)
    asides: int = 0  # so many of the last nodes are read beside the draft: they are no tokens of the answer

    @classmethod
    def chain(cls, tokens: Iterable[int]) -> DraftTree:
        tokens = list(tokens)
        return cls(tokens, list(range(-1, len(tokens) - 1)))

    def __len__(self) -> int:
        return len(self.tokens)

    def add(self, token: int, parent: int = ROOT) -> int:
        self.tokens.append(token)
        self.parents.append(parent)
        return len(self.tokens) - 1

    def add_aside(self, token: int, parent: int = ROOT) -> int:
        self.asides += 1
        return self.add(token, parent)

    def add_asides(self, tokens: Sequence[int]) -> bool:
        """The same ids after the text and after each node; False where others are read beside the draft already."""
        if self.asides:
            return False
        for owner in range(ROOT, len(self)):
            last = owner
            for token in tokens:
                last = self.add_aside(token, last)
        return True

    @property
    def drafted(self) -> int:
        """How many nodes are tokens that may come."""
        return len(self.tokens) - self.asides

    @property
    def without_asides(self) -> DraftTree:
        return DraftTree(self.tokens[: self.drafted], self.parents[: self.drafted], self.drawn) if self.asides else self

    @property
    def is_chain(self) -> bool:
        return self.parents == list(range(-1, len(self.tokens) - 1))

    def child(self, node: int, token: int) -> int | None:
        """The child of a node with this token."""
        return next((child for child in self.children(node) if self.tokens[child] == token), None)

    def children(self, node: int) -> Iterator[int]:
        return (child for child in range(self.drafted) if self.parents[child] == node)

    def path(self, node: int) -> list[int]:
        """The nodes from the text to this one."""
        nodes = []
        while node != ROOT:
            nodes.append(node)
            node = self.parents[node]
        return nodes[::-1]

    def tokens_to(self, node: int) -> list[int]:
        return [self.tokens[each] for each in self.path(node)]

    def nodes_of(self, tokens: Iterable[int]) -> list[int]:
        """The nodes that these tokens are, one after another, as far as there are such."""
        nodes: list[int] = []
        for token in tokens:
            child = self.child(nodes[-1] if nodes else ROOT, token)
            if child is None:
                break
            nodes.append(child)
        return nodes

    @property
    def leaves(self) -> list[int]:
        inner = set(self.parents)
        return [node for node in range(len(self.tokens)) if node not in inner]
