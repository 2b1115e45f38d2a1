"""The 256 bytes as a vocabulary: for what has no tokenizer, as the admission of requests to a server and checks of texts.

    gl.compile(grammar, byte_vocabulary()).matcher().advance_bytes(text)

It has no special tokens. Where a grammar asks for one, its name stands in the text: Token("<|call|>") reads the letters `<|call|>`,
and any other token is one byte. How many tokens a text has is not known, so a bound of tokens does not hold here (lowering.py).
"""

from __future__ import annotations

from functools import cache

from .vocabulary import Vocabulary

STOP = 256  # the id that ends a text; those below are the bytes


class ByteVocabulary(Vocabulary):
    names_are_text = True


@cache
def byte_vocabulary() -> Vocabulary:
    return ByteVocabulary([bytes([byte]) for byte in range(STOP)] + [b""], stop_ids=[STOP])
