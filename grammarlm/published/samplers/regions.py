"""NAP (Why Diffusion Language Models Struggle with Truly Parallel Decoding): regions that grow at the same time.

Each open region gains a token or more at every step, so that several lines of thought go on side by side. It costs nothing beside
`confidence`. Of no use for a model whose texts go from left to right: it was trained on data with independent regions.
"""

from collections.abc import Sequence

import numpy as np

from grammarlm.decoding.diffusion.look import Choice, Look


def regions(look: Look, *, regions: Sequence[tuple[int, int]] | None = None, tau: float = 0.9) -> Choice:
    """The most confident position of every open region, and all others that are confident enough.

    regions   (first, end) of each; None: the runs of masked positions that there are at the first step. What lies in no region
              waits until all are filled
    """
    known = look.memory.get("regions") or [tuple(one) for one in regions or runs(look.positions)]
    of = np.full(len(look.positions), -1)
    for number, (first, end) in enumerate(known):
        of[(look.positions >= first) & (look.positions < end)] = number
    order = look.by_confidence()
    order = order[of[order] >= 0] if (of >= 0).any() else order
    _, firsts = np.unique(of[order], return_index=True)
    leaders = order[np.sort(firsts)]
    others = order[~np.isin(order, leaders)]
    sure = int((look.reading.confidence[others] >= tau).sum())
    chosen = np.concatenate([leaders, others])
    least = max(len(leaders), look.share)
    return look.choose(chosen, max(len(leaders) + sure, least), least=least, memory={"regions": known})


def runs(positions: np.ndarray) -> list[tuple[int, int]]:
    """Maximal runs of neighbours."""
    breaks = np.flatnonzero(np.diff(positions) > 1) + 1
    return [(int(part[0]), int(part[-1]) + 1) for part in np.split(positions, breaks)]
