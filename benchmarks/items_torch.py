"""A torch search over an item set, as the paper of STATIC describes theirs: a flattened trie as CSR, dense tables for its head.

Written from the description alone, for items of one length. Per step and beam: read the row pointers, gather exactly K (token,
next state) pairs, K being the level's largest fan-out, gather their log-probabilities, keep the best M of M x K. The first level,
and the second where V x V states are a table of reasonable size, are looked up densely.
"""

import numpy as np
import torch

LARGEST_TABLE = 1 << 26  # states of a dense second level


class TorchTrie:
    """A state of a level is the number of its prefix among those of the level, in order."""

    def __init__(self, matrix: np.ndarray, vocabulary: int):
        """`matrix`: sorted rows."""
        self.vocabulary, self.length = vocabulary, matrix.shape[1]
        self.levels: list[tuple[torch.Tensor, torch.Tensor, int]] = []  # row pointers, tokens, largest fan-out
        is_new = np.zeros(len(matrix), bool)
        is_new[0] = True
        states = np.zeros(len(matrix), np.int64)  # of each row, at this level
        self.tables: list[torch.Tensor] = []
        self.first_rows: list[
            np.ndarray
        ] = []  # of each level's states: to find a prefix's state by its rows, for comparison only
        for depth in range(self.length):
            column = matrix[:, depth]
            is_new[1:] |= column[1:] != column[:-1]
            places = np.flatnonzero(is_new)
            self.first_rows.append(places.astype(np.int32))
            counts = np.bincount(states[places], minlength=states[-1] + 1)
            pointers = np.concatenate([[0], np.cumsum(counts)])
            tokens = torch.from_numpy(column[places].astype(np.int64))
            self.levels.append((torch.from_numpy(pointers), tokens, int(counts.max())))
            if depth < 2 and len(counts) * vocabulary <= LARGEST_TABLE:
                table = np.full((len(counts), vocabulary), -1, np.int64)
                table[states[places], column[places]] = np.arange(len(places))
                self.tables.append(torch.from_numpy(table))
            states = np.cumsum(is_new) - 1

    @property
    def nbytes(self) -> int:
        arrays = [a for pointers, tokens, _ in self.levels for a in (pointers, tokens)]
        return sum(a.numel() * 4 for a in [*arrays, *self.tables])  # as int32, which would do

    def children(self, depth: int, states: torch.Tensor, log_p: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Of each state K children: their log-probabilities, -inf where there is none, and their states."""
        if depth < len(self.tables):
            found = self.tables[depth][states]
            return log_p.masked_fill(found < 0, -torch.inf), found
        pointers, tokens, fan_out = self.levels[depth]
        start = pointers[states]
        places = start[:, None] + torch.arange(fan_out)
        is_child = places < pointers[states + 1][:, None]
        places = places.clamp_(max=len(tokens) - 1)
        scores = log_p.gather(1, tokens[places])
        return scores.masked_fill_(~is_child, -torch.inf), places

    def best(
        self, scores: torch.Tensor, children: tuple[torch.Tensor, torch.Tensor], beams: int
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Top `beams` of each search: scores [B, M], states [B * M]."""
        searches = scores.shape[0]
        gains, states = children
        total = (scores.reshape(-1, 1) + gains).reshape(searches, -1)
        top, at = total.topk(min(beams, total.shape[1]), dim=1)
        return top, states.reshape(searches, -1).gather(1, at).reshape(-1)
