"""fill_masks and fill_tree: the same bits as one matcher at a time, whatever threads there are."""

import os
import random
import threading

import numpy as np
import pytest

import grammarlm as gl
from grammarlm.layout.json import SHORT
from grammarlm.masks import batch
from tests.internals import epoch_of, state_of
from tests.laws import vocabularies
from tests.mask_bits import ids_of

VOCAB = vocabularies.every_byte().vocabulary()
POISON = np.int32(0x5A5A5A5A)
PATTERNS = (r"(?:ab|b1)*_?a{3,9}", r"[a-z ]{0,40}\d", r"(?s).*", r"\w+(?: \w+)*", r"x{200}")


def wander(matcher: gl.Matcher, steps: int, rng: random.Random) -> gl.Matcher:
    mask = gl.allocate_mask(1, VOCAB.size)
    for _ in range(steps):
        matcher.fill_mask(mask)
        ids = ids_of(mask)
        if matcher.is_finished or not matcher.advance(rng.choice(ids)):
            break
    return matcher


def matchers(seed: int, count: int) -> list[gl.Matcher | None]:
    """Several of each of a few constraints, fresh ones whose rows are not known, budgets, finished ones, and None."""
    rng = random.Random(seed)
    constraints = [gl.compile(gl.Regex(p), VOCAB) for p in PATTERNS]
    made: list[gl.Matcher | None] = []
    for _ in range(count):
        constraint = rng.choice(constraints)
        budget = None if rng.random() < 0.6 else constraint.matcher().min_tokens_left + rng.randint(0, 5)
        made.append(None if rng.random() < 0.1 else wander(constraint.matcher(budget), rng.randint(0, 6), rng))
        if made[-1] is not None and rng.random() < 0.5:
            ids = [b for b in b"ab1 x" if made[-1].advance(b)]
            assert len(ids) <= 5
    return made


@pytest.mark.parametrize("threads", [None, 1, 2, 64])
def test_a_batch_is_its_rows(threads: int | None) -> None:
    for seed in range(5):
        many, again = matchers(seed, 40), matchers(seed, 40)
        mask, single = gl.allocate_mask(42, VOCAB.size), gl.allocate_mask(1, VOCAB.size)
        mask[:] = POISON
        needed = gl.fill_masks(many, mask, threads=threads)
        assert (mask[40:] == POISON).all()
        for row, matcher in enumerate(again):
            if matcher is None:
                assert (mask[row] == -1).all()
                assert needed[row] is False
            else:
                assert matcher.fill_mask(single) is needed[row]
                assert (mask[row] == single[0]).all()


@pytest.mark.parametrize("takes_the_lock", [False, True])
def test_other_threads_do_help(takes_the_lock: bool, monkeypatch) -> None:
    """Four cold matchers of four constraints meet at a barrier, which opens only if two are filled at one time."""
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    batch._pool.cache_clear()
    barrier, seen = threading.Barrier(2, timeout=60), set()

    class Waiting(gl.Matcher):
        __slots__ = ()

        def fill_mask(self, mask, row=0):
            seen.add(threading.current_thread())
            barrier.wait()
            return super().fill_mask(mask, row)

    many = [Waiting(gl.compile(gl.Regex(f"a{{{n}}}b+"), VOCAB)) for n in range(3, 7)]
    for matcher in many:  # rows that can be made without the lock: their transitions are known
        epoch, state = epoch_of(matcher), state_of(matcher)
        if not takes_the_lock:
            epoch.row(state)
            epoch.rows[state] = None
    mask = gl.allocate_mask(4, VOCAB.size)
    gl.fill_masks(many, mask, threads=2)
    assert len(seen) == 2
    assert [row.tolist() for row in mask] == [single(m).tolist() for m in many]
    batch._pool.cache_clear()


def single(matcher: gl.Matcher) -> np.ndarray:
    mask = gl.allocate_mask(1, VOCAB.size)
    gl.Matcher.fill_mask(matcher, mask)
    return mask[0]


def test_one_matcher_in_two_rows() -> None:
    matcher = gl.compile(gl.Regex("a+b"), VOCAB).matcher()
    mask = gl.allocate_mask(3, VOCAB.size)
    gl.fill_masks([matcher, matcher, matcher], mask, threads=2)
    assert (mask == single(matcher)).all()


def test_a_row_over_its_limit_is_closed_and_the_others_are_filled() -> None:
    long = gl.Vocabulary([bytes([b]) for b in range(256)] + [b"a" * 50, b"."], stop_ids=[257])
    narrow = gl.compile(gl.Regex("a{100}"), long, limits=gl.Limits(max_states=20))
    plain = gl.compile(gl.Regex("a{2}"), long)
    mask = gl.allocate_mask(3, long.size)
    for threads in (1, 2):
        mask[:] = POISON
        with pytest.raises(gl.LimitExceeded, match=r"limits\.max_states = 20"):
            gl.fill_masks([narrow.matcher(), plain.matcher(), None], mask, threads=threads)
        ids = [ids_of(row) for row in mask[:2]]
        assert ids == [[257], [97]]
        assert (mask[2] == -1).all()


