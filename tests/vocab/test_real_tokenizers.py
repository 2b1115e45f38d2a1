"""Five real tokenizers, from their files: the tokens of a text spell it, and any ids spell what they decode to."""

import random
import unicodedata
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from tokenizers import Tokenizer

import grammarlm as gl
from grammarlm.masks.token_facts import ALL_BYTES, token_facts
from tests.counts import tiers
from tests.real_data import FOLDER, needs_data

from .texts import assert_spells_decoding, random_texts, spelled

pytestmark = needs_data

NORMALIZED = {
    "gpt2": str,
    "llama2": lambda text: " " + text,
    "llama3_1": str,
    "qwen3": lambda text: unicodedata.normalize("NFC", text),
    "gemma3": str,
}
BYTE_LEVEL = ("gpt2", "llama3_1", "qwen3")
NAMES = pytest.mark.parametrize("name", NORMALIZED)


def folder(name: str) -> Path:
    return FOLDER / "tokenizers" / name


@cache
def loaded(name: str) -> tuple[Tokenizer, gl.Vocabulary]:
    return Tokenizer.from_file(str(folder(name) / "tokenizer.json")), gl.Vocabulary.from_tokenizer(folder(name))


def texts_law(name: str, count: int) -> None:
    tokenizer, vocab = loaded(name)
    for text in random_texts(count):
        ids = tokenizer.encode(text, add_special_tokens=False).ids
        assert spelled(vocab, ids) == NORMALIZED[name](text).encode()
        decoded = tokenizer.decode(ids, skip_special_tokens=False)
        assert_spells_decoding(vocab, ids, decoded, leading_space=name == "llama2")


def ids_law(name: str, lists: Iterator[list[int]]) -> None:
    tokenizer, vocab = loaded(name)
    for ids in lists:
        decoded = tokenizer.decode(ids, skip_special_tokens=False)
        if name in BYTE_LEVEL:
            assert spelled(vocab, ids).decode(errors="replace") == decoded
        else:
            assert_spells_decoding(vocab, ids, decoded, leading_space=name == "llama2")


def text_ids(name: str) -> list[int]:
    return loaded(name)[1].text_ids.tolist()


@NAMES
@tiers("count", 40, 1000)
def test_texts(name, count):
    texts_law(name, count)


@NAMES
@pytest.mark.parametrize("count", [125, pytest.param(500, marks=pytest.mark.proof)])
def test_ids_in_random_order(count, name):
    rng = random.Random(name)
    ids_law(name, (rng.choices(text_ids(name), k=rng.randint(1, 6)) for _ in range(count)))


@pytest.mark.proof
@NAMES
def test_every_id(name, record_property):
    record_property("ids", len(text_ids(name)))
    ids_law(name, ([i] for i in text_ids(name)))


@NAMES
def test_the_vocabulary_as_a_whole(name):
    tokenizer, vocab = loaded(name)
    added = tokenizer.get_added_tokens_decoder()
    special = {i for i, token in added.items() if token.special}
    assert vocab.size == max(tokenizer.get_vocab().values()) + 1
    assert special <= set(vocab.special_ids)
    assert not special & set(text_ids(name))
    assert token_facts(vocab).single_bytes == ALL_BYTES
    for i in vocab.special_ids:
        assert vocab.token_bytes(i) == tokenizer.id_to_token(i).encode()


@NAMES
def test_path_and_object_are_the_same_vocabulary(name):
    tokenizer, vocab = loaded(name)
    from_object = gl.Vocabulary.from_tokenizer(tokenizer, stop_ids=vocab.stop_ids)
    assert from_object == vocab
    assert from_object.fingerprint == vocab.fingerprint
    if name in ("gpt2", "llama2"):  # the others take seconds to load a second time
        assert from_object.encode("Zoë 12") == vocab.encode("Zoë 12")


def test_transformers_objects_bring_their_end_of_sequence():
    from transformers import PreTrainedTokenizerFast

    file = str(folder("llama2") / "tokenizer.json")
    tokenizer = PreTrainedTokenizerFast(tokenizer_file=file, eos_token="</s>", unk_token="<unk>")
    vocab = gl.Vocabulary.from_tokenizer(tokenizer)
    assert vocab == loaded("llama2")[1]
    assert vocab.stop_ids == (tokenizer.eos_token_id,)
    assert vocab.encode("Zoë 12") == tokenizer.encode("Zoë 12", add_special_tokens=False)


def test_end_of_sequence_and_flags():
    stops = {name: loaded(name)[1].stop_ids for name in NORMALIZED}
    assert stops == {"gpt2": (50256,), "llama2": (2,), "llama3_1": (128009,), "qwen3": (151645,), "gemma3": (106,)}
    tokenizer, qwen3 = loaded("qwen3")
    assert tokenizer.token_to_id("<think>") in qwen3.text_ids
    assert tokenizer.token_to_id("<|im_start|>") in qwen3.special_ids
    tokenizer, gemma3 = loaded("gemma3")
    assert gemma3.token_bytes(tokenizer.token_to_id("\u2581" * 7)) == b" " * 7
