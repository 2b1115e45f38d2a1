"""Tokenizers whose token bytes are not known are refused, with a message that names what is at fault."""

import contextlib
import json
import random
from pathlib import Path

import pytest
import tiktoken
from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers

import grammarlm as gl
from grammarlm.errors import LONGEST_MESSAGE

from . import built


def refusal(tokenizer: object, **options: object) -> str:
    with pytest.raises(gl.TokenizerError) as error:
        gl.Vocabulary.from_tokenizer(tokenizer, **{"stop_ids": [0]} | options)
    assert len(str(error.value)) <= LONGEST_MESSAGE
    return str(error.value)


def with_decoder(decoder: object) -> Tokenizer:
    tokenizer = Tokenizer.from_str(built.gemma_like().to_str())
    tokenizer.decoder = decoder
    return tokenizer


def test_no_decoder():
    tokenizer = Tokenizer(models.WordLevel({"a": 0, "b": 1}, unk_token="a"))
    assert "has no decoder: its tokens are joined by spaces" in refusal(tokenizer)


@pytest.mark.parametrize(
    ("decoder", "message"),
    [
        (
            decoders.CTC(),
            "the tokenizer's decoder 'CTC' does not give each token bytes of its own; accepted: ByteLevel",
        ),
        (decoders.BPEDecoder(), "the tokenizer's decoder 'BPEDecoder' does not give each token bytes of its own"),
        (
            decoders.Sequence([decoders.ByteFallback(), decoders.Replace("a", "b"), decoders.Fuse()]),
            "the tokenizer's decoder has Replace where it works on several tokens at once",
        ),
        (
            decoders.Sequence([decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 0, 1)]),
            "the tokenizer's decoder has Strip where it works on several tokens at once",
        ),
        (
            decoders.Sequence([decoders.ByteFallback(), decoders.Fuse(), decoders.Metaspace()]),
            "the tokenizer's decoder has Metaspace where it works on several tokens at once",
        ),
        (
            decoders.Sequence([decoders.Strip("a", 0, 1), decoders.ByteFallback()]),
            "the decoder Strip takes 1 times 'a' off the end",
        ),
        (decoders.Fuse(), "the tokenizer encodes with ByteFallback, but its decoder has Fuse"),
    ],
)
def test_decoders(decoder, message):
    assert refusal(with_decoder(decoder)).startswith(message)


def test_a_decoder_that_replaces_by_a_regex():
    from tokenizers import Regex

    decoder = decoders.Sequence([decoders.Replace(Regex("a+"), "b"), decoders.ByteFallback()])
    assert "the decoder Replace has the pattern \"{'Regex': 'a+'}\": only a string" in refusal(with_decoder(decoder))


def test_a_decoder_written_in_python():
    class Own:
        def decode_chain(self, tokens):
            return tokens

    assert "the tokenizer's decoder 'written in Python'" in refusal(with_decoder(decoders.Decoder.custom(Own())))


def test_a_pre_tokenizer_written_in_python_changes_no_token():
    class Own:
        def pre_tokenize(self, pretokenized):
            pass

    tokenizer = Tokenizer.from_str(built.gemma_like().to_str())
    tokenizer.pre_tokenizer = pre_tokenizers.PreTokenizer.custom(Own())
    plain = gl.Vocabulary.from_tokenizer(built.gemma_like(), stop_ids=[2])
    assert gl.Vocabulary.from_tokenizer(tokenizer, stop_ids=[2]) == plain


@pytest.mark.parametrize("part", ["pre_tokenizer", "normalizer"])
def test_byte_level_on_one_side_only(part):
    tokenizer = Tokenizer(models.BPE({"a": 0}, []))
    component = pre_tokenizers.ByteLevel() if part == "pre_tokenizer" else normalizers.ByteLevel()
    setattr(tokenizer, part, component)
    tokenizer.decoder = decoders.Fuse()
    assert "the tokenizer encodes with ByteLevel, but its decoder has Fuse" in refusal(tokenizer)


def test_ends_of_words():
    tokenizer = Tokenizer(models.BPE({"a": 0, "a</w>": 1}, [], end_of_word_suffix="</w>"))
    tokenizer.decoder = decoders.ByteLevel()
    assert "ends words with '</w>': whether a space follows depends on the next token" in refusal(tokenizer)


def test_parts_of_words_that_the_decoder_does_not_know():
    tokenizer = Tokenizer(models.WordPiece({"a": 0, "##a": 1, "[UNK]": 2}))
    tokenizer.decoder = decoders.Fuse()
    assert "begins parts of words with '##', but its decoder has Fuse" in refusal(tokenizer)


def test_an_added_token_that_is_another_text_when_decoded():
    tokenizer = Tokenizer.from_str(built.byte_level().to_str())
    tokenizer.add_tokens([AddedToken("Ã©", special=False, normalized=False)])
    message = refusal(tokenizer)
    assert "the added token 'Ã©'" in message
    assert r"but decodes to b'\xc3\xa9': its bytes are not known. Remove it, or flag it special" in message


