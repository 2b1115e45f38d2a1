"""One walk of a vocabulary's trie, level by level: what each token does to all states at once, as the number of a vector."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from grammarlm.vocab.vocabulary import Vocabulary


def vectors_of_tokens(
    vocab: Vocabulary,
    after: Callable[[np.ndarray, np.ndarray], np.ndarray],
    identity: int,
    nowhere: int,
    check: Callable[[], None],
) -> np.ndarray:
    """int32 [V]: the number of each text token's vector, `nowhere` where no state reads it.

    `after(vectors, bytes)` has the numbers of the vectors that are those moved on by a byte each; the root's is `identity`.
    """
    trie = vocab.trie
    found = np.full(vocab.words * 32 + 1, nowhere, np.int32)
    reached = np.full(len(trie.byte) + 1, nowhere, np.int32)
    reached[-1] = identity  # the root, whose number is -1
    for level in trie.levels:
        before = reached[trie.parent[level]]
        alive = before != nowhere
        nodes, before = level[alive], before[alive]
        if not len(nodes):
            break
        check()
        reached[nodes] = after(before, trie.byte[nodes])
    found[trie.token] = reached[:-1]
    found[trie.twins[:, 0]] = found[trie.twins[:, 1]]
    return found[: vocab.size]
