"""Vocabularies for the laws: small, fixed, and awkward in the ways that real ones are."""

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import grammarlm as gl
from tests.oracles.automata import Automaton, TokenOracle

TEXT = (
    "the cat and the dog sat on the mat while a bat ate 12 of 2021 apples, about 10 km away; abba, baab and ab1 were "
    "there too. Zoë said: naïve café prices rose 100 € to 1000 €, été à la façade 😀😀 and 😂. x = a_b1 + b1_a\n"
    'key: "value", list: [1, 2, 3], {"a": true, "b": null}\nab ab ab aab bbb 111 1_1 a1b1 Z Z9 _a __b '
)


@dataclass(frozen=True)
class TokenList:
    """What `gl.Vocabulary` is made from, kept for the oracle."""

    tokens: list[bytes]
    stop_ids: list[int]
    special_ids: list[int]
    size: int

    def vocabulary(self) -> gl.Vocabulary:
        return gl.Vocabulary(self.tokens, stop_ids=self.stop_ids, special_ids=self.special_ids, size=self.size)

    def token_oracle(self, oracle: Automaton, most_states: int = 500) -> TokenOracle:
        return TokenOracle(oracle, self.tokens, self.stop_ids, self.special_ids, most_states)


def every_byte(seed: int = 0, pieces: int = 150) -> TokenList:
    """All bytes and random pieces of text: cut inside characters, doubled, empty; special and two stop ids, padding."""
    rng = random.Random(f"every byte {seed}")
    data = TEXT.encode()
    tokens = [bytes([byte]) for byte in range(256)]
    for _ in range(pieces):
        start = rng.randrange(len(data))
        tokens.append(data[start : start + rng.randint(2, 6)])
    tokens += [b"", "é".encode()[1:] + b"a", "€".encode()[2:], "😀".encode()[:3], b"ab", b"ab", b"\n\n", b"\xff\xfe"]
    stop, special, second_stop = len(tokens), len(tokens) + 1, len(tokens) + 3
    tokens += [b"</s>", b"a", b"b", b"1"]
    return TokenList(tokens, [stop, second_stop], [stop, special], len(tokens) + 37)


def few_bytes(seed: int = 0, pieces: int = 40) -> TokenList:
    """Without most single bytes: much that bytes could complete, these tokens cannot."""
    rng = random.Random(f"few bytes {seed}")
    characters = "ab1_Z \n-]é€😀"
    tokens = [rng.choice(characters).encode() for _ in range(4)]
    for _ in range(pieces):
        data = "".join(rng.choice(characters) for _ in range(rng.randint(1, 4))).encode()
        end = rng.randint(2, max(2, len(data)))
        tokens.append(data[rng.choice([0, 0, 1]) : end])
    tokens.insert(7, b"<eos>")
    return TokenList(tokens, [7], [], len(tokens))


def merged_pairs(merges: int = 250) -> TokenList:
    """A byte-level list trained on `TEXT`: the most frequent neighbours become one token, again and again."""
    words = Counter(tuple(bytes([byte]) for byte in word.encode()) for word in _with_leading_spaces(TEXT))
    tokens = [b"<s>", b"</s>"] + [bytes([byte]) for byte in range(256)]
    for _ in range(merges):
        pairs: Counter[tuple[bytes, bytes]] = Counter()
        for word, count in words.items():
            for pair in pairwise(word):
                pairs[pair] += count
        if not pairs:
            break
        best = max(pairs, key=lambda pair: (pairs[pair], pair))
        tokens.append(best[0] + best[1])
        words = Counter({_merge(word, best): count for word, count in words.items()})
    return TokenList(tokens, [1], [0, 1], len(tokens))


def _with_leading_spaces(text: str) -> list[str]:
    return [word if place == 0 else " " + word for place, word in enumerate(text.split(" ")) if word]


def _merge(word: tuple[bytes, ...], pair: tuple[bytes, bytes]) -> tuple[bytes, ...]:
    merged: list[bytes] = []
    place = 0
    while place < len(word):
        if word[place : place + 2] == pair:
            merged.append(pair[0] + pair[1])
            place += 2
        else:
            merged.append(word[place])
            place += 1
    return tuple(merged)


ALL: dict[str, Callable[[], TokenList]] = {
    "every byte": every_byte,
    "few bytes": few_bytes,
    "merged pairs": merged_pairs,
}
