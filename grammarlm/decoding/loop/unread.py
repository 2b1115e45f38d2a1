"""What the model has yet to read of one text of a batch, and which of the logits are needed."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from grammarlm.decoding.readers.draft_tree import ROOT, DraftTree


@dataclass
class Unread:
    """Ids of one text that its reader gets next."""

    ids: list[int]  # of the text, not read yet
    skip: int  # the logits of the first `skip` of them are not needed
    tree: DraftTree = field(default_factory=DraftTree)  # proposed for the next choices, read after `ids`
    path: list[int] = field(default_factory=list)  # nodes of the tree that were drawn

    @classmethod
    def beginning(cls, ids: list[int]) -> Unread:
        return cls(list(ids), len(ids) - 1)

    def copy(self) -> Unread:
        return replace(self, ids=list(self.ids), path=list(self.path))

    def start(self) -> list[int]:
        """The ids up to the first whose logits are needed."""
        return self.ids[: self.skip + 1]

    def read(self, chunk: list[int]) -> None:
        """The chunk has been read."""
        self.ids, self.skip = self.ids[len(chunk) :], max(0, self.skip - len(chunk))

    def scored(self, chunk: list[int]) -> int:
        """How many logits of this chunk are needed."""
        return max(0, len(chunk) - self.skip)

    def then(self, token: int) -> None:
        """A token has been drawn."""
        self.ids, self.skip = [token], 0

    @property
    def tip(self) -> int:
        """The node whose logits the next choice is made from."""
        return self.path[-1] if self.path else ROOT

    def follow(self, drawn: int) -> int | None:
        """The node of the drawn token, which has been read with its tree; None where the tree has no such node."""
        node = self.tree.child(self.tip, drawn)
        if node is not None:
            self.path.append(node)
            self.ids = []
        return node

    @property
    def proposed(self) -> list[tuple[int, int]]:
        """(node, token) of the draft for the next choice."""
        return [(node, self.tree.tokens[node]) for node in self.tree.children(self.tip)]

    @property
    def drawn(self) -> tuple[list[int], np.ndarray] | None:
        """The draft tokens for the next choice, and what they were drawn from; None where they were not drawn."""
        return self.tree.drawn.get(self.tip)

    def forget_tree(self) -> None:
        self.tree, self.path = DraftTree(), []
