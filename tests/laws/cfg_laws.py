"""Laws of matchers whose grammar has a stack, as assertions that every (machine, vocabulary) case inherits.

`laws.assert_walk_equals_oracle` holds for every grammar; `CfgTokenOracle` gives it what it asks for, from an oracle of
context-free grammars. What is here needs less than such an oracle, or something that it cannot have: matchers whose
vocabulary lacks bytes, laws that compare a matcher with itself, and walks steered to their end.
"""

import random
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

import grammarlm as gl
from tests.laws.laws import allowed_ids, assert_walk_equals_oracle
from tests.laws.vocabularies import TokenList
from tests.mask_bits import ids_of
from tests.oracles.automata import State, TokenOracle
from tests.oracles.cfg_oracle import CfgOracle, Column, ShortestTexts, TokenFuture
from tests.threads import in_threads

# Everything that a matcher shows: the bits of its row, and its two properties.
View = tuple[bytes, bool, bool]


class CfgTokenOracle(TokenOracle):
    """The exactness law for a context-free grammar; `future` says what tokens can finish, None: whatever bytes can."""

    def __init__(self, oracle: CfgOracle, token_list: TokenList, future: TokenFuture | None = None):
        super().__init__(oracle, token_list.tokens, token_list.stop_ids, token_list.special_ids)  # type: ignore[arg-type]
        self._future = future

    def completable(self, state: State) -> bool:
        assert state is None or isinstance(state, Column)
        return state is not None if self._future is None else self._future.completable(state)


def spelling_tokens(token_list: TokenList) -> list[bytes]:
    """The tokens that spell texts: neither stop nor special ids, and not empty."""
    never = {*token_list.stop_ids, *token_list.special_ids}
    return [data for token, data in enumerate(token_list.tokens) if data and token not in never]


def single_bytes(tokens: Iterable[bytes]) -> set[int]:
    """The bytes that are tokens of their own."""
    return {data[0] for data in tokens if len(data) == 1}


def bounds(oracle: CfgOracle, token_list: TokenList) -> tuple[CfgTokenOracle, CfgTokenOracle]:
    """What a mask has at least and at most.

    At most: tokens in a row can finish the text. At least: single-byte tokens can, which is all that a machine with a
    stack has to look for. They are the same where every byte that the grammar asks for is a token.
    """
    known = _BOUNDS.get("last")
    if known is None or known[0] is not oracle or known[1] is not token_list:
        known = _BOUNDS["last"] = oracle, token_list, _find_bounds(oracle, token_list)
    return known[2]


_BOUNDS: dict[
    str, tuple[CfgOracle, TokenList, tuple[CfgTokenOracle, CfgTokenOracle]]
] = {}  # laws ask one after the other


def _find_bounds(oracle: CfgOracle, token_list: TokenList) -> tuple[CfgTokenOracle, CfgTokenOracle]:
    tokens = spelling_tokens(token_list)
    if oracle.productions.bytes_used() <= single_bytes(tokens):
        both = CfgTokenOracle(oracle, token_list)
        return both, both
    singles = TokenFuture(oracle, [data for data in tokens if len(data) == 1])
    return CfgTokenOracle(oracle, token_list, singles), CfgTokenOracle(oracle, token_list, TokenFuture(oracle, tokens))


def view(matcher: Any, vocab: gl.Vocabulary) -> View:
    """All that can be seen of a matcher's state; equal before and after whatever is undone."""
    mask = gl.allocate_mask(1, vocab.size)
    matcher.fill_mask(mask)
    return mask.tobytes(), matcher.is_accepting, matcher.is_finished


def assert_advance_agrees(matcher: Any, vocab: gl.Vocabulary) -> None:
    """Of all ids, a fork takes exactly those of the mask, `validate` counts exactly those, and nothing changes."""
    before, allowed = view(matcher, vocab), allowed_ids(matcher, vocab)
    for token in range(vocab.size):
        assert matcher.validate([token]) == (token in allowed), token
        assert matcher.fork().advance(token) is (token in allowed and not matcher.is_finished), token
    assert view(matcher, vocab) == before


