"""Models whose logits are known, and vocabularies of a few tokens for them."""

import math

import numpy as np
import torch

import grammarlm as gl

MASK, STOP, WIDTH = 0, 21, 22
LETTERS = [bytes([97 + i]) for i in range(20)]
VOCAB = gl.Vocabulary([b"<mask>", *LETTERS, b"</s>"], stop_ids=[STOP], special_ids=[MASK, STOP])
TEXT_IDS = range(1, STOP)


class Counting:
    """Counts calls, and checks what the model is given."""

    def __init__(self, width=WIDTH):
        self.calls, self.width, self.lengths = 0, width, []

    def __call__(self, ids):
        assert ids.ndim == 2
        assert int(ids.min()) >= 0
        assert int(ids.max()) < self.width
        self.calls += 1
        self.lengths.append(ids.shape[1])
        return torch.from_numpy(np.stack([self.row(row) for row in ids.tolist()]).astype(np.float32))


class Context(Counting):
    """Random logits at each position, which change with every id that is known: no two steps see the same."""

    def __init__(self, seed, width=WIDTH, sharpness=4.0):
        super().__init__(width)
        random = np.random.default_rng(seed)
        self.base = random.standard_normal((64, width)) * sharpness
        self.shift = random.standard_normal((64, width, width)) * sharpness / 4

    def row(self, ids):
        known = [(at, token) for at, token in enumerate(ids) if token != MASK]
        shift = sum((self.shift[at, token] for at, token in known), np.zeros(self.width))
        return np.stack([self.base[at] + shift * math.cos(at) for at in range(len(ids))])


class Fixed(Counting):
    """The same log-probabilities at every call: `rows[position]` is {id: probability}; what is left is shared by all other ids."""

    def __init__(self, rows, width=WIDTH):
        super().__init__(width)
        self.table = np.stack([spread(row, width) for row in rows])

    def row(self, ids):
        return self.table[: len(ids)]


def spread(row, width):
    others = (1 - sum(row.values())) / (width - len(row))
    return np.log([max(row.get(token, others), 1e-12) for token in range(width)])


class Joint(Counting):
    """A joint law over rows {ids: probability}: log P(id at a position | what is known), for beginnings of rows too."""

    def __init__(self, law, width):
        super().__init__(width)
        self.law = law

    def row(self, ids):
        masses = np.zeros((len(ids), self.width))
        for row, p in self.law.items():
            if all(a in (b, MASK) for a, b in zip(ids, row, strict=False)):
                masses[np.arange(len(ids)), list(row[: len(ids)])] += p
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = np.log(masses / masses.sum(1, keepdims=True))
        return np.nan_to_num(logs, nan=0.0, neginf=-np.inf)


class Adversary(Counting):
    """Random logits, other ones at each call, that like best what is least often allowed."""

    def __init__(self, width, liked, seed):
        super().__init__(width)
        self.liked, self.random = list(liked), np.random.default_rng(seed)

    def row(self, ids):
        logits = self.random.standard_normal((len(ids), self.width)) * 4
        logits[:, self.liked] += 3
        return logits


def infill(model, holes, sampler="confidence", **options):
    """Without a constraint, over the letters."""
    return gl.infill(model, list(holes), vocab=VOCAB, mask_id=MASK, sampler=sampler, **options)


def steps_of(out):
    return [step.committed for step in out.stats.trace]


def random_holes(random, length=10, known=0.25):
    row = [int(token) for token in random.integers(1, STOP, length)]
    holes = [token if random.random() < known else -1 for token in row]
    return holes if -1 in holes else [-1, *holes[1:]]
