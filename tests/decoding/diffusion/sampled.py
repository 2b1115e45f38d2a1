"""What the tests of several samplers share."""

import numpy as np

from grammarlm.decoding.diffusion.look import Look
from tests.decoding.diffusion.languages import agreeing
from tests.decoding.diffusion.mock_models import VOCAB, Context, Counting, infill, random_holes, steps_of

SEEDS = range(6)


def same(name, options, plain, plain_options=None) -> None:
    for seed in SEEDS:
        holes = random_holes(np.random.default_rng(seed), 11)
        steps = seed or None
        have = infill(Context(seed), holes, name, steps=steps, **options)
        want = infill(Context(seed), holes, plain, steps=steps, **(plain_options or {}))
        assert (steps_of(have), have.tokens) == (steps_of(want), want.tokens)


def scores(rows, holes, logits):
    masked = np.flatnonzero(np.asarray(holes) < 0)
    return logits[masked, rows[:, masked]].sum(1)


def best_row(language, holes, logits):
    rows = agreeing(language.rows, holes)
    return rows[scores(rows, holes, logits.astype(np.float32)).argmax()].tolist()


class Table(Counting):
    """The same logits at every call."""

    def __init__(self, logits):
        super().__init__(logits.shape[1])
        self.logits = logits

    def row(self, ids):
        return self.logits[: len(ids)]


def look_at(row, allowed_rows, logits, memory) -> Look:
    positions = np.flatnonzero(row < 0)

    class Allowed:
        def row(self, position):
            return np.packbits(allowed_rows[position], bitorder="little").view(np.int32)

        def test(self, position, ids):
            return allowed_rows[position][list(ids)]

    return Look(positions, logits.astype(np.float32), Allowed(), 0, 4, 1, row, VOCAB, memory=memory)
