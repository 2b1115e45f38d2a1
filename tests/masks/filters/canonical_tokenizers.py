"""Small tokenizers whose canonical encodings are known, one of each family, and vocabularies of them."""

import random
from collections.abc import Callable
from typing import Any

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

import grammarlm as gl

TEXT = [
    "the cat sat on the mat, that's what they'll say; it's 12345 or 100 km away",
    "aaa aaaa aaaaa  aa   a    aaaaaaaa\n\n\n  ab abab ababab bababa",
    "naïve café é è ê 你好 你们好 ćwiczyć ü ñ Å ffi ß ſ 'S 'LL don'T \u00a0x\u3000y",
    "def f(x):\n    return {'a': [1, 2, 3], \"b\": x + 10_000}\n\t\tpass\r\n",
]
LLAMA = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"


def trained(pre: Any, normalizer: Any = None, added: tuple = (), seed: str = "", **options: Any) -> Tokenizer:
    tokenizer = Tokenizer(models.BPE(**options))
    if normalizer is not None:
        tokenizer.normalizer = normalizer
    if pre is not None:
        tokenizer.pre_tokenizer = pre
    byte_level = options.get("unk_token") is None
    tokenizer.decoder = (
        decoders.ByteLevel()
        if byte_level
        else decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()])
    )
    alphabet = pre_tokenizers.ByteLevel.alphabet() if byte_level else []
    specials = ["</s>"] if byte_level else ["</s>", "<unk>", *(f"<0x{b:02X}>" for b in range(256))]
    trainer = trainers.BpeTrainer(
        vocab_size=900, initial_alphabet=alphabet, special_tokens=specials, show_progress=False
    )
    rng = random.Random(seed)
    tokenizer.train_from_iterator([rng.choice(TEXT) for _ in range(40)] + TEXT, trainer)
    tokenizer.add_tokens([AddedToken(a, normalized=False) for a in added])
    return tokenizer


def byte_level(pattern: str | None) -> Any:
    if pattern is None:
        return pre_tokenizers.ByteLevel(add_prefix_space=False)
    split = pre_tokenizers.Split(Regex(pattern), "isolated")
    return pre_tokenizers.Sequence([split, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])


TOKENIZERS: dict[str, Callable[[], Tokenizer]] = {
    "gpt2": lambda: trained(byte_level(None)),
    "no words": lambda: trained(pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)),
    "llama3": lambda: trained(byte_level(LLAMA), ignore_merges=True),
    "composed": lambda: trained(byte_level(LLAMA), normalizers.NFC(), ("<think>", "</think>", "é!", " x", "aa")),
    "a pattern that is not known": lambda: trained(byte_level(r"[a-m]+|\w+|[^\w]")),
    "digits": lambda: trained(
        pre_tokenizers.Sequence([pre_tokenizers.Digits(True), pre_tokenizers.ByteLevel(add_prefix_space=False)])
    ),
    "spaces marked": lambda: trained(
        None, normalizers.Replace(" ", "▁"), ("<td>", "\n\n"), unk_token="<unk>", byte_fallback=True, fuse_unk=True
    ),
}


def vocabulary(tokenizer: Tokenizer) -> gl.Vocabulary:
    return gl.Vocabulary.from_tokenizer(tokenizer, stop_ids=[tokenizer.token_to_id("</s>")])
