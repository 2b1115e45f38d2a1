"""What is taken at once below a node of the vocabulary's trie: sets of bytes against a plain count, masks against `regex`."""

import json

import numpy as np
import pytest
import regex

import grammarlm as gl
from grammarlm.layout.json_strings import (
    BEYOND_ASCII,
    BLANKS_BEYOND,
    CHARACTERS_AT,
    MANY_CHARACTERS,
    NEVER,
    UNKNOWN_LOOPS,
)
from grammarlm.masks.machines.json import languages
from grammarlm.masks.machines.json.vocabulary.alphabets import CLASSES, alphabets
from tests.corpus_files import raw, tables
from tests.internals import program_of

SIGNS = [chr(c) for c in range(0x20, 0x7F)]
FOREIGN = [
    *"\x7f\x85\u00a0éßÿıΩж\u07ff\u0800\u1680\u169f\u2000\u200b\u2028\u2029\u202f\u205f\u2060€\u3000\u3042\ud7ff\ue000\ufeff\uffff\U00010000😀\U0010ffff"
]
TOLD_APART = tables("json_texts")["told_apart"]
BROKEN = [raw(token) for token in TOLD_APART["broken"]]  # that are no characters, or begin or end within one


@pytest.fixture(scope="module")
def vocab():
    rng = np.random.default_rng(5)
    letters = [*"abcdefgxyzABCXYZ0123456789-_/@.# "]
    texts = {*SIGNS, *FOREIGN}
    for size in (2, 3, 4, 6):
        for _ in range(250):
            texts.add("".join(rng.choice(letters, size)))
            texts.add("".join(rng.choice([*letters, *FOREIGN, '"', "\\", "\n"], size)))
    tokens = sorted({text.encode() for text in texts} | {bytes([b]) for b in range(256)} | set(BROKEN))
    return gl.Vocabulary([*tokens, b"</s>"], stop_ids=[len(tokens)], special_ids=[len(tokens)])


def test_classes_below_each_node(vocab):
    trie = vocab.trie
    above, packed = trie.parent, alphabets(trie)
    characters = packed >> CHARACTERS_AT & MANY_CHARACTERS
    found = packed & ~(np.int64(MANY_CHARACTERS) << CHARACTERS_AT)
    paths = []
    for node, byte in enumerate(trie.byte):
        paths.append((paths[above[node]] if above[node] >= 0 else b"") + bytes([byte]))
    wanted, deepest = np.zeros(len(paths), np.int64), [0] * len(paths)
    for node, path in enumerate(paths):
        over = above[node]
        while over >= 0:
            wanted[over] |= classes_of(path[len(paths[over]) :], paths[over][-1])
            deepest[over] = max(deepest[over], sum(byte & 0xC0 != 0x80 for byte in path[len(paths[over]) :]))
            over = above[over]
    assert len(paths) > 1000
    assert [f"{a:x}" for a in found] == [f"{w:x}" for w in wanted]
    assert characters.tolist() == deepest


def classes_of(rest: bytes, before: int) -> np.int64:
    """Of the bytes of a token after a node, and which byte the node is."""
    bits = np.int64(0)
    for end in range(1, len(rest) + 1):  # a text may end within a character, but not break off
        try:
            rest[:end].decode()
        except UnicodeDecodeError as error:
            if error.reason != "unexpected end of data":
                bits |= np.int64(1) << NEVER
    begins = [(0xE1, 0x9A), (0xE2, 0x80), (0xE2, 0x81), (0xE3, 0x80), (0xEF, 0xBB)]
    for i, byte in enumerate(rest):
        bits |= np.int64(1) << int(CLASSES[byte])
        if byte == 0xC2 or (rest[i - 1] if i else before, byte) in begins:
            bits |= np.int64(1) << BLANKS_BEYOND
    return bits


def test_classes_are_of_one_kind():
    assert CLASSES[0x22] == CLASSES[0x5C] == CLASSES[0x1F] == NEVER
    assert (CLASSES[0x80:] == BEYOND_ASCII).all()
    assert len(set(CLASSES[0x20:0x80].tolist())) < BLANKS_BEYOND
    assert all(CLASSES[ord(a)] == CLASSES[ord(b)] for a, b in ("af", "gz", "AF", "GZ", "19"))
    assert all(CLASSES[ord(a)] != CLASSES[ord(b)] for a, b in ("fg", "FG", "01", "a-", "-_", " !"))


