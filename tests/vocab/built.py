"""Tokenizers of every family, made here and now: nothing is downloaded."""

import io
import random
import string
from functools import cache
from pathlib import Path

import sentencepiece
import tiktoken
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

from .texts import PIECES

END = "</s>"
MARK = "\u2581"


def corpus(lines: int = 300) -> list[str]:
    rng = random.Random("corpus")
    words = ["".join(rng.choices(string.ascii_lowercase + "éñ", k=rng.randint(1, 7))) for _ in range(120)]
    return [" ".join(rng.choices(words, k=8)) + rng.choice(PIECES) for _ in range(lines)]


def with_added_tokens(tokenizer: Tokenizer) -> Tokenizer:
    """A special token for the end, and two that are text."""
    tokenizer.add_special_tokens([AddedToken(END, special=True)])
    tokenizer.add_tokens([AddedToken("<think>", special=False), AddedToken("a b\n", special=False, normalized=False)])
    return tokenizer


@cache
def byte_level() -> Tokenizer:
    """As GPT-2's."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=500, initial_alphabet=alphabet, show_progress=False)
    tokenizer.train_from_iterator(corpus(), trainer)
    return with_added_tokens(tokenizer)


def byte_pieces() -> dict[str, int]:
    return {f"<0x{byte:02X}>": byte + 3 for byte in range(256)}


def metaspace_bpe() -> Tokenizer:
    """Byte pieces, letters, the mark and some merges."""
    vocab = {"<unk>": 0, "<s>": 1, "</s>": 2} | byte_pieces()
    merges = [("e", "r"), (MARK, "t"), (MARK + "t", "h"), (MARK, MARK), (MARK + MARK, MARK + MARK), ("a", "n")]
    for token in [*string.printable.strip(), "é", MARK, *("".join(pair) for pair in merges)]:
        vocab.setdefault(token, len(vocab))
    model = models.BPE(vocab, merges, unk_token="<unk>", fuse_unk=True, byte_fallback=True)
    tokenizer = Tokenizer(model)
    tokenizer.add_special_tokens(["<unk>", "<s>", "</s>"])
    return tokenizer


@cache
def llama_like() -> Tokenizer:
    """A space before every text, which the decoder takes off again."""
    tokenizer = metaspace_bpe()
    tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend(MARK), normalizers.Replace(" ", MARK)])
    steps = [decoders.Replace(MARK, " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    tokenizer.decoder = decoders.Sequence(steps)
    return tokenizer


@cache
def gemma_like() -> Tokenizer:
    """No space before; added tokens of several marks, which are spaces."""
    tokenizer = metaspace_bpe()
    tokenizer.normalizer = normalizers.Replace(" ", MARK)
    tokenizer.decoder = decoders.Sequence([decoders.Replace(MARK, " "), decoders.ByteFallback(), decoders.Fuse()])
    tokenizer.add_tokens([AddedToken(MARK * n, special=False, normalized=False) for n in (2, 4)])
    return tokenizer


@cache
def unigram() -> Tokenizer:
    """As T5's: pieces are text, what has no piece is unknown."""
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Metaspace()
    trainer = trainers.UnigramTrainer(
        vocab_size=400, special_tokens=["<unk>", END], unk_token="<unk>", show_progress=False
    )
    tokenizer.train_from_iterator(corpus(), trainer)
    return tokenizer


@cache
def wordpiece() -> Tokenizer:
    """As BERT's, whose decoder cleans up around punctuation."""
    words = [
        "[UNK]",
        "[SEP]",
        "the",
        "cat",
        "sat",
        ".",
        ",",
        "'",
        "s",
        "n",
        "t",
        "##s",
        "##ting",
        "##",
        "do",
        "not",
        "'s",
    ]
    words += [f"{prefix}{letter}" for letter in string.ascii_lowercase for prefix in ("", "##")]
    vocab = {word: i for i, word in enumerate(dict.fromkeys(words))}
    tokenizer = Tokenizer(models.WordPiece(vocab, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece(cleanup=True)
    tokenizer.add_special_tokens(["[UNK]", "[SEP]"])
    return tokenizer


@cache
def composed() -> Tokenizer:
    """As Qwen's: composes characters, splits by a regex, then byte level."""
    tokenizer = Tokenizer.from_str(byte_level().to_str())
    tokenizer.normalizer = normalizers.NFC()
    split = pre_tokenizers.Split(Regex(r"\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+|\s+"), behavior="isolated")
    byte_step = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([split, byte_step])
    return tokenizer


@cache
def tiktoken_encoding() -> tiktoken.Encoding:
    """Bytes in another order than their values, some merges, and holes among the ids (259 to 261, and 263)."""
    bytes_in_order = random.Random("ranks").sample(range(256), 256)
    ranks = {bytes([byte]): rank for rank, byte in enumerate(bytes_in_order)}
    ranks |= {b"th": 256, b" th": 257, "é".encode(): 258}
    special = {"<|endoftext|>": 262, "<|fim|>": 264}
    return tiktoken.Encoding("built", pat_str=r" ?\w+|\s+|[^\w\s]+", mergeable_ranks=ranks, special_tokens=special)


@cache
def sentencepiece_model(model_type: str = "bpe", byte_fallback: bool = True, **options: object) -> bytes:
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(corpus()),
        model_writer=model,
        model_type=model_type,
        byte_fallback=byte_fallback,
        vocab_size=460,
        hard_vocab_limit=False,
        num_threads=1,
        minloglevel=2,
        **options,
    )
    return model.getvalue()


def processor(model: bytes) -> sentencepiece.SentencePieceProcessor:
    return sentencepiece.SentencePieceProcessor(model_proto=model)


def saved(folder: Path, tokenizer: Tokenizer, end: str = END) -> Path:
    """The tokenizer as a folder on disk."""
    tokenizer.save(str(folder / "tokenizer.json"))
    (folder / "tokenizer_config.json").write_text(f'{{"eos_token": "{end}"}}')
    return folder
