"""A toy state-space model: a linear recurrence with random weights, read as texts of ids, by its state, or as trees."""

import torch


class LinearStates:
    """h' = a * h + B[id], a different decay a for each id; logits C tanh(h)."""

    def __init__(self, seed, vocab_size, size=24):
        generator = torch.Generator().manual_seed(seed)
        normal = lambda *shape: torch.randn(*shape, generator=generator, dtype=torch.float64)  # noqa: E731
        self.vocab_size, self.size = vocab_size, size
        self.decay = torch.sigmoid(normal(vocab_size, size))
        self.enter, self.leave = 3 * normal(vocab_size, size), 2 * normal(size, vocab_size)
        self.reads = 0

    def output(self, states):
        return torch.tanh(states) @ self.leave

    def __call__(self, ids):
        return self.output(self.read(self.start(len(ids)), ids, torch.full((len(ids),), ids.shape[1]))[0])

    def start(self, count):
        return torch.zeros(count, self.size, dtype=torch.float64)

    def read(self, states, ids, lengths):
        self.reads += int(lengths.sum())
        rows, after = [], states
        for at in range(ids.shape[1]):
            token = ids[:, at]
            states = self.decay[token] * states + self.enter[token]
            after = torch.where((lengths > at)[:, None], states, after)
            rows.append(states)
        return torch.stack(rows, 1) if rows else torch.zeros(len(ids), 0, self.size), after

    def read_trees(self, states, ids, parents):
        """All nodes at once: the transition from each node above to each node, zero where it is not above."""
        count = ids.shape[1]
        through = torch.zeros(
            len(ids), count, count + 1, self.size, dtype=torch.float64
        )  # the last one: from the state
        for row, above in enumerate(parents.tolist()):
            for node, parent in enumerate(above):
                own = self.decay[ids[row, node]]
                if parent < 0:
                    through[row, node, count] = own
                else:
                    through[row, node] = own * through[row, parent]
                through[row, node, node] = 1.0
        entering = torch.cat((self.enter[ids], states[:, None]), 1)
        return (through * entering[:, None]).sum(2)