PATTERNS = tables("json_texts")["alphabet"]  # of ECMA-262, and what `regex` calls the same
LENGTHS = [{"maxLength": 400}, {"maxLength": 9}, {"minLength": 4, "maxLength": 20}, {"minLength": 3}]
AHEAD = [0, languages.MADE_AHEAD]
EACH = [(case, {}, AHEAD[(i // 4 + 1) % 2]) for i, case in enumerate(PATTERNS)]
EACH += [(case, LENGTHS[i % 4], AHEAD[i // 4 % 2]) for i, case in enumerate(PATTERNS)]
REST = [(case, more, ahead) for case in PATTERNS for more in ({}, *LENGTHS) for ahead in AHEAD]


@pytest.mark.parametrize(
    ("case", "more", "ahead"), [*EACH, *(pytest.param(*each, marks=pytest.mark.proof) for each in REST)]
)
def test_masks_of_patterns(vocab, case, more, ahead, monkeypatch):
    """As strings and as keys, after the prefixes of a few texts; walks wait for each state, or have most of them."""
    pattern, same = case["pattern"], regex.compile(case["same"])
    monkeypatch.setattr(languages, "MADE_AHEAD", ahead)
    if more.get("maxLength", 1000) < case.get("length", 0):
        with pytest.raises(gl.UnsatisfiableGrammar):
            gl.compile(gl.JsonSchema({"type": "string", "pattern": pattern, **more}), vocab)
        return
    tries = 0
    for text in ("", "a", "abc", "a/b", "0", "é", "a@", "9x", "f9", "\u2028", "\u3000x", "€"):
        if not partial(same, text, more):
            continue
        tries += check(vocab, {"type": "string", "pattern": pattern, **more}, b'"', text, same, more)
        if not more:
            keys = {"type": "object", "patternProperties": {pattern: {"type": "null"}}, "additionalProperties": False}
            tries += check(vocab, keys, b'{"', text, same, more)
    assert tries > 1000


def partial(same: regex.Pattern, text: str, more: dict) -> bool:
    return same.fullmatch(text, partial=True) is not None and len(text) <= more.get("maxLength", 1000)


def check(vocab, schema, begin, text, same, more) -> int:
    matcher = gl.compile(gl.JsonSchema(schema), vocab).matcher()
    assert matcher.advance_bytes(begin + text.encode())
    mask = gl.allocate_mask(1, vocab.size)
    matcher.fill_mask(mask)
    allowed = np.unpackbits(mask[0].view(np.uint8), bitorder="little")
    for token in range(vocab.size - 1):
        data = vocab.token_bytes(token)
        taken = matcher.advance(token)
        if taken:
            matcher.rollback(1)
        assert bool(allowed[token]) == taken, (text, data)
        if b'"' in data or b"\\" in data or min(data) < 0x20:
            continue
        try:
            added = data.decode()
        except UnicodeDecodeError:
            continue
        could_be = partial(same, text + added, more)
        is_near = len(text + added) + 4 > more.get("maxLength", 1000)  # then what must still come may not fit
        is_over = same.pattern.endswith("x?") and added.endswith("x") and "minLength" in more  # nothing comes after it
        assert taken <= could_be if is_near or is_over else taken == could_be, (text, added)
    return vocab.size


ENDS = [raw(token) for token in TOLD_APART["ends"]]  # of a key, with what follows it


@pytest.mark.parametrize("schema", TOLD_APART["schemas"])
@pytest.mark.parametrize("ahead", [0, languages.MADE_AHEAD], ids=["lacking", "made ahead"])
def test_keys_are_told_apart_where_they_end(schema, ahead, monkeypatch):
    """Where any key may come, only what closes it is looked at: what can be read is allowed, within characters, too."""
    monkeypatch.setattr(languages, "MADE_AHEAD", ahead)
    texts = {*SIGNS, *FOREIGN, "abc", "def", "12a", "a9", "bé", "xyz"}
    tokens = sorted({text.encode() for text in texts} | {bytes([b]) for b in range(256)} | {*BROKEN, *ENDS})
    vocab = gl.Vocabulary([*tokens, b"</s>"], stop_ids=[len(tokens)], special_ids=[len(tokens)])
    constraint = gl.compile(gl.JsonSchema({"type": "object", **json.loads(schema)}), vocab)
    mask = gl.allocate_mask(1, vocab.size)
    for begin in ("", "a", "ab", "12", "b", "é", "\\", "\\u00", "\\u00e9", "0af", "ab9"):
        for cut in (b"", b"\xc3", b"\xe2\x80"):
            matcher = constraint.matcher()
            if not matcher.advance_bytes(b'{"' + begin.encode() + cut):
                continue
            matcher.fill_mask(mask)
            allowed = np.unpackbits(mask[0].view(np.uint8), bitorder="little")
            taken = [matcher.fork().advance(token) for token in range(vocab.size - 1)]
            assert allowed[: vocab.size - 1].astype(bool).tolist() == taken
            assert sum(taken) > 1


def test_an_unknown_state_is_asked_again(vocab):
    """A walk that was broken off for another reason has left the mark of a state that is not made yet; the row was empty then."""
    schema = {"type": "object", "properties": {"a": {"type": "string", "pattern": r"^\S+$"}}, "required": ["a"]}
    constraint = gl.compile(gl.JsonSchema(schema), vocab)
    matcher = constraint.matcher()
    assert matcher.advance_bytes(b'{"a":"')
    states = program_of(constraint).states
    states.loops[1 : len(states)] = UNKNOWN_LOOPS
    mask = gl.allocate_mask(1, vocab.size)
    matcher.fill_mask(mask)
    allowed = np.unpackbits(mask[0].view(np.uint8), bitorder="little")
    assert allowed[[vocab.token_bytes(token) for token in range(vocab.size)].index(b"x")]
