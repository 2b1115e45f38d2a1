"""Random texts of the library's grammars, and what small damage leaves of them."""

import random
from collections.abc import Iterator

from tests.grammars.library.library_texts import stock_parser
from tests.oracles.random_sentences import Sentences

STRAY = "ax_1.0+-*/&|<>=!~'\"\\ \n\t;,:()[]{}#@?%e$é\r"


def sentences(name: str, seed: int) -> Sentences:
    return Sentences(stock_parser(name), random.Random(f"{name} {seed}"))


def damaged(source: Sentences, texts: list[str]) -> Iterator[str]:
    rng = source.rng
    terminals = sorted(source.samplers)
    while True:
        text = rng.choice(texts)
        for _ in range(rng.choice((1, 1, 2, 3))):
            at = rng.randrange(len(text) + 1)
            other = rng.choice(texts)
            begin = rng.randrange(len(other) + 1)
            put_in = rng.choice(
                (
                    "",
                    rng.choice(STRAY),
                    source.samplers[rng.choice(terminals)].sample(),
                    other[begin : begin + rng.randrange(12)],
                )
            )
            text = text[:at] + put_in + text[at + rng.choice((0, 1, 2)) :]
        yield text
