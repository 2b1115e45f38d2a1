"""One step of a beam search over item sets, and the sums of allowed probabilities, by the CPU kernels (kernels/cpu/items/step.py).

kernels/reference/items.py defines both.
"""

import numpy as np

from grammarlm.kernels import entries
from grammarlm.kernels.entries import address_of
from grammarlm.layout.items import Beams, Level, Sets, words_of_room


def item_step(sets: Sets, beams: Beams, level: Level, out: Beams) -> tuple[np.ndarray, np.ndarray]:
    segments, parts, selections, searches = sets.addresses
    depth, width, stop, logits, norms, penalties = level
    searched, kept = beams.scores.shape
    opened = np.empty((2, searches * width), np.int64)
    count = entries.best_entries(
        segments,
        parts,
        selections,
        searches,
        beams.address,
        out.address,
        address_of(logits),
        *logits.shape,
        address_of(norms) if len(norms) else 0,
        address_of(penalties) if len(penalties) else 0,
        address_of(opened),
        out.room(words_of_room(width, parts) + 6 * parts + (2 * searched + 3) * kept),
        depth,
        width,
        stop,
    )
    return opened[0, :count], opened[1, :count]


def allowed_norms(sets: Sets, beams: Beams, level: Level, norms: np.ndarray) -> None:
    logits = level.logits
    entries.norms_of_allowed(
        *sets.addresses, beams.address, address_of(logits), *logits.shape, address_of(norms), level.depth, level.stop
    )
