"""Laws that every matcher obeys, as assertions against a `TokenOracle`, whatever the grammar and the vocabulary.

`assert_walk_equals_oracle` takes a random walk and checks at each stop: the mask and its padding, the two properties,
that refused tokens change nothing, that `validate` is a replay, that forks are independent and that `rollback` and
`reset` undo.
"""

import random
from dataclasses import dataclass
from typing import Any

import numpy as np

import grammarlm as gl
from tests.oracles.automata import State, TokenOracle

_POISON = np.int32(0x5A5A5A5A)


@dataclass(frozen=True)
class Position:
    """Where a walk stands: the oracle's state, whether a stop id was read, and the steps that led here."""

    state: State
    finished: bool = False
    path: tuple[int | bytes, ...] = ()


def allowed_ids(matcher: Any, vocab: gl.Vocabulary) -> set[int]:
    """The ids of the matcher's mask; checks that the row is written whole, padding included, and no other row is."""
    mask = gl.allocate_mask(3, vocab.size)
    assert mask.dtype == np.int32
    assert mask.shape == (3, (vocab.size + 31) // 32)
    mask[:] = _POISON
    needed = matcher.fill_mask(mask, row=1)
    assert (mask[[0, 2]] == _POISON).all(), "fill_mask wrote into another row"
    bits = np.unpackbits(mask[1].view(np.uint8), bitorder="little")
    assert not bits[vocab.size :].any(), "padding bits beyond the vocabulary are set"
    allowed = set(np.flatnonzero(bits).tolist())
    assert bool(needed) is (len(allowed) < vocab.size), "fill_mask returns False exactly when everything is allowed"
    return allowed


def expected_ids(token_oracle: TokenOracle, here: Position) -> set[int]:
    return set(token_oracle.stop_ids) if here.finished else token_oracle.mask(here.state)


def after_token(token_oracle: TokenOracle, here: Position, token: int) -> Position | None:
    """The position after a token, or None where it must be refused."""
    if here.finished or token not in token_oracle.mask(here.state):
        return None
    path = (*here.path, token)
    if token in token_oracle.stop_ids:
        return Position(here.state, True, path)
    return Position(token_oracle.after(here.state, token), False, path)


def after_bytes(token_oracle: TokenOracle, here: Position, data: bytes) -> Position | None:
    """The position after raw bytes: they must be readable, and tokens must be able to finish the text."""
    state = None if here.finished else token_oracle.oracle.read(here.state, data)
    return Position(state, False, (*here.path, data)) if token_oracle.completable(state) else None


def assert_position(matcher: Any, token_oracle: TokenOracle, vocab: gl.Vocabulary, here: Position) -> None:
    """The mask, stop ids and properties are those of the oracle."""
    allowed, expected = allowed_ids(matcher, vocab), expected_ids(token_oracle, here)
    if allowed != expected:
        wrongly, missing = sorted(allowed - expected)[:10], sorted(expected - allowed)[:10]
        raise AssertionError(f"after {here.path}: wrongly allowed {wrongly}, missing {missing}")
    assert matcher.is_finished is here.finished, here.path
    if not here.finished:
        assert matcher.is_accepting is token_oracle.oracle.accepts(here.state), here.path


def assert_refusals_change_nothing(
    matcher: Any, token_oracle: TokenOracle, vocab: gl.Vocabulary, here: Position, rng: random.Random
) -> None:
    """Tokens outside the mask, and bytes that cannot follow, are refused; after a stop id every token is."""
    refused = sorted(set(range(vocab.size)) - (set() if here.finished else expected_ids(token_oracle, here)))
    for token in rng.sample(refused, min(3, len(refused))):
        assert matcher.advance(token) is False, (here.path, token)
    data = bytes(rng.choice(b"ab1 \xc3\xa9\xff") for _ in range(rng.randint(1, 4)))
    if after_bytes(token_oracle, here, data) is None:
        assert matcher.advance_bytes(data) is False, (here.path, data)
    assert_position(matcher, token_oracle, vocab, here)


def assert_validate_is_a_replay(
    matcher: Any, token_oracle: TokenOracle, vocab: gl.Vocabulary, here: Position, rng: random.Random
) -> None:
    """`validate` counts the tokens that `advance` would take, one after the other, and leaves the state alone."""
    tokens: list[int] = []
    accepted, at = 0, here
    for _ in range(rng.randint(0, 6)):
        choices = sorted(expected_ids(token_oracle, at))
        token = rng.choice(choices) if choices and rng.random() < 0.85 else rng.randrange(vocab.size)
        tokens.append(token)
        following = after_token(token_oracle, at, token)
        if following is None:
            break
        accepted, at = accepted + 1, following
    tokens += [rng.randrange(vocab.size) for _ in range(rng.randint(0, 2)) if accepted < len(tokens)]
    assert matcher.validate(tokens) == accepted, (here.path, tokens)
    assert_position(matcher, token_oracle, vocab, here)


def assert_forks_are_independent(
    matcher: Any, token_oracle: TokenOracle, vocab: gl.Vocabulary, here: Position, rng: random.Random
) -> None:
    """A step of the fork is not one of the matcher; a rollback of the fork reaches back before the fork."""
    fork = matcher.fork()
    token = choose_token(token_oracle, here, rng)
    if token is None:
        return
    following = after_token(token_oracle, here, token)
    assert following is not None
    assert fork.advance(token) is True, (here.path, token)
    assert_position(fork, token_oracle, vocab, following)
    assert_position(matcher, token_oracle, vocab, here)
    fork.rollback(len(following.path))
    assert_position(fork, token_oracle, vocab, Position(token_oracle.start))
    assert_position(matcher, token_oracle, vocab, here)


def choose_token(token_oracle: TokenOracle, here: Position, rng: random.Random) -> int | None:
    """A random allowed token; stop ids seldom, so that walks grow long."""
    if here.finished:
        return None
    allowed = sorted(token_oracle.mask(here.state))
    texts = [token for token in allowed if token not in token_oracle.stop_ids]
    stops = [token for token in allowed if token in token_oracle.stop_ids]
    return rng.choice(texts if texts and (not stops or rng.random() < 0.9) else stops)


def choose_bytes(token_oracle: TokenOracle, here: Position, rng: random.Random) -> bytes:
    """The bytes of a few allowed tokens, sometimes cut: mostly acceptable, sometimes inside a character."""
    data, state = b"", here.state
    for _ in range(rng.randint(1, 3)):
        after = ((t, s) for t, s in token_oracle.moves(state).items() if t in token_oracle.texts)
        moves = {token: target for token, target in after if token_oracle.completable(target)}
        if not moves:
            break
        token = rng.choice(sorted(moves))
        data, state = data + token_oracle.texts[token], moves[token]
    return data[: rng.randint(1, len(data))] if data and rng.random() < 0.5 else data


def assert_walk_equals_oracle(
    matcher: Any, token_oracle: TokenOracle, vocab: gl.Vocabulary, rng: random.Random, steps: int
) -> None:
    """All the laws along a random walk of `steps` moves: tokens, raw bytes, rollbacks, and a reset at the end."""
    trail = [Position(token_oracle.start)]
    assert_position(matcher, token_oracle, vocab, trail[0])
    for _ in range(steps):
        here = trail[-1]
        law = rng.choice([assert_refusals_change_nothing, assert_validate_is_a_replay, assert_forks_are_independent])
        law(matcher, token_oracle, vocab, here, rng)
        move = rng.random()
        if len(trail) > 1 and (here.finished or move < 0.2):
            back = rng.randint(1, len(trail) - 1)
            matcher.rollback(back)
            del trail[-back:]
        elif move < 0.35 and (data := choose_bytes(token_oracle, here, rng)):
            following = after_bytes(token_oracle, here, data)
            assert matcher.advance_bytes(data) is (following is not None), (here.path, data)
            trail += [following] if following else []
        elif (token := choose_token(token_oracle, here, rng)) is not None:
            following = after_token(token_oracle, here, token)
            assert matcher.advance(token) is True, (here.path, token)
            assert following is not None
            trail.append(following)
        assert_position(matcher, token_oracle, vocab, trail[-1])
    matcher.reset()
    assert_position(matcher, token_oracle, vocab, trail[0])
