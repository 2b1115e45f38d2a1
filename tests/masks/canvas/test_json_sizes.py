"""What tokens add to strings, against Python's own count."""

import random

import grammarlm as gl
from grammarlm.masks.canvas.json.sizes import sizes_of

ALPHABET = [b"1", b"e", b" ", b":", b'"', b"x", "\u00e9".encode()]


def test_characters_of_random_tokens() -> None:
    rng = random.Random(0)
    tokens = [b"".join(rng.choices(ALPHABET, k=rng.randrange(7))) for _ in range(4000)]
    tokens += [b"", b" " * 41, b"1" * 50]
    vocab = gl.Vocabulary([*tokens, b"</s>"], stop_ids=[len(tokens)], size=len(tokens) + 5)
    sizes = sizes_of(vocab)
    assert [sizes.characters[i] for i in range(len(tokens))] == [len(text.decode()) for text in tokens]
    assert len(sizes.characters) == vocab.size
