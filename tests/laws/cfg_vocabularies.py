"""Vocabularies for grammars over few characters: bytes alone, merged pieces, a hostile one, and one that lacks bytes."""

import random

from tests.laws import vocabularies
from tests.laws.vocabularies import TokenList
from tests.oracles.random_grammars import ALPHABETS


def _pieces(seed: str, count: int, longest: int = 4) -> list[bytes]:
    """Characters of one alphabet in a row, now and then cut inside a character."""
    rng, pieces = random.Random(seed), []
    for _ in range(count):
        alphabet = rng.choice(ALPHABETS)
        data = "".join(rng.choice(alphabet) for _ in range(rng.randint(1, longest))).encode()
        pieces.append(data[rng.choice([0, 0, 0, 1]) :][: rng.randint(2, 12)] or b"ab")
    return pieces


def bytes_only() -> TokenList:
    """A token for each byte, and the end."""
    return TokenList([bytes([byte]) for byte in range(256)] + [b"<end>"], [256], [], 257)


def pieces() -> TokenList:
    """Bytes and merged pieces, in no order."""
    tokens = [bytes([byte]) for byte in range(256)] + _pieces("pieces", 120)
    random.Random("order").shuffle(tokens)
    tokens.insert(100, b"<end>")
    return TokenList(tokens, [100], [], len(tokens))


def hostile() -> TokenList:
    """The one of all laws (special ids that look like text, two stop ids, padding), with more of what grammars are about."""
    base = vocabularies.every_byte()
    tokens = base.tokens + _pieces("hostile", 60, 6)
    return TokenList(tokens, base.stop_ids, base.special_ids, len(tokens) + 45)


def few_bytes() -> TokenList:
    """Some bytes of the alphabets are tokens, some are only parts of tokens, some are missing."""
    singles = [character.encode() for character in "ab)1,("]
    tokens = singles + _pieces("few", 60) + vocabularies.few_bytes().tokens[8:]
    return TokenList([*tokens, b"</s>"], [len(tokens)], [], len(tokens) + 1)


VOCABULARIES = {"bytes": bytes_only(), "pieces": pieces(), "hostile": hostile(), "few bytes": few_bytes()}
COMPILED = {name: token_list.vocabulary() for name, token_list in VOCABULARIES.items()}
