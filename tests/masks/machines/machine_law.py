"""What every machine must keep (masks/protocol.py), by brute force over a small vocabulary.

A new machine gets the law for free, for a few of its grammars. Nothing here knows a machine.

    check_machine(constraint)                    each answer against another one that must agree: it does not contradict itself
    check_language(constraint, accepts, ...)     it reads its grammar: all short texts against a predicate that shares no code
    check_full(grammar, vocab)                   epochs that are full after a few states change no mask
"""

import itertools
import random
from collections.abc import Callable
from typing import Any

import numpy as np

import grammarlm as gl
from grammarlm.grammars.compose import Grammar
from grammarlm.layout.table import DEAD
from grammarlm.masks.protocol import FINISHED
from tests.internals import automaton_of


def allowed(row: np.ndarray, size: int) -> set[int]:
    bits = np.unpackbits(row.view(np.uint8), bitorder="little")
    assert not bits[size:].any(), "a row allows ids beyond the vocabulary"
    return set(np.flatnonzero(bits).tolist())


def check_machine(constraint: gl.Constraint, walks: int = 6, steps: int = 12, seed: str = "law") -> int:
    """Random walks with every answer of every state checked; returns how many states were."""
    automaton, rng, checked = automaton_of(constraint), random.Random(seed), 0
    for _ in range(walks):
        with automaton.lock:
            automaton.program.clock.begin_call()
            epoch, state = automaton.renew(automaton.program.start)
            for _ in range(steps):
                following = check_state(constraint, epoch, state)
                checked += 1
                if not following:
                    break
                token = rng.choice(sorted(following))
                state = epoch.after_token(state, token)
            check_end(epoch)
    return checked


def check_language(constraint: gl.Constraint, accepts: Callable[[bytes], bool], alphabet: bytes, longest: int) -> int:
    """All texts of up to `longest` bytes: those that the predicate accepts are read and may end, and no others. Returns how many
    are accepted."""
    matcher, accepted = constraint.matcher(), 0
    for length in range(longest + 1):
        for letters in itertools.product(alphabet, repeat=length):
            text = bytes(letters)
            verdict = matcher.advance_bytes(text) and matcher.is_accepting
            assert verdict is accepts(text), (text, verdict)
            accepted += verdict
            matcher.reset()
    return accepted


def check_full(grammar: Grammar, vocab: gl.Vocabulary, walks: int = 4, steps: int = 12, most: int = 16) -> None:
    """A constraint whose epochs hold few states has the masks of one that has room."""
    roomy, narrow = (
        gl.compile(grammar, vocab, limits=limits).matcher() for limits in (None, gl.Limits(max_states=most))
    )
    rng = random.Random("full")
    for _ in range(walks):
        for _ in range(steps):
            masks = [gl.allocate_mask(1, vocab.size) for _ in range(2)]
            for matcher, mask in zip((roomy, narrow), masks, strict=True):
                matcher.fill_mask(mask)
            assert np.array_equal(*masks)
            following = allowed(masks[0][0], vocab.size) - set(vocab.stop_ids)
            if not following:
                break
            token = rng.choice(sorted(following))
            assert roomy.advance(token) is narrow.advance(token) is True
        roomy.reset()
        narrow.reset()


def check_state(constraint: gl.Constraint, epoch: Any, state: int) -> set[int]:
    """Row, steps, ends and moves of one state; the tokens that may come next."""
    vocab, program = constraint.vocab, epoch.program
    stops = set(vocab.stop_ids)
    row = epoch.row(state)
    ids = allowed(row, vocab.size)
    assert ids, "an empty row"
    assert stops <= ids if epoch.accepting[state] else not stops & ids
    tokens = ids - stops
    check_rows(epoch, state, row)
    known = range(len(program.facts.is_text))  # ids beyond are padding, which a matcher refuses itself
    assert tokens <= set(known)
    for token in known:
        if token in stops:
            continue
        after = epoch.after_token(state, token)
        assert (after != DEAD) is (token in tokens), (token, vocab.token_bytes(token))
        peeked = epoch.peek_token(epoch.tables.address, state, token)
        assert peeked < 0 or epoch.key(peeked) == epoch.key(after) or peeked == after == DEAD
        if after != DEAD:
            assert epoch.is_usable(after)
    chosen = np.array(sorted(tokens), np.int64)
    targets = epoch.targets(state, chosen)
    assert [epoch.key(int(t)) for t in targets] == [epoch.key(epoch.after_token(state, int(t))) for t in chosen]
    assert {t for t in epoch.special_tokens(state) if t not in tokens} == set()
    check_bytes(epoch, state, vocab)
    check_completion(epoch, state, program)
    check_move(epoch, state)
    assert isinstance(epoch.describe(state), str)
    for token in sorted(set(range(vocab.size)) - ids)[:3]:
        assert isinstance(epoch.refusal(state, token), str)
    assert epoch.nbytes > 0
    return tokens


def check_rows(epoch: Any, state: int, row: np.ndarray) -> None:
    """However a row is made, it is the same."""
    for made in (epoch.rows[state], epoch.try_row(state)):
        assert made is None or np.array_equal(made, row)


def check_bytes(epoch: Any, state: int, vocab: gl.Vocabulary) -> None:
    """The bytes of a token lead somewhere wherever the token does, where tokens are read by their bytes."""
    if epoch.program.reads_whole_tokens or epoch.program.named_texts:
        return
    firsts = epoch.next_bytes(state) if epoch.program.tokens_spell_all else np.ones(256, bool)
    for token in vocab.text_ids.tolist():
        data, after = vocab.token_bytes(token), epoch.after_token(state, token)
        if after != DEAD:
            assert epoch.key(epoch.after_bytes(state, data)) == epoch.key(after)
            assert firsts[data[0]]
    assert all(firsts[b] for b in range(256) if epoch.after_bytes(state, bytes([b])) != DEAD)


def check_completion(epoch: Any, state: int, program: Any) -> None:
    """Reading a completion ends the text, and it is no longer than the bound of the state before it."""
    if program.costs_class and not epoch.writes_json:
        return
    try:
        end = epoch.completion(state)
    except gl.UnsupportedFeature:  # named, and the matcher's budgets name it too
        return
    if end is None:
        return
    here = state
    for piece in end:
        here = epoch.after_token(here, piece) if isinstance(piece, int) else epoch.after_bytes(here, piece)
        assert here != DEAD, (end, piece)
    assert epoch.accepting[here], end
    limit = epoch.completion_limit(state)
    assert limit is None or limit >= 0


def check_move(epoch: Any, state: int) -> None:
    """A term names its state: in this epoch, and with an equal key in a new one."""
    term = epoch.terms[state]
    assert epoch.key(epoch.state_of(term)) == epoch.key(state)
    other = type(epoch)(epoch.program)
    moved = other.state_of(term)
    assert moved not in (DEAD, FINISHED)
    assert np.array_equal(other.row(moved), epoch.row(state))
    assert bool(other.accepting[moved]) is bool(epoch.accepting[state])


def check_end(epoch: Any) -> None:
    """FINISHED is the end, in every machine."""
    assert epoch.accepting[FINISHED]
    assert np.array_equal(epoch.row(FINISHED), epoch.program.facts.stop_row)
    assert list(epoch.completion(FINISHED)) == []