def assert_rollback_undoes(matcher: Any, vocab: gl.Vocabulary, rng: random.Random, steps: int = 6) -> None:
    """Each of some steps undone, in one piece or one by one, shows bit for bit what was seen before it."""
    views = [view(matcher, vocab)]
    while len(views) <= steps and not matcher.is_finished:
        assert matcher.advance(rng.choice(sorted(allowed_ids(matcher, vocab)))) is True
        views.append(view(matcher, vocab))
    while len(views) > 1:
        back = rng.randint(1, len(views) - 1)
        matcher.rollback(back)
        del views[-back:]
        assert view(matcher, vocab) == views[-1]


def assert_rows_are_alike(matchers: list[Any], vocab: gl.Vocabulary) -> None:
    """A row filled in a batch is the row filled alone."""
    batch = gl.allocate_mask(len(matchers), vocab.size)
    for row, matcher in enumerate(matchers):
        matcher.fill_mask(batch, row=row)
    for row, matcher in enumerate(matchers):
        assert batch[row].tobytes() == view(matcher, vocab)[0], row


def assert_batch_of_three(matcher: Any, vocab: gl.Vocabulary, rng: random.Random) -> None:
    """Rows of a matcher and two forks, each somewhere else."""
    ahead = [matcher.fork(), matcher.fork()]
    for place, fork in enumerate(ahead):
        for _ in range(place + 1):
            fork.advance(rng.choice(sorted(allowed_ids(fork, vocab))))
    assert_rows_are_alike([ahead[1], matcher, ahead[0]], vocab)


def assert_reaches_the_end(
    matcher: Any, state: Column, shortest: ShortestTexts, token_list: TokenList, rng: random.Random
) -> None:
    """The shortest completion is allowed in any cut into tokens, and after it the text may end."""
    completion = shortest.completion(state)
    assert completion is not None
    rest, fork, vocab = bytes(completion), matcher.fork(), token_list.vocabulary()
    never = {*token_list.stop_ids, *token_list.special_ids}
    while rest:
        fitting = [t for t, data in enumerate(token_list.tokens) if data and rest.startswith(data) and t not in never]
        token = rng.choice(fitting)
        assert token in allowed_ids(fork, vocab), (rest, token)
        assert fork.advance(token) is True, (rest, token)
        rest = rest[len(token_list.tokens[token]) :]
    assert fork.is_accepting is True
    for stop in token_list.stop_ids:
        assert fork.advance(stop) is True
        assert fork.is_finished is True
        fork.rollback(1)


def budgeted_text(constraint: Any, max_tokens: int, begin: list[int], rng: random.Random) -> bytes:
    """A random text of at most `max_tokens` tokens that begins with the given ones; its masks see to its end."""
    matcher, vocab = constraint.matcher(max_tokens=max_tokens), constraint.vocab
    for token in begin:
        assert matcher.advance(token) is True, (begin, max_tokens)
    tokens = list(begin)
    while not matcher.is_finished:
        allowed = sorted(allowed_ids(matcher, vocab))
        assert allowed, ("an empty mask within a budget", tokens, max_tokens)
        texts = [token for token in allowed if token not in vocab.stop_ids]
        token = rng.choice(texts if texts and (len(texts) == len(allowed) or rng.random() < 0.9) else allowed)
        assert matcher.advance(token) is True, (tokens, token)
        tokens += [token] if token in texts else []
        assert len(tokens) <= max_tokens, ("more tokens than the budget has", tokens, max_tokens)
    return b"".join(map(vocab.token_bytes, tokens))


def least_budget(constraint: Any, tokens: list[int]) -> int:
    """A budget with which these tokens can be read and the text finished: at each of them the bound has to fit."""
    matcher, needed = constraint.matcher(), constraint.matcher().min_tokens_left
    for place, token in enumerate(tokens):
        assert matcher.advance(token) is True
        needed = max(needed, place + 1 + matcher.min_tokens_left)
    return needed


