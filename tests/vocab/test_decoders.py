"""Any decoder of the steps that are read, over any tokens, against the `tokenizers` library."""

import json

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer

import grammarlm as gl
from grammarlm.vocab.tokenizers.byte_level import byte_level_bytes, byte_level_text
from grammarlm.vocab.tokenizers.decoders import spelled_bytes

SIGNS = ["\u2581", " ", "Ġ", "Ċ", "a", "b", "ab", "é", "Ã", "©", "##", "x", "\n", "的"]
SIGNS += ["<0x41>", "<0xE2>", "<0x96>", "<0x81>", "<0xg1>", "<0x+1>", "<0x4a>"]
SIGNS += ["'", "n't", ".", ",", "?", "do not", " ' ", "'s", "''", "''s"]
TOKENS = st.one_of(st.sampled_from(SIGNS), st.lists(st.sampled_from(SIGNS), min_size=1, max_size=4).map("".join))
ANCHOR = "X"  # stands first and holds no sign, so that nothing is taken off the tokens after it

STEPS = st.one_of(
    st.just({"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True}),
    st.sampled_from([{"type": "ByteFallback"}, {"type": "Fuse"}]),
    st.fixed_dictionaries(
        {
            "type": st.just("Metaspace"),
            "replacement": st.sampled_from(["\u2581", "a"]),
            "prepend_scheme": st.sampled_from(["always", "never", "first"]),
            "split": st.booleans(),
        }
    ),
    st.fixed_dictionaries(
        {"type": st.just("WordPiece"), "prefix": st.sampled_from(["##", "a"]), "cleanup": st.booleans()}
    ),
    st.fixed_dictionaries(
        {
            "type": st.just("Replace"),
            "pattern": st.sampled_from(["\u2581", "a", "ab", "##"]).map(lambda string: {"String": string}),
            "content": st.sampled_from([" ", "", "bb", "\u2581"]),
        }
    ),
    st.fixed_dictionaries(
        {
            "type": st.just("Strip"),
            "content": st.sampled_from([" ", "a"]),
            "start": st.integers(0, 2),
            "stop": st.just(0),
        }
    ),
)
SEQUENCES = st.lists(STEPS, max_size=4).map(lambda steps: {"type": "Sequence", "decoders": steps})
DECODERS = st.one_of(STEPS, SEQUENCES, SEQUENCES.map(lambda inner: {"type": "Sequence", "decoders": [inner]}))


def library(decoder: dict, tokens: list[str]) -> Tokenizer:
    model = {"type": "WordLevel", "vocab": {token: i for i, token in enumerate(tokens)}, "unk_token": ANCHOR}
    empty = dict.fromkeys(["truncation", "padding", "normalizer", "pre_tokenizer", "post_processor"])
    return Tokenizer.from_str(
        json.dumps({"version": "1.0", "added_tokens": [], **empty, "decoder": decoder, "model": model})
    )


@settings(max_examples=400)
@given(decoder=DECODERS, tokens=st.lists(TOKENS, min_size=1, max_size=6, unique=True))
def test_tokens_spell_what_the_library_decodes(decoder, tokens):
    tokens = [ANCHOR, *tokens]
    try:
        have = b"".join(spelled_bytes(decoder, tokens))
    except gl.TokenizerError:
        assume(False)
    decoded = library(decoder, tokens).decode(list(range(len(tokens))))
    if "\ufffd" not in decoded:
        assert have.lstrip(b" ") == decoded.lstrip(" ").encode()  # WordPiece puts no space before the anchor
    elif decoder["type"] == "ByteLevel":
        assert have.decode(errors="replace") == decoded


@pytest.mark.parametrize("token", ["Ġthe", "naïve", "a b", "Ċ", "\n", "é", "", "的", "Ġ的"])
def test_a_token_outside_the_byte_level_alphabet_is_literal(token):
    decoder = {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True}
    decoded = library(decoder, [ANCHOR, token]).decode([1]) if token else ""
    assert spelled_bytes(decoder, [token])[0].decode(errors="replace") == decoded


@given(st.binary(max_size=20))
def test_bytes_in_the_byte_level_alphabet(data):
    assert byte_level_bytes(byte_level_text(data)) == data
    assert byte_level_text(data).isprintable()