def test_an_added_token_that_is_also_the_sign_of_a_byte():
    """GPT-2's token for the byte FC is written with the u-umlaut: one id, two meanings."""
    tokenizer = Tokenizer.from_str(built.byte_level().to_str())
    tokenizer.add_tokens([AddedToken("ü", special=False, normalized=False)])
    assert "the added token 'ü'" in refusal(tokenizer)


def test_an_added_token_that_cannot_be_decoded_is_the_text_it_encodes():
    """DeepSeek's tokenizers have no token for the byte FC, and an added one of the character with that number."""
    vocab = {sign: i for i, sign in enumerate(sorted(set(pre_tokenizers.ByteLevel.alphabet()) - {"ü"}))}
    tokenizer = Tokenizer(models.BPE(vocab, []))
    tokenizer.pre_tokenizer, tokenizer.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    tokenizer.add_tokens([AddedToken("ü", special=False, normalized=False)])
    vocabulary = gl.Vocabulary.from_tokenizer(tokenizer, stop_ids=[0])
    assert b"".join(map(vocabulary.token_bytes, vocabulary.encode("für"))) == "für".encode()


def test_two_tokens_with_one_id():
    file = json.loads(built.gemma_like().to_str())
    file["model"] = {"type": "WordLevel", "vocab": {"a": 0, "b": 1, "c": 5}, "unk_token": "a"}
    file["added_tokens"] = [{**file["added_tokens"][0], "content": text, "id": 3 + i} for i, text in enumerate("xyz")]
    tokenizer = Tokenizer.from_str(json.dumps(file))  # the library gives z the id 5
    assert "the id 5 has two meanings: the added token 'z', and the model's 'c'" in refusal(tokenizer)


def test_tiktoken_ranks_and_special_tokens_with_one_id():
    ranks = {bytes([byte]): byte for byte in range(256)}
    encoding = tiktoken.Encoding("odd", pat_str=".", mergeable_ranks=ranks, special_tokens={"<|endoftext|>": 7})
    assert "the encoding 'odd' has two tokens with the id 7" in refusal(encoding)


@pytest.mark.parametrize("thing", [object(), None, {}, 5, [b"a"], b"path", Tokenizer, tiktoken])
def test_things_that_are_no_tokenizers(thing):
    message = refusal(thing)
    assert "is no tokenizer known here; accepted: a transformers or tokenizers object, tiktoken.Encoding" in message


def test_no_end_of_sequence():
    message = "end of sequence is not known (found none): pass stop_ids="
    assert message in refusal(built.byte_level(), stop_ids=None)
    ranks = {bytes([byte]): byte for byte in range(256)}
    encoding = tiktoken.Encoding("endless", pat_str=".", mergeable_ranks=ranks, special_tokens={})
    assert message in refusal(encoding, stop_ids=None)
    assert gl.Vocabulary.from_tokenizer(encoding, stop_ids=[10]).stop_ids == (10,)


def test_an_end_of_sequence_beyond_the_logits():
    assert "found only [262], beyond the size 260" in refusal(built.tiktoken_encoding(), stop_ids=None, size=260)
    vocab = gl.Vocabulary.from_tokenizer(built.tiktoken_encoding(), size=260, stop_ids=[5])
    assert (vocab.size, vocab.stop_ids, vocab.special_ids) == (260, (5,), ())
    wide = gl.Vocabulary.from_tokenizer(built.tiktoken_encoding(), size=300)
    assert (wide.size, wide.stop_ids, wide.token_bytes(299)) == (300, (262,), b"")


# Files


def written(folder: Path, changed: dict, *, model: dict | None = None) -> Path:
    file = json.loads(built.byte_level().to_str()) | changed
    file["model"] |= model or {}
    (folder / "tokenizer.json").write_text(json.dumps(file))
    return folder


@pytest.mark.parametrize(
    ("changed", "model", "message"),
    [
        ({"model": {"type": "Neural"}}, {}, "has a model of the type 'Neural'; accepted: BPE, WordPiece, WordLevel"),
        ({"model": {}}, {"vocab": None}, "tokenizer.json has no vocabulary: model.vocab is {token: id}, or a list"),
        ({}, {"vocab": {"a": "0"}}, "tokenizer.json has no vocabulary"),
        ({"added_tokens": []}, {"vocab": {"a": 0, "b": 0}}, "two tokens of the tokenizer's model have the same id"),
        ({"added_tokens": []}, {"vocab": {"a": -1}}, "the tokenizer has the id -1: ids are 0 to"),
        ({"added_tokens": []}, {"vocab": {"a": 2**40}}, "the tokenizer has the id 1099511627776: ids are 0 to"),
        ({"added_tokens": []}, {"vocab": {}}, "the tokenizer has no tokens"),
        ({"added_tokens": [5]}, {}, "tokenizer.json has the added token 5: it needs an id and a content"),
        (
            {"added_tokens": [{"id": 9000, "content": "<x>"}]},
            {},
            "'<x>' the id 9000, the tokenizers library loads it as",
        ),
        ({"added_tokens": []}, {"vocab": {"\ud800": 0}}, "is not Unicode text (a lone surrogate)"),
        ({"decoder": {"kind": 3}}, {}, "a tokenizer component is an object with a type, not \"{'kind': 3}\""),
        ({"decoder": None}, {}, "the tokenizer has no decoder"),
        ({"decoder": {"type": "Sequence"}}, {}, "a tokenizer component is an object with a type"),
        ({"decoder": {"type": "Metaspace", "replacement": 5}}, {}, "Metaspace has the replacement '5': a string"),
        ({"decoder": {"type": "Sequence", "decoders": []}}, {}, "but its decoder has no steps"),
    ],
)
def test_tokenizer_files(tmp_path, changed, model, message):
    assert message in refusal(written(tmp_path, changed, model=model))


