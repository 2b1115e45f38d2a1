"""Small vocabularies for kernels: every short string over a few bytes, some of them twice, some that no mask may allow."""

import random

import grammarlm as gl

LONGEST = 5


def tokens_over(alphabet: bytes, rng: random.Random, count: int) -> list[bytes]:
    """Tokens in random order: each byte, random strings, duplicates, an empty one; the last one is the stop token."""
    tokens = [bytes([byte]) for byte in alphabet]
    tokens += [bytes(rng.choices(alphabet, k=rng.randint(2, LONGEST))) for _ in range(count)]
    tokens += [*rng.sample(tokens, 4), b""]
    rng.shuffle(tokens)
    return [*tokens, b"</s>"]


def vocabulary_of(tokens: list[bytes], rng: random.Random) -> gl.Vocabulary:
    """Two of the tokens are special; there are ids after the last token."""
    stop = len(tokens) - 1
    return gl.Vocabulary(tokens, stop_ids=[stop], special_ids=[stop, *rng.sample(range(stop), 2)], size=len(tokens) + 7)


def texts_of(vocab: gl.Vocabulary) -> dict[int, bytes]:
    """The bytes of each token that a mask may allow for them."""
    data, offsets = vocab.data.tobytes(), vocab.offsets.tolist()
    return {token: data[offsets[token] : offsets[token + 1]] for token in vocab.text_ids.tolist()}


def ids_in(row: object, words: int) -> set[int]:
    """The tokens whose bits are set in the first words of a mask row."""
    return {token for token in range(32 * words) if int(row[token // 32]) >> (token % 32) & 1}  # type: ignore[index]
