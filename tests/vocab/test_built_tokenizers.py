"""Tokenizers of every family spell texts and decodings exactly. They are built here; the oracle is their own decoder."""

import unicodedata
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer

import grammarlm as gl
from grammarlm.masks.token_facts import ALL_BYTES, token_facts

from . import built
from .texts import TEXTS, assert_spells_decoding, assert_spells_text, random_texts, spelled

STOPS = {"wordpiece": [1]}  # the others have the token </s>
FAST: dict[str, tuple[Callable[[], Tokenizer], Callable[[str], str] | None]] = {
    "byte_level": (built.byte_level, str),
    "composed": (built.composed, lambda text: unicodedata.normalize("NFC", text)),
    "llama_like": (built.llama_like, lambda text: " " + text),
    "gemma_like": (built.gemma_like, str),
    "unigram": (built.unigram, None),  # what has no piece is lost: only the decoder's law holds
    "wordpiece": (built.wordpiece, None),
}


def vocabulary(name: str) -> tuple[Tokenizer, gl.Vocabulary]:
    tokenizer = FAST[name][0]()
    stop_ids = STOPS.get(name) or [tokenizer.token_to_id(built.END)]
    return tokenizer, gl.Vocabulary.from_tokenizer(tokenizer, stop_ids=stop_ids)


def text_law(name: str, text: str) -> None:
    tokenizer, vocab = vocabulary(name)
    normalized = FAST[name][1]
    if normalized is not None:
        assert_spells_text(vocab, text, normalized)
    ids = [i for i in vocab.encode(text) if i not in vocab.special_ids]
    assert_spells_decoding(vocab, ids, tokenizer.decode(ids, skip_special_tokens=False), leading_space=True)


@pytest.mark.parametrize("name", FAST)
def test_varied_texts(name):
    for text in random_texts(80):
        text_law(name, text)


@pytest.mark.parametrize("name", FAST)
@given(text=TEXTS)
def test_any_text(name, text):
    text_law(name, text)


@pytest.mark.parametrize("name", FAST)
def test_every_id_and_every_pair_with_a_word_before_it(name):
    """Behind another token, where nothing is taken off, an id spells what the decoder adds for it."""
    tokenizer, vocab = vocabulary(name)
    first = tokenizer.encode("the", add_special_tokens=False).ids[-1]
    for i in range(tokenizer.get_vocab_size()):
        if i not in vocab.special_ids:
            decoded = tokenizer.decode([first, i], skip_special_tokens=False)
            assert_spells_decoding(vocab, [first, i], decoded, leading_space=True)


@pytest.mark.parametrize("name", ["byte_level", "composed"])
@given(data=st.data())
def test_byte_level_ids_in_any_order_decode_as_utf8(name, data):
    tokenizer, vocab = vocabulary(name)
    ids = data.draw(st.lists(st.sampled_from(vocab.text_ids.tolist()), min_size=1, max_size=8))
    assert spelled(vocab, ids).decode(errors="replace") == tokenizer.decode(ids)


@pytest.mark.parametrize("name", FAST)
@given(data=st.data())
def test_ids_in_any_order(name, data):
    tokenizer, vocab = vocabulary(name)
    ids = data.draw(st.lists(st.sampled_from(vocab.text_ids.tolist()), min_size=1, max_size=8))
    if name == "wordpiece" and spelled(vocab, ids[:1])[:1] != b" ":
        ids = [tokenizer.token_to_id("the"), *ids]  # a continuation at the beginning keeps its prefix there
    if name == "unigram":  # its decoder takes every mark off the first token, wherever it is
        ids = [tokenizer.token_to_id("a"), *ids]
    decoded = tokenizer.decode(ids, skip_special_tokens=False)
    assert_spells_decoding(vocab, ids, decoded, leading_space=name in ("llama_like", "wordpiece"))


def test_an_added_token_is_text_unless_it_is_flagged():
    tokenizer, vocab = vocabulary("byte_level")
    think, spaced, end = (tokenizer.token_to_id(token) for token in ("<think>", "a b\n", built.END))
    assert vocab.token_bytes(think) == b"<think>"
    assert vocab.token_bytes(spaced) == b"a b\n"
    assert {think, spaced} <= set(vocab.text_ids.tolist())
    assert end in vocab.special_ids
    assert end not in vocab.text_ids
    assert vocab.token_bytes(end) == b"</s>"