def assert_budgets_finish(constraint: Any, is_complete: Callable[[bytes], bool], rng: random.Random) -> None:
    """Walks with the least budget or somewhat more end in time, with a text of the language."""
    least = least_budget(constraint, [])
    for more in (0, 2, 15):
        text = budgeted_text(constraint, least + more, [], rng)
        assert is_complete(text), (text, least + more)


def assert_laws(constraint: Any, oracle: CfgOracle, token_list: TokenList, rng: random.Random, steps: int) -> None:
    """All laws of one constraint whose vocabulary spells every byte that its grammar asks for."""
    vocab, token_oracle = token_list.vocabulary(), CfgTokenOracle(oracle, token_list)
    assert_walk_equals_oracle(constraint.matcher(), token_oracle, vocab, rng, steps)
    matcher, state, shortest = constraint.matcher(), oracle.start, ShortestTexts(oracle, range(256))
    for _ in range(3):
        assert isinstance(state, Column)
        assert_advance_agrees(matcher, vocab)
        assert_rollback_undoes(matcher, vocab, rng)
        assert_batch_of_three(matcher, vocab, rng)
        assert_reaches_the_end(matcher, state, shortest, token_list, rng)
        texts = sorted(token_oracle.mask(state) - token_oracle.stop_ids)
        if not texts:
            break
        token = rng.choice(texts)
        assert matcher.advance(token) is True
        state = oracle.read(state, token_list.tokens[token])


def assert_laws_between(
    constraint: Any, oracle: CfgOracle, token_list: TokenList, rng: random.Random, steps: int
) -> None:
    """The laws where bytes are missing: a mask is between its bounds and never empty, stop ids are exact."""
    lower, upper = bounds(oracle, token_list)
    matcher, state, vocab, stops = constraint.matcher(), oracle.start, token_list.vocabulary(), lower.stop_ids
    shortest = ShortestTexts(oracle, single_bytes(spelling_tokens(token_list)))
    for step in range(steps):
        assert isinstance(state, Column)
        allowed = allowed_ids(matcher, vocab)
        assert lower.mask(state) <= allowed <= upper.mask(state), (
            sorted(lower.mask(state) - allowed),
            sorted(allowed - upper.mask(state)),
        )
        assert allowed
        assert matcher.is_accepting is state.complete
        if step % 3 == 0:
            assert_advance_agrees(matcher, vocab)
            assert_rollback_undoes(matcher, vocab, rng)
            assert_batch_of_three(matcher, vocab, rng)
            if lower.completable(state):
                assert_reaches_the_end(matcher, state, shortest, token_list, rng)
        if not allowed - stops:
            break
        token = rng.choice(sorted(allowed - stops))
        assert matcher.advance(token) is True
        state = oracle.read(state, token_list.tokens[token])


def _walk(constraint: Any, vocab: gl.Vocabulary, seed: str, steps: int) -> list[View]:
    rng, matcher, seen = random.Random(seed), constraint.matcher(), []
    for _ in range(steps):
        seen.append(view(matcher, vocab))
        ids = ids_of(np.frombuffer(seen[-1][0], np.uint8))
        if matcher.is_finished:
            if rng.random() < 0.5:
                matcher.rollback(1)
            else:
                matcher.reset()
            continue
        assert ids, "an empty mask"
        matcher = matcher.fork() if rng.random() < 0.2 else matcher
        assert matcher.advance(rng.choice(ids)) is True
        if rng.random() < 0.1:
            matcher.rollback(1)
    return seen


def assert_threads_agree(compile_again: Callable[[], Any], vocab: gl.Vocabulary, seed: str, steps: int) -> None:
    """Threads on one constraint see what each sees alone on a constraint of its own."""
    shared = compile_again()
    for place, found in enumerate(in_threads(lambda place: _walk(shared, vocab, f"{seed} {place}", steps))):
        assert found == _walk(compile_again(), vocab, f"{seed} {place}", steps), place
