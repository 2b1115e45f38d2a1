"""What every matcher promises beside its masks, whatever its grammar: each answer against another one that must agree.

    check_promises(constraint, rng, accepts)    batches, trees, bytes, steps back, snapshots, saved constraints, forced text
    check_budgets(constraint, rng, accepts)     texts end in time, in texts of the language, and no token is forbidden without need

A machine gets both for free, for a few of its grammars. Nothing here knows one.
"""

import random
from collections.abc import Callable

import pytest

import grammarlm as gl
from tests.laws.cfg_laws import (
    assert_advance_agrees,
    assert_rollback_undoes,
    assert_rows_are_alike,
    budgeted_text,
    view,
)
from tests.laws.laws import allowed_ids

SPARE = (0, 2, 15, 80)
MOST_FORCED = 8  # bytes
Accepts = Callable[[bytes], bool]


def texts_of(matcher: gl.Matcher, vocab: gl.Vocabulary) -> list[int]:
    return sorted(allowed_ids(matcher, vocab) - set(vocab.stop_ids))


def wander(matcher: gl.Matcher, vocab: gl.Vocabulary, steps: int, rng: random.Random) -> gl.Matcher:
    """The matcher, some tokens and pieces of text further."""
    for _ in range(steps):
        following = texts_of(matcher, vocab)
        if not following:
            break
        token = rng.choice(following)
        if rng.random() < 0.2:
            matcher.advance_bytes(vocab.token_bytes(token)[:1])
        else:
            assert matcher.advance(token)
    return matcher


def check_promises(constraint: gl.Constraint, rng: random.Random, in_pieces: bool = True) -> None:
    """`in_pieces`: bytes are read wherever they are cut; an item is read in whole tokens only."""
    vocab, least = constraint.vocab, constraint.matcher().min_tokens_left
    again = gl.Constraint.from_bytes(constraint.to_bytes(), vocab)
    assert again.grammar == constraint.grammar
    assert again.to_bytes() == constraint.to_bytes()
    a_batch_is_its_rows(constraint, rng)
    if in_pieces:
        bytes_are_read_in_any_pieces(constraint, rng)
    for budget in (None, least + rng.choice([1, 4, 20])):
        matcher = wander(constraint.matcher(budget), vocab, rng.randint(0, 5), rng)
        assert_advance_agrees(matcher, vocab)
        a_tree_is_a_replay(matcher, vocab, rng)
        a_copy_goes_on(matcher, constraint, again, rng)
        what_must_come_is_forced(matcher, vocab)
        assert_rollback_undoes(matcher, vocab, rng)


def a_batch_is_its_rows(constraint: gl.Constraint, rng: random.Random) -> None:
    """Matchers of one constraint in all places, some with a budget, by one thread and by two."""
    vocab, least = constraint.vocab, constraint.matcher().min_tokens_left
    matchers = []
    for place in range(6):
        budget = rng.choice([None, None if least is None else least + place])
        matchers.append(wander(constraint.matcher(budget), vocab, place, rng))
    assert_rows_are_alike(matchers, vocab)
    for threads in (1, 2):
        mask = gl.allocate_mask(len(matchers), vocab.size)
        gl.fill_masks(matchers, mask, threads=threads)
        for row, matcher in enumerate(matchers):
            assert mask[row].tobytes() == view(matcher, vocab)[0], (row, threads)


def bytes_are_read_in_any_pieces(constraint: gl.Constraint, rng: random.Random) -> None:
    """Token by token, at once, or byte by byte a text leads to the same place; what cannot follow changes nothing."""
    vocab = constraint.vocab
    by_token, data = constraint.matcher(), b""
    for _ in range(6):
        texts = [token for token in texts_of(by_token, vocab) if token not in vocab.special_ids]
        if not texts:
            break
        token = rng.choice(texts)
        assert by_token.advance(token)
        data += vocab.token_bytes(token)
    at_once, bytewise = constraint.matcher(), constraint.matcher()
    assert at_once.advance_bytes(data)
    if {*data} <= {ord(token) for token in map(vocab.token_bytes, range(vocab.size)) if len(token) == 1}:
        assert all(bytewise.advance_bytes(bytes([byte])) for byte in data)
        assert view(at_once, vocab) == view(bytewise, vocab)
    before = view(at_once, vocab)
    for wrong in (b"\xff\xff\x00", data + b"\x00\xff\xff"):
        if not at_once.advance_bytes(wrong):
            assert view(at_once, vocab) == before
        else:
            at_once.rollback(1)
    assert at_once.advance_bytes(b"")
    at_once.rollback(2)
    assert view(at_once, vocab) == view(constraint.matcher(), vocab)


def a_tree_is_a_replay(matcher: gl.Matcher, vocab: gl.Vocabulary, rng: random.Random) -> None:
    """Rows of a random tree, of allowed tokens and others, are those of its paths; refused paths have none."""
    matchers: list[gl.Matcher | None] = [matcher]
    tokens, parents = list[int](), list[int]()
    for _ in range(12):
        parent = rng.randrange(len(matchers))
        above = matchers[parent]
        allowed = sorted(allowed_ids(above, vocab)) if above else []
        stray = rng.choice([-1, vocab.size, rng.randrange(vocab.size)])  # some ids do not exist
        tokens.append(rng.choice(allowed) if allowed and rng.random() < 0.8 else stray)
        parents.append(parent - 1)
        child = above.fork() if above else None
        matchers.append(child if child and child.advance(tokens[-1]) else None)
    before, mask = view(matcher, vocab), gl.allocate_mask(len(matchers), vocab.size)
    gl.fill_tree(matcher, tokens, parents, mask)
    for row, replay in enumerate(matchers):
        expected = view(replay, vocab)[0] if replay else bytes(len(mask[row]) * 4)
        assert mask[row].tobytes() == expected, (tokens, parents, row)
    assert view(matcher, vocab) == before


