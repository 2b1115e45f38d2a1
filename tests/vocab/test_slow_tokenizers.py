"""transformers' tokenizers in Python: exact where their own decoding proves it, refused by name elsewhere."""

import pytest
import tiktoken
from transformers import ByT5Tokenizer, PreTrainedTokenizer

import grammarlm as gl
from grammarlm.masks.token_facts import ALL_BYTES, token_facts

from . import built
from .texts import assert_spells_decoding, assert_spells_text, random_texts, spelled


class AroundTiktoken(PreTrainedTokenizer):
    """As the tokenizers that come with the weights of Qwen 1, Kimi and GLM-4: an encoding, and tokens of its own."""

    def __init__(self, encoding: tiktoken.Encoding, **options):
        self.encoding = encoding
        super().__init__(**options)

    @property
    def vocab_size(self):
        return self.encoding.n_vocab

    def get_vocab(self):
        return {str(i): i for i in range(self.vocab_size)} | self.added_tokens_encoder

    def _tokenize(self, text):
        return [str(i) for i in self.encoding.encode_ordinary(text)]

    def _convert_token_to_id(self, token):
        return self.encoding.encode_single_token(token) if token.startswith("<|") else int(token)

    def _convert_id_to_token(self, index):
        return str(index)

    def convert_tokens_to_string(self, tokens):
        pieces = [self.encoding.decode_single_token_bytes(int(t)) if t.isdigit() else t.encode() for t in tokens]
        return b"".join(pieces).decode(errors="replace")


class ByteCharacters(PreTrainedTokenizer):
    """As GPT-2's in Python: one token a byte, written in GPT-2's characters; `shout` is a decoder of its own."""

    def __init__(self, shout: bool = False, **options):
        hidden = iter(range(0x100, 0x200))  # for bytes that are no visible Latin-1 character
        visible = {*range(0x21, 0x7F), *range(0xA1, 0x100)} - {0xAD}
        self.byte_decoder = {chr(byte if byte in visible else next(hidden)): byte for byte in range(256)}
        self.characters, self.shout = list(self.byte_decoder), shout
        super().__init__(**options)

    @property
    def vocab_size(self):
        return len(self.characters)

    def get_vocab(self):
        return {character: i for i, character in enumerate(self.characters)} | self.added_tokens_encoder

    def _tokenize(self, text):
        signs = {byte: character for character, byte in self.byte_decoder.items()}
        return [signs[byte] for byte in text.encode()]

    def _convert_token_to_id(self, token):
        return self.characters.index(token) if token in self.characters else None

    def _convert_id_to_token(self, index):
        return self.characters[index]

    def convert_tokens_to_string(self, tokens):
        text = bytes(self.byte_decoder[c] for c in "".join(tokens)).decode(errors="replace")
        return text.upper() if self.shout else text


class Opaque(ByteCharacters):
    """Says nothing of how its tokens are written."""

    def __init__(self, **options):
        super().__init__(**options)
        self.byte_decoder = None


def around_sentencepiece(tmp_path, **options):
    reason = "transformers 5 has this class, 4 has one for each model"
    module = pytest.importorskip("transformers.tokenization_utils_sentencepiece", reason=reason)
    (tmp_path / "tokenizer.model").write_bytes(built.sentencepiece_model(**options))
    return module.SentencePieceBackend(
        vocab_file=str(tmp_path / "tokenizer.model"), eos_token="</s>", unk_token="<unk>"
    )


def test_around_tiktoken():
    encoding = built.tiktoken_encoding()
    vocab = gl.Vocabulary.from_tokenizer(AroundTiktoken(encoding, eos_token="<|endoftext|>"))
    assert all(vocab.token_bytes(i) == encoding.decode_single_token_bytes(i) for i in vocab.text_ids.tolist())
    assert {262, 264, *vocab.stop_ids} <= set(vocab.special_ids)
    for text in random_texts(30):
        assert_spells_text(vocab, text)


def test_byte_characters():
    vocab = gl.Vocabulary.from_tokenizer(ByteCharacters(eos_token="</s>"))
    assert token_facts(vocab).single_bytes == ALL_BYTES
    assert vocab.stop_ids == (256,)
    for text in random_texts(30):
        assert_spells_text(vocab, text)


def test_byt5():
    vocab = gl.Vocabulary.from_tokenizer(ByT5Tokenizer())
    assert token_facts(vocab).single_bytes == ALL_BYTES
    assert vocab.stop_ids == (1,)
    for text in random_texts(30):
        assert_spells_text(vocab, text)


def test_around_a_sentencepiece_model(tmp_path):
    tokenizer = around_sentencepiece(tmp_path, model_type="unigram", byte_fallback=False)
    tokenizer.add_tokens(["<think>"])
    vocab = gl.Vocabulary.from_tokenizer(tokenizer)
    assert vocab.stop_ids == (2,)
    assert vocab.special_ids == (0, 1, 2)
    assert vocab.token_bytes(tokenizer.convert_tokens_to_ids("<think>")) == b"<think>"
    for text in random_texts(30):
        ids = [i for i in vocab.encode(text) if i not in vocab.special_ids]
        assert_spells_decoding(vocab, [7, *ids, 7], tokenizer.decode([7, *ids, 7], clean_up_tokenization_spaces=False))


def test_a_class_that_decodes_byte_pieces(tmp_path):
    from transformers import GPTSw3Tokenizer

    (tmp_path / "tokenizer.model").write_bytes(built.sentencepiece_model())
    vocab = gl.Vocabulary.from_tokenizer(GPTSw3Tokenizer(vocab_file=str(tmp_path / "tokenizer.model")))
    assert token_facts(vocab).single_bytes == ALL_BYTES
    assert spelled(vocab, vocab.encode("Zoë")) == " Zoë".encode()


def test_wordpiece(tmp_path):
    legacy = pytest.importorskip("transformers.models.bert.tokenization_bert_legacy", reason="transformers 4")
    (tmp_path / "vocab.txt").write_text("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "cat", "##s"]))
    vocab = gl.Vocabulary.from_tokenizer(legacy.BertTokenizerLegacy(str(tmp_path / "vocab.txt")), stop_ids=[3])
    assert spelled(vocab, vocab.encode("the cats")) == b" the cats"


REFUSED = {
    "no bytes": (
        around_sentencepiece,
        "SentencePieceBackend does not decode its tokens to the bytes they stand for: it gives '<0x00><0x01>",
    ),
    "a decoder of its own": (
        lambda path: ByteCharacters(shout=True, eos_token="</s>"),
        "ByteCharacters does not decode its tokens to the bytes they stand for: it gives",
    ),
    "opaque": (
        lambda path: Opaque(eos_token="</s>"),
        "the slow tokenizer Opaque does not show how its tokens are written; accepted: classes with a SentencePiece",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused(tmp_path, case):
    make, message = REFUSED[case]
    with pytest.raises(gl.TokenizerError) as error:
        gl.Vocabulary.from_tokenizer(make(tmp_path))
    assert str(error.value).startswith(message)


def test_a_thing_of_transformers_that_is_no_tokenizer():
    from transformers import PretrainedConfig

    with pytest.raises(gl.TokenizerError, match="Config is no tokenizer; a processor has one"):
        gl.Vocabulary.from_tokenizer(PretrainedConfig())