def places(node: object, path: tuple = ()) -> list[tuple]:
    """The way to every value in a JSON value, the long vocabulary left out."""
    inner = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    found = [path] if path else []
    return found + [place for key, value in inner if len(path) < 5 for place in places(value, (*path, key))]


ODD = [None, True, -1, 10**20, 1.5, "", "a", "\ud800", [], {}, [["a", 1]], {"type": "Fuse"}, {"content": "b"}]


def test_any_damage_to_a_tokenizer_file_is_refused_or_read_as_the_library_does(tmp_path):
    """Nothing but TokenizerError comes out, and what both can read is the same."""
    rng = random.Random("damage")
    whole = json.loads(built.gemma_like().to_str())
    whole["model"] |= {"vocab": {"a": 0, "b": 1, "\u2581c": 2, "<0x0A>": 3}, "merges": [], "unk_token": "a"}
    whole["added_tokens"] = [{**whole["added_tokens"][0], "id": 4, "content": "<x>"}]
    agreed = 0
    for _ in range(300):
        file = json.loads(json.dumps(whole))
        *above, last = rng.choice(places(file))
        node = file
        for key in above:
            node = node[key]
        node[last] = rng.choice(ODD)
        (tmp_path / "tokenizer.json").write_text(json.dumps(file))
        try:
            vocab = gl.Vocabulary.from_tokenizer(tmp_path, stop_ids=[0])
        except gl.TokenizerError:
            continue
        library = None
        with contextlib.suppress(Exception):  # the library asks for more fields than decide what a token spells
            library = Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
        if library is not None:
            assert gl.Vocabulary.from_tokenizer(library, stop_ids=[0]) == vocab
            agreed += 1
    assert agreed > 10


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "tokenizer.json is not JSON"),
        (b"{", "tokenizer.json is not JSON"),
        (b"[" * 100_000, "tokenizer.json is not JSON"),
        (b"\xff\xfe\x00", "tokenizer.json is not JSON"),
        (b"[]", "tokenizer.json is a JSON list, not an object"),
        (b"{}", "tokenizer.json has a model of the type 'None'"),
    ],
)
def test_files_that_are_no_tokenizers(tmp_path, data, message):
    (tmp_path / "tokenizer.json").write_bytes(data)
    assert message in refusal(tmp_path / "tokenizer.json")


def test_no_file(tmp_path):
    message = refusal(tmp_path)
    assert "tokenizer.json' cannot be read (No such file or directory): give a folder with a tokenizer.json" in message
    assert "names on a hub are not downloaded here" in refusal("owner/model")


def test_names_that_no_file_can_have():
    for path in ("a\0b", "a\ud800", "a" * 10_000):
        message = refusal(path)
        assert message.startswith("'a")
        assert "cannot be read (" in message
        assert "give a folder with a tokenizer.json" in message


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"IQ== 0\nIg== 1\n",  # the beginning of a file of tiktoken ranks
        b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
        b"\x0a\x03\x0a\x01\xff",
        b"\x0a\x02\x18\x01",
        b"\x0a",
        b"\x0b",
        b"\x0d\x00\x00\x00\x00",
        b"\x08\x01",
    ],
)
def test_files_that_are_no_sentencepiece_models(tmp_path, data):
    (tmp_path / "tokenizer.model").write_bytes(data)
    message = refusal(tmp_path / "tokenizer.model")
    assert "tokenizer.model is no SentencePiece model" in message
    assert "tiktoken.Encoding" in message


def test_any_damage_to_a_sentencepiece_model_is_refused_or_read(tmp_path):
    model = built.sentencepiece_model()
    rng = random.Random("damage")
    for attempt in range(60):
        damaged = bytearray(model[: rng.randrange(len(model))] if attempt % 2 else model)
        for _ in range(20):
            if damaged:
                damaged[rng.randrange(min(len(damaged), 9000))] = rng.randrange(256)
        path = tmp_path / f"{attempt}.model"
        path.write_bytes(damaged)
        with contextlib.suppress(gl.TokenizerError):
            gl.Vocabulary.from_tokenizer(path, stop_ids=[0])


def test_a_sentencepiece_model_that_rewrites_decoded_text(tmp_path):
    rules = b"\x12\x03abc"  # NormalizerSpec.precompiled_charsmap
    path = tmp_path / "tokenizer.model"
    path.write_bytes(built.sentencepiece_model() + b"\x2a" + bytes([len(rules)]) + rules)  # denormalizer_spec
    assert "tokenizer.model has a denormalizer_spec" in refusal(path)
