"""How probable a model finds each of some continuations of a prompt, their ends included: all of them in few forwards."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from grammarlm.decoding.fit import check_positions, warn_of_width
from grammarlm.decoding.readers.reader import open_reader
from grammarlm.decoding.request import Request
from grammarlm.decoding.scoring.scored_trie import ScoredTrie


def log_probabilities(request: Request, number: int, continuations: Sequence[Sequence[int]]) -> tuple[list[float], int]:
    """Of each continuation of a prompt the log-probability that the model writes it and ends; and how many forwards that took.

    Any of the stop ids ends it. ValueError where logits are no distribution, or the model has too few positions.
    """
    prompt, room = request.prompts[number], max(map(len, continuations), default=0)
    check_positions(request.model, [prompt], max(room, 1), "leave out answers of more than {most} tokens")
    spec = request.specs[number]
    reader = open_reader(request.model, [prompt], max(room, 1), spec.settings.cache)
    trie = ScoredTrie()
    ends = [[trie.add([*tokens, stop]) for stop in spec.vocab.stop_ids] for tokens in continuations]
    log_p = trie.log_p(reader, unknown_ids=True)
    if reader.width is None:  # of a bare callable it is known only now
        warn_of_width(spec.vocab.size, trie.width)
    return np.logaddexp.reduce(log_p[np.array(ends, dtype=np.int64)], axis=1).tolist(), trie.forwards
