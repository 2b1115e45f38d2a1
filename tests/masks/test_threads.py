"""One constraint, many threads, an automaton that keeps overflowing: the masks are those of one thread alone."""

import os
import pickle
import random
import signal
import threading
from copy import deepcopy

import pytest

import grammarlm as gl
from tests.mask_bits import ids_of
from tests.threads import in_threads

TOKENS = [bytes([b]) for b in range(256)] + [b"aa", b"ab", b"ba", b"abab", b"bbb", b"."]
VOCAB = gl.Vocabulary(TOKENS, stop_ids=[len(TOKENS) - 1])
PATTERN = "(a|b)*a(a|b){9}"


def walk(constraint: gl.Constraint, seed: int, steps: int) -> list[bytes]:
    rng, matcher, mask = random.Random(seed), constraint.matcher(), gl.allocate_mask(1, VOCAB.size)
    seen = []
    for _ in range(steps):
        matcher.fill_mask(mask)
        seen.append(mask.tobytes())
        ids = ids_of(mask)
        texts = [i for i in ids if i not in VOCAB.stop_ids]
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
    assert in_threads(lambda seed: walk(shared, seed, 150)) == want


GRAMMARS = {
    "a regular one": (gl.Regex(PATTERN), b"abaa"),
    "brackets": (gl.Gbnf('root ::= "(" root ")" | [a-z]{1,5} root? | "e"'), b"((ab))"),
    "lark": (gl.Lark('start: "(" start ")" | NAME\nNAME: /[a-z]+/'), b"((ab))"),
    "json": (gl.JsonSchema({"type": "array", "items": {"type": "string"}}), b'["a"'),
    "parts": ("x" + gl.JsonSchema({"type": "array"}) + "y", b"x[1"),
}


def use(constraint: gl.Constraint, text: bytes) -> bytes:
    matcher, mask = constraint.matcher(), gl.allocate_mask(1, VOCAB.size)
    assert matcher.advance_bytes(text)
    matcher.fill_mask(mask)
    return mask.tobytes()


@pytest.mark.skipif(not hasattr(os, "register_at_fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.parametrize("name", GRAMMARS)
@pytest.mark.parametrize("count", [4, pytest.param(8, marks=pytest.mark.proof)])
def test_a_forked_process_does_not_wait_for_threads_that_it_does_not_have(count: int, name: str) -> None:
    grammar, text = GRAMMARS[name]
    constraint, busy = gl.compile(grammar, VOCAB), True
    wanted = use(constraint, text)

    def keep_busy() -> None:
        while busy:
            use(constraint, text)

    threads = [threading.Thread(target=keep_busy) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(count):
            child = os.fork()
            if child == 0:
                signal.alarm(20)  # ends a child that waits for ever
                os._exit(0 if use(constraint, text) == wanted else 1)
            assert os.waitpid(child, 0)[1] == 0
    finally:
        busy = False
        for thread in threads:
            thread.join()


@pytest.mark.parametrize("name", GRAMMARS)
def test_constraints_and_matchers_are_copied_and_pickled(name: str) -> None:
    grammar, text = GRAMMARS[name]
    constraint, masks = gl.compile(grammar, VOCAB), gl.allocate_mask(3, VOCAB.size)
    assert deepcopy(constraint) is constraint
    assert use(pickle.loads(pickle.dumps(constraint)), text) == use(constraint, text)
    matcher = constraint.matcher()
    assert matcher.advance_bytes(text)
    copies = [matcher, deepcopy(matcher), pickle.loads(pickle.dumps(matcher))]
    for row, each in enumerate(copies):
        each.fill_mask(masks, row)
    assert masks[0].tobytes() == masks[1].tobytes() == masks[2].tobytes()
    copies[1].rollback(1)
    assert copies[2].is_accepting == matcher.is_accepting


def test_matchers_with_a_budget_are_pickled() -> None:
    matcher = gl.compile(gl.Regex("a+"), VOCAB).matcher(max_tokens=3)
    assert matcher.advance(ord("a"))
    again = pickle.loads(pickle.dumps(matcher))
    again.rollback(1)
    assert [again.advance(ord("a")) for _ in range(4)] == [True, True, True, False]
