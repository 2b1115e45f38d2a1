"""One constraint, many threads, an automaton that keeps overflowing: the masks are those of one thread alone."""

import random
import threading

import numpy as np

import grammarlm as gl

TOKENS = [bytes([b]) for b in range(256)] + [b"aa", b"ab", b"ba", b"abab", b"bbb", b"."]
VOCAB = gl.Vocabulary(TOKENS, stop_ids=[len(TOKENS) - 1])
PATTERN = "(a|b)*a(a|b){9}"


def walk(constraint: gl.Constraint, seed: int, steps: int) -> list[bytes]:
    rng, matcher, mask = random.Random(seed), constraint.matcher(), gl.allocate_mask(1, VOCAB.size)
    seen = []
    for _ in range(steps):
        matcher.fill_mask(mask)
        seen.append(mask.tobytes())
        ids = np.flatnonzero(np.unpackbits(mask.view(np.uint8), bitorder="little"))
        texts = [i for i in ids.tolist() if i not in VOCAB.stop_ids]
        if rng.random() < 0.2:
            matcher = matcher.fork()
        assert matcher.advance(rng.choice(texts))
        if rng.random() < 0.1:
            matcher.rollback(1)
    return seen


def test_threads_agree_with_one_thread() -> None:
    alone = gl.compile(gl.Regex(PATTERN), VOCAB)
    want = [walk(alone, seed, 150) for seed in range(8)]
    shared = gl.compile(gl.Regex(PATTERN), VOCAB, limits=gl.Limits(max_states=100))
    found: dict[int, list[bytes]] = {}
    threads = [threading.Thread(target=lambda s=seed: found.update({s: walk(shared, s, 150)})) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [found[seed] for seed in range(8)] == want