def test_an_added_run_of_marks_is_spaces():
    tokenizer, vocab = vocabulary("gemma_like")
    for n in (2, 4):
        assert vocab.token_bytes(tokenizer.token_to_id(built.MARK * n)) == b" " * n
    assert_spells_text(vocab, "a" + " " * 9 + "b  c")


def test_byte_pieces_are_bytes():
    tokenizer, vocab = vocabulary("llama_like")
    assert token_facts(vocab).single_bytes == ALL_BYTES
    assert vocab.token_bytes(tokenizer.token_to_id("<0x0A>")) == b"\n"
    assert vocab.token_bytes(tokenizer.token_to_id("<0xFF>")) == b"\xff"


def test_wordpiece_tokens_spell_what_they_add_after_another_token():
    tokenizer, vocab = vocabulary("wordpiece")
    spelling = {"the": b" the", "##ting": b"ting", "##": b"", ".": b".", "'s": b"'s", "'": b" '", "[UNK]": b"[UNK]"}
    assert {token: vocab.token_bytes(tokenizer.token_to_id(token)) for token in spelling} == spelling
    assert spelled(vocab, vocab.encode("The catting, sat.")) == b" the catting, sat."


def test_tiktoken_tokens_are_their_ranks():
    encoding = built.tiktoken_encoding()
    vocab = gl.Vocabulary.from_tokenizer(encoding)
    assert (vocab.size, vocab.stop_ids, vocab.special_ids) == (265, (262,), (262, 264))
    assert [vocab.token_bytes(i) for i in (256, 257, 258)] == [b"th", b" th", "é".encode()]
    assert [vocab.token_bytes(hole) for hole in (259, 260, 261, 263)] == [b""] * 4
    assert not {259, 260, 261, 262, 263, 264} & set(vocab.text_ids.tolist())
    assert all(vocab.token_bytes(i) == encoding.decode_single_token_bytes(i) for i in vocab.text_ids.tolist())


@given(text=TEXTS)
def test_tiktoken_texts(text):
    assert_spells_text(gl.Vocabulary.from_tokenizer(built.tiktoken_encoding()), text)


def test_tiktoken_texts_with_the_words_of_special_tokens_are_text():
    vocab = gl.Vocabulary.from_tokenizer(built.tiktoken_encoding())
    ids = vocab.encode("a<|endoftext|>b")
    assert spelled(vocab, ids) == b"a<|endoftext|>b"
    assert 262 not in ids


MODELS = {
    "bpe": {},
    "unigram": {"model_type": "unigram"},
    "suffix": {"model_type": "unigram", "treat_whitespace_as_suffix": True},
    "own pieces": {"user_defined_symbols": ["<x y>", "\u2581\u2581", "\n"], "control_symbols": ["<ctl>"]},
    "as it is": {"add_dummy_prefix": False, "remove_extra_whitespaces": False, "normalization_rule_name": "identity"},
    "no bytes": {"model_type": "unigram", "byte_fallback": False},
}


@pytest.mark.parametrize("name", MODELS)
def test_sentencepiece_models(name):
    model = built.sentencepiece_model(**{k: tuple(v) if isinstance(v, list) else v for k, v in MODELS[name].items()})
    processor = built.processor(model)
    vocab = gl.Vocabulary.from_tokenizer(processor)
    special = [i for i in range(processor.vocab_size()) if processor.is_control(i) or processor.is_unknown(i)]
    assert (vocab.size, vocab.stop_ids, list(vocab.special_ids)) == (
        processor.vocab_size(),
        (processor.eos_id(),),
        special,
    )
    anchor = processor.piece_to_id("e")
    for i in vocab.text_ids.tolist():
        assert_spells_decoding(vocab, [anchor, i], processor.decode([anchor, i]))
    for text in random_texts(60):
        ids = [anchor, *(i for i in vocab.encode(text) if i not in special)]
        assert_spells_decoding(vocab, ids, processor.decode(ids))
        if name == "as it is":
            assert_spells_text(vocab, text)


def test_sentencepiece_bytes_and_marks():
    processor = built.processor(built.sentencepiece_model())
    vocab = gl.Vocabulary.from_tokenizer(processor)
    assert token_facts(vocab).single_bytes == ALL_BYTES
    assert vocab.token_bytes(processor.piece_to_id("<0x0A>")) == b"\n"
    assert vocab.token_bytes(processor.piece_to_id("\u2581")) == b" "
    assert vocab.token_bytes(0) == b"<unk>"