COLD = {
    "regex": lambda: gl.Regex("[ab]{3}x"),
    "rules": lambda: gl.Gbnf('root ::= "a" root? "b"'),
    "lark": lambda: gl.Lark('start: A "b"\nA: /[ab]+c/'),
    "schema": lambda: gl.JsonSchema({"type": "string", "pattern": "^[ab]{3}x+$"}),
    "schema beside text": lambda: gl.Text(until="!") + gl.JsonSchema({"type": "string", "pattern": "^[ab]{3}x+$"}),
}


@pytest.mark.parametrize("kind", COLD)
def test_a_failure_that_nobody_foresaw_closes_its_row(kind: str, monkeypatch) -> None:
    """Be it in a mask, a batch or a tree: stop ids alone, and the error; the other rows are made."""

    def fail(*arguments: object) -> None:
        raise ZeroDivisionError("unforeseen")

    vocab = gl.Vocabulary([bytes([b]) for b in range(256)] + [b"."], stop_ids=[256])
    constraint, other = gl.compile(COLD[kind](), vocab), gl.compile(gl.Regex("a{2}"), vocab).matcher()
    other.fill_mask(gl.allocate_mask(1, vocab.size))
    matchers = [constraint.matcher() for _ in range(3)]
    if kind == "schema":
        for matcher in matchers:
            monkeypatch.setattr(epoch_of(matcher), "kernel", lambda *arguments: SHORT)
    monkeypatch.setattr(gl.Matcher, "_made", fail)
    monkeypatch.setattr(gl.Matcher, "_try_row", lambda matcher: None)
    masks = [gl.allocate_mask(3, vocab.size) for _ in range(3)]
    for mask in masks:
        mask[:] = POISON
    with pytest.raises(ZeroDivisionError):
        matchers[0].fill_mask(masks[0], 0)
    with pytest.raises(ZeroDivisionError):
        gl.fill_masks([matchers[1], other, None], masks[1])
    with pytest.raises(ZeroDivisionError):
        gl.fill_tree(matchers[2], [97, 98], [-1, 0], masks[2])
    stops = np.zeros_like(masks[0][0])
    stops[256 // 32] = 1 << 256 % 32
    assert (masks[0][0] == stops).all()
    assert (masks[1][0] == stops).all()
    assert ids_of(masks[1][1]) == [97]
    assert (masks[1][2] == -1).all()
    assert (masks[2] == stops).all()


def test_torch_masks_and_empty_batches() -> None:
    import torch

    mask = torch.zeros((2, VOCAB.words), dtype=torch.int32)
    constraint = gl.compile(gl.Regex("a"), VOCAB)
    assert gl.fill_masks([None, constraint.matcher()], mask) == [False, True]
    assert mask[0].eq(-1).all()
    assert (mask[1].numpy() == single(constraint.matcher())).all()
    assert gl.fill_masks([], mask) == []
    assert gl.fill_masks([None], gl.allocate_mask(1, 77)) == [False]


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda c, mask: gl.fill_masks([c], mask), TypeError, "takes matchers and None, not Constraint"),
        (lambda c, mask: gl.fill_masks([c.matcher()] * 4, mask), gl.MaskError, "has 3 rows, too few for 4 matchers"),
        (lambda c, mask: gl.fill_masks([c.matcher()], mask[:, 1:]), gl.MaskError, r"takes int32 \[batch, "),
        (lambda c, mask: gl.fill_masks([c.matcher()], mask, threads=0), ValueError, "takes 1 or more, or None"),
        (lambda c, mask: gl.fill_masks([c.matcher()], mask, threads=1.5), TypeError, "takes a number of threads"),
        (lambda c, mask: gl.fill_masks([None], None), gl.MaskError, "the mask is a NoneType"),
        (lambda c, mask: gl.fill_tree(c, [], [], mask), TypeError, "takes a matcher, not Constraint"),
        (lambda c, mask: gl.fill_tree(c.matcher(), [97], [0], mask), ValueError, r"parents\[0\] is 0; it takes -1"),
        (lambda c, mask: gl.fill_tree(c.matcher(), [97], [-2], mask), ValueError, r"parents\[0\] is -2"),
        (lambda c, mask: gl.fill_tree(c.matcher(), [97], [], mask), ValueError, "1 tokens, but 0 parents"),
        (
            lambda c, mask: gl.fill_tree(c.matcher(), "a", [-1], mask),
            TypeError,
            "a list or an array of integers, not str",
        ),
        (lambda c, mask: gl.fill_tree(c.matcher(), [97.0], [-1], mask), TypeError, "an integer, not float"),
        (lambda c, mask: gl.fill_tree(c.matcher(), np.zeros((1, 1), int), [-1], mask), TypeError, "not list"),
        (
            lambda c, mask: gl.fill_tree(c.matcher(), [97] * 3, [-1] * 3, mask),
            gl.MaskError,
            "too few for the state now",
        ),
    ],
)
def test_arguments_that_do_not_fit(call, error: type[Exception], message: str) -> None:
    constraint, mask = gl.compile(gl.Regex("a+"), VOCAB), gl.allocate_mask(3, VOCAB.size)
    with pytest.raises(error, match=message):
        call(constraint, mask)


def test_matchers_of_two_vocabularies_share_no_mask() -> None:
    other = gl.Vocabulary([b"a", b"."], stop_ids=[1], size=5000)
    both = [gl.compile(gl.Regex("a"), v).matcher() for v in (VOCAB, other)]
    with pytest.raises(gl.MaskError, match="matcher 1 has another vocabulary"):
        gl.fill_masks(both, gl.allocate_mask(2, VOCAB.size))
