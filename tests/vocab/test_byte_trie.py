"""The byte trie against its definition: every prefix of a token is one node, in order, with its subtree after it."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import grammarlm as gl
from grammarlm.vocab import byte_trie
from grammarlm.vocab.byte_trie import build_trie


def vocabulary(tokens: list[bytes]) -> gl.Vocabulary:
    return gl.Vocabulary([*tokens, b"</s>"], stop_ids=[len(tokens)], special_ids=[len(tokens)])


def build(vocab: gl.Vocabulary) -> byte_trie.ByteTrie:
    return build_trie(vocab.data, vocab.offsets, vocab.text_ids, vocab.words * 32)


def check(tokens: list[bytes]) -> None:
    vocab = vocabulary(tokens)
    trie = build(vocab)
    prefixes = sorted({t[:k] for t in tokens for k in range(1, len(t) + 1)})
    spelled: list[bytes] = []
    path: list[int] = []
    for byte, depth in zip(trie.byte.tolist(), trie.depth.tolist(), strict=True):
        path = [*path[: depth - 1], byte]
        spelled.append(bytes(path))
    assert spelled == prefixes
    for node, prefix in enumerate(prefixes):
        after = next((k for k in range(node + 1, len(prefixes)) if not prefixes[k].startswith(prefix)), len(prefixes))
        assert trie.end[node] == after
        token = int(trie.token[node])
        same = [i for i, t in enumerate(tokens) if t == prefix]
        assert token in same if same else token == vocab.words * 32
    carried = set(trie.token.tolist()) - {vocab.words * 32}
    twins = dict(trie.twins.tolist())
    assert carried | set(twins) == {i for i, t in enumerate(tokens) if t}
    assert all(tokens[a] == tokens[b] and b in carried for a, b in twins.items())


@given(st.lists(st.binary(max_size=6), min_size=1, max_size=40))
@settings(derandomize=True, deadline=None)
def test_any_tokens(tokens: list[bytes]) -> None:
    check(tokens)


def test_a_token_that_is_too_long_is_refused() -> None:
    with pytest.raises(gl.TokenizerError, match="token 1 has 65536 bytes; a token may have 65535 at most"):
        build(vocabulary([b"a", b"x" * 65536]))


def test_no_text_tokens() -> None:
    trie = build(gl.Vocabulary([b"</s>"], stop_ids=[0], special_ids=[0]))
    assert len(trie.byte) == 0
    assert trie.deepest == 0
