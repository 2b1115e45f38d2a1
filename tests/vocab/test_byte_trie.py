"""The byte trie against its definition: every prefix of a token is one node, in order, with its subtree after it."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import grammarlm as gl
from grammarlm.vocab import byte_trie
from grammarlm.vocab.byte_trie import build_trie, is_sound


def vocabulary(tokens: list[bytes]) -> gl.Vocabulary:
    return gl.Vocabulary([*tokens, b"</s>"], stop_ids=[len(tokens)], special_ids=[len(tokens)])


def build(vocab: gl.Vocabulary) -> byte_trie.ByteTrie:
    return build_trie(vocab.data, vocab.offsets, vocab.text_ids, vocab.words * 32)


def load_or_build(vocab: gl.Vocabulary) -> byte_trie.ByteTrie:
    return byte_trie.load_or_build(vocab.data, vocab.offsets, vocab.text_ids, vocab.words * 32, vocab.fingerprint)


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
    assert is_sound(trie, vocab.text_ids, vocab.words * 32)


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


@pytest.fixture
def cached(tmp_path, monkeypatch):
    monkeypatch.setenv("GRAMMARLM_CACHE", str(tmp_path))
    vocab = vocabulary([b"a", b"ab", b"ab", b"b"])
    load_or_build(vocab)
    (file,) = (tmp_path / "tries").iterdir()
    return vocab, file


def arrays(trie: byte_trie.ByteTrie) -> list:
    return [getattr(trie, name).tolist() for name in ("byte", "depth", "end", "token", "twins")]


def test_the_cache_is_read(cached, monkeypatch) -> None:
    vocab, _ = cached
    want = arrays(build(vocab))
    monkeypatch.setattr(byte_trie, "build_trie", None)
    assert arrays(load_or_build(vocab)) == want


def test_a_damaged_header_is_noticed(tmp_path, monkeypatch) -> None:
    """numpy parses the header of a large array before the archive's checksum is compared, and raises what its parser does."""
    monkeypatch.setenv("GRAMMARLM_CACHE", str(tmp_path))
    vocab = vocabulary([bytes([i, j]) for i in range(40) for j in range(256)])
    want = arrays(load_or_build(vocab))
    (file,) = (tmp_path / "tries").iterdir()
    whole = file.read_bytes()
    assert b",), }" in whole
    for brackets in (b",((  ", b",),  ", b",  ))"):
        file.write_bytes(whole.replace(b",), }", brackets))
        assert arrays(load_or_build(vocab)) == want
        assert file.read_bytes() == whole


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("end", [0, 2, 3]),  # a subtree that ends before it begins: the walk would not end
        ("end", [2, 2, 9]),  # ... beyond the nodes
        ("depth", [1, 3, 1]),  # a child without a parent
        ("depth", [0, 1, 1]),
        ("token", [0, 1, 77]),  # a token that is not there
        ("twins", [[2, 3000]]),
        ("twins", [[2]]),
        ("byte", [97]),
    ],
)
def test_arrays_that_would_lead_a_kernel_astray_are_refused(cached, name: str, value: list) -> None:
    vocab, file = cached
    trie = build(vocab)
    parts = {field: getattr(trie, field) for field in ("byte", "depth", "end", "token", "twins")}
    parts[name] = np.array(value, parts[name].dtype)
    with file.open("wb") as out:
        np.savez(out, **parts)
    assert arrays(load_or_build(vocab)) == arrays(trie)


def test_an_unwritable_folder_costs_nothing_but_time(tmp_path, monkeypatch) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("no folder")
    monkeypatch.setenv("GRAMMARLM_CACHE", str(blocked))
    vocab = vocabulary([b"a", b"b"])
    assert arrays(load_or_build(vocab)) == arrays(build(vocab))
