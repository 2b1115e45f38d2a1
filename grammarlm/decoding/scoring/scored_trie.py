"""Token sequences that may come after a prompt, and the log-probability of each: a trie, read in few forwards.

    trie = ScoredTrie()
    ends = [trie.add(tokens) for tokens in sequences]
    log_p = trie.log_p(reader)                  # of one prompt
    [log_p[end] for end in ends]

What sequences share is read once, on top of the prompt's cache, and what comes last in all of them is not read at all: so sequences
of single tokens cost one forward, over the prompt. A forward has a row of logits for each node, hundreds of kilobytes each; so
nodes are read in blocks, and of each row only the figures of what follows are kept. Where a model's cache takes no trees, each
branch is a row beside the others.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np
import torch

from grammarlm.decoding.failures import no_distribution
from grammarlm.decoding.readers.callable import TreeRows
from grammarlm.decoding.readers.draft_tree import ROOT, DraftTree
from grammarlm.decoding.readers.reader import Reader

MOST_BYTES = 256 << 20  # of the logits of a block
MOST_NODES = 2048  # of a block that is read as a tree: each sees the others by a mask


class ScoredTrie:
    """Node 0 is the prompt; each other one is a token after an earlier node.

    Known after `log_p`: `forwards`, the calls of the model, and `width`, of its logits.
    """

    forwards, width = 0, 0

    def __init__(self) -> None:
        self._tokens, self._parents = [-1], [-1]
        self._children: list[dict[int, int]] = [{}]

    def add(self, tokens: Sequence[int], after: int = 0) -> int:
        """The node of these tokens after another node, made where it is missing."""
        node = after
        for token in tokens:
            found = self._children[node].get(token)
            if found is None:
                found = self._children[node][token] = len(self._tokens)
                self._tokens.append(token)
                self._parents.append(node)
                self._children.append({})
            node = found
        return node

    def log_p(self, reader: Reader, unknown_ids: bool = False) -> np.ndarray:
        """float64 [nodes]: of each the log-probability that its tokens come after the reader's one prompt.

        ValueError where the model's logits are no distribution, or do not have an id; with `unknown_ids` that id is at -inf.
        """
        found = np.full(len(self._tokens), -math.inf)
        found[0] = 0.0
        [prompt] = reader.beginnings
        reader.gives_copies = False
        rows = reader.read([prompt], [1])
        self.forwards, self.width, last = 1, rows.shape[1], max(self._tokens)
        if last >= self.width and not unknown_ids:
            raise ValueError(f"the id {last} is asked about; the model knows ids from 0 to {self.width - 1}")
        self._score([0], rows, found)
        most = max(1, MOST_BYTES // (4 * self.width))
        del rows
        blocks = self._blocks(min(most, MOST_NODES)) if reader.reads_trees else self._blocks(most, len(prompt))
        for nodes in blocks:
            place = {node: at for at, node in enumerate(nodes)}
            tree = DraftTree(
                [self._tokens[node] for node in nodes], [place.get(self._parents[node], ROOT) for node in nodes]
            )
            self._score(nodes, rows_after(reader, tree), found)  # whose rows are gone before the next ones
            self.forwards += 1
        return found

    def _score(self, nodes: Sequence[int], rows: torch.Tensor, found: np.ndarray) -> None:
        """Writes what comes after each of these nodes; parents come first, so a node's own figure is known."""
        for node, row in zip(nodes, rows, strict=True):
            children = {token: child for token, child in self._children[node].items() if token < self.width}
            log_total = float(row.logsumexp(0))
            if not math.isfinite(log_total):
                raise no_distribution(self._depth(node), row.numpy())
            own = row[torch.tensor(list(children), dtype=torch.long)].double().numpy()
            found[list(children.values())] = found[node] + np.minimum(own - log_total, 0.0)

    def _depth(self, node: int) -> int:
        depth = 0
        while node:
            node, depth = self._parents[node], depth + 1
        return depth

    def _inner(self) -> Iterator[tuple[int, int]]:
        """Nodes that something comes after, but the prompt and ids that the model does not know, each with its depth: a branch
        after the other."""
        waiting = [(child, 1) for child in reversed(self._children[0].values())]
        while waiting:
            node, depth = waiting.pop()
            if self._children[node] and self._tokens[node] < self.width:
                yield node, depth
                waiting += [(child, depth + 1) for child in reversed(self._children[node].values())]

    def _blocks(self, most: int, beginning: int | None = None) -> Iterator[list[int]]:
        """The inner nodes in parts, parents first: each with the nodes that lead to it, of so many rows of logits at most, or of
        twice as many as its first node needs.

        beginning   where each branch is read by itself, with all ids before it: the number of those
        """
        block: list[int] = []
        path: list[int] = []  # the nodes that lead to the last one, itself included
        branches, longest, bound = 0, 0, most
        for node, depth in self._inner():
            begins = not branches or depth <= len(path)  # a branch of its own
            path = [*path[: depth - 1], node]
            rows = len(block) + 1
            if beginning is not None:
                rows += (branches + begins) * (beginning + max(longest, depth))
            if block and rows > bound:
                yield block
                block, branches, longest, begins = path[:-1], 0, 0, True
                bound = max(most, 2 * (depth if beginning is None else beginning + 2 * depth))
            block.append(node)
            branches, longest = branches + begins, max(longest, depth)
        if block:
            yield block


def rows_after(reader: Reader, tree: DraftTree) -> torch.Tensor:
    """The logits after each node of a tree that follows the one text, which is left as it is."""
    if reader.reads_trees:
        logits = reader.read_trees([[]], [0], [tree])
        reader.keep([[]])
        return logits
    paths = TreeRows([[]], [tree])
    lengths = [len(row) for row in paths.rows]
    logits = reader.taken([0] * len(lengths)).read(paths.rows, lengths)
    begins = [sum(lengths[:row]) for row in range(len(lengths))]
    return logits[[begins[row] + at for row, at in paths.places([0])]]
