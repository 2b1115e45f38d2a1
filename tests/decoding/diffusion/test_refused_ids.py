"""Ids that a canvas allows alone and refuses when they are committed: the next best one is taken."""

import numpy as np

import grammarlm as gl
from grammarlm.decoding.diffusion.boards import Boards
from grammarlm.decoding.diffusion.draws import Draws
from grammarlm.decoding.diffusion.free import FreeCanvas
from grammarlm.decoding.diffusion.run import MOST_REFUSED, Run

VOCAB = gl.Vocabulary([bytes([97 + i % 26]) * (1 + i // 26) for i in range(60)] + [b""], stop_ids=[60])


class Reluctant(FreeCanvas):
    """Every id is allowed; some are never committed."""

    refuses: frozenset[int] = frozenset()

    def commit(self, tokens, positions, ids, *, partial=False):
        kept = [(p, i) for p, i in zip(positions, ids, strict=True) if i not in self.refuses]
        return super().commit(tokens, [p for p, _ in kept], [i for _, i in kept], partial=partial)


def run_of(refuses: frozenset[int]) -> tuple[Run, np.ndarray]:
    canvas = Reluctant(2, VOCAB)
    canvas.refuses = refuses
    logits = np.tile(-np.arange(VOCAB.size, dtype=np.float32), (2, 1))
    return Run(Boards(canvas, 2), np.full(2, -1), VOCAB, Draws()), logits


def step(run: Run, logits: np.ndarray) -> None:
    run.step(lambda look: look.choose(np.array([0]), 1), logits, np.array([0, 1]), next(run.schedules()))


def test_the_next_best_id_is_taken() -> None:
    run, logits = run_of(frozenset({0, 1, 2}))
    step(run, logits)
    assert run.row.tolist() == [3, -1]
    assert run.trace[0].rejected == [0]
    assert run.trace[0].committed == [0]


def test_after_some_ids_completions_say_which_is_best() -> None:
    """A canvas that refuses the best ids one by one fills them in only if it must: here its fills have another one."""
    run, logits = run_of(frozenset(range(MOST_REFUSED + 4)))
    logits[:, MOST_REFUSED + 4] = 7
    logits[:, : MOST_REFUSED + 4] -= 5
    logits[0, :MOST_REFUSED] += 20
    canvas = run.boards.whole.canvas
    canvas.fill = lambda tokens, scores: FreeCanvas.fill(
        canvas, tokens, np.where(np.arange(VOCAB.size) < MOST_REFUSED + 4, -50, scores)
    )
    step(run, logits)
    assert run.row.tolist() == [MOST_REFUSED + 4, -1]