def a_copy_goes_on(matcher: gl.Matcher, constraint: gl.Constraint, again: gl.Constraint, rng: random.Random) -> None:
    """A snapshot, restored here and in a constraint that was saved and loaded, shows and does what the matcher does."""
    vocab = constraint.vocab
    for home in (constraint, again):
        original, copy = matcher.fork(), home.restore(matcher.snapshot())
        assert copy.snapshot() == matcher.snapshot()
        for _ in range(4):
            assert view(copy, vocab) == view(original, vocab)
            assert copy.forced_bytes() == original.forced_bytes()
            token = rng.choice(sorted(allowed_ids(original, vocab)))
            assert copy.advance(token) is original.advance(token)
            if rng.random() < 0.3:
                copy.rollback(1)
                original.rollback(1)
        copy.reset()
        assert view(copy, vocab)[0] == view(again.restore(copy.snapshot()), vocab)[0]


def what_must_come_is_forced(matcher: gl.Matcher, vocab: gl.Vocabulary) -> None:
    """Tokens as long as a mask has one id, and that no stop id; bytes as long as all that tokens can spell begin with them."""
    ahead, chain = matcher.fork(), list[int]()
    while len(ids := allowed_ids(ahead, vocab)) == 1 and not ids & set(vocab.stop_ids):
        chain += ids
        assert ahead.advance(chain[-1])
    assert matcher.forced_tokens() == chain
    forced = matcher.forced_bytes(MOST_FORCED)
    waiting, seen, follow = [(matcher, 0, 0)], set[tuple[int, int]](), set[bytes]()
    for here, at, steps in waiting:  # the bytes and tokens that were read tell matchers apart
        if here.is_accepting:
            follow |= {b"", b"the end"}
            assert at == len(forced)
        for token in texts_of(here, vocab):
            data, rest = vocab.token_bytes(token), forced[at:]
            assert data.startswith(rest) or rest.startswith(data), (forced, at, data)
            if len(data) > len(rest):
                follow.add(data[len(rest) :][:1])
            elif (place := (at + len(data), steps + 1)) not in seen:
                seen.add(place)
                waiting.append((here.fork(), *place))
                assert waiting[-1][0].advance(token)
    if (
        len(forced) < MOST_FORCED and len(follow) == 1
    ):  # what follows a token that is asked for by its id hangs on the tokens, and a special one is no text
        asked = ((here, token) for here, _, _ in waiting for token in texts_of(here, vocab))
        assert not all(
            token not in vocab.special_ids and here.fork().advance_bytes(vocab.token_bytes(token))
            for here, token in asked
        ), (forced, follow)


def check_budgets(constraint: gl.Constraint, rng: random.Random, accepts: Accepts) -> None:
    """Walks of at most as many tokens as are enough, or some more, end in texts of the language; one less is refused."""
    least = constraint.matcher().min_tokens_left
    if least:
        with pytest.raises(ValueError, match=rf"max_tokens={least - 1} may not be enough"):
            constraint.matcher(max_tokens=least - 1)
    for more in SPARE:
        text = budgeted_text(constraint, least + more, [], rng)
        assert accepts(text), (text, more)
    far, plain = constraint.matcher(max_tokens=10**6), constraint.matcher()
    for _ in range(6):
        assert view(far, constraint.vocab) == view(plain, constraint.vocab), "a budget that is far away"
        seed = rng.random()
        for matcher in (far, plain):
            wander(matcher, constraint.vocab, 1, random.Random(seed))
    for more in (0, 3):
        a_token_is_allowed_iff_the_rest_is_enough(constraint, least + more, rng)
    for steps in (0, 3, 9):
        some_token_goes_nearer_to_the_end(wander(constraint.matcher(), constraint.vocab, steps, rng), constraint.vocab)


def a_token_is_allowed_iff_the_rest_is_enough(constraint: gl.Constraint, budget: int, rng: random.Random) -> None:
    """What is enough after a token is asked of a matcher without a budget, of a constraint that has seen no other text."""
    vocab, fresh = constraint.vocab, gl.compile(constraint.grammar, constraint.vocab)
    narrow, wide = constraint.matcher(max_tokens=budget), fresh.matcher()
    for left in range(budget, -1, -1):
        expected = set()
        for token in allowed_ids(wide, vocab):
            after = wide.fork()
            assert after.advance(token)
            if token in vocab.stop_ids or after.min_tokens_left < left:
                expected.add(token)
        assert allowed_ids(narrow, vocab) == expected, left
        texts = sorted(expected - set(vocab.stop_ids))
        if not texts:
            break
        token = rng.choice(texts)
        assert narrow.advance(token)
        assert wide.advance(token)


def some_token_goes_nearer_to_the_end(matcher: gl.Matcher, vocab: gl.Vocabulary) -> None:
    """`min_tokens_left` is kept by a walk that always goes nearer."""
    while not matcher.is_accepting:
        left, nearer = matcher.min_tokens_left, None
        for token in texts_of(matcher, vocab):
            fork = matcher.fork()
            assert fork.advance(token)
            if fork.min_tokens_left < left:
                nearer = fork
                break
        assert nearer is not None, left
        matcher = nearer
