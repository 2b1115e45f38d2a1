"""Texts that trouble tokenizers, and the law that they have to obey."""

import random
from collections.abc import Callable

from hypothesis import strategies as st

import grammarlm as gl

PIECES = [
    "The cat sat on 12 mats; ",
    "def f(x):\n\treturn {'a': [x, -1.5e-7]}\n",
    "#include <vector>\r\n\r\n",
    "漢字とかな、한국어. ",
    "👩‍👩‍👧‍👦🏴‍☠️🇳🇴",
    "Å Ångström e\u0301 o\u0308\u0323 ",
    "\x00\x01\x1b[31m\x7f\x85",
    "\t \n   \r",
    "        ",
    "<think>a</think> <0x0A> [INST] ## ##s ",
    "Ġthe Ċ <unused1> _ ",
    "ﬀ Ⅷ ㎏ ½ ſ ",
    "\u00a0\u2003\u200b\u200e\ufeff\u2028",
    "मानक हिन्दी ไทย ",
    "\U0010ffff\U000e0041𝔘",
    "\ue000\ufdd0\ufffe",
    "don't, I'll; 'twas ",
    "0" * 30,
    "zq" * 15,
]
RARE = ((0xA1, 0x24F), (0x370, 0x52F), (0x900, 0x97F), (0x4E00, 0x9FFF), (0xAC00, 0xD7A3), (0x1F300, 0x1FAFF))


def random_texts(count: int, seed: str = "texts") -> list[str]:
    rng = random.Random(seed)
    texts = []
    for _ in range(count):
        if rng.random() < 0.7:
            texts.append("".join(rng.choices(PIECES, k=rng.randint(1, 8))))
        else:
            texts.append("".join(chr(rng.randint(*rng.choice(RARE))) for _ in range(rng.randint(1, 15))))
    return texts


# A lone surrogate is no text, and U+2581 is the sign for a space in half of the tokenizers.
ANY_TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\u2581"), min_size=1, max_size=40)
TEXTS = st.one_of(ANY_TEXT, st.lists(st.sampled_from(PIECES), min_size=1, max_size=5).map("".join))


def spelled(vocab: gl.Vocabulary, ids: list[int]) -> bytes:
    return b"".join(vocab.token_bytes(i) for i in ids)


def assert_spells_text(vocab: gl.Vocabulary, text: str, normalized: Callable[[str], str] = str) -> None:
    """The tokens of a text spell it, as the tokenizer's normalizer leaves it."""
    assert spelled(vocab, vocab.encode(text)) == normalized(text).encode()


def assert_spells_decoding(vocab: gl.Vocabulary, ids: list[int], decoded: str, *, leading_space: bool = False) -> None:
    """Ids spell what their tokenizer decodes them to, less the first space where its decoder takes one off."""
    have = spelled(vocab, ids)
    if "\ufffd" in decoded:  # bytes that are not UTF-8: each library replaces them in its own way
        return
    assert decoded.encode() in ({have, have.removeprefix(b" ")} if leading_space else {have}), (ids, have, decoded)
