"""What must come next, against enumeration: all token sequences of small languages, and the oracle's bytes of large ones."""

import random

import pytest

import grammarlm as gl
from tests.laws import vocabularies
from tests.laws.laws import allowed_ids

VOCABULARIES = {name: make() for name, make in vocabularies.ALL.items()}
COMPILED = {name: token_list.vocabulary() for name, token_list in VOCABULARIES.items()}


def texts_by_tokens(matcher: gl.Matcher, vocab: gl.Vocabulary) -> set[bytes]:
    """All texts that masks lead to, for a language that is finite and small."""
    found, queue = set(), [(matcher, b"")]
    seen = set()
    for here, text in queue:
        if here.is_accepting:
            found.add(text)
        for token in allowed_ids(here, vocab) - set(vocab.stop_ids):
            after = here.fork()
            assert after.advance(token)
            longer = text + vocab.token_bytes(token)
            if (longer, after.min_tokens_left, len(after.snapshot())) not in seen:
                seen.add((longer, after.min_tokens_left, len(after.snapshot())))
                queue.append((after, longer))
    return found


def shared_beginning(texts: set[bytes]) -> bytes:
    first = min(texts)
    return first[: max(n for n in range(len(first) + 1) if all(text[:n] == first[:n] for text in texts))]


def chain_of_masks(matcher: gl.Matcher, vocab: gl.Vocabulary) -> list[int]:
    chain, here = [], matcher.fork()
    while len(allowed := allowed_ids(here, vocab)) == 1 and not allowed & set(vocab.stop_ids):
        chain += allowed
        assert here.advance(chain[-1])
    return chain


LISTS = [
    ["abba", "abab", "ab"],
    ["abba1", "abba_1"],
    ["été", "étb"],
    ["1_1"],
    ["aé", "aè"],
    ["a1b1", "a1b1a1b1"],
    [""],
    ["ZZZ€]"],
]


@pytest.mark.parametrize("name", VOCABULARIES)
@pytest.mark.parametrize("strings", LISTS, ids=str)
def test_finite_languages(strings: list[str], name: str) -> None:
    vocab, rng = COMPILED[name], random.Random(f"{strings} {name}")
    try:
        constraint = gl.compile(gl.Choices(strings), vocab)
    except gl.UnsatisfiableGrammar:
        return
    enough = constraint.matcher().min_tokens_left
    for budget in (None, enough, enough + 1):
        matcher = constraint.matcher(max_tokens=budget)
        while True:
            before = matcher.snapshot()
            assert matcher.forced_bytes() == shared_beginning(texts_by_tokens(matcher, vocab))
            assert matcher.forced_tokens() == chain_of_masks(matcher, vocab)
            assert matcher.snapshot() == before
            texts = sorted(allowed_ids(matcher, vocab) - set(vocab.stop_ids))
            if not texts:
                break
            assert matcher.advance(rng.choice(texts))


def test_a_budget_forces_what_a_grammar_leaves_open() -> None:
    vocab = gl.Vocabulary([b"a", b"b", b"ab", b"abb", b"."], stop_ids=[4])
    constraint = gl.compile(gl.Regex("ab{2,9}|ba"), vocab)
    assert constraint.matcher().forced_bytes() == b""
    assert constraint.matcher().min_tokens_left == 2
    roomy, narrow = constraint.matcher(max_tokens=2), gl.compile(gl.Regex("ab{2,9}|bbba"), vocab).matcher(max_tokens=1)
    assert roomy.forced_tokens() == []
    assert narrow.forced_tokens() == [3]
    assert narrow.forced_bytes() == b"abb"


def test_tokens_up_to_a_limit_and_a_stop_id() -> None:
    vocab = gl.Vocabulary([b"a", b"b", b"."], stop_ids=[2])
    matcher = gl.compile(gl.Regex("a{300}"), vocab).matcher()
    assert matcher.forced_tokens() == [0] * 256
    assert matcher.forced_tokens(limit=300) == matcher.forced_tokens(limit=1000) == [0] * 300
    assert matcher.forced_tokens(limit=0) == []
    for _ in range(300):
        assert matcher.advance(0)
    assert matcher.forced_tokens() == []
    assert matcher.forced_bytes() == b""
    assert matcher.advance(2)
    assert matcher.forced_tokens() == []
    assert matcher.forced_bytes() == b""


def test_two_tokens_with_the_same_bytes_force_bytes_alone() -> None:
    vocab = gl.Vocabulary([b"a", b"a", b"."], stop_ids=[2])
    matcher = gl.compile(gl.Regex("aaa"), vocab).matcher()
    assert matcher.forced_tokens() == []
    assert matcher.forced_bytes() == b"aaa"
